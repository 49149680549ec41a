//! One queue's messages and where each stands. Every change of an index is in this file.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use sqs_lease_core::Moment;

use super::attributes::Attributes;
use super::message::{MessageId, NewMessage};

pub(crate) struct Queue {
    /// Never used again, so that a handle of a deleted queue is not one of its successor.
    pub(crate) id: u32,
    pub(crate) attributes: Attributes,
    pub(crate) created: Moment,
    pub(crate) modified: Moment,
    pub(crate) purged: Option<Moment>,
    pub(crate) tags: BTreeMap<String, String>,
    messages: BTreeMap<u64, Stored>,
    /// Each ordered by the moment the message entered (available) or will leave (the other two).
    available: BTreeSet<(Moment, u64)>,
    in_flight: BTreeSet<(Moment, u64)>,
    delayed: BTreeSet<(Moment, u64)>,
    by_age: BTreeSet<(Moment, u64)>,
}

/// A message in its queue.
pub(crate) struct Stored {
    pub(crate) id: MessageId,
    pub(crate) message: NewMessage,
    pub(crate) sent: Moment,
    pub(crate) first_received: Option<Moment>,
    pub(crate) receive_count: u32,
    pub(crate) dead_letter_source: Option<Arc<str>>,
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
            first_received: None,
            receive_count: 0,
            dead_letter_source: None,
            place: Place::Available(sent),
        }
    }

    /// The moment from which on the message is, or has been, visible.
    pub(crate) fn visible_at(&self) -> Moment {
        match self.place {
            Place::Available(at) | Place::InFlight(at) | Place::Delayed(at) => at,
        }
    }
}

impl Queue {
    pub(crate) fn new(id: u32, attributes: Attributes, now: Moment) -> Self {
        Self {
            id,
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
        let retention = Duration::from_secs(self.attributes.retention.into());
        while let Some(&(sent, number)) = self.by_age.first()
            && sent + retention <= now
        {
            self.remove(number);
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

    pub(crate) fn insert(&mut self, number: u64, stored: Stored, place: Place) {
        self.by_age.insert((stored.sent, number));
        self.messages.insert(number, Stored { place, ..stored });
        self.index(place).insert(key(place, number));
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<Stored> {
        let stored = self.messages.remove(&number)?;
        self.by_age.remove(&(stored.sent, number));
        self.index(stored.place).remove(&key(stored.place, number));
        Some(stored)
    }

    /// Puts a message elsewhere; of no effect if it is gone.
    pub(crate) fn put(&mut self, number: u64, place: Place) {
        if let Some(stored) = self.messages.get_mut(&number) {
            let old = std::mem::replace(&mut stored.place, place);
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

    /// The receivable messages, the one that has been visible for longest first.
    pub(crate) fn available(&self) -> impl Iterator<Item = u64> + '_ {
        self.available.iter().map(|&(_, number)| number)
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

fn key(place: Place, number: u64) -> (Moment, u64) {
    match place {
        Place::Available(at) | Place::InFlight(at) | Place::Delayed(at) => (at, number),
    }
}
