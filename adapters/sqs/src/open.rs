use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::Client;
use sqs_lease_driver::{Keeper, OnDrop, Policy, Runtime, SetPolicy, Settings, Visibility};

use crate::calls::SqsQueue;
use crate::error::{OpenError, OptionsError};
use crate::redrive::Redrive;
use crate::timeout::Timeout;

/// A queue of Amazon SQS whose deliveries are kept from the receive on.
///
/// Clones are the same queue.
///
/// On a simulated SQS, without a runtime and with nothing spawned:
///
/// ```
/// use sqs_lease_sqs::driver::NoRuntime;
/// use sqs_lease_sqs::{LeaseQueue, Options};
///
/// let server = sqs_lease_sim::Server::builder().start()?;
/// let queue_url = server.create_queue("jobs", &[("VisibilityTimeout", "30")])?;
/// server.model(|sqs, now| sqs.send("jobs", "work", now))?;
/// # use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
/// # let config = aws_sdk_sqs::Config::builder()
/// #     .http_client(aws_async_io::Client::builder().without_system_roots().build()?)
/// #     .sleep_impl(aws_async_io::AsyncIoSleep::new())
/// #     .behavior_version(BehaviorVersion::latest())
/// #     .region(Region::new("us-east-1"))
/// #     .credentials_provider(Credentials::new("id", "secret", None, None, "example"))
/// #     .endpoint_url(server.endpoint_url());
/// # let client = aws_sdk_sqs::Client::from_conf(config.build());
///
/// futures_executor::block_on(async {
///     let queue = LeaseQueue::open(client, queue_url, Options::new(), NoRuntime::new()).await?;
///     for delivery in queue.receive_up_to(1).await? {
///         // Drives the lease beside the handler.
///         delivery.keep(async { println!("work on {:?}", delivery.message().body()) }).await?;
///         delivery.delete().await?;
///     }
///     assert_eq!(queue.keeper().stats().delete_entries, 1);
///     Ok::<(), Box<dyn std::error::Error>>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct LeaseQueue {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) queue: SqsQueue,
    pub(crate) keeper: Keeper,
    pub(crate) timeout: Timeout,
    pub(crate) redrive: Redrive,
    pub(crate) wait: Duration,
}

/// How a queue is opened.
///
/// ```
/// use std::time::Duration;
/// use sqs_lease_sqs::Options;
/// use sqs_lease_sqs::driver::{OnDrop, Policy, SetPolicy, Visibility};
///
/// let options = Options::new()
///     // Named, so that `sqs:GetQueueAttributes` is not needed.
///     .visibility_timeout(Visibility::new(60)?)
///     // A handler that hangs does not hide its message for longer.
///     .policy(Policy::new().max_hold(Duration::from_secs(3600))?)
///     // Each extension exactly in the middle, in a call of its own if need be.
///     .calls(SetPolicy::new().coalesce(0)?)
///     // A handler that panics gives its message back, ten seconds later.
///     .on_drop(OnDrop::Release(Visibility::new(10)?));
/// # let _ = options;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Options {
    settings: Settings,
    visibility_timeout: Option<Visibility>,
    max_receive_count: Option<u32>,
    wait: Duration,
}

/// The longest that SQS lets a receive wait.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

impl Options {
    /// The queue's own visibility timeout, long polls of 20 s, the default policy.
    pub fn new() -> Self {
        Self {
            settings: Settings::new(),
            visibility_timeout: None,
            max_receive_count: None,
            wait: LONGEST_WAIT,
        }
    }

    /// The visibility timeout to ask for with every receive; by default the queue's own, which takes the
    /// permission `sqs:GetQueueAttributes`.
    #[must_use]
    pub fn visibility_timeout(self, timeout: Visibility) -> Self {
        Self { visibility_timeout: Some(timeout), ..self }
    }

    /// `maxReceiveCount` of the queue's redrive policy; by default it is read from the queue where
    /// `sqs:GetQueueAttributes` is allowed. With it a loss and a shutdown say that a message goes to the dead-letter
    /// queue.
    ///
    /// # Errors
    /// Not 1 to 1000, the range that SQS takes.
    pub fn max_receive_count(self, max_receive_count: u32) -> Result<Self, OptionsError> {
        if !(1..=1000).contains(&max_receive_count) {
            return Err(OptionsError::MaxReceiveCount(max_receive_count));
        }
        Ok(Self { max_receive_count: Some(max_receive_count), ..self })
    }

    /// How long a receive waits for a message: whole seconds, 0 to 20; by default 20.
    ///
    /// # Errors
    /// More than the 20 s that SQS allows, or not whole seconds.
    pub fn wait(self, wait: Duration) -> Result<Self, OptionsError> {
        if wait > LONGEST_WAIT || wait.subsec_nanos() != 0 {
            return Err(OptionsError::Wait(wait));
        }
        Ok(Self { wait, ..self })
    }

    /// What leases ask for.
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        Self { settings: self.settings.policy(policy), ..self }
    }

    /// How leases share calls.
    #[must_use]
    pub fn calls(self, calls: SetPolicy) -> Self {
        Self { settings: self.settings.calls(calls), ..self }
    }

    /// What becomes of a delivery whose handle is dropped.
    #[must_use]
    pub fn on_drop(self, on_drop: OnDrop) -> Self {
        Self { settings: self.settings.on_drop(on_drop), ..self }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

/// Checks that a client brings what it needs where no Tokio runtime is: an HTTP client and a sleep.
///
/// Without them the SDK falls back to those of Tokio, in any program in which some crate has enabled them, and panics
/// at the first request.
///
/// # Errors
/// Which one is missing.
///
/// ```
/// use aws_async_io::AsyncIoSleep;
/// use aws_sdk_sqs::config::{BehaviorVersion, Region};
/// use aws_sdk_sqs::{Client, Config};
/// use sqs_lease_sqs::{OpenError, check_off_tokio};
///
/// let config = || {
///     let config = Config::builder().sleep_impl(AsyncIoSleep::new());
///     config.behavior_version(BehaviorVersion::latest()).region(Region::new("us-east-1"))
/// };
/// let client = Client::from_conf(config().build());
/// assert_eq!(check_off_tokio(&client), Err(OpenError::NoHttpClient));
///
/// let http = aws_async_io::Client::builder().without_system_roots().build()?;
/// let client = Client::from_conf(config().http_client(http).build());
/// assert_eq!(check_off_tokio(&client), Ok(()));
/// # Ok::<(), aws_async_io::BuildError>(())
/// ```
pub fn check_off_tokio(client: &Client) -> Result<(), OpenError> {
    if client.config().http_client().is_none() {
        return Err(OpenError::NoHttpClient);
    }
    if client.config().sleep_impl().is_none() {
        return Err(OpenError::NoSleep);
    }
    Ok(())
}

impl LeaseQueue {
    /// Opens a queue on any runtime. Spawn [`keeper().run()`](Keeper::run) afterwards; the adapters do both.
    ///
    /// # Errors
    /// The visibility timeout is not named, and cannot be read or there is no such queue. With a named timeout nothing
    /// is read here: a wrong URL shows at the first receive. Or the client panicked, as the SDK's own HTTP client does
    /// outside a Tokio runtime ([`check_off_tokio`] tells before).
    pub async fn open(
        client: Client,
        queue_url: impl Into<Arc<str>>,
        options: Options,
        runtime: impl Runtime,
    ) -> Result<Self, OpenError> {
        let queue = SqsQueue::new(client, queue_url);
        let redrive = Redrive::new(options.max_receive_count, queue.queue_url());
        let timeout = Timeout::open(options.visibility_timeout, &queue, &redrive, runtime.now()).await?;
        let keeper = Keeper::new(queue.clone(), runtime, options.settings);
        Ok(Self { inner: Arc::new(Inner { queue, keeper, timeout, redrive, wait: options.wait }) })
    }

    /// What keeps its deliveries.
    pub fn keeper(&self) -> &Keeper {
        &self.inner.keeper
    }

    /// The client.
    pub fn client(&self) -> &Client {
        self.inner.queue.client()
    }

    /// Its URL.
    pub fn queue_url(&self) -> &str {
        self.inner.queue.queue_url()
    }
}

impl fmt::Debug for LeaseQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseQueue")
            .field("queue_url", &self.queue_url())
            .field("timeout", &self.inner.timeout)
            .field("keeper", &self.inner.keeper)
            .finish_non_exhaustive()
    }
}
