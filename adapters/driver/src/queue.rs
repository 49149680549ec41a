use std::borrow::Cow;
use std::future::Future;

use sqs_lease_core::{Answer, Failure, Visibility};

use crate::receipt::ReceiptHandle;

/// The two calls that the driver needs of an SQS client.
///
/// The driver drops a call's future at the moment by which it wants the answer; dropping must end the request.
/// It relies on no time-out of the client's. Retries of the client's must be off: the lease owns retries, and a
/// request that is repeated behind its back may arrive after a release.
///
/// An error must not carry a receipt handle, and SQS's own texts do: give the [code](Refusal::code) alone.
///
/// ```
/// use sqs_lease_driver::{ChangeVisibility, Queue, ReceiptHandle, Reply};
///
/// /// A queue that says yes to everything.
/// struct Yes;
///
/// impl Queue for Yes {
///     async fn change_visibility(&self, entries: Vec<ChangeVisibility>) -> Reply {
///         for ChangeVisibility { receipt_handle, timeout } in entries {
///             println!("hide {receipt_handle:?} for {timeout}");
///         }
///         Reply::Done
///     }
///
///     async fn delete(&self, entries: Vec<ReceiptHandle>) -> Reply {
///         println!("delete {}", entries.len());
///         Reply::Done
///     }
/// }
/// ```
pub trait Queue: Send + Sync + 'static {
    /// Calls `ChangeMessageVisibilityBatch` with 1 to 10 entries.
    fn change_visibility(&self, entries: Vec<ChangeVisibility>) -> impl Future<Output = Reply> + Send;

    /// Calls `DeleteMessageBatch` with 1 to 10 entries.
    fn delete(&self, entries: Vec<ReceiptHandle>) -> impl Future<Output = Reply> + Send;

    /// Whether it is a FIFO queue: one that refuses a delete after the visibility timeout.
    fn is_fifo(&self) -> bool {
        false
    }
}

/// One entry of a `ChangeMessageVisibilityBatch` call.
///
/// ```
/// use sqs_lease_driver::{ChangeVisibility, Visibility};
///
/// let entry = ChangeVisibility { receipt_handle: "AQEBwJnKyrHigUMZ".into(), timeout: Visibility::new(30)? };
/// // What goes into the request. In a log the handle shows four characters.
/// assert_eq!((entry.receipt_handle.expose(), entry.timeout.secs()), ("AQEBwJnKyrHigUMZ", 30));
/// assert!(!format!("{entry:?}").contains("AQEB"));
/// # Ok::<(), sqs_lease_driver::VisibilityError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeVisibility {
    /// Whose.
    pub receipt_handle: ReceiptHandle,
    /// `VisibilityTimeout`; always send it.
    pub timeout: Visibility,
}

/// What SQS, or the network, answered to a call.
///
/// ```
/// use sqs_lease_driver::{Failure, Refusal, Reply, Scope};
///
/// // Of three entries one was done, one was refused, and one is in neither list of the answer.
/// let code = "ReceiptHandleIsInvalid";
/// let failure = Failure::read(Scope::Entry, Some(400), Some(code), "");
/// let reply = Reply::Entries(vec![Some(Ok(())), Some(Err(Refusal::new(failure, code))), None]);
/// # assert_eq!(failure, Failure::Gone);
/// # assert!(matches!(reply, Reply::Entries(_)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reply {
    /// Every entry was done.
    Done,
    /// An outcome for each entry, in their order. `None`: the answer did not mention it.
    Entries(Vec<Option<Result<(), Refusal>>>),
    /// The whole call failed.
    Failed(Refusal),
}

/// Why a call or an entry failed.
///
/// ```
/// use sqs_lease_driver::{Failure, Refusal};
///
/// let refusal = Refusal::new(Failure::Throttled, "RequestThrottled");
/// assert_eq!(refusal.code, "RequestThrottled");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What it means for the lease.
    pub failure: Failure,
    /// The error code, for the log. Never a text: SQS writes receipt handles into its texts.
    pub code: Cow<'static, str>,
}

impl Refusal {
    /// A refusal with its code.
    pub fn new(failure: Failure, code: impl Into<Cow<'static, str>>) -> Self {
        Self { failure, code: code.into() }
    }
}

impl Reply {
    /// The answer as the core takes it; the outcomes are written into `outcomes`, one for each entry.
    pub(crate) fn answer<'a>(&self, outcomes: &'a mut [Option<Result<(), Failure>>]) -> Answer<'a> {
        match self {
            Self::Done => Answer::Done,
            Self::Entries(entries) => {
                for (outcome, entry) in outcomes.iter_mut().zip(entries) {
                    *outcome = entry.as_ref().map(|it| it.as_ref().map_err(|it| it.failure).copied());
                }
                Answer::Entries(outcomes)
            }
            Self::Failed(refusal) => Answer::Failed(refusal.failure),
        }
    }

    /// The code of an entry's failure.
    pub(crate) fn code(&self, index: usize) -> Option<&str> {
        match self {
            Self::Done => None,
            Self::Entries(entries) => entries.get(index)?.as_ref()?.as_ref().err().map(|it| &*it.code),
            Self::Failed(refusal) => Some(&refusal.code),
        }
    }

    /// Whether an entry was done.
    pub(crate) fn of(&self, index: usize) -> Result<(), Failure> {
        match self {
            Self::Done => Ok(()),
            Self::Entries(entries) => match entries.get(index) {
                Some(Some(outcome)) => outcome.as_ref().map_err(|it| it.failure).copied(),
                _ => Err(Failure::Transient),
            },
            Self::Failed(refusal) => Err(refusal.failure),
        }
    }
}
