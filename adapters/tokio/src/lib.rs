//! Keeps Amazon SQS deliveries out of other consumers' reach while a slow handler works, on Tokio.
//!
//! The one crate that a Tokio program adds; what else it needs is re-exported: the SDK as [`aws_sdk_sqs`], and
//! [`aws_config`] behind the feature of that name, which is on by default.
//!
//! ```no_run
//! use sqs_lease_tokio::{Options, aws_config, aws_sdk_sqs};
//!
//! # async fn slow(_: &aws_sdk_sqs::types::Message) {}
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = aws_config::load_defaults(aws_config::BehaviorVersion::latest()).await;
//! let client = aws_sdk_sqs::Client::new(&config);
//! let queue_url = "https://sqs.eu-central-1.amazonaws.com/123456789012/jobs";
//! let queue = sqs_lease_tokio::open(client, queue_url, Options::new()).await?;
//! loop {
//!     for delivery in queue.receive_up_to(1).await? {
//!         tokio::spawn(async move {
//!             // As long as this works, no other consumer gets the message.
//!             match delivery.keep(slow(delivery.message())).await {
//!                 Ok(()) => match delivery.delete().await {
//!                     Ok(()) => {}
//!                     Err(error) => eprintln!("done, but {error}"),
//!                 },
//!                 Err(loss) => eprintln!("given up: {loss}"),
//!             }
//!         });
//!     }
//! }
//! # }
//! ```
//!
//! A handler that blocks its thread belongs into [`tokio::task::spawn_blocking`]: the loop that extends is a task
//! like another and needs a thread to run on.
//!
//! What the driver logs and how deliveries are asked and settled stands with [`Delivery`] and
//! [`driver`].
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

/// The program on the crate's page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
