use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// A server on loopback with a thread per connection.
pub struct Server {
    address: SocketAddr,
    accepted: Arc<AtomicUsize>,
    stopped: Arc<AtomicBool>,
    open: Arc<Mutex<HashMap<usize, TcpStream>>>,
}

impl Server {
    /// `serve` gets each connection with its number, from 0, and closes it by returning.
    pub fn start(serve: impl Fn(usize, TcpStream) + Send + Sync + 'static) -> Self {
        Self::on((Ipv4Addr::LOCALHOST.into(), 0), serve)
    }

    pub fn on(address: (IpAddr, u16), serve: impl Fn(usize, TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(address).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let server =
            Self { address, accepted: Arc::default(), stopped: Arc::default(), open: Arc::default() };
        let (accepted, stopped) = (Arc::clone(&server.accepted), Arc::clone(&server.stopped));
        let open = Arc::clone(&server.open);
        let serve = Arc::new(serve);
        thread::spawn(move || {
            while let Ok((socket, _)) = listener.accept() {
                if stopped.load(Ordering::Acquire) {
                    return;
                }
                let number = accepted.fetch_add(1, Ordering::AcqRel);
                socket.set_nodelay(true).expect("nodelay");
                open.lock().expect("not poisoned").insert(number, socket.try_clone().expect("a descriptor"));
                let (serve, open) = (Arc::clone(&serve), Arc::clone(&open));
                thread::spawn(move || {
                    serve(number, socket);
                    // The clone would keep it open.
                    open.lock().expect("not poisoned").remove(&number);
                });
            }
        });
        server
    }

    /// Answers every request on every connection with the same body, for as long as the client likes.
    pub fn answering(body: &'static str) -> Self {
        Self::start(move |_, mut socket| {
            while Request::read(&mut socket).is_some() {
                answer(&mut socket, body);
            }
        })
    }

    /// Reads requests and never answers.
    pub fn silent() -> Self {
        Self::start(|_, mut socket| while Request::read(&mut socket).is_some() {})
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn uri(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Connections so far.
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::Acquire)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Release);
        drop(TcpStream::connect(self.address));
        for (_, socket) in self.open.lock().expect("not poisoned").drain() {
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
    }
}

/// A request as it came over the wire.
pub struct Request {
    pub head: String,
    pub body: Vec<u8>,
}

impl Request {
    /// The next one; `None` when the client has closed the connection.
    pub fn read(socket: &mut impl Read) -> Option<Self> {
        let mut request = Self::read_head(socket)?;
        if let Some(length) = request.header("content-length") {
            request.body = vec![0; length.parse().expect("a length")];
            socket.read_exact(&mut request.body).ok()?;
        } else if request.header("transfer-encoding").is_some() {
            request.body = read_chunks(socket)?;
        }
        Some(request)
    }

    /// The next one without its body, which stays in the socket.
    pub fn read_head(socket: &mut impl Read) -> Option<Self> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if !matches!(socket.read(&mut byte), Ok(1)) {
                return None;
            }
            head.push(byte[0]);
        }
        Some(Self { head: String::from_utf8(head).expect("a head in ASCII"), body: Vec::new() })
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub fn line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }
}

fn read_chunks(socket: &mut impl Read) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            let mut byte = [0];
            socket.read_exact(&mut byte).ok()?;
            line.push(byte[0]);
        }
        let length = String::from_utf8(line).ok()?;
        let length = usize::from_str_radix(length.trim(), 16).ok()?;
        let mut chunk = vec![0; length + 2];
        socket.read_exact(&mut chunk).ok()?;
        if length == 0 {
            return Some(body);
        }
        body.extend_from_slice(&chunk[..length]);
    }
}

/// A whole answer of status 200. The client may be gone by now.
pub fn answer(socket: &mut impl Write, body: &str) {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let _ = socket.write_all(head.as_bytes());
}

/// Blocks until the client has closed the connection, in order or not.
pub fn closed_by_client(socket: &mut impl Read) {
    let mut rest = [0; 1024];
    while matches!(socket.read(&mut rest), Ok(read) if read > 0) {}
}

/// Closes with a reset instead of in order.
pub fn reset(socket: &TcpStream) {
    rustix::net::sockopt::set_socket_linger(socket, Some(std::time::Duration::ZERO)).expect("linger");
}
