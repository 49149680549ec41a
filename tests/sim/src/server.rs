use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use async_channel::Sender;
use async_executor::Executor;
use async_io::Async;
use sqs_lease_core::Moment;

use crate::fault::Fault;
use crate::http;
use crate::model::{Error, Model, Settings};
use crate::shared::{Shared, keep_time};
use crate::wire::Action;

/// A simulated SQS on loopback, for the SDK of any language.
///
/// It listens on 127.0.0.1 unless it is told otherwise, speaks AWS JSON 1.0 without TLS, and takes any credentials: a
/// request has to be signed, and nobody checks by whom. It runs on threads of its own (two unless told otherwise, however many
/// long polls wait), so that it works under every runtime and under none. Dropping it closes all connections and ends the threads.
///
/// Tests in other languages do over HTTP what the methods here do: `GET /` on it says how.
///
/// ```
/// use sqs_lease_sim::{Receive, Server};
///
/// let server = Server::builder().start()?;
/// let url = server.create_queue("jobs", &[("VisibilityTimeout", "2")])?;
/// assert_eq!(url, format!("{}/000000000000/jobs", server.endpoint_url()));
///
/// // An SDK client that is given `endpoint_url` and any credentials works on this queue now. The test
/// // itself can look at the model behind it, or act on it, without a request:
/// server.model(|model, now| model.send("jobs", "work", now))?;
/// let delivery = server.model(|model, now| model.receive("jobs", &Receive::new(), now))?.remove(0);
/// assert_eq!(&*delivery.body, "work");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Server {
    shared: Arc<Shared>,
    endpoint_url: String,
    port: u16,
    threads: Vec<JoinHandle<()>>,
    /// The threads end when this is closed.
    running: Sender<Infallible>,
}

impl Server {
    /// A server that is still to be told how it differs from SQS.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Where a client on this machine finds the server: `http://127.0.0.1:PORT` as a rule, for its `endpoint_url`.
    pub fn endpoint_url(&self) -> &str {
        &self.endpoint_url
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Creates a queue and returns its URL.
    ///
    /// # Errors
    /// Those of [`Model::create_queue`].
    pub fn create_queue(&self, name: &str, attributes: &[(&str, &str)]) -> Result<String, Error> {
        self.model(|model, now| model.create_queue(name, attributes, now))
    }

    /// Looks at the model, or acts on it, at the server's time. Every request waits as long as this takes.
    ///
    /// Long polls learn what has become visible.
    pub fn model<R>(&self, look: impl FnOnce(&mut Model, Moment) -> R) -> R {
        self.shared.with(|state, now| look(&mut state.service.model, now))
    }

    /// The server's time. Its origin is the server's start.
    pub fn now(&self) -> Moment {
        self.shared.state().now()
    }

    /// Puts the server's clock forward: the only way that a manual clock moves; a real one goes on from there.
    ///
    /// Whatever falls due on the way happens at its own time and in order: each long poll gets its message at the moment at
    /// which that becomes visible. When this returns, all of it has happened, and the answers are on their way.
    pub fn advance(&self, by: Duration) {
        self.shared.with(|state, _| state.advance(by));
    }

    /// Lets something go wrong with the requests that come from now on.
    pub fn inject(&self, fault: Fault) {
        self.shared.state().service.faults.add(fault);
    }

    /// Takes all faults back. What one holds up already stays held up.
    pub fn clear_faults(&self) {
        self.shared.state().service.faults.clear();
    }

    /// How many requests of this operation have come over the network, refused ones included.
    pub fn calls(&self, action: Action) -> u64 {
        self.shared.state().service.calls(action)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.running.close();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so on standard error.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("endpoint_url", &self.endpoint_url).finish_non_exhaustive()
    }
}

/// How a [`Server`] is to be started.
///
/// ```
/// use std::time::Duration;
/// use sqs_lease_sim::{Server, Settings};
///
/// // Ten minutes instead of 12 hours, five messages in flight at most, and a clock that the test moves.
/// let settings = Settings::default().in_flight_limit(5);
/// let server = Server::builder().settings(settings).limit(Duration::from_mins(10)).manual_clock().start()?;
/// let before = server.now();
/// server.advance(Duration::from_mins(10));
/// assert_eq!(server.now() - before, Duration::from_mins(10));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    settings: Settings,
    address: IpAddr,
    port: u16,
    endpoint: Option<String>,
    is_beyond_loopback_allowed: bool,
    manual: bool,
    threads: usize,
    patience: Duration,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            address: Ipv4Addr::LOCALHOST.into(),
            port: 0,
            endpoint: None,
            is_beyond_loopback_allowed: false,
            manual: false,
            threads: 2,
            patience: Duration::from_mins(1),
        }
    }
}

impl Builder {
    /// The settings of the model: limits, ids, whether it records. The endpoint is the server's own.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// How long after its receive request a message can be held at most, instead of 12 hours.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.settings = self.settings.limit(limit);
        self
    }

    /// The port to listen on, instead of any that is free.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// The address to listen on, instead of 127.0.0.1. One that is not loopback is refused unless
    /// [`Builder::allow_beyond_loopback`] is said, too.
    #[must_use]
    pub fn bind(mut self, address: IpAddr) -> Self {
        self.address = address;
        self
    }

    /// Lets the server listen where other machines reach it. It asks nobody for a password, and whoever reaches it may
    /// move its clock and break its answers: for networks that are closed, such as that of containers.
    #[must_use]
    pub fn allow_beyond_loopback(mut self) -> Self {
        self.is_beyond_loopback_allowed = true;
        self
    }

    /// What queue URLs begin with, instead of the address that the server listens on: how clients elsewhere name it.
    /// Some SDKs send to the queue URL, whatever endpoint they were given.
    #[must_use]
    pub fn endpoint(mut self, url: impl Into<String>) -> Self {
        self.endpoint = Some(url.into());
        self
    }

    /// A clock that stands still until [`Server::advance`] moves it, for hours that pass in no time.
    ///
    /// A long poll waits for the clock, too: one on an empty queue is answered when the test has moved it on.
    #[must_use]
    pub fn manual_clock(mut self) -> Self {
        self.manual = true;
        self
    }

    /// How many threads serve requests: two unless told otherwise, at least one.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// How long the server waits for a slow client, a minute unless told otherwise: for the next request of a connection
    /// with all its headers, for its whole body, and for each step in which the client takes the answer. Then it
    /// closes the connection. Always by the real clock. At least a millisecond.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience.max(Duration::from_millis(1));
        self
    }

    /// Listens, and starts the threads.
    ///
    /// # Errors
    /// The address is not loopback and that was not allowed ([`io::ErrorKind::InvalidInput`]), the port is taken, or
    /// the system gives no socket or thread.
    pub fn start(self) -> io::Result<Server> {
        let asked = SocketAddr::from((self.address, self.port));
        if !(self.address.is_loopback() || self.is_beyond_loopback_allowed) {
            let text = format!(
                "{asked} is not a loopback address, and whoever reaches the server may move its clock: listen on \
                 {}, or allow it (allow_beyond_loopback, --allow-non-loopback)",
                SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let listener = TcpListener::bind(asked)?;
        let bound = listener.local_addr()?;
        let listener = Async::new(listener)?;
        // An unspecified address is none to connect to.
        let found = if bound.ip().is_unspecified() {
            SocketAddr::from((Ipv4Addr::LOCALHOST, bound.port()))
        } else {
            bound
        };
        let endpoint_url = format!("http://{found}");
        let mut settings = self.settings.endpoint(self.endpoint.unwrap_or_else(|| endpoint_url.clone()));
        if !self.manual
            && let Ok(since_1970) = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)
        {
            settings = settings.unix_origin(since_1970);
        }
        let (shared, heard) = Shared::new(Model::new(settings), self.manual);
        let shared = Arc::new(shared);
        let executor = Arc::new(Executor::new());
        let connections = http::accept(listener, shared.clone(), Arc::downgrade(&executor), self.patience);
        executor.spawn(connections).detach();
        if !self.manual {
            executor.spawn(keep_time(shared.clone(), heard)).detach();
        }
        let (running, closed) = async_channel::bounded::<Infallible>(1);
        // From here on a failure drops the server, which ends the threads that did start.
        let mut server = Server { shared, endpoint_url, port: bound.port(), threads: Vec::new(), running };
        for i in 0..self.threads {
            let (executor, closed) = (executor.clone(), closed.clone());
            let run = move || {
                let _ = async_io::block_on(executor.run(closed.recv()));
            };
            server.threads.push(std::thread::Builder::new().name(format!("sqs-lease-sim-{i}")).spawn(run)?);
        }
        Ok(server)
    }
}
