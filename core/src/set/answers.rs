//! What the answer of a call does to each of its leases.

use super::lane::Closed;
use super::{Event, FailedCall, LeaseSet};
use crate::call::{Answer, Ask, CallId, Entry, LeaseKey};
use crate::failure::Failure;
use crate::lease::machine::Machine;
use crate::slots::Key;
use crate::time::Moment;
use crate::visibility::Visibility;

impl<T> LeaseSet<T> {
    /// Puts in the answer of a call. All its entries are applied before anything falls due in any lease.
    ///
    /// A call that was given up, or an entry whose lease has ended or given this try up, changes nothing.
    pub fn handle_answer(&mut self, call: CallId, answer: Answer<'_>, now: Moment) {
        let now = self.clock.enter(now);
        let Some(open) = self.calls.remove(call.0) else { return };
        self.closing.remove(call.0.slot);
        let how = Closed::by(&answer, open.entries.len());
        // Throttling of an entry alone is the message's own, and waits as the message's own.
        let in_turn = how == Closed::Throttled && self.is_crowd() && self.lane(open.kind).is_crowded();
        // Those that are due at one moment again are scheduled together.
        let mut middle = Moment::ORIGIN;
        let mut extended = ([0; Visibility::BATCH], 0);
        for (index, entry) in open.entries.iter().enumerate() {
            let outcome = answer.of(index, open.entries.len());
            let ordinary = outcome.ok().and_then(|()| self.apply_ordinary(entry, now));
            let Some(at) = ordinary else {
                self.apply(entry, outcome, in_turn, now);
                continue;
            };
            if at != middle {
                self.middles.push_all(extended.0.get(..extended.1).unwrap_or_default(), middle);
                (middle, extended.1) = (at, 0);
            }
            if let Some(place) = extended.0.get_mut(extended.1) {
                *place = entry.key.0.slot;
                extended.1 = extended.1.saturating_add(1);
            }
        }
        self.middles.push_all(extended.0.get(..extended.1).unwrap_or_default(), middle);
        self.closed(open.kind, open.sent, how, now);
    }

    /// Applies an acknowledgement where it is of an ordinary extension; when the next is due then.
    ///
    /// In flight the lease was in no schedule, and waited for no call. Whoever asks schedules it.
    #[inline]
    pub(super) fn apply_ordinary(&mut self, entry: &Entry, now: Moment) -> Option<Moment> {
        let key = entry.key;
        let (lease, terms) = self.leases.compact(key.0)?;
        let it = lease.extended(terms, entry.serial, now)?;
        let (held_until, margin) = (self.clock.outer(it.held_until), it.was_held_until.since(now));
        self.events.push_back(Event::Extended { key, held_until, attempt: 1, margin });
        Some(it.middle)
    }

    /// Applies what became of an entry. `in_turn`: what was throttled goes again when it is its turn.
    pub(super) fn apply(&mut self, entry: &Entry, outcome: Result<(), Failure>, in_turn: bool, now: Moment) {
        let Some(mut machine) = self.leases.load(entry.key.0) else { return };
        let before = Counted::of(&machine);
        let margin = machine.held_until().since(now);
        let counted = machine.answer(entry.serial, outcome, now);
        if counted && in_turn && outcome == Err(Failure::Throttled) {
            machine.again_in_turn(matches!(entry.ask, Ask::Extend { .. }), now);
        }
        match outcome {
            Ok(()) if counted && matches!(entry.ask, Ask::Extend { .. }) => {
                let held_until = self.clock.outer(machine.held_until());
                let attempt = u32::from(before.extension).saturating_add(1);
                self.events.push_back(Event::Extended { key: entry.key, held_until, attempt, margin });
            }
            Err(failure) => self.tell_failures(entry.key.0, &machine, before, failure),
            Ok(()) => {}
        }
        self.put(entry.key.0, &machine, now);
    }

    /// Tells the failures that were counted since `before`.
    pub(super) fn tell_failures(&mut self, key: Key, machine: &Machine, before: Counted, failure: Failure) {
        let after = Counted::of(machine);
        let over = machine.ended().is_some();
        let settle = if machine.is_deleting() { FailedCall::Delete } else { FailedCall::Release };
        for (call, failed, attempt, retry_at) in [
            (
                FailedCall::Extension,
                after.extension != before.extension,
                after.extension,
                machine.extension_retry_at(),
            ),
            (settle, after.settle != before.settle, after.settle, machine.settle_retry_at()),
        ] {
            if failed {
                let retry_at = retry_at.filter(|_| !over).map(|at| self.clock.outer(at));
                let attempt = u32::from(attempt);
                self.events.push_back(Event::Failed { key: LeaseKey(key), call, failure, attempt, retry_at });
            }
        }
    }
}

/// Failures in a row, to see which calls have failed.
#[derive(Clone, Copy)]
pub(super) struct Counted {
    extension: u16,
    settle: u16,
}

impl Counted {
    pub(super) fn of(machine: &Machine) -> Self {
        Self { extension: machine.extension_failures(), settle: machine.settle_failures() }
    }
}
