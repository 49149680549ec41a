use std::fmt;
use std::time::Duration;

use sqs_lease_core::{Ended, Moment, StopReason};

/// The loss of a delivery: somebody else may have it now.
///
/// ```
/// # use sqs_lease_driver::{ChangeVisibility, Queue, ReceiptHandle, Reply};
/// # struct Jobs;
/// # impl Queue for Jobs {
/// #     async fn change_visibility(&self, _: Vec<ChangeVisibility>) -> Reply { Reply::Done }
/// #     async fn delete(&self, _: Vec<ReceiptHandle>) -> Reply { Reply::Done }
/// # }
/// use std::time::Duration;
/// use sqs_lease_driver::{Keeper, NoRuntime, Receipt, Received, Settings, StopReason, Visibility};
///
/// let keeper = Keeper::new(Jobs, NoRuntime::new(), Settings::new());
/// // Held half a minute after its timeout had run out.
/// let received = Received::new(keeper.now() - Duration::from_secs(60), Visibility::new(30)?);
/// let delivery = keeper.hold(Receipt::new("AQEB…", received), ());
/// let worked = futures_executor::block_on(delivery.keep(async { panic!("no step is taken after a loss") }));
/// let loss: sqs_lease_driver::Loss = worked.unwrap_err();
/// assert_eq!(loss.reason, StopReason::Expired);
/// println!("given up: {loss}");
/// # Ok::<(), sqs_lease_driver::VisibilityError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the delivery was lost at {at}: {}", why(*reason))]
#[non_exhaustive]
pub struct Loss {
    /// Why.
    pub reason: StopReason,
    /// When, on the keeper's clock.
    pub at: Moment,
}

impl From<Ended> for Loss {
    fn from(ended: Ended) -> Self {
        Self { reason: ended.reason, at: ended.at }
    }
}

/// Why a settle did not end as it was asked for.
///
/// ```
/// use sqs_lease_driver::{Delivery, SettleError};
///
/// async fn done(delivery: &Delivery<String>) {
///     match delivery.delete().await {
///         Ok(()) => {}
///         // The work is done, and may be done again: by whoever has the message now, or gets it next.
///         Err(SettleError::Lost { late, .. }) => eprintln!("lost before the delete: {late}"),
///         Err(SettleError::NotConfirmed { .. }) => eprintln!("perhaps deleted"),
///         // A handler that released its message deletes it, too: a mistake in this program.
///         Err(error) => eprintln!("{error}"),
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettleError {
    /// The delivery was lost before it was settled; somebody else may have the message.
    #[error("the delivery was lost {ago:?} before: {}; {late}", why(*reason))]
    Lost {
        /// Why.
        reason: StopReason,
        /// How long before the settle.
        ago: Duration,
        /// What became of the late delete.
        late: LateDelete,
    },
    /// The lease ended before SQS confirmed the settle. It may or may not have happened.
    #[error("SQS did not confirm in time: {}", why(*reason))]
    NotConfirmed {
        /// How the lease ended.
        reason: StopReason,
    },
    /// It was settled before, in another way.
    #[error("the delivery is settled already: {how}")]
    AlreadySettled {
        /// How.
        how: StopReason,
    },
    /// The loop that sends the calls has died.
    #[error("nothing drives the keeper any more: its loop ended or panicked")]
    Abandoned,
}

impl SettleError {
    /// The error of a settle that was asked for after the end.
    pub(crate) fn after(ended: Ended, wanted: StopReason, now: Moment, late: LateDelete) -> Self {
        let reason = ended.reason;
        if reason.is_loss() || (reason == StopReason::ZeroTimeout && wanted == StopReason::Released) {
            Self::Lost { reason, ago: now - ended.at, late }
        } else if reason == StopReason::ZeroTimeout {
            Self::NotConfirmed { reason }
        } else {
            Self::AlreadySettled { how: reason }
        }
    }
}

/// What became of the one delete that is sent after a loss.
///
/// ```
/// # use sqs_lease_driver::{ChangeVisibility, Queue, ReceiptHandle, Reply};
/// # struct Jobs;
/// # impl Queue for Jobs {
/// #     async fn change_visibility(&self, _: Vec<ChangeVisibility>) -> Reply { Reply::Done }
/// #     async fn delete(&self, _: Vec<ReceiptHandle>) -> Reply { Reply::Done }
/// # }
/// use std::time::Duration;
/// use sqs_lease_driver::{
///     Keeper, LateDelete, NoRuntime, Receipt, Received, SettleError, Settings, Visibility,
/// };
///
/// let keeper = Keeper::new(Jobs, NoRuntime::new(), Settings::new());
/// let received = Received::new(keeper.now() - Duration::from_secs(60), Visibility::new(30)?);
/// let delivery = keeper.hold(Receipt::new("AQEB…", received), ());
/// // `Jobs` says yes to a delete half a minute too late, as a standard queue does.
/// let error = futures_executor::block_on(delivery.delete()).unwrap_err();
/// assert!(matches!(error, SettleError::Lost { late: LateDelete::Accepted, .. }));
/// # Ok::<(), sqs_lease_driver::VisibilityError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LateDelete {
    /// None was sent: on a FIFO queue SQS refuses it, and where SQS said that the delivery is gone there is
    /// nothing to delete.
    NotSent,
    /// SQS accepted it. The message is probably gone; somebody else may be working on it all the same.
    Accepted,
    /// SQS refused it.
    Refused,
    /// No answer came.
    NotAnswered,
}

impl fmt::Display for LateDelete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotSent => "no delete was sent after that",
            Self::Accepted => "SQS accepted a late delete, which proves nothing",
            Self::Refused => "SQS refused a late delete",
            Self::NotAnswered => "a late delete was not answered",
        })
    }
}

fn why(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Limit => "the limit of the lease was reached",
        StopReason::Expired => "its visibility timeout ran out before an extension was acknowledged",
        StopReason::Refused => "SQS said that the delivery is gone",
        StopReason::ZeroTimeout => "it came with a visibility timeout of zero and never was hidden",
        StopReason::Left => "nothing keeps it any more",
        _ => reason.as_str(),
    }
}
