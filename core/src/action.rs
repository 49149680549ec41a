use core::fmt;

use crate::time::Moment;
use crate::visibility::Visibility;

/// What a [`Lease`](crate::Lease) asks its owner to do.
///
/// ```
/// use sqs_lease_core::{Action, Lease, Moment, Policy, Received, Visibility};
///
/// let at = Moment::from_secs;
/// let mut lease = Lease::new(&Policy::new(), Received::new(at(100), Visibility::new(30)?));
/// match lease.poll(at(115)) {
///     Some(Action::Extend(extend)) => println!("ChangeMessageVisibility, {} s", extend.by.secs()),
///     Some(Action::Release { after, .. }) => println!("ChangeMessageVisibility, {} s", after.secs()),
///     Some(Action::Delete(_)) => println!("DeleteMessage"),
///     Some(Action::Stop(reason)) => println!("over: {reason}"),
///     other => println!("{other:?}"),
/// }
/// # Ok::<(), sqs_lease_core::VisibilityError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Call `ChangeMessageVisibility`.
    Extend(Extend),
    /// Call `DeleteMessage`.
    Delete(Attempt),
    /// Call `ChangeMessageVisibility` to give the message back.
    Release {
        /// The call.
        attempt: Attempt,
        /// In how many seconds the message is to be visible; 0 is at once.
        after: Visibility,
    },
    /// Warn that the limit is near and that no extension can move the end any further.
    WarnLimit,
    /// Warn that SQS refuses for a reason that only a person can mend: no permission, no such queue, bad
    /// credentials. Asked for once in a lease.
    WarnDenied,
    /// The lease is over. Nothing is to be sent with this receipt handle any more.
    Stop(StopReason),
}

/// An extension to send.
///
/// ```
/// use sqs_lease_core::{Action, Lease, Moment, Policy, Received, Visibility};
///
/// let at = Moment::from_secs;
/// let mut lease = Lease::new(&Policy::new(), Received::new(at(100), Visibility::new(30)?));
/// let Some(Action::Extend(extend)) = lease.poll(at(115)) else { panic!("the middle of the timeout") };
/// assert_eq!((extend.by.secs(), extend.is_final, extend.warns), (30, false, false));
/// # Ok::<(), sqs_lease_core::VisibilityError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extend {
    /// The call.
    pub attempt: Attempt,
    /// `VisibilityTimeout`: whole seconds that SQS counts from the call.
    pub by: Visibility,
    /// Whether it is the final one: it reaches the limit, and nothing can follow.
    pub is_final: bool,
    /// Whether to warn that the lease will end at the limit: set on the first final extension.
    pub warns: bool,
}

/// One try of a call.
///
/// ```
/// use sqs_lease_core::{Action, Failure, Lease, Moment, Policy, Received, Visibility};
///
/// let at = Moment::from_secs;
/// let mut lease = Lease::new(&Policy::new(), Received::new(at(100), Visibility::new(30)?));
/// let Some(Action::Extend(extend)) = lease.poll(at(115)) else { panic!("the middle of the timeout") };
/// // A third of the 14 s for which it is still held is the call's. No answer by then has failed.
/// assert!(extend.attempt.answer_by < at(120));
/// assert_eq!(lease.poll(extend.attempt.answer_by), None);
/// assert!(!lease.awaits(extend.attempt.id));
/// # Ok::<(), sqs_lease_core::VisibilityError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt {
    /// Names the call in its answer.
    pub id: AttemptId,
    /// Without an answer by then the call has failed: end it. An answer that comes later changes nothing.
    pub answer_by: Moment,
}

/// Names one call of one lease. A stale one is harmless.
///
/// ```
/// use sqs_lease_core::{Action, Lease, Moment, Policy, Received, Visibility};
///
/// let at = Moment::from_secs;
/// let mut lease = Lease::new(&Policy::new(), Received::new(at(100), Visibility::new(30)?));
/// let Some(Action::Extend(extend)) = lease.poll(at(115)) else { panic!("the middle of the timeout") };
/// assert!(lease.awaits(extend.attempt.id));
/// lease.handle_answer(extend.attempt.id, Ok(()), at(116));
/// // A second answer to the same call changes nothing.
/// assert!(!lease.awaits(extend.attempt.id));
/// # Ok::<(), sqs_lease_core::VisibilityError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AttemptId(pub(crate) u32);

/// What a lease will do next, as things stand: "extend at T by N".
///
/// ```
/// use sqs_lease_core::{Lease, Moment, Policy, Received, Visibility};
///
/// let at = Moment::from_secs;
/// let mut lease = Lease::new(&Policy::new(), Received::new(at(100), Visibility::new(30)?));
/// let next = lease.next().expect("an extension is planned");
/// assert_eq!((next.at, next.by.secs(), next.is_final), (at(115), 30, false));
/// # Ok::<(), sqs_lease_core::VisibilityError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Next {
    /// When.
    pub at: Moment,
    /// By how many seconds, were it sent exactly then.
    pub by: Visibility,
    /// Whether it would be the final extension.
    pub is_final: bool,
}

/// Why a lease is over.
///
/// ```
/// use sqs_lease_core::{StopReason};
///
/// assert_eq!(StopReason::Expired.to_string(), "expired");
/// assert!(StopReason::Expired.is_loss());
/// assert!(!StopReason::Deleted.is_loss());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopReason {
    /// The delivery came with a visibility timeout of zero: it never was hidden.
    ZeroTimeout,
    /// The owner let go of it; the timeout runs out by itself.
    Left,
    /// SQS confirmed the delete.
    Deleted,
    /// SQS confirmed that it was given back.
    Released,
    /// The 12 hours, or the owner's own longest hold, are over.
    Limit,
    /// The timeout ran out before an extension was acknowledged.
    Expired,
    /// SQS said that the delivery is gone.
    Refused,
}

impl StopReason {
    /// The reason as one word, for logs and metrics: `expired`, `zero-timeout`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ZeroTimeout => "zero-timeout",
            Self::Left => "left",
            Self::Deleted => "deleted",
            Self::Released => "released",
            Self::Limit => "limit",
            Self::Expired => "expired",
            Self::Refused => "refused",
        }
    }

    /// Whether the message may now be handed to somebody else although its handler did not ask for it.
    pub const fn is_loss(self) -> bool {
        matches!(self, Self::Limit | Self::Expired | Self::Refused)
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How and when a lease ended.
///
/// ```
/// use sqs_lease_core::{StopReason, Lease, Moment, Policy, Received, Visibility};
///
/// let at = Moment::from_secs;
/// let mut lease = Lease::new(&Policy::new(), Received::new(at(100), Visibility::new(30)?));
/// // Nobody looked at it for a minute: it ended when it had to, a second before the 30 s were over.
/// while lease.poll(at(160)).is_some() {}
/// let ended = lease.ended().expect("it is over");
/// assert_eq!((ended.reason, ended.at), (StopReason::Expired, at(129)));
/// # Ok::<(), sqs_lease_core::VisibilityError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Ended {
    /// Why.
    pub reason: StopReason,
    /// When. A lease that ran out ended at its *held until*, however late that was noticed.
    pub at: Moment,
}

/// Why a settle was not taken.
///
/// ```
/// use sqs_lease_core::{SettleError, StopReason, Lease, Moment, Policy, Received, Visibility};
///
/// let at = Moment::from_secs;
/// let mut lease = Lease::new(&Policy::new(), Received::new(at(100), Visibility::new(30)?));
/// let error = lease.delete(at(160)).unwrap_err();
/// let SettleError::Ended(ended) = error else { panic!("{error}") };
/// assert_eq!(ended.reason, StopReason::Expired);
/// # Ok::<(), sqs_lease_core::VisibilityError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettleError {
    /// The lease was over.
    Ended(Ended),
    /// A settle was asked for before; that one stands.
    AlreadySettling,
    /// There is no such lease in the set; it was removed.
    Unknown,
}

impl fmt::Display for SettleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(Ended { reason, at }) => write!(f, "the lease ended at {at}: {reason}"),
            Self::AlreadySettling => f.write_str("the delivery is already being settled"),
            Self::Unknown => f.write_str("there is no such lease in the set"),
        }
    }
}

impl core::error::Error for SettleError {}
