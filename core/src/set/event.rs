use core::time::Duration;

use crate::action::Ended;
use crate::call::{Ask, Entry, LeaseKey};
use crate::failure::Failure;
use crate::time::Moment;

/// Something that happened to a lease of a [`LeaseSet`](super::LeaseSet).
///
/// ```
/// use sqs_lease_core::{Answer, Event, LeaseSet, Moment, Policy, Received, SetPolicy, Visibility};
///
/// let at = Moment::from_secs;
/// let mut set = LeaseSet::new(SetPolicy::new());
/// let key = set.insert(&Policy::new(), Received::new(at(0), Visibility::new(30)?), "receipt handle", at(0));
/// let call = set.poll_call(at(15)).expect("an extension is due");
/// set.handle_answer(call.id, Answer::Done, at(16));
/// let Some(Event::Extended { held_until, attempt, .. }) = set.poll_event(at(16)) else { panic!("it was extended") };
/// assert_eq!((held_until, attempt), (at(44), 1));
/// # Ok::<(), sqs_lease_core::VisibilityError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// An extension was acknowledged.
    Extended {
        /// Whose.
        key: LeaseKey,
        /// Until when the lease is held now.
        held_until: Moment,
        /// Which try it was, from 1.
        attempt: u32,
        /// How long the lease was still held when the acknowledgement came: what was left for another try.
        margin: Duration,
    },
    /// A try of a call failed, or was given up for want of an answer.
    Failed {
        /// Whose.
        key: LeaseKey,
        /// Which of its calls.
        call: FailedCall,
        /// What the failure means.
        failure: Failure,
        /// Which try it was, from 1.
        attempt: u32,
        /// When it is tried again; `None` where no time is left for another try, or no sense in one.
        retry_at: Option<Moment>,
    },
    /// The limit is near and no extension can move the end any further; said once in a lease. Where a final
    /// extension can, the warning travels on it: [`Ask::Extend`].
    LimitNear {
        /// Whose.
        key: LeaseKey,
    },
    /// SQS refuses for a reason that only a person can mend. Said once in a lease, and at most once in 30 s
    /// for all of them.
    Denied {
        /// One of those concerned.
        key: LeaseKey,
        /// How many leases were denied for the first time since this was last said.
        leases: u32,
    },
    /// The lease is over. It can be looked at until it is removed.
    Stopped {
        /// Whose.
        key: LeaseKey,
        /// How and when.
        ended: Ended,
    },
}

/// Extensions that were acknowledged at the first try, by one answer and with the same outcome: what
/// [`LeaseSet::handle_answer_with`](super::LeaseSet::handle_answer_with) tells of.
///
/// ```
/// use sqs_lease_core::{Acknowledged, Answer, LeaseSet, Moment, Policy, Received, SetPolicy, Visibility};
///
/// let at = Moment::from_secs;
/// let mut set = LeaseSet::new(SetPolicy::new());
/// set.insert(&Policy::new(), Received::new(at(0), Visibility::new(30)?), "receipt handle", at(0));
/// let call = set.poll_call(at(15)).expect("an extension is due");
/// let tell = |Acknowledged { entries, held_until, margin, .. }: Acknowledged<'_>| {
///     assert_eq!((entries.len(), held_until, margin), (1, at(44), at(29) - at(16)));
/// };
/// set.handle_answer_with(call.id, Answer::Done, tell, at(16));
/// # Ok::<(), sqs_lease_core::VisibilityError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Acknowledged<'a> {
    /// Whose, and what was asked.
    pub entries: &'a [Entry],
    /// Until when their leases are held now.
    pub held_until: Moment,
    /// How long they were still held when the acknowledgement came.
    pub margin: Duration,
}

/// Which call of a lease failed.
///
/// ```
/// use sqs_lease_core::{Answer, Event, Failure, FailedCall, LeaseSet, Moment, Policy, Received, SetPolicy, Visibility};
///
/// let at = Moment::from_secs;
/// let mut set = LeaseSet::new(SetPolicy::new());
/// let key = set.insert(&Policy::new(), Received::new(at(0), Visibility::new(30)?), "receipt handle", at(0));
/// let call = set.poll_call(at(15)).expect("an extension is due");
/// set.handle_answer(call.id, Answer::Failed(Failure::Transient), at(16));
/// let Some(Event::Failed { call, retry_at, .. }) = set.poll_event(at(16)) else { panic!("it failed") };
/// assert_eq!((call, retry_at), (FailedCall::Extension, Some(at(17))));
/// # Ok::<(), sqs_lease_core::VisibilityError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailedCall {
    /// An extension.
    Extension,
    /// A release.
    Release,
    /// A delete.
    Delete,
}

impl FailedCall {
    /// One word, for logs: `extension`, `release`, `delete`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Extension => "extension",
            Self::Release => "release",
            Self::Delete => "delete",
        }
    }
}

impl From<Ask> for FailedCall {
    fn from(ask: Ask) -> Self {
        match ask {
            Ask::Extend { .. } => Self::Extension,
            Ask::Release { .. } => Self::Release,
            Ask::Delete => Self::Delete,
        }
    }
}
