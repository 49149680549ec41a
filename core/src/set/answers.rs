//! What the answer of a call does to each of its leases.

use alloc::collections::VecDeque;

use super::lane::Closed;
use super::{Acknowledged, Event, FailedCall, LeaseSet};
use crate::call::{Answer, Ask, CallId, Entry, LeaseKey};
use crate::failure::Failure;
use crate::lease::machine::Machine;
use crate::lease::machine::compact::Extended;
use crate::slots::Key;
use crate::time::Moment;
use crate::visibility::Visibility;

impl<T> LeaseSet<T> {
    /// Puts in the answer of a call. All its entries are applied before anything falls due in any lease.
    ///
    /// A call that was given up, or an entry whose lease has ended or given this try up, changes nothing.
    pub fn handle_answer(&mut self, call: CallId, answer: Answer<'_>, now: Moment) {
        let each = |events: &mut VecDeque<Event>,
                    Acknowledged { entries, held_until, margin }: Acknowledged<'_>| {
            let attempt = 1;
            events.extend(entries.iter().map(|entry| {
                let key = entry.key;
                Event::Extended { key, held_until, attempt, margin }
            }));
        };
        self.answered(call, answer, each, now);
    }

    /// The same, but of ordinary extensions that were acknowledged it tells at once and together, instead of by an
    /// [`Event::Extended`] for each.
    ///
    /// For owners who only count them: an event for each costs about a tenth of what an extension costs. What is
    /// acknowledged after a failed try, or at the limit, is an event as ever.
    ///
    /// # Panics
    /// Where `extended` does; do not use the set any more then.
    ///
    /// ```
    /// use sqs_lease_core::{Answer, LeaseSet, Moment, Policy, Received, SetPolicy, Visibility};
    ///
    /// let at = Moment::from_secs;
    /// let mut set = LeaseSet::new(SetPolicy::new());
    /// for handle in ["handle a", "handle b"] {
    ///     set.insert(&Policy::new(), Received::new(at(0), Visibility::new(30)?), handle, at(0));
    /// }
    /// let call = set.poll_call(at(15)).expect("two extensions are due");
    /// let mut extended = 0;
    /// set.handle_answer_with(call.id, Answer::Done, |those| extended += those.entries.len(), at(16));
    /// assert_eq!(extended, 2);
    /// assert_eq!(set.poll_event(at(16)), None);
    /// # Ok::<(), sqs_lease_core::VisibilityError>(())
    /// ```
    pub fn handle_answer_with(
        &mut self,
        call: CallId,
        answer: Answer<'_>,
        mut extended: impl FnMut(Acknowledged<'_>),
        now: Moment,
    ) {
        self.answered(call, answer, |_, those| extended(those), now);
    }

    #[inline]
    fn answered(
        &mut self,
        call: CallId,
        answer: Answer<'_>,
        mut extended: impl FnMut(&mut VecDeque<Event>, Acknowledged<'_>),
        now: Moment,
    ) {
        let now = self.clock.enter(now);
        let Some(open) = self.calls.get(call.0).copied() else { return };
        self.calls.discard(call.0);
        self.closing.remove(call.0.slot);
        let entries = &*open.entries;
        let how = Closed::by(&answer, entries.len());
        // Throttling of an entry alone is the message's own, and waits as the message's own.
        let in_turn = how == Closed::Throttled && self.is_crowd() && self.lane(open.kind).is_crowded();
        let mut rest = 0;
        while let Some(entry) = entries.get(rest) {
            let (slots, count, it) = self.apply_alike(&answer, entries, rest, now);
            if let Some(it) = it {
                let those = entries.get(rest..rest.saturating_add(count)).unwrap_or_default();
                let (held_until, margin) = (self.clock.outer(it.held_until), it.was_held_until.since(now));
                // They are due at one moment again.
                self.middles.push_all(slots.get(..count).unwrap_or_default(), it.middle);
                extended(&mut self.events, Acknowledged { entries: those, held_until, margin });
                rest = rest.saturating_add(count);
            } else {
                self.apply(entry, answer.of(rest, entries.len()), in_turn, now);
                rest = rest.saturating_add(1);
            }
        }
        self.closed(open.kind, open.sent, how, now);
    }

    /// Applies acknowledgements of ordinary extensions from one entry on, as long as they do the same: to which slots
    /// of how many entries, and what.
    ///
    /// In flight these leases were in no schedule, and waited for no call. Whoever asks schedules them.
    #[inline]
    fn apply_alike(
        &mut self,
        answer: &Answer<'_>,
        entries: &[Entry],
        from: usize,
        now: Moment,
    ) -> ([u32; Visibility::BATCH], usize, Option<Extended>) {
        let mut slots = [0; Visibility::BATCH];
        let (mut count, mut all) = (0_usize, None);
        let all_are_done = matches!(answer, Answer::Done);
        while let Some(entry) = entries.get(from.saturating_add(count)) {
            if !all_are_done && answer.of(from.saturating_add(count), entries.len()).is_err() {
                break;
            }
            let Some((lease, terms)) = self.leases.compact(entry.key.0) else { break };
            if count == 0 {
                all = terms.of(lease).and_then(|terms| lease.acknowledged(terms, now));
            }
            let Some(it) = all.as_ref().filter(|it| count == 0 || lease.is_extended_as(it)) else { break };
            let own = *lease;
            if !lease.extended(it, || terms.of(&own), entry.serial, now) {
                break;
            }
            if let Some(place) = slots.get_mut(count) {
                *place = entry.key.0.slot;
            }
            count = count.saturating_add(1);
        }
        (slots, count, all.filter(|_| count > 0))
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
                let retry_at = retry_at.map(|at| self.clock.outer(at));
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
