use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use sqs_lease_core::Moment;

use super::error::ErrorKind;
use super::message::MessageId;

/// One thing that happened to a message, and when.
///
/// ```
/// use sqs_lease_sim::{Model, Moment, Receive};
///
/// let at = Moment::from_secs;
/// let mut sqs = Model::default();
/// sqs.create_queue("jobs", &[], at(0))?;
/// let sent = sqs.send("jobs", "work", at(0))?;
/// sqs.receive("jobs", &Receive::new(), at(7))?;
/// let history = sqs.history(sent.message_id);
/// assert_eq!(history.iter().map(|it| it.at).collect::<Vec<_>>(), [at(0), at(7)]);
/// # Ok::<(), sqs_lease_sim::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recorded {
    /// When it happened.
    pub at: Moment,
    /// What happened.
    pub event: Event,
}

/// What can happen to a message.
///
/// A delivery is named by its number among the message's deliveries: the receive count that it came with.
/// That a visibility timeout ran out is no event of its own; it follows from the deadlines.
///
/// ```
/// use sqs_lease_sim::{Event, Model, Moment, Receive};
///
/// let at = Moment::from_secs;
/// let mut sqs = Model::default();
/// sqs.create_queue("jobs", &[("VisibilityTimeout", "30")], at(0))?;
/// let sent = sqs.send("jobs", "work", at(0))?;
/// let job = sqs.receive("jobs", &Receive::new(), at(0))?.remove(0);
/// sqs.change_visibility("jobs", &job.receipt_handle, 30, at(15))?;
///
/// let last = sqs.history(sent.message_id).last().expect("three events");
/// let changed = Event::Changed { delivery: 1, current: 1, from: at(30), to: at(45) };
/// assert_eq!((last.at, &last.event), (at(15), &changed));
/// # Ok::<(), sqs_lease_sim::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Sent to a queue.
    Sent {
        /// The queue's name.
        queue: Arc<str>,
        /// When it can be received first.
        visible_at: Moment,
    },
    /// Received, and hidden from other consumers.
    Received {
        /// Which delivery this was: 1 for the first.
        delivery: u32,
        /// When SQS got the request: the 12 hours count from here.
        requested: Moment,
        /// When the message becomes visible again, if nothing is done.
        until: Moment,
        /// Whether SQS had promised to hide it for longer: a duplicate, or a timeout that ended early, because the
        /// [settings](crate::Settings) ask for some.
        is_injected: bool,
    },
    /// Handed out again, with the same handle, to a FIFO receive that was repeated with its id.
    Repeated {
        /// Which delivery.
        delivery: u32,
        /// When the message becomes visible again now.
        until: Moment,
    },
    /// Hidden for longer or shorter, or made visible, by `ChangeMessageVisibility`.
    Changed {
        /// The delivery whose handle was used.
        delivery: u32,
        /// The latest delivery at that moment. Where it is another one, an old handle changed its deadline.
        current: u32,
        /// The deadline before.
        from: Moment,
        /// The deadline after.
        to: Moment,
    },
    /// A change or a delete with a handle of this message was refused.
    Refused {
        /// The delivery whose handle was used.
        delivery: u32,
        /// What was asked for.
        asked: Asked,
        /// Why not.
        kind: ErrorKind,
    },
    /// Deleted by a consumer.
    Deleted {
        /// The delivery whose handle was used.
        delivery: u32,
        /// The latest delivery at that moment.
        current: u32,
    },
    /// Moved to the dead-letter queue, at the receive that would have been one too many.
    Moved {
        /// The name of the queue it was in.
        from: Arc<str>,
        /// The name of its dead-letter queue.
        to: Arc<str>,
    },
    /// Moved out of a dead-letter queue by a task. From here on it is another message.
    Redriven {
        /// The name of the dead-letter queue.
        from: Arc<str>,
        /// The name of the queue it went to.
        to: Arc<str>,
        /// The message that it is now.
        anew: MessageId,
    },
    /// Its handler works on it no longer, as [`Model::let_go`](crate::Model::let_go) was told.
    LetGo {
        /// The delivery that was held.
        delivery: u32,
    },
    /// Its holder died, as [`Model::crash`](crate::Model::crash) was told.
    Crashed {
        /// The delivery that was held.
        delivery: u32,
    },
    /// Dropped at the end of the queue's retention period.
    Expired,
    /// Dropped by a purge, or with its queue.
    Purged,
}

/// What a consumer asked for with a receipt handle.
///
/// ```
/// use sqs_lease_sim::{Asked, Event, Model, Moment, Receive};
///
/// let at = Moment::from_secs;
/// let mut sqs = Model::default();
/// sqs.create_queue("jobs", &[], at(0))?;
/// let sent = sqs.send("jobs", "work", at(0))?;
/// let job = sqs.receive("jobs", &Receive::new(), at(0))?.remove(0);
/// // Beyond the 12 hours: refused, and recorded with what was asked for.
/// let _ = sqs.change_visibility("jobs", &job.receipt_handle, 43_200, at(10)).unwrap_err();
/// let last = sqs.history(sent.message_id).last().expect("three events");
/// assert!(matches!(last.event, Event::Refused { asked: Asked::Change(43_200), .. }));
/// # Ok::<(), sqs_lease_sim::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Asked {
    /// A visibility timeout of this many seconds.
    Change(i32),
    /// Deletion.
    Delete,
}

/// What happened to each message, the deleted ones included.
pub(crate) struct Truth {
    /// How many events are kept at most; with zero nothing is recorded.
    most: usize,
    kept: usize,
    forgotten: u64,
    by_id: HashMap<MessageId, u64>,
    /// By the messages' numbers, so in the order of their sending.
    stories: BTreeMap<u64, Story>,
}

struct Story {
    id: MessageId,
    events: Vec<Recorded>,
}

impl Truth {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, kept: 0, forgotten: 0, by_id: HashMap::new(), stories: BTreeMap::new() }
    }

    pub(crate) fn is_recording(&self) -> bool {
        self.most > 0
    }

    pub(crate) fn begin(&mut self, number: u64, id: MessageId) {
        if self.is_recording() {
            self.by_id.insert(id, number);
            self.stories.insert(number, Story { id, events: Vec::new() });
        }
    }

    /// Of a message that was forgotten nothing more is noted: half a story would look like a whole one.
    pub(crate) fn record(&mut self, number: u64, event: Event, at: Moment) {
        let Some(story) = self.stories.get_mut(&number) else { return };
        story.events.push(Recorded { at, event });
        self.kept += 1;
        while self.kept > self.most
            && let Some((_, oldest)) = self.stories.pop_first()
        {
            self.by_id.remove(&oldest.id);
            self.kept -= oldest.events.len();
            self.forgotten += 1;
        }
    }

    /// Begins anew: what has been sent so far is not told of any more.
    pub(crate) fn forget(&mut self) {
        self.forgotten += self.stories.len() as u64;
        self.by_id.clear();
        self.stories.clear();
        self.kept = 0;
    }

    /// How many messages there is nothing told of any more.
    pub(crate) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    pub(crate) fn history(&self, id: MessageId) -> &[Recorded] {
        let story = self.by_id.get(&id).and_then(|number| self.stories.get(number));
        story.map_or(&[], |story| story.events.as_slice())
    }

    /// All messages that were ever sent, in that order.
    pub(crate) fn all(&self) -> impl Iterator<Item = (MessageId, &[Recorded])> {
        self.stories.values().map(|story| (story.id, story.events.as_slice()))
    }
}
