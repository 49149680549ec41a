//! Receives, runs handlers, settles, and stops cleanly.

mod action;
mod options;
mod plan;
mod report;
mod run;
mod work;

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

pub use options::{BackOff, ConsumerOptions, ConsumerOptionsError, LastReceive, OnFailure, Shutdown};
pub use report::{ConsumerError, Report};
use tracing::Span;

use crate::delivery::Delivery;
use crate::keeper::Keeper;
use work::{Boxed, Handler, New, News};

/// Where a [`Consumer`] receives.
///
/// `sqs-lease-sqs` implements it for its `LeaseQueue`; implement it to receive with another client.
///
/// ```
/// use std::io;
/// use sqs_lease_driver::{Delivery, Keeper, Receipt, Source, Visibility};
/// # struct Client;
/// # impl Client {
/// #     async fn receive(&self, max: u8, timeout: u32) -> io::Result<Vec<(String, String)>> { Ok(vec![]) }
/// # }
///
/// struct Jobs {
///     keeper: Keeper,
///     /// Receives by long polls, and gives receipt handles and bodies.
///     client: Client,
/// }
///
/// impl Source for Jobs {
///     type Message = String;
///     type Error = io::Error;
///
///     fn keeper(&self) -> &Keeper {
///         &self.keeper
///     }
///
///     async fn receive(&self, max: u8) -> io::Result<Vec<Delivery<String>>> {
///         let timeout = Visibility::new(30).map_err(io::Error::other)?;
///         let call = self.client.receive(max, timeout.secs());
///         let (answer, received) = self.keeper.receiving(timeout, call).await;
///         let hold = |(handle, body)| self.keeper.hold(Receipt::new(handle, received), body);
///         Ok(answer?.into_iter().map(hold).collect())
///     }
///
///     fn is_transient(&self, error: &io::Error) -> bool {
///         error.kind() != io::ErrorKind::PermissionDenied
///     }
///
///     fn name(&self) -> &str {
///         "jobs"
///     }
/// }
/// ```
pub trait Source: Send + Sync + 'static {
    /// What handlers get to see of a message.
    type Message: Send + Sync + 'static;
    /// Why a receive failed.
    type Error: Error + Send + Sync + 'static;

    /// What keeps the deliveries that it receives.
    fn keeper(&self) -> &Keeper;

    /// Receives up to `max` messages, 1 to 10, and holds them; waits a while where there is none, by a long poll.
    ///
    /// A receive that answers "none" at once is asked again after a second.
    fn receive(
        &self,
        max: u8,
    ) -> impl Future<Output = Result<Vec<Delivery<Self::Message>>, Self::Error>> + Send;

    /// Whether another try may succeed without anybody mending anything.
    fn is_transient(&self, error: &Self::Error) -> bool;

    /// The queue's name, for spans.
    fn name(&self) -> &str;
}

/// Receives messages and runs a handler for each, a bounded number at a time.
///
/// * Each handler is a task of its own, spawned by the runtime's adapter. It gets an `Arc` of its [`Delivery`], and
///   its future is dropped when the delivery is lost.
/// * `Ok` deletes the message. `Err` leaves or releases it, as [set](ConsumerOptions::on_failure). A handler may
///   settle by itself as well, with a delay of its own for instance; that stands. A panic counts as a drop:
///   [`OnDrop`](crate::OnDrop).
/// * It receives no more than can start or is to be [prefetched](ConsumerOptions::prefetch). What waits is held from
///   the receive on; what is lost while it waits is not started.
/// * Where deliveries have a [group](Delivery::group), members of a group are worked on one after another, each after
///   the delete of the one before was confirmed. What stands behind a failed or lost one is not started but released,
///   the last first.
/// * A second delivery of a message that is in work here is left to run out, and logged. One that comes later is
///   handled like any other.
/// * After a receive that brings nothing the next begins a second after that one's begin at the soonest.
/// * A receive that fails is logged and tried again after 1, 2, 4 … at most 30 seconds. Where SQS says that there is
///   no such queue or no permission, it ends [`run`](Self::run) with that error.
///
/// ```
/// # use std::sync::Arc;
/// # use sqs_lease_driver::{Consumer, ConsumerOptions, Delivery, Shutdown, Source};
/// # async fn example<S: Source<Message = String>>(source: S, spawn: fn(sqs_lease_driver::Task)) {
/// let consumer = Consumer::new(source, spawn, ConsumerOptions::new(), |delivery: Arc<Delivery<String>>| async move {
///     println!("{}, held for {:?}", delivery.message(), delivery.remaining());
///     Ok::<(), std::io::Error>(())
/// });
/// let stop = consumer.stopper();
/// // Elsewhere, for instance at a signal: stop.shutdown(Shutdown::ReleaseUnstarted, Duration::from_secs(30))
/// match consumer.run().await {
///     Ok(report) => println!("stopped: {report}"),
///     Err(error) => eprintln!("{error}"),
/// }
/// # }
/// ```
pub struct Consumer<S: Source> {
    source: Arc<S>,
    spawn: Arc<dyn Fn(Task) + Send + Sync>,
    handler: Handler<S::Message>,
    options: ConsumerOptions,
    news: Arc<News>,
    on_span: Option<OnSpan<S::Message>>,
}

type OnSpan<M> = Arc<dyn Fn(&Span, &Delivery<M>) + Send + Sync>;

/// A task for a runtime to spawn.
///
/// ```
/// use sqs_lease_driver::Task;
///
/// /// What [`Consumer::new`](sqs_lease_driver::Consumer::new) takes as `spawn` in a program without a runtime.
/// fn spawn(task: Task) {
///     std::thread::spawn(|| futures_executor::block_on(task));
/// }
/// # spawn(Box::pin(async {}));
/// ```
pub type Task = Boxed<()>;

impl<S: Source> Consumer<S> {
    /// A consumer of a queue. `spawn` must run a task to its end, whatever becomes of the caller; it must not run it
    /// on the spot.
    pub fn new<H, F, E>(
        source: S,
        spawn: impl Fn(Task) + Send + Sync + 'static,
        options: ConsumerOptions,
        handler: H,
    ) -> Self
    where
        H: Fn(Arc<Delivery<S::Message>>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), E>> + Send + 'static,
    {
        let handler: Handler<S::Message> = Arc::new(move |delivery| {
            let worked = handler(delivery);
            Box::pin(async move { worked.await.is_ok() })
        });
        let (source, spawn, news) = (Arc::new(source), Arc::new(spawn), Arc::default());
        Self { source, spawn, handler, options, news, on_span: None }
    }

    /// Gives each handler's [span](Delivery::span) to a function before the handler begins, to link it to the trace of
    /// the sender for instance: `tracing` itself has no links.
    ///
    /// With `tracing-opentelemetry` that is `span.add_link(…)`, with the context out of
    /// [`trace_parent`](Delivery::trace_parent) or out of the message's own attributes; the example `open_telemetry` of
    /// `sqs-lease-tokio` does it. A function that panics is logged, and its handler begins all the same.
    #[must_use]
    pub fn on_span(self, on_span: impl Fn(&Span, &Delivery<S::Message>) + Send + Sync + 'static) -> Self {
        Self { on_span: Some(Arc::new(on_span)), ..self }
    }

    /// What stops it, from anywhere.
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.news))
    }

    /// Receives and handles until it is [stopped](Stopper::shutdown) or may not receive.
    ///
    /// It spawns the keeper's loop, and a task for each handler. Dropping it stops receiving; handlers that run go
    /// on and settle, and what waits is dropped.
    ///
    /// # Errors
    /// There is no such queue, or no permission to receive: at once where nothing is in work, else after at most 30 s
    /// in which running handlers may end. Or the keeper's loop has died.
    pub fn run(self) -> impl Future<Output = Result<Report, ConsumerError<S::Error>>> + Send {
        run::run(self)
    }
}

/// Stops a [`Consumer`]. Clones stop the same one.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use futures_executor::block_on;
/// use sqs_lease_driver::{Consumer, ConsumerOptions, Delivery, Shutdown};
/// # use sqs_lease_driver::*;
/// # struct Nowhere;
/// # impl Queue for Nowhere {
/// #     async fn change_visibility(&self, _: Vec<ChangeVisibility>) -> Reply { Reply::Done }
/// #     async fn delete(&self, _: Vec<ReceiptHandle>) -> Reply { Reply::Done }
/// # }
/// # struct Empty(Keeper);
/// # impl Source for Empty {
/// #     type Message = String;
/// #     type Error = std::io::Error;
/// #     fn keeper(&self) -> &Keeper { &self.0 }
/// #     async fn receive(&self, _: u8) -> Result<Vec<Delivery<String>>, std::io::Error> { Ok(vec![]) }
/// #     fn is_transient(&self, _: &std::io::Error) -> bool { true }
/// #     fn name(&self) -> &str { "empty" }
/// # }
/// # let source = Empty(Keeper::new(Nowhere, NoRuntime::new(), Settings::new()));
/// # let spawn = |task| drop(std::thread::spawn(|| block_on(task)));
///
/// let handler = |delivery: Arc<Delivery<String>>| async move {
///     println!("work on {}", delivery.message());
///     Ok::<(), std::io::Error>(())
/// };
/// let consumer = Consumer::new(source, spawn, ConsumerOptions::new(), handler);
/// let stopper = consumer.stopper();
/// std::thread::spawn(move || {
///     // When the program is to end:
///     stopper.shutdown(Shutdown::ReleaseUnstarted, Duration::from_secs(30));
/// });
/// let report = block_on(consumer.run())?;
/// assert!(report.interrupted.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stopper(Arc<News>);

impl Stopper {
    /// Stops receiving, and lets the consumer's `run` end when everything is settled, after `grace` at the latest.
    ///
    /// After the grace time the handlers that still run are dropped, and what is left is released, or left under
    /// [`Shutdown::Leave`]; `run` waits up to 10 s more for SQS to confirm the releases. What became of each message
    /// is in the [`Report`], by message id.
    ///
    /// Called again it takes the place of the first call: a second Ctrl-C may ask for
    /// [`ReleaseAll`](Shutdown::ReleaseAll) at once. The grace time never gets longer.
    pub fn shutdown(&self, how: Shutdown, grace: Duration) {
        self.0.tell(New::Shutdown(how, grace));
    }
}

impl<S: Source> fmt::Debug for Consumer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer")
            .field("queue", &self.source.name())
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
