//! How leases share calls: which entries a call takes, and what its answer does to each.

use super::{Counted, Event, FailedCall, LeaseSet};
use crate::call::{Ask, CallKind, Entries, Entry, LeaseKey};
use crate::failure::Failure;
use crate::lease::machine::Machine;
use crate::lease::state::{DueSettle, Plan};
use crate::schedule::Taken;
use crate::slots::Key;
use crate::time::{Moment, nanos};
use crate::visibility::Visibility;

/// How many leases are looked at to fill one call.
const LOOKED_AT: usize = 32;

/// A call that is being made up.
pub(super) struct Filling {
    pub(super) kind: CallKind,
    pub(super) entries: Entries,
    /// By when the last of the answers is wanted.
    pub(super) answer_by: Moment,
    /// When the message of the first entry was received, where the others have to be of that receive.
    receive: Option<Moment>,
}

impl Filling {
    pub(super) fn has_room_for(&self, machine: &Machine) -> bool {
        self.receive.is_none_or(|receive| machine.wall() == receive)
    }
}

/// What was looked at and does not fit into this call.
pub(super) struct PassedOver([Option<Taken>; LOOKED_AT], usize);

impl PassedOver {
    pub(super) const fn new() -> Self {
        Self([None; LOOKED_AT], 0)
    }

    pub(super) fn push(&mut self, taken: Taken) {
        if let Some(place) = self.0.get_mut(self.1) {
            *place = Some(taken);
            self.1 = self.1.saturating_add(1);
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.1 >= LOOKED_AT
    }

    /// The last that was pushed comes first.
    pub(super) fn drain(self) -> impl Iterator<Item = Taken> {
        self.0.into_iter().take(self.1).rev().flatten()
    }
}

impl<T> LeaseSet<T> {
    /// Takes the entries of the next call out of their leases; none where there is no call to make.
    pub(super) fn fill(&mut self, kind: CallKind, now: Moment) -> Filling {
        let mut call = Filling { kind, entries: Entries::EMPTY, answer_by: now, receive: None };
        if !self.lane(kind).can_send(now) {
            return call;
        }
        let mut passed_over = PassedOver::new();
        while !call.entries.is_full() && !passed_over.is_full() {
            let leases = &self.leases;
            let lost_at = |slot| {
                let lease = leases.key(slot).and_then(|key| leases.load(key));
                lease.map_or(now, |(machine, _)| machine.held_until())
            };
            let lane = match kind {
                CallKind::ChangeVisibility => &mut self.changes,
                CallKind::Delete => &mut self.deletes,
            };
            let Some(taken) = lane.pop(now, lost_at) else { break };
            let Some(key) = self.leases.key(taken.slot) else { continue };
            let Some((machine, serial)) = self.leases.load(key) else { continue };
            if call.has_room_for(&machine) {
                self.take(key, machine, serial, &mut call, now);
            } else {
                passed_over.push(taken);
            }
        }
        for taken in passed_over.drain() {
            self.lane(kind).put_back(taken);
        }
        self.take_along(&mut call, now);
        let is_awake = !call.entries.is_empty() || self.changes.taken_at == Some(now);
        if kind == CallKind::ChangeVisibility && self.policy.coalesce > 0 && is_awake {
            self.draw_forward(&mut call, now);
        }
        call
    }

    /// Fills the room that is left with leases whose middle is near, the soonest first.
    fn draw_forward(&mut self, call: &mut Filling, now: Moment) {
        let percent = u64::from(self.policy.coalesce);
        let widest = Visibility::MAX.nanos() / 100 * percent;
        let slack = nanos(self.policy.slack);
        let mut passed_over = PassedOver::new();
        let mut looked_at = 0;
        while looked_at < LOOKED_AT && !call.entries.is_full() {
            looked_at = looked_at.saturating_add(1);
            // An empty call is begun only for what is due within the slack of this wake.
            let begins = call.entries.is_empty();
            let reach = now.plus_nanos(if begins { slack } else { widest });
            let Some(taken) = self.middles.pop_due(reach) else { break };
            let Some(key) = self.leases.key(taken.slot) else { continue };
            let Some((machine, serial)) = self.leases.load(key) else { continue };
            let ahead = taken.at.nanos_since(now);
            let is_near = ahead <= slack.min(machine.span() / 100)
                || !begins && ahead <= machine.timeout().nanos() / 100 * percent;
            let sends = || matches!(machine.plan(now), Plan::Extend(_) | Plan::Final(_));
            if is_near && call.has_room_for(&machine) && sends() {
                self.take(key, machine, serial, call, now);
            } else {
                passed_over.push(taken);
            }
        }
        for taken in passed_over.drain() {
            self.middles.put_back(taken);
        }
    }

    /// Takes what the lease wants sent by a call of this kind, worked out anew.
    pub(super) fn take(
        &mut self,
        key: Key,
        mut machine: Machine,
        before: u32,
        call: &mut Filling,
        now: Moment,
    ) {
        let serial = before.wrapping_add(1);
        let taken = match (call.kind, machine.due_settle(now)) {
            (CallKind::Delete, Some(DueSettle::Delete)) => {
                Some((Ask::Delete, machine.take_delete(serial, now)))
            }
            (CallKind::ChangeVisibility, Some(DueSettle::Release)) => {
                let (sent, after) = machine.take_release(serial, now);
                Some((Ask::Release { after }, sent))
            }
            (CallKind::ChangeVisibility, _) if machine.may_extend() => machine
                .take_extension(serial, now)
                .map(|it| (Ask::Extend { by: it.by, is_final: it.is_final, warns: it.warns }, it.sent)),
            _ => None,
        };
        self.put(key, &machine, if taken.is_some() { serial } else { before }, now);
        let Some((ask, sent)) = taken else { return };
        call.entries.push(Entry { key: LeaseKey(key), ask, serial });
        call.answer_by = call.answer_by.max(sent.answer_by);
        if self.policy.same_receive {
            call.receive = Some(machine.wall());
        }
    }

    pub(super) fn apply(&mut self, entry: &Entry, outcome: Result<(), Failure>, now: Moment) {
        let Some((mut machine, serial)) = self.leases.load(entry.key.0) else { return };
        let before = Counted::of(&machine);
        let counted = machine.answer(entry.serial, outcome, now);
        match outcome {
            Ok(()) if counted && matches!(entry.ask, Ask::Extend { .. }) => {
                let held_until = self.clock.outer(machine.held_until());
                let attempt = u32::from(before.extension).saturating_add(1);
                self.events.push_back(Event::Extended { key: entry.key, held_until, attempt });
            }
            Err(failure) => self.tell_failures(entry.key.0, &machine, before, failure),
            Ok(()) => {}
        }
        self.put(entry.key.0, &machine, serial, now);
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
