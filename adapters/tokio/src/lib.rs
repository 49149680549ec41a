//! Keeps Amazon SQS deliveries out of other consumers' reach while a slow handler works, on Tokio.
//!
//! The one crate that a Tokio program adds. It calls `ChangeMessageVisibility` in the middle of each visibility
//! timeout, until the delivery is deleted or given back, and tells the handler when the delivery is lost, before SQS
//! hands the message on. It re-exports [`aws_sdk_sqs`] and, behind the feature of that name, which is on by default,
//! [`aws_config`]. The SDK's default features stay off: they bring a second, old HTTP stack.
//!
//! # Do you want this crate?
//!
//! | you have | take |
//! | --- | --- |
//! | a Tokio program that receives from SQS | this crate |
//! | a smol or async-std program | `sqs-lease-smol`, `sqs-lease-async-std` |
//! | another runtime, or none | `sqs-lease-sqs` with the SDK, `sqs-lease-driver` without |
//! | an event loop of your own | `sqs-lease-core` |
//! | a Lambda function, an EventBridge Pipe, an Elastic Beanstalk worker | none: they poll, and own the visibility timeout, themselves |
//!
//! # A program
//!
//! ```no_run
//! use sqs_lease_tokio::{Options, aws_config, aws_sdk_sqs};
//!
//! async fn slow(_: &aws_sdk_sqs::types::Message) {}
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let config = aws_config::load_defaults(aws_config::BehaviorVersion::latest()).await;
//!     let client = aws_sdk_sqs::Client::new(&config);
//!     let queue_url = "https://sqs.eu-central-1.amazonaws.com/123456789012/jobs";
//!     let queue = sqs_lease_tokio::open(client, queue_url, Options::new()).await?;
//!     loop {
//!         for delivery in queue.receive_up_to(1).await? {
//!             tokio::spawn(async move {
//!                 // As long as this works, no other consumer gets the message.
//!                 match delivery.keep(slow(delivery.message())).await {
//!                     Ok(()) => match delivery.delete().await {
//!                         Ok(()) => {}
//!                         Err(error) => eprintln!("done, but {error}"),
//!                     },
//!                     Err(loss) => eprintln!("given up: {loss}"),
//!                 }
//!             });
//!         }
//!     }
//! }
//! ```
//!
//! A worker that receives, bounds concurrency, settles and stops cleanly is one call: [`consumer`], and
//! `docs/consumer.md`. `cargo run --example slow_handler` and `--example worker` run without AWS.
//!
//! # The contract
//!
//! * **Somebody has to drive.** [`open`] spawns the task that extends; it ends when the last [`LeaseQueue`] and the
//!   last delivery are gone.
//! * **A lease counts from the receive.** Deliveries that wait for a free handler are kept too, but receive only what
//!   can start soon.
//! * **A loss** drops the future given to [`keep`](Delivery::keep). Work that must not be cut off runs beside
//!   [`lost`](Delivery::lost).
//! * **Dropping a delivery** without settling it ends the renewal: the timeout runs out by itself, or, with
//!   [`Options::on_drop`], the message is released. So does a panic of the handler.
//! * **A settle counts from its first poll.** Await it and look at its error: [`SettleError`].
//! * **Blocking work** belongs into `tokio::task::spawn_blocking`: the task that extends needs a thread to run on.
//!
//! Log events have the target `sqs_lease`; the [`driver`]'s page lists them.
//!
//! # Time
//!
//! * Deadlines count suspension of the machine on Linux and Android, as SQS does. After one, `is_held` and `remaining`
//!   are right at once, `lost` resolves when the task wakes.
//! * Tests that pause Tokio's clock take [`TokioRuntime::with_tokio_clock`] and a [`Queue`](driver::Queue) of their
//!   own.
//!
//! # Limits
//!
//! * A delivery is held for 12 hours at most, less 5 s, or for [`Policy::max_hold`].
//! * A handler that blocks the only thread of a runtime starves its own lease.
//!
//! # What it does not do
//!
//! * A standard queue may rarely deliver a message twice in any case: handlers should bear it.
//! * Numbers come as a snapshot, `queue.keeper().stats()`; exporting them is yours.
//!
//! No `unsafe`. Rust 1.95 or later, and a C compiler for the TLS library. MIT OR Apache-2.0.
#![forbid(unsafe_code)]

mod runtime;

use std::future::Future;
use std::sync::Arc;

use aws_sdk_sqs::types::Message;
use tokio::runtime::Handle;

pub use aws_sdk_sqs;
pub use runtime::TokioRuntime;
pub use sqs_lease_driver as driver;
pub use sqs_lease_driver::{
    BackOff, Consumer, ConsumerError, ConsumerOptions, ConsumerOptionsError, Delivery, Failure, Keeper,
    LastReceive, LateDelete, Loss, Moment, OnDrop, OnFailure, Policy, PolicyError, Report, SetPolicy,
    SetPolicyError, SettleError, Shutdown, Stats, StopReason, Stopper, TraceParent, Visibility,
    VisibilityError,
};
pub use sqs_lease_sqs::{LeaseQueue, OpenError, Options, OptionsError, ReceiveError, SqsQueue, in_one_line};

#[cfg(feature = "aws-config")]
pub use aws_config;

/// Opens a queue and spawns the task that keeps its deliveries.
///
/// The task ends when the last [`LeaseQueue`] and the last delivery are gone and everything is sent.
///
/// # Errors
/// The visibility timeout is not named, and cannot be read or there is no such queue. With a named timeout nothing is
/// read here: a wrong URL shows at the first receive. Or no Tokio runtime is there.
///
/// ```
/// use sqs_lease_tokio::Options;
/// use sqs_lease_tokio::aws_sdk_sqs::{Client, Config, config::{BehaviorVersion, Credentials, Region}};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // The simulated SQS in place of AWS.
/// let server = sqs_lease_sim::Server::builder().start()?;
/// let queue_url = server.create_queue("jobs", &[("VisibilityTimeout", "30")])?;
/// server.model(|sqs, now| sqs.send("jobs", "work", now))?;
/// let config = Config::builder()
///     .behavior_version(BehaviorVersion::latest())
///     .region(Region::new("us-east-1"))
///     .credentials_provider(Credentials::new("id", "secret", None, None, "example"))
///     .endpoint_url(server.endpoint_url());
///
/// let queue = sqs_lease_tokio::open(Client::from_conf(config.build()), queue_url, Options::new()).await?;
/// for delivery in queue.receive_up_to(1).await? {
///     delivery.keep(async { println!("work on {:?}", delivery.message().body()) }).await?;
///     delivery.delete().await?;
/// }
/// # Ok(())
/// # }
/// ```
pub async fn open(
    client: aws_sdk_sqs::Client,
    queue_url: impl Into<Arc<str>>,
    options: Options,
) -> Result<LeaseQueue, OpenError> {
    let runtime = Handle::try_current().map_err(|_| OpenError::NoRuntime)?;
    let queue = LeaseQueue::open(client, queue_url, options, TokioRuntime::new()).await?;
    runtime.spawn(queue.keeper().run());
    Ok(queue)
}

/// A consumer of a queue; [run](Consumer::run) it. Each handler is a task of this runtime.
///
/// ```no_run
/// use std::time::Duration;
/// use sqs_lease_tokio::{ConsumerOptions, LeaseQueue, Shutdown};
///
/// # async fn example(queue: LeaseQueue) -> Result<(), Box<dyn std::error::Error>> {
/// let consumer = sqs_lease_tokio::consumer(queue, ConsumerOptions::new().concurrency(20)?, |delivery| async move {
///     println!("{:?}, held for {:?}", delivery.message().body(), delivery.remaining());
///     Ok::<(), std::io::Error>(())
/// })?;
/// let stopper = consumer.stopper();
/// tokio::spawn(async move {
///     tokio::time::sleep(Duration::from_secs(3600)).await;
///     stopper.shutdown(Shutdown::ReleaseUnstarted, Duration::from_secs(30));
/// });
/// println!("{}", consumer.run().await?);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// No Tokio runtime is there.
pub fn consumer<F, E>(
    queue: LeaseQueue,
    options: ConsumerOptions,
    handler: impl Fn(Arc<Delivery<Message>>) -> F + Send + Sync + 'static,
) -> Result<Consumer<LeaseQueue>, OpenError>
where
    F: Future<Output = Result<(), E>> + Send + 'static,
{
    let runtime = Handle::try_current().map_err(|_| OpenError::NoRuntime)?;
    let spawn = move |task| drop(runtime.spawn(task));
    Ok(Consumer::new(queue, spawn, options, handler))
}
