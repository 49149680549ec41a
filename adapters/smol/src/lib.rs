//! Keeps Amazon SQS deliveries out of other consumers' reach while a slow handler works, on smol, with no Tokio
//! runtime.
//!
//! The one crate that a smol program adds. It calls `ChangeMessageVisibility` in the middle of each visibility timeout,
//! until the delivery is deleted or given back, and tells the handler when the delivery is lost, before SQS hands the
//! message on. The calls go through the official SDK, re-exported as [`aws_sdk_sqs`], over [`aws_async_io`] in place of
//! the SDK's own HTTP client and timers, which would end in "there is no reactor running". [`aws_config`] is behind the
//! feature of that name, which is on by default.
//!
//! # Do you want this crate?
//!
//! | you have | take |
//! | --- | --- |
//! | a smol program that receives from SQS | this crate |
//! | a Tokio program | `sqs-lease-tokio` |
//! | an async-std program | `sqs-lease-async-std`; async-std is discontinued, better move to smol |
//! | another runtime, or none | `sqs-lease-sqs` with the SDK, `sqs-lease-driver` without |
//! | an event loop of your own | `sqs-lease-core` |
//! | another AWS service off Tokio | `aws-async-io` |
//!
//! # A program
//!
//! ```no_run
//! use sqs_lease_smol::{Options, aws_sdk_sqs};
//!
//! async fn slow(_: &aws_sdk_sqs::types::Message) {}
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     smol::block_on(async {
//!         let config = sqs_lease_smol::config_loader()?.load().await;
//!         let client = aws_sdk_sqs::Client::new(&config);
//!         let queue_url = "https://sqs.eu-central-1.amazonaws.com/123456789012/jobs";
//!         let queue = sqs_lease_smol::open(client, queue_url, Options::new()).await?;
//!         loop {
//!             for delivery in queue.receive_up_to(1).await? {
//!                 sqs_lease_smol::spawn(async move {
//!                     // As long as this works, no other consumer gets the message.
//!                     match delivery.keep(slow(delivery.message())).await {
//!                         Ok(()) => match delivery.delete().await {
//!                             Ok(()) => {}
//!                             Err(error) => eprintln!("done, but {error}"),
//!                         },
//!                         Err(loss) => eprintln!("given up: {loss}"),
//!                     }
//!                 });
//!             }
//!         }
//!     })
//! }
//! ```
//!
//! A worker that receives, bounds concurrency, settles and stops cleanly is one call: [`consumer`], and
//! `docs/consumer.md`. `cargo run --example slow_handler_smol` runs a whole program without AWS.
//!
//! # The contract
//!
//! * **A client needs an HTTP client and a sleep.** [`config_loader`] and [`client_config`] set both; [`open`] refuses
//!   a client that lacks either.
//! * **Somebody has to drive.** [`open`] spawns the task that extends; it ends when the last [`LeaseQueue`] and the
//!   last delivery are gone.
//! * **A lease counts from the receive.** Deliveries that wait for a free handler are kept too, but receive only what
//!   can start soon.
//! * **A loss** drops the future given to [`keep`](Delivery::keep). Work that must not be cut off runs beside
//!   [`lost`](Delivery::lost).
//! * **Dropping a delivery** without settling it ends the renewal: the timeout runs out by itself, or, with
//!   [`Options::on_drop`], the message is released. So does a panic of the handler.
//! * **A settle counts from its first poll.** Await it and look at its error: [`SettleError`].
//! * **[`spawn`]** runs a task to its end, whatever becomes of the caller: the same in every adapter. Dropping a smol
//!   task cancels it, dropping a Tokio or async-std handle does not.
//! * **Blocking work** belongs into `smol::unblock`: the executor may have only one thread.
//!
//! Log events have the target `sqs_lease`; the [`driver`]'s page lists them.
//!
//! # Time
//!
//! Deadlines count suspension of the machine on Linux and Android, as SQS does. After one, `is_held` and `remaining`
//! are right at once, `lost` resolves when the task wakes. Sleeps are async-io's.
//!
//! # Limits
//!
//! * A delivery is held for 12 hours at most, less 5 s, or for [`Policy::max_hold`].
//! * Those of the HTTP client: HTTP/1.1 only, and no proxy.
//! * Of credentials, `credential_process` does not work off Tokio: `docs/credentials.md` has a table.
//! * Of Tokio only the feature `sync` is compiled, for types of the SDK's own. Where another crate of the program
//!   enables the SDK's Tokio features, this crate still sets HTTP client and sleep itself; two sources of credentials
//!   then panic, see that table.
//!
//! # What it does not do
//!
//! * A standard queue may rarely deliver a message twice in any case: handlers should bear it.
//! * Numbers come as a snapshot, `queue.keeper().stats()`; exporting them is yours.
//!
//! No `unsafe`. Rust 1.95 or later, and a C compiler for the TLS library. MIT OR Apache-2.0.
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

/// The timers of async-io, which are those of smol, and a clock that counts suspension.
///
/// ```
/// use std::time::Duration;
/// use sqs_lease_smol::SmolRuntime;
/// use sqs_lease_smol::driver::Runtime;
///
/// let runtime = SmolRuntime::new();
/// let begun = runtime.now();
/// smol::block_on(runtime.sleep_until(begun + Duration::from_millis(20)));
/// assert!(runtime.now() - begun >= Duration::from_millis(20));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SmolRuntime(BootClock);

impl SmolRuntime {
    /// The runtime.
    pub fn new() -> Self {
        Self::default()
    }
}

/// What the timers cannot represent is far enough.
const FOREVER: Duration = Duration::from_hours(365 * 24);

impl Runtime for SmolRuntime {
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

/// Spawns a task on smol's global executor. It runs to its end, whatever becomes of the caller: the same in every
/// adapter, where handles differ in what dropping one does.
///
/// ```
/// smol::block_on(async {
///     let (done, finished) = smol::channel::bounded(1);
///     sqs_lease_smol::spawn(async move { done.send("work").await.unwrap_or_default() });
///     assert_eq!(finished.recv().await, Ok("work"));
/// });
/// ```
pub fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    smol::spawn(task).detach();
}

/// An HTTP client that spawns its connections on smol's global executor.
///
/// # Errors
/// The operating system's root certificates cannot be loaded.
///
/// ```no_run
/// use sqs_lease_smol::aws_async_io::AsyncIoSleep;
/// # use sqs_lease_smol::aws_config;
///
/// // For the client of another AWS service in the same program; it shares its connections with nobody.
/// let http = sqs_lease_smol::http_client()?;
/// let config = aws_config::defaults(aws_config::BehaviorVersion::latest());
/// let config = config.http_client(http).sleep_impl(AsyncIoSleep::new());
/// # let _ = config;
/// # Ok::<(), sqs_lease_smol::aws_async_io::BuildError>(())
/// ```
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
///
/// ```
/// use sqs_lease_smol::aws_sdk_sqs::Client;
/// use sqs_lease_smol::aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
///
/// // A client of the simulated SQS.
/// let server = sqs_lease_sim::Server::builder().start()?;
/// let config = sqs_lease_smol::client_config()?
///     .behavior_version(BehaviorVersion::latest())
///     .region(Region::new("us-east-1"))
///     .credentials_provider(Credentials::new("id", "secret", None, None, "example"))
///     .endpoint_url(server.endpoint_url());
/// let client = Client::from_conf(config.build());
/// smol::block_on(client.create_queue().queue_name("jobs").send())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn client_config() -> Result<aws_sdk_sqs::config::Builder, BuildError> {
    Ok(aws_sdk_sqs::Config::builder().http_client(http_client()?).sleep_impl(AsyncIoSleep::new()))
}

/// The usual chain of credentials, region and endpoint, with an HTTP client and a sleep that need no Tokio runtime.
///
/// # Errors
/// The operating system's root certificates cannot be loaded.
///
/// ```no_run
/// use sqs_lease_smol::aws_config::Region;
/// use sqs_lease_smol::aws_sdk_sqs::Client;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let config = sqs_lease_smol::config_loader()?.region(Region::new("eu-central-1")).load().await;
/// let client = Client::new(&config);
/// # let _ = client;
/// # Ok(())
/// # }
/// ```
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
///
/// ```
/// use sqs_lease_smol::Options;
/// use sqs_lease_smol::aws_sdk_sqs::{Client, config::{BehaviorVersion, Credentials, Region}};
///
/// // The simulated SQS in place of AWS.
/// let server = sqs_lease_sim::Server::builder().start()?;
/// let queue_url = server.create_queue("jobs", &[("VisibilityTimeout", "30")])?;
/// server.model(|sqs, now| sqs.send("jobs", "work", now))?;
/// let config = sqs_lease_smol::client_config()?
///     .behavior_version(BehaviorVersion::latest())
///     .region(Region::new("us-east-1"))
///     .credentials_provider(Credentials::new("id", "secret", None, None, "example"))
///     .endpoint_url(server.endpoint_url());
///
/// smol::block_on(async {
///     let client = Client::from_conf(config.build());
///     let queue = sqs_lease_smol::open(client, queue_url, Options::new()).await?;
///     for delivery in queue.receive_up_to(1).await? {
///         delivery.keep(async { println!("work on {:?}", delivery.message().body()) }).await?;
///         delivery.delete().await?;
///     }
///     Ok::<(), Box<dyn std::error::Error>>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn open(
    client: aws_sdk_sqs::Client,
    queue_url: impl Into<Arc<str>>,
    options: Options,
) -> Result<LeaseQueue, OpenError> {
    sqs_lease_sqs::check_off_tokio(&client)?;
    let queue = LeaseQueue::open(client, queue_url, options, SmolRuntime::new()).await?;
    spawn(queue.keeper().run());
    Ok(queue)
}

/// A consumer of a queue; [run](Consumer::run) it. Each handler is a task of smol's global executor.
///
/// A handler that blocks its thread belongs into `smol::unblock`: the executor may have only one.
///
/// ```no_run
/// use std::time::Duration;
/// use sqs_lease_smol::{ConsumerOptions, LeaseQueue, Shutdown};
///
/// # async fn example(queue: LeaseQueue) -> Result<(), Box<dyn std::error::Error>> {
/// let consumer = sqs_lease_smol::consumer(queue, ConsumerOptions::new().concurrency(20)?, |delivery| async move {
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
