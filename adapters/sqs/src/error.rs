use std::time::Duration;

use sqs_lease_driver::Failure;

/// An option out of range. The text names the value and the range.
///
/// ```
/// use std::time::Duration;
/// use sqs_lease_sqs::{Options, OptionsError};
///
/// let wait = Duration::from_secs(30);
/// let error = Options::new().wait(wait).unwrap_err();
/// assert_eq!(error, OptionsError::Wait(wait));
/// assert!(error.to_string().ends_with("whole seconds from 0 to 20"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// A receive that would wait longer than SQS allows, or for a fraction of a second.
    #[error("a wait of {0:?} is out of range: SQS takes whole seconds from 0 to 20")]
    Wait(Duration),
    /// A redrive policy that SQS would not take.
    #[error("a maxReceiveCount of {0} is out of range: SQS takes 1 to 1000")]
    MaxReceiveCount(u32),
}

/// Why a queue could not be opened.
///
/// ```
/// use sqs_lease_sqs::OpenError;
///
/// /// Whether another try may help: what was said may have been the network's doing.
/// fn is_worth_another_try(error: &OpenError) -> bool {
///     matches!(error, OpenError::TimeoutUnknown { .. })
/// }
/// # assert!(!is_worth_another_try(&OpenError::NoSleep));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no runtime on this thread whose timers and tasks could be used.
    #[error(
        "no Tokio runtime runs here: call this inside `#[tokio::main]`, `Runtime::block_on` or a Tokio task"
    )]
    NoRuntime,
    /// The client has no HTTP client of its own. The SDK's default needs a Tokio runtime, and panics without.
    #[error(
        "the SDK client has no HTTP client set (`http_client`): the SDK's default one needs a Tokio runtime; build \
         the configuration with this crate's `config_loader` or `client_config`"
    )]
    NoHttpClient,
    /// The client has no sleep of its own. The SDK's default needs a Tokio runtime, and panics without.
    #[error(
        "the SDK client has no sleep set (`sleep_impl`): the SDK's default one needs a Tokio runtime; build the \
         configuration with this crate's `config_loader` or `client_config`"
    )]
    NoSleep,
    /// There is no such queue.
    #[error("the queue {queue_url} does not exist, or these credentials may not see it ({error})")]
    NoSuchQueue {
        /// The queue that was named.
        queue_url: String,
        /// What SQS said.
        error: String,
    },
    /// The SDK client panicked. Its own HTTP client and timers do outside a Tokio runtime.
    #[error("the SDK client panicked ({0}): its own HTTP client and sleep need a Tokio runtime")]
    ClientPanicked(String),
    /// The visibility timeout was not named and could not be read.
    #[error(
        "the visibility timeout of {queue_url} is neither named nor readable ({error}): name it with \
         `visibility_timeout`, or let these credentials call sqs:GetQueueAttributes"
    )]
    TimeoutUnknown {
        /// The queue that was named.
        queue_url: String,
        /// What SQS, or the network, said.
        error: String,
    },
}

/// Why a receive failed. Its text is one line.
///
/// ```
/// use sqs_lease_sqs::{LeaseQueue, ReceiveError};
///
/// /// Receives for ever. `pause` is a sleep of your runtime.
/// async fn run(queue: &LeaseQueue, pause: impl AsyncFn()) -> Result<(), ReceiveError> {
///     loop {
///         match queue.receive().await {
///             Ok(deliveries) => println!("{} received", deliveries.len()),
///             Err(error) if error.is_transient() => {
///                 eprintln!("{error}");
///                 pause().await;
///             }
///             Err(error) => return Err(error),
///         }
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot receive from {queue_url} ({error}){}", needed(*action))]
#[non_exhaustive]
pub struct ReceiveError {
    /// The queue.
    pub queue_url: String,
    /// What it means: [`Failure::Transient`] and [`Failure::Throttled`] are worth another try, the others need a
    /// person.
    pub failure: Failure,
    /// The IAM action that is missing, where SQS says that access is denied.
    pub action: Option<&'static str>,
    /// What SQS, or the network, said.
    pub error: String,
}

fn needed(action: Option<&str>) -> String {
    action.map_or_else(String::new, |action| format!(": these credentials need {action}"))
}

impl ReceiveError {
    /// Whether another try may succeed without anybody mending anything.
    pub fn is_transient(&self) -> bool {
        matches!(self.failure, Failure::Transient | Failure::Throttled)
    }
}
