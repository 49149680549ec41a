//! One queue's messages and where each stands. Every change of an index is in this file.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use sqs_lease_core::Moment;

use super::attributes::Attributes;
use super::fifo::Windows;
use super::groups::Groups;
use super::message::{MessageId, NewMessage};

/// No handle is of use for longer.
const HANDLES_LIVE: Duration = Duration::from_hours(12);

pub(crate) struct Queue {
    /// Never used again, so that a handle of a deleted queue is not one of its successor.
    pub(crate) id: u32,
    /// What it behaves by.
    pub(crate) attributes: Attributes,
    /// What was set and has not spread yet, and when it will have.
    spreading: Option<(Moment, Attributes)>,
    pub(crate) created: Moment,
    pub(crate) modified: Moment,
    pub(crate) purged: Option<Moment>,
    pub(crate) tags: BTreeMap<String, String>,
    messages: BTreeMap<u64, Stored>,
    /// In the order of sending (available), or by the moment when the message will leave (the other two).
    available: BTreeSet<(Moment, u64)>,
    in_flight: BTreeSet<(Moment, u64)>,
    delayed: BTreeSet<(Moment, u64)>,
    by_age: BTreeSet<(Moment, u64)>,
    /// On a FIFO queue: which of the available messages can be received, and in which order.
    groups: Option<Groups>,
    /// What a FIFO queue remembers for five minutes.
    pub(crate) windows: Windows,
    /// How many messages have ever come in.
    arrivals: u64,
    /// What ended by its retention while in flight, for as long as a handle lives.
    outlived: VecDeque<(Moment, u64)>,
    /// On a FIFO queue: the second of the last calls of each operation, and how many they were.
    pub(crate) paces: HashMap<&'static str, (u64, u32)>,
}

/// A message in its queue.
pub(crate) struct Stored {
    pub(crate) id: MessageId,
    pub(crate) message: NewMessage,
    pub(crate) sent: Moment,
    /// From when on its retention period counts: a FIFO dead-letter queue starts it again, a standard one does not.
    pub(crate) retained_since: Moment,
    pub(crate) first_received: Option<Moment>,
    pub(crate) receive_count: u32,
    pub(crate) dead_letter_source: Option<Arc<str>>,
    /// The receive that it came out with, on a FIFO queue: its id, for a repeated request.
    pub(crate) attempt: Option<Arc<str>>,
    /// When its latest delivery came with a visibility timeout of zero.
    pub(crate) zero_at: Option<Moment>,
    /// Deleted, and SQS has forgotten it: it comes back.
    pub(crate) is_deleted: bool,
    /// When its first delivery was requested, and when its visibility was changed last.
    pub(crate) first_requested: Option<Moment>,
    pub(crate) changed_at: Option<Moment>,
    /// Until when SQS says that it is hidden; injected early or late expiry moves its place, not this.
    pub(crate) promised: Moment,
    /// Its place in the order of the queue.
    order: u64,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Receivable since.
    Available(Moment),
    /// Received, and hidden until.
    InFlight(Moment),
    /// Sent, and not receivable before.
    Delayed(Moment),
}

impl Stored {
    pub(crate) fn new(id: MessageId, message: NewMessage, sent: Moment) -> Self {
        Self {
            id,
            message,
            sent,
            retained_since: sent,
            first_received: None,
            receive_count: 0,
            dead_letter_source: None,
            attempt: None,
            zero_at: None,
            is_deleted: false,
            first_requested: None,
            changed_at: None,
            promised: sent,
            order: 0,
            place: Place::Available(sent),
        }
    }

    /// Whether it is hidden from receives after a receive.
    pub(crate) fn is_in_flight(&self) -> bool {
        matches!(self.place, Place::InFlight(_))
    }

    /// Its place among all messages that ever came to its FIFO queue, as SQS writes it: 20 digits, with gaps.
    pub(crate) fn sequence_number(&self) -> u128 {
        const FIRST: u128 = 18_870_000_000_000_000_000;
        FIRST + u128::from(self.order) * 256
    }
}

impl Queue {
    /// With so many messages that a FIFO queue looks at for free groups.
    pub(crate) fn new(id: u32, attributes: Attributes, window: usize, now: Moment) -> Self {
        Self {
            id,
            groups: attributes.fifo.map(|_| Groups::new(window)),
            spreading: None,
            outlived: VecDeque::new(),
            paces: HashMap::new(),
            windows: Windows::default(),
            arrivals: 0,
            attributes,
            created: now,
            modified: now,
            purged: None,
            tags: BTreeMap::new(),
            messages: BTreeMap::new(),
            available: BTreeSet::new(),
            in_flight: BTreeSet::new(),
            delayed: BTreeSet::new(),
            by_age: BTreeSet::new(),
        }
    }

    /// Brings the indexes to `now`, and returns the messages that outlived their retention with the end of it.
    ///
    /// Where a message stands follows from its deadline alone, so it does not matter how often this is called.
    pub(crate) fn settle(&mut self, now: Moment) -> Vec<(u64, Moment)> {
        let mut outlived = Vec::new();
        self.windows.settle(now);
        if let Some((at, _)) = &self.spreading
            && *at <= now
            && let Some((_, attributes)) = self.spreading.take()
        {
            self.attributes = attributes;
        }
        while self.outlived.front().is_some_and(|(at, _)| *at + HANDLES_LIVE <= now) {
            self.outlived.pop_front();
        }
        let retention = Duration::from_secs(self.attributes.retention.into());
        while let Some(&(sent, number)) = self.by_age.first()
            && sent + retention <= now
        {
            if self.remove(number).is_some_and(|stored| stored.is_in_flight()) {
                self.outlived.push_back((now, number));
            }
            outlived.push((number, sent + retention));
        }
        while let Some(&(until, number)) = self.in_flight.first()
            && until <= now
        {
            self.put(number, Place::Available(until));
        }
        while let Some(&(until, number)) = self.delayed.first()
            && until <= now
        {
            self.put(number, Place::Available(until));
        }
        outlived
    }

    /// The attributes as they were set last, which it may not behave by yet.
    pub(crate) fn newest_attributes(&self) -> &Attributes {
        self.spreading.as_ref().map_or(&self.attributes, |(_, attributes)| attributes)
    }

    /// Takes new attributes, to behave by them from `at` on.
    pub(crate) fn set_attributes(&mut self, attributes: Attributes, at: Moment, now: Moment) {
        self.modified = now;
        if at > now {
            self.spreading = Some((at, attributes));
        } else {
            self.attributes = attributes;
        }
    }

    /// Whether this message was in flight when its retention period ended.
    pub(crate) fn has_outlived(&self, number: u64) -> bool {
        self.outlived.iter().any(|(_, it)| *it == number)
    }

    /// Puts a message in behind all that came before, whatever it was in another queue.
    pub(crate) fn insert(&mut self, number: u64, stored: Stored, place: Place) -> &Stored {
        let order = self.arrivals;
        self.arrivals += 1;
        self.by_age.insert((stored.retained_since, number));
        self.index(place).insert(key(place, number));
        if let (Some(groups), Some(group)) = (&mut self.groups, &stored.message.group) {
            groups.insert(group, order, number, place.is_available());
        }
        self.messages.entry(number).insert_entry(Stored { order, place, ..stored }).into_mut()
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<Stored> {
        let stored = self.messages.remove(&number)?;
        self.by_age.remove(&(stored.retained_since, number));
        self.index(stored.place).remove(&key(stored.place, number));
        if let (Some(groups), Some(group)) = (&mut self.groups, &stored.message.group) {
            groups.remove(group, stored.order);
        }
        self.windows.end_attempt(stored.attempt.as_deref());
        Some(stored)
    }

    /// Puts a message elsewhere; of no effect if it is gone.
    pub(crate) fn put(&mut self, number: u64, place: Place) {
        if let Some(stored) = self.messages.get_mut(&number) {
            let old = std::mem::replace(&mut stored.place, place);
            if let (Some(groups), Some(group)) = (&mut self.groups, &stored.message.group) {
                groups.set_visible(group, stored.order, place.is_available());
                // Received, and hidden for no time.
                if old.is_available() && place.is_available() {
                    groups.move_back(group);
                }
            }
            self.index(old).remove(&key(old, number));
            self.index(place).insert(key(place, number));
        }
    }

    pub(crate) fn message(&self, number: u64) -> Option<&Stored> {
        self.messages.get(&number)
    }

    pub(crate) fn message_mut(&mut self, number: u64) -> Option<&mut Stored> {
        self.messages.get_mut(&number)
    }

    /// The receivable messages: the one that was sent first or, on a FIFO queue, by group and
    /// in order.
    pub(crate) fn available(&self) -> impl Iterator<Item = u64> + '_ {
        let by_group = self.groups.iter().flat_map(Groups::receivable);
        let standard = self.groups.is_none().then_some(&self.available);
        by_group.chain(standard.into_iter().flatten().map(|&(_, number)| number))
    }

    /// The message in flight whose timeout runs out first at `from` or later.
    pub(crate) fn in_flight_from(&self, from: Moment) -> Option<u64> {
        self.in_flight.range((from, 0)..).next().map(|&(_, number)| number)
    }

    /// When the last message in flight becomes visible.
    pub(crate) fn last_in_flight(&self) -> Option<Moment> {
        self.in_flight.last().map(|&(until, _)| until)
    }

    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.messages.keys().copied().collect()
    }

    /// Messages available, in flight and delayed.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        (self.available.len(), self.in_flight.len(), self.delayed.len())
    }

    /// When a message becomes visible by itself next.
    pub(crate) fn next_change(&self) -> Option<Moment> {
        let first = |index: &BTreeSet<(Moment, u64)>| index.first().map(|&(at, _)| at);
        first(&self.in_flight).into_iter().chain(first(&self.delayed)).min()
    }

    fn index(&mut self, place: Place) -> &mut BTreeSet<(Moment, u64)> {
        match place {
            Place::Available(_) => &mut self.available,
            Place::InFlight(_) => &mut self.in_flight,
            Place::Delayed(_) => &mut self.delayed,
        }
    }
}

impl Place {
    fn is_available(self) -> bool {
        matches!(self, Self::Available(_))
    }
}

fn key(place: Place, number: u64) -> (Moment, u64) {
    match place {
        // In the order in which they were sent, however long each has been visible.
        Place::Available(_) => (Moment::ORIGIN, number),
        Place::InFlight(at) | Place::Delayed(at) => (at, number),
    }
}
