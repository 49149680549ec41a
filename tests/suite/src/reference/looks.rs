//! What can be asked of a lease without changing it.

use super::sends::Plan;
use super::{Reference, Time};

impl Reference {
    /// At this instant the lease is over.
    pub fn held_until(&self) -> Time {
        (self.end - self.guard()).min(self.limit)
    }

    /// The earliest instant at which SQS may hand the message on.
    pub fn end(&self) -> Time {
        self.end
    }

    /// The instant past which nothing is extended.
    pub fn limit(&self) -> Time {
        self.limit
    }

    /// The timeout in force, in seconds.
    pub fn timeout(&self) -> u32 {
        self.timeout
    }

    /// Whether the lease is over.
    pub fn is_over(&self) -> bool {
        self.stopped.is_some()
    }

    /// Why it is over, and since when.
    pub fn ended(&self) -> Option<(&'static str, Time)> {
        self.stopped
    }

    /// How long it is held still.
    pub fn remaining(&self, now: Time) -> Time {
        if self.is_over() { 0 } else { (self.held_until() - self.seen.max(now)).max(0) }
    }

    /// Whether a delete or a release was asked for.
    pub fn is_settling(&self) -> bool {
        self.settle.is_some()
    }

    /// When it will be extended, by what, and whether that is the final extension.
    pub fn next(&self) -> Option<(Time, u32, bool)> {
        let mut at = self.due.filter(|_| self.extension_can_go())?.max(self.seen);
        while !self.is_over() && at < self.held_until() {
            match self.plan(at) {
                Plan::Send { by, is_final } => return Some((at, by, is_final)),
                Plan::NotBefore(later) if later > at => at = later,
                Plan::NotBefore(_) | Plan::NoGain => return None,
            }
        }
        None
    }

    /// The next instant at which something happens without an input.
    pub fn wake_up(&self) -> Option<Time> {
        if !self.notices.is_empty() {
            return Some(self.seen);
        }
        if self.is_over() {
            return None;
        }
        let mut first = self.held_until();
        for attempt in [self.in_flight, self.settling].into_iter().flatten() {
            first = first.min(attempt.wanted_by);
        }
        if self.extension_can_go() {
            first = self.due.map_or(first, |due| first.min(due));
        }
        if self.settle_can_go() {
            first = self.settle_due.map_or(first, |due| first.min(due));
        }
        Some(first)
    }
}
