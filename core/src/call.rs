use core::fmt;
use core::ops::Deref;

use crate::failure::Failure;
use crate::slots::Key;
use crate::time::Moment;
use crate::visibility::Visibility;

impl Visibility {
    /// How many entries SQS takes in a batch.
    pub(crate) const BATCH: usize = 10;
}

/// Names a lease of a [`LeaseSet`](crate::LeaseSet). It outlives the lease harmlessly: it then finds nothing.
///
/// ```
/// use sqs_lease_core::{LeaseSet, Moment, Policy, Received, SetPolicy, Visibility};
///
/// let at = Moment::from_secs;
/// let mut set = LeaseSet::new(SetPolicy::new());
/// let key = set.insert(&Policy::new(), Received::new(at(0), Visibility::new(30)?), "receipt handle", at(0));
/// assert_eq!(set.remove(key), Some("receipt handle"));
/// assert!(set.get(key).is_none());
/// # Ok::<(), sqs_lease_core::VisibilityError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseKey(pub(crate) Key);

impl fmt::Debug for LeaseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LeaseKey({}.{})", self.0.slot, self.0.generation)
    }
}

/// Names a call of a [`LeaseSet`](crate::LeaseSet). A stale one is harmless.
///
/// ```
/// use sqs_lease_core::{Answer, LeaseSet, Moment, Policy, Received, SetPolicy, Visibility};
///
/// let at = Moment::from_secs;
/// let mut set = LeaseSet::new(SetPolicy::new());
/// let key = set.insert(&Policy::new(), Received::new(at(0), Visibility::new(30)?), "receipt handle", at(0));
/// let call = set.poll_call(at(15)).expect("an extension is due");
/// assert!(set.awaits(call.id));
/// set.handle_answer(call.id, Answer::Done, at(16));
/// assert!(!set.awaits(call.id));
/// # Ok::<(), sqs_lease_core::VisibilityError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub(crate) Key);

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallId({}.{})", self.0.slot, self.0.generation)
    }
}

/// Which SQS call carries the entries.
///
/// ```
/// use sqs_lease_core::{CallKind, LeaseSet, Moment, Policy, Received, SetPolicy, Visibility};
///
/// let at = Moment::from_secs;
/// let mut set = LeaseSet::new(SetPolicy::new());
/// let key = set.insert(&Policy::new(), Received::new(at(0), Visibility::new(30)?), "receipt handle", at(0));
/// set.delete(key, at(3)).expect("it is held");
/// let call = set.poll_call(at(3)).expect("a delete is due");
/// assert_eq!(call.kind, CallKind::Delete);
/// # Ok::<(), sqs_lease_core::VisibilityError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallKind {
    /// `ChangeMessageVisibilityBatch`: extensions and releases.
    ChangeVisibility,
    /// `DeleteMessageBatch`.
    Delete,
}

/// A call of one to ten entries to send.
///
/// Use an entry's index as its entry id: SQS wants ids that are distinct within the request.
///
/// ```
/// use sqs_lease_core::{CallKind, LeaseSet, Moment, Policy, Received, SetPolicy, Visibility};
///
/// let at = Moment::from_secs;
/// let mut set = LeaseSet::new(SetPolicy::new());
/// let key = set.insert(&Policy::new(), Received::new(at(0), Visibility::new(30)?), "receipt handle", at(0));
/// let call = set.poll_call(at(15)).expect("an extension is due");
/// assert_eq!((call.kind, call.entries.len()), (CallKind::ChangeVisibility, 1));
/// assert!(call.answer_by < at(20));
/// # Ok::<(), sqs_lease_core::VisibilityError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Call {
    /// Names the call in its answer.
    pub id: CallId,
    /// Which call.
    pub kind: CallKind,
    /// Without an answer by then the call has failed: end it. An answer that comes later changes nothing.
    pub answer_by: Moment,
    /// What it is to carry.
    pub entries: Entries,
}

/// The entries of a call: 1 to 10, each lease at most once. A slice of [`Entry`].
///
/// ```
/// use sqs_lease_core::{LeaseSet, Moment, Policy, Received, SetPolicy, Visibility};
///
/// let at = Moment::from_secs;
/// let mut set = LeaseSet::new(SetPolicy::new());
/// let key = set.insert(&Policy::new(), Received::new(at(0), Visibility::new(30)?), "receipt handle", at(0));
/// let call = set.poll_call(at(15)).expect("an extension is due");
/// for (id, entry) in call.entries.iter().enumerate() {
///     println!("entry {id}: {:?}", entry.ask);
/// }
/// # Ok::<(), sqs_lease_core::VisibilityError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Entries {
    entries: [Entry; Visibility::BATCH],
    len: u8,
}

impl Entries {
    pub(crate) const EMPTY: Self = Self { entries: [Entry::NONE; Visibility::BATCH], len: 0 };

    pub(crate) fn room(&self) -> usize {
        Visibility::BATCH.saturating_sub(usize::from(self.len))
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        usize::from(self.len) == Visibility::BATCH
    }

    #[inline]
    pub(crate) fn push(&mut self, entry: Entry) {
        if let Some(it) = self.entries.get_mut(usize::from(self.len)) {
            *it = entry;
            self.len = self.len.saturating_add(1);
        }
    }
}

impl Deref for Entries {
    type Target = [Entry];

    #[inline]
    fn deref(&self) -> &[Entry] {
        self.entries.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl<'a> IntoIterator for &'a Entries {
    type Item = &'a Entry;
    type IntoIter = core::slice::Iter<'a, Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for Entries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// What a call asks for one lease.
///
/// ```
/// use sqs_lease_core::{LeaseSet, Moment, Policy, Received, SetPolicy, Visibility};
///
/// let at = Moment::from_secs;
/// let mut set = LeaseSet::new(SetPolicy::new());
/// let key = set.insert(&Policy::new(), Received::new(at(0), Visibility::new(30)?), "receipt handle", at(0));
/// let call = set.poll_call(at(15)).expect("an extension is due");
/// let entry = call.entries[0];
/// assert_eq!(set.get(entry.key), Some(&"receipt handle"));
/// assert_eq!(entry.visibility(), Some(Visibility::new(30)?));
/// # Ok::<(), sqs_lease_core::VisibilityError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Whose.
    pub key: LeaseKey,
    /// What.
    pub ask: Ask,
    pub(crate) serial: u32,
}

impl Entry {
    const NONE: Self =
        Self { key: LeaseKey(Key { slot: u32::MAX, generation: 0 }), ask: Ask::Delete, serial: 0 };

    /// `VisibilityTimeout` of a `ChangeMessageVisibilityBatch` entry; `None` for a delete.
    ///
    /// Always send it: SQS takes an entry without one, and what that does is not documented.
    pub const fn visibility(&self) -> Option<Visibility> {
        match self.ask {
            Ask::Extend { by, .. } => Some(by),
            Ask::Release { after } => Some(after),
            Ask::Delete => None,
        }
    }
}

/// What is asked for one lease.
///
/// ```
/// use sqs_lease_core::{Ask, LeaseSet, Moment, Policy, Received, SetPolicy, Visibility};
///
/// let at = Moment::from_secs;
/// let mut set = LeaseSet::new(SetPolicy::new());
/// let key = set.insert(&Policy::new(), Received::new(at(0), Visibility::new(30)?), "receipt handle", at(0));
/// let call = set.poll_call(at(15)).expect("an extension is due");
/// match call.entries[0].ask {
///     Ask::Extend { by, warns, .. } => assert_eq!((by.secs(), warns), (30, false)),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), sqs_lease_core::VisibilityError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ask {
    /// Hide the message for `by` from the call.
    Extend {
        /// For how long.
        by: Visibility,
        /// Whether it is the final extension: it reaches the limit, and nothing can follow.
        is_final: bool,
        /// Whether to warn that the lease will end at the limit: set on the first final extension.
        warns: bool,
    },
    /// Make the message visible again.
    Release {
        /// In how many seconds; 0 is at once.
        after: Visibility,
    },
    /// Delete the message.
    Delete,
}

/// What SQS, or the network, answered to a call.
///
/// ```
/// use sqs_lease_core::{Answer, Event, Failure, LeaseSet, Moment, Policy, Received, SetPolicy, Visibility};
///
/// let at = Moment::from_secs;
/// let mut set = LeaseSet::new(SetPolicy::new());
/// let key = set.insert(&Policy::new(), Received::new(at(0), Visibility::new(30)?), "receipt handle", at(0));
/// let call = set.poll_call(at(15)).expect("an extension is due");
/// // SQS refused the one entry: the delivery is gone.
/// set.handle_answer(call.id, Answer::Entries(&[Some(Err(Failure::Gone))]), at(16));
/// assert!(matches!(set.poll_event(at(16)), Some(Event::Failed { failure: Failure::Gone, .. })));
/// # Ok::<(), sqs_lease_core::VisibilityError>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Answer<'a> {
    /// An answer with an outcome for each entry, by the entry's index. `None`: the answer did not mention it,
    /// which counts as [`Failure::Transient`]; so does an index past the end.
    Entries(&'a [Option<Result<(), Failure>>]),
    /// Every entry was done.
    Done,
    /// The whole call failed. For a call of several entries read the error with
    /// [`Scope::Batch`](crate::Scope::Batch): nothing it says is about one delivery.
    Failed(Failure),
}

impl Answer<'_> {
    pub(crate) fn of(&self, index: usize, entries: usize) -> Result<(), Failure> {
        match self {
            Self::Done => Ok(()),
            Self::Entries(outcomes) => {
                outcomes.get(index).copied().flatten().unwrap_or(Err(Failure::Transient))
            }
            Self::Failed(Failure::Gone | Failure::Limit) if entries > 1 => Err(Failure::Denied),
            Self::Failed(failure) => Err(*failure),
        }
    }
}
