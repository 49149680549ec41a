use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use async_channel::{Receiver, Sender};
use async_executor::Executor;
use async_io::Async;
use sqs_lease_core::Moment;

use crate::fault::Fault;
use crate::http;
use crate::model::{Error, Model, Settings};
use crate::service::{Caller, Reply, Service};
use crate::wire::{Action, Request};

/// A simulated SQS on loopback, for the SDK of any language.
///
/// It listens on 127.0.0.1 and nowhere else, speaks AWS JSON 1.0 without TLS, and takes any credentials. It runs on threads of
/// its own (two unless told otherwise, however many long polls wait), so that it works under every runtime and under none.
/// Dropping it closes all connections and ends the threads.
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
        Builder { settings: Settings::default(), port: 0, manual: false, threads: 2 }
    }

    /// Where the server listens: `http://127.0.0.1:PORT`, for a client's `endpoint_url`.
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
        let mut state = self.shared.state();
        let now = state.now();
        let result = look(&mut state.service.model, now);
        state.service.handle_timeout(now);
        self.shared.answer(state);
        result
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
        self.shared.advance(by);
    }

    /// Lets something go wrong with the requests that come from now on.
    pub fn inject(&self, fault: Fault) {
        self.shared.state().service.faults.push(fault);
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
#[derive(Clone, Debug)]
pub struct Builder {
    settings: Settings,
    port: u16,
    manual: bool,
    threads: usize,
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

    /// Listens, and starts the threads.
    ///
    /// # Errors
    /// The port is taken, or the system gives no socket or thread.
    pub fn start(self) -> io::Result<Server> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, self.port)))?;
        let port = listener.local_addr()?.port();
        let listener = Async::new(listener)?;
        let endpoint_url = format!("http://127.0.0.1:{port}");
        let mut settings = self.settings.endpoint(&*endpoint_url);
        if !self.manual
            && let Ok(since_1970) = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)
        {
            settings = settings.unix_origin(since_1970);
        }
        let (news, heard) = async_channel::bounded(1);
        let state = State {
            service: Service::new(Model::new(settings)),
            started: (!self.manual).then(Instant::now),
            ahead: Duration::ZERO,
            alarm: None,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), news });
        let executor = Arc::new(Executor::new());
        executor.spawn(http::accept(listener, shared.clone(), Arc::downgrade(&executor))).detach();
        if !self.manual {
            executor.spawn(keep_time(shared.clone(), heard)).detach();
        }
        let (running, closed) = async_channel::bounded::<Infallible>(1);
        // From here on a failure drops the server, which ends the threads that did start.
        let mut server = Server { shared, endpoint_url, port, threads: Vec::new(), running };
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

/// What the connections, the timer and the server's owner share.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Tells the timer that something is due earlier than it thinks.
    news: Sender<()>,
}

struct State {
    service: Service<Waiting>,
    /// None with a manual clock.
    started: Option<Instant>,
    /// How far the clock was put forward.
    ahead: Duration,
    /// What the timer waits for.
    alarm: Option<Moment>,
}

/// A connection that waits for its answer.
pub(crate) struct Waiting(Sender<Reply>);

impl Caller for Waiting {
    fn is_gone(&self) -> bool {
        self.0.is_closed()
    }
}

impl State {
    fn now(&self) -> Moment {
        Moment::ORIGIN + (self.started.map_or(Duration::ZERO, |at| at.elapsed()) + self.ahead)
    }
}

impl Shared {
    /// Carries a request out, now or later. No answer means that the server is going away.
    pub(crate) async fn call(&self, request: Request) -> Option<Reply> {
        let (sender, receiver) = async_channel::bounded(1);
        {
            let mut state = self.state();
            let now = state.now();
            state.service.handle_request(request, Waiting(sender), now);
            self.answer(state);
        }
        receiver.recv().await.ok()
    }

    pub(crate) fn advance(&self, by: Duration) {
        let mut state = self.state();
        let target = state.now() + by;
        while let Some(at) = state.service.poll_timeout().filter(|at| *at <= target) {
            state.service.handle_timeout(at);
        }
        state.ahead += by;
        state.service.handle_timeout(target);
        self.answer(state);
    }

    /// A panic under the lock is a bug of this crate; whoever comes next should see that one, not a poisoned lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands out the answers that are there, and sets the timer to what comes next.
    fn answer(&self, mut state: MutexGuard<'_, State>) {
        while let Some((Waiting(sender), reply)) = state.service.poll_reply() {
            // A caller that has gone needs no answer.
            let _ = sender.try_send(reply);
        }
        let next = state.service.poll_timeout();
        let is_earlier = next.is_some_and(|next| state.alarm.is_none_or(|alarm| next < alarm));
        if is_earlier && state.started.is_some() {
            // A full channel has told the timer already.
            let _ = self.news.try_send(());
        }
    }
}

/// Does what is due when it is due, by the real clock.
async fn keep_time(shared: Arc<Shared>, news: Receiver<()>) {
    loop {
        let wait = {
            let mut state = shared.state();
            let now = state.now();
            state.service.handle_timeout(now);
            state.alarm = state.service.poll_timeout();
            let wait = state.alarm.map(|at| at.since(now));
            shared.answer(state);
            wait
        };
        let timer = async {
            match wait {
                Some(wait) => async_io::Timer::after(wait).await,
                None => std::future::pending().await,
            };
            Ok(())
        };
        if futures_lite::future::or(timer, news.recv()).await.is_err() {
            return;
        }
    }
}
