//! Where credentials come from, played on loopback: STS, SSO, the container endpoint and the instance metadata service.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use sqs_lease_smol::aws_sdk_sqs::primitives::{DateTime, DateTimeFormat};

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(given, _)| given.eq_ignore_ascii_case(name))?;
        Some(value)
    }

    /// A field of a form, as the query protocol sends it.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        let value = self.body.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
        Some(value.replace("%3A", ":").replace("%2F", "/"))
    }
}

/// How long the credentials that are given last.
const LONG: Duration = Duration::from_hours(1);

#[derive(Debug)]
struct Shared {
    seen: Mutex<Vec<Request>>,
    closing: AtomicBool,
    silent: bool,
    lifetime: Duration,
}

/// The server. Its threads end when it is dropped.
#[derive(Debug)]
pub(crate) struct Fake {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

impl Fake {
    pub(crate) fn start() -> Self {
        Self::new(false, LONG)
    }

    /// Takes every request and answers none.
    pub(crate) fn silent() -> Self {
        Self::new(true, LONG)
    }

    /// Gives credentials that are about to expire.
    pub(crate) fn with_lifetime(lifetime: Duration) -> Self {
        Self::new(false, lifetime)
    }

    fn new(silent: bool, lifetime: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let closing = AtomicBool::new(false);
        let shared = Arc::new(Shared { seen: Mutex::default(), closing, silent, lifetime });
        let accepting = thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Self { address, shared, accepting: Some(accepting) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// What has come until now.
    pub(crate) fn seen(&self) -> Vec<Request> {
        self.shared.seen.lock().unwrap().clone()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut kept = Vec::new();
    for stream in listener.incoming() {
        if shared.closing.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        if shared.silent {
            kept.push(stream);
            continue;
        }
        let shared = Arc::clone(shared);
        thread::spawn(move || serve(&stream, &shared));
    }
}

/// One request for each connection; one that ends early is the client's affair.
fn serve(stream: &TcpStream, shared: &Shared) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
    let Some(request) = read(stream) else { return };
    let (status, headers, body) = answer(&request, shared.lifetime);
    shared.seen.lock().unwrap().push(request);
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n");
    let _ = (&*stream).write_all(format!("{head}{body}").as_bytes());
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut lines = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        lines.read_line(&mut line).ok()?;
        Some(line.trim_end().to_owned())
    };
    let first = line()?;
    let (method, rest) = first.split_once(' ')?;
    let (target, _) = rest.split_once(' ')?;
    let mut headers = Vec::new();
    loop {
        let header = line()?;
        let Some((name, value)) = header.split_once(':') else { break };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let (method, target) = (method.to_owned(), target.to_owned());
    let mut request = Request { method, target, headers, body: String::new() };
    let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    lines.read_exact(&mut body).ok()?;
    request.body = String::from_utf8(body).ok()?;
    Some(request)
}

/// Where the instance metadata service names the role, and under it gives its credentials.
const ROLES: &str = "/latest/meta-data/iam/security-credentials/";

/// Status, further headers, body.
fn answer(request: &Request, lifetime: Duration) -> (&'static str, String, String) {
    let expiry = SystemTime::now() + lifetime;
    let expires = DateTime::from(expiry).fmt(DateTimeFormat::DateTime).unwrap();
    let keys = |id: &str| {
        format!(
            r#"{{"Code":"Success","Type":"AWS-HMAC","LastUpdated":"2020-01-01T00:00:00Z","AccessKeyId":"{id}",
            "SecretAccessKey":"secret","Token":"{id}-token","Expiration":"{expires}"}}"#
        )
    };
    let mut headers = String::new();
    let action = request.field("Action");
    let body = match (&*request.method, &*request.target, action.as_deref()) {
        ("GET", "/container", _) => keys("AKIDCONTAINER"),
        ("PUT", "/latest/api/token", _) => {
            headers.push_str("x-aws-ec2-metadata-token-ttl-seconds: 21600\r\n");
            "metadata-token".to_owned()
        }
        ("GET", path, _) if path == ROLES => "worker".to_owned(),
        ("GET", path, _) if path.strip_prefix(ROLES) == Some("worker") => keys("AKIDINSTANCE"),
        ("GET", path, _) if path.starts_with("/federation/credentials?") => {
            let millis = expiry.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
            format!(
                r#"{{"roleCredentials":{{"accessKeyId":"AKIDSSO","secretAccessKey":"secret",
                "sessionToken":"AKIDSSO-token","expiration":{millis}}}}}"#
            )
        }
        ("POST", "/", Some("AssumeRole")) => assumed("AssumeRole", "AKIDASSUMED", &expires),
        ("POST", "/", Some("AssumeRoleWithWebIdentity")) => {
            assumed("AssumeRoleWithWebIdentity", "AKIDWEB", &expires)
        }
        _ => return ("404 Not Found", headers, String::new()),
    };
    ("200 OK", headers, body)
}

fn assumed(action: &str, id: &str, expires: &str) -> String {
    format!(
        r#"<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{action}Result>
        <AssumedRoleUser><AssumedRoleId>AROA:session</AssumedRoleId>
        <Arn>arn:aws:sts::123456789012:assumed-role/worker/session</Arn></AssumedRoleUser>
        <Credentials><AccessKeyId>{id}</AccessKeyId><SecretAccessKey>secret</SecretAccessKey>
        <SessionToken>{id}-token</SessionToken><Expiration>{expires}</Expiration></Credentials>
        </{action}Result><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></{action}Response>"#
    )
}
