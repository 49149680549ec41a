//! **async-std is discontinued** (RUSTSEC-2025-0052): there will be no fixes, not even for security. For a new program
//! take smol and `sqs-lease-smol`, which has the same API; async-std's own authors point there. This crate is for
//! programs that are not there yet, and it works.
//!
//! Keeps Amazon SQS deliveries out of other consumers' reach while a slow handler works, on async-std, with no Tokio
//! runtime.
//!
//! The one crate that an async-std program adds; what else it needs is re-exported: the SDK as [`aws_sdk_sqs`], and
//! [`aws_config`] behind the feature of that name, which is on by default. The calls go through the official SDK, over
//! [`aws_async_io`] in place of the SDK's own HTTP client and timers, which would end in "there is no reactor
//! running".
//!
//! ```no_run
//! use sqs_lease_async_std::{Options, aws_sdk_sqs};
//!
//! # async fn slow(_: &aws_sdk_sqs::types::Message) {}
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! async_std::task::block_on(async {
//!     let config = sqs_lease_async_std::config_loader()?.load().await;
//!     let client = aws_sdk_sqs::Client::new(&config);
//!     let queue_url = "https://sqs.eu-central-1.amazonaws.com/123456789012/jobs";
//!     let queue = sqs_lease_async_std::open(client, queue_url, Options::new()).await?;
//!     loop {
//!         for delivery in queue.receive_up_to(1).await? {
//!             sqs_lease_async_std::spawn(async move {
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
//! })
//! # }
//! ```
//!
//! A client that was built by hand needs both an HTTP client and a sleep; [`open`] refuses one that lacks either.
//! [`config_loader`] and [`client_config`] set both.
//!
//! What the driver logs and how deliveries are asked and settled stands with [`Delivery`] and [`driver`]. What the
//! HTTP client does and does not (HTTP/1.1, no proxy) stands with [`aws_async_io`].
#![forbid(unsafe_code)]

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use aws_async_io::{AsyncIoSleep, BuildError};
use aws_sdk_sqs::types::Message;

pub use aws_async_io;
pub use aws_sdk_sqs;
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

use sqs_lease_driver::{BootClock, Runtime};

/// The timers of async-io, which are those of async-std, and a clock that counts suspension.
#[derive(Clone, Copy, Debug, Default)]
pub struct AsyncStdRuntime(BootClock);

impl AsyncStdRuntime {
    /// The runtime.
    pub fn new() -> Self {
        Self::default()
    }
}

/// What the timers cannot represent is far enough.
const FOREVER: Duration = Duration::from_hours(365 * 24);

impl Runtime for AsyncStdRuntime {
    fn now(&self) -> Moment {
        self.0.now()
    }

    fn sleep_until(&self, at: Moment) -> impl Future<Output = ()> + Send + use<> {
        let timer = async_io::Timer::after((at - self.now()).min(FOREVER));
        async move {
            timer.await;
        }
    }
}

/// Spawns a task on async-std's global executor. It runs to its end, whatever becomes of the caller: the same in every
/// adapter, where handles differ in what dropping one does.
pub fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    async_std::task::spawn(task);
}

/// An HTTP client that spawns its connections on async-std's global executor.
///
/// # Errors
/// The operating system's root certificates cannot be loaded.
pub fn http_client() -> Result<aws_async_io::Client, BuildError> {
    aws_async_io::Client::builder().spawn(spawn_connection).build()
}

fn spawn_connection(task: aws_async_io::Task) {
    spawn(task);
}

/// The SDK's configuration with an HTTP client and a sleep that need no Tokio runtime; set region and credentials.
///
/// # Errors
/// The operating system's root certificates cannot be loaded.
pub fn client_config() -> Result<aws_sdk_sqs::config::Builder, BuildError> {
    Ok(aws_sdk_sqs::Config::builder().http_client(http_client()?).sleep_impl(AsyncIoSleep::new()))
}

/// The usual chain of credentials, region and endpoint, with an HTTP client and a sleep that need no Tokio runtime.
///
/// # Errors
/// The operating system's root certificates cannot be loaded.
#[cfg(feature = "aws-config")]
pub fn config_loader() -> Result<aws_config::ConfigLoader, BuildError> {
    let config = aws_config::defaults(aws_config::BehaviorVersion::latest());
    Ok(config.http_client(http_client()?).sleep_impl(AsyncIoSleep::new()))
}

/// Opens a queue and spawns the task that keeps its deliveries.
///
/// The task ends when the last [`LeaseQueue`] and the last delivery are gone and everything is sent.
///
/// # Errors
/// The client lacks an HTTP client or a sleep of its own, or the visibility timeout is not named and
/// cannot be read. With a named timeout nothing is read here: a wrong URL shows at the first receive.
pub async fn open(
    client: aws_sdk_sqs::Client,
    queue_url: impl Into<Arc<str>>,
    options: Options,
) -> Result<LeaseQueue, OpenError> {
    sqs_lease_sqs::check_off_tokio(&client)?;
    let queue = LeaseQueue::open(client, queue_url, options, AsyncStdRuntime::new()).await?;
    spawn(queue.keeper().run());
    Ok(queue)
}

/// A consumer of a queue; [run](Consumer::run) it. Each handler is a task of async-std's global executor.
///
/// A handler that blocks its thread belongs into `async_std::task::spawn_blocking`: the executor may have only one.
///
/// ```no_run
/// use std::time::Duration;
/// use sqs_lease_async_std::{ConsumerOptions, LeaseQueue, Shutdown};
///
/// # async fn example(queue: LeaseQueue) -> Result<(), Box<dyn std::error::Error>> {
/// let consumer = sqs_lease_async_std::consumer(queue, ConsumerOptions::new().concurrency(20)?, |delivery| async move {
///     println!("{:?}, held for {:?}", delivery.message().body(), delivery.remaining());
///     Ok::<(), std::io::Error>(())
/// });
/// let stopper = consumer.stopper();
/// // Elsewhere, at a signal: stopper.shutdown(Shutdown::ReleaseUnstarted, Duration::from_secs(30))
/// println!("{}", consumer.run().await?);
/// # Ok(())
/// # }
/// ```
pub fn consumer<F, E>(
    queue: LeaseQueue,
    options: ConsumerOptions,
    handler: impl Fn(Arc<Delivery<Message>>) -> F + Send + Sync + 'static,
) -> Consumer<LeaseQueue>
where
    F: Future<Output = Result<(), E>> + Send + 'static,
{
    Consumer::new(queue, spawn, options, handler)
}

/// The program on the crate's page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
