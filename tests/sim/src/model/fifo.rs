//! What a FIFO queue remembers for five minutes: deduplication ids, and receives that can be repeated.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use sqs_lease_core::Moment;

use super::message::{Delivery, MessageId};

/// How long both are remembered.
const WINDOW: Duration = Duration::from_mins(5);

/// The five minutes of deduplication and of receive attempts. Deleting a message does not shorten its deduplication; a
/// purge of the queue ends it.
#[derive(Default)]
pub(crate) struct Windows {
    sent: HashMap<Key, (MessageId, u128)>,
    sent_order: VecDeque<(Moment, Key)>,
    attempts: HashMap<Arc<str>, Attempt>,
    attempt_order: VecDeque<(Moment, Arc<str>)>,
}

/// A deduplication id, within a message group where the queue's scope says so.
pub(crate) type Key = (Option<Arc<str>>, Arc<str>);

/// A receive that came with an id.
#[derive(Clone)]
pub(crate) struct Attempt {
    pub(crate) began: Moment,
    pub(crate) numbers: Vec<u64>,
    pub(crate) deliveries: Vec<Delivery>,
}

impl Windows {
    pub(crate) fn settle(&mut self, now: Moment) {
        while let Some((at, _)) = self.sent_order.front()
            && *at + WINDOW <= now
            && let Some((_, key)) = self.sent_order.pop_front()
        {
            self.sent.remove(&key);
        }
        while let Some((at, _)) = self.attempt_order.front()
            && *at + WINDOW <= now
            && let Some((at, id)) = self.attempt_order.pop_front()
        {
            // The id may have been used again since.
            if self.attempts.get(&id).is_some_and(|attempt| attempt.began == at) {
                self.attempts.remove(&id);
            }
        }
    }

    /// The message that was sent under this deduplication id before.
    pub(crate) fn sent(&self, key: &Key) -> Option<(MessageId, u128)> {
        self.sent.get(key).copied()
    }

    pub(crate) fn note_sent(&mut self, key: Key, id: MessageId, sequence: u128, now: Moment) {
        self.sent.insert(key.clone(), (id, sequence));
        self.sent_order.push_back((now, key));
    }

    /// After a purge nothing counts as sent before.
    pub(crate) fn forget_sent(&mut self) {
        self.sent.clear();
        self.sent_order.clear();
    }

    pub(crate) fn attempt(&self, id: &str) -> Option<&Attempt> {
        self.attempts.get(id)
    }

    pub(crate) fn note_attempt(&mut self, id: Arc<str>, attempt: Attempt) {
        self.attempt_order.push_back((attempt.began, Arc::clone(&id)));
        self.attempts.insert(id, attempt);
    }

    /// A message of that receive was deleted, or its visibility changed: the id is of no use any more.
    pub(crate) fn end_attempt(&mut self, id: Option<&str>) {
        if let Some(id) = id {
            self.attempts.remove(id);
        }
    }
}
