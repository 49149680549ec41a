//! How leases share calls: which entries a call takes, and what its answer does to each.

use super::{Counted, Event, FailedCall, LeaseSet};
use crate::call::{Ask, CallKind, Entries, Entry, LeaseKey};
use crate::failure::Failure;
use crate::lease::state::{DueSettle, Plan};
use crate::slots::Key;
use crate::time::{Moment, nanos};
use crate::visibility::Visibility;

/// How many leases are looked at to fill one call.
const LOOKED_AT: usize = 32;

impl<T> LeaseSet<T> {
    /// Takes the entries of the next call out of their leases; none where there is no call to make.
    pub(super) fn fill(&mut self, kind: CallKind, now: Moment) -> Entries {
        let mut entries = Entries::EMPTY;
        if !self.lane(kind).can_send(now) {
            return entries;
        }
        while !entries.is_full() {
            let leases = &self.leases;
            let lost_at = |slot| leases.at(slot).map_or(now, |held| held.machine.held_until());
            let lane = match kind {
                CallKind::ChangeVisibility => &mut self.changes,
                CallKind::Delete => &mut self.deletes,
            };
            let Some(slot) = lane.pop(now, lost_at) else { break };
            if let Some((key, _)) = self.leases.at_mut(slot) {
                if let Some(entry) = self.take(key, kind, now) {
                    entries.push(entry);
                }
            }
        }
        self.take_along(kind, &mut entries, now);
        let is_awake = !entries.is_empty() || self.changes.taken_at == Some(now);
        if kind == CallKind::ChangeVisibility && self.policy.coalesce > 0 && is_awake {
            self.draw_forward(&mut entries, now);
        }
        entries
    }

    /// Fills the room that is left with leases whose middle is near, the soonest first.
    pub(super) fn draw_forward(&mut self, entries: &mut Entries, now: Moment) {
        let percent = u64::from(self.policy.coalesce);
        let widest = Visibility::MAX.nanos() / 100 * percent;
        let slack = nanos(self.policy.slack);
        let mut passed_over = [None; LOOKED_AT];
        for place in &mut passed_over {
            // An empty call is begun only for what is due within the slack of this wake.
            let begins = entries.is_empty();
            let reach = now.plus_nanos(if begins { slack } else { widest });
            if entries.is_full() {
                break;
            }
            let Some(node) = self.middles.pop_due(reach) else { break };
            let Some((key, held)) = self.leases.at_mut(node.slot) else { continue };
            let machine = &held.machine;
            let within_slack = node.at.nanos_since(now) <= slack.min(machine.span() / 100);
            let window = machine.timeout().nanos() / 100 * percent;
            let within_window = !begins && node.at.nanos_since(now) <= window;
            let sends = matches!(machine.plan(now), Plan::Extend(_) | Plan::Final(_));
            if sends && (within_slack || within_window) {
                if let Some(entry) = self.take(key, CallKind::ChangeVisibility, now) {
                    entries.push(entry);
                }
            } else {
                *place = Some(node);
            }
        }
        for node in passed_over.into_iter().flatten() {
            self.middles.put_back(node);
        }
    }

    /// Takes what the lease wants sent by a call of this kind, worked out anew.
    pub(super) fn take(&mut self, key: Key, kind: CallKind, now: Moment) -> Option<Entry> {
        let held = self.leases.get_mut(key)?;
        held.serial = held.serial.wrapping_add(1);
        let (serial, machine) = (held.serial, &mut held.machine);
        let ask = match (kind, machine.due_settle(now)) {
            (CallKind::Delete, Some(DueSettle::Delete)) => {
                machine.take_delete(serial, now);
                Some(Ask::Delete)
            }
            (CallKind::ChangeVisibility, Some(DueSettle::Release)) => {
                let (_, after) = machine.take_release(serial, now);
                Some(Ask::Release { after })
            }
            (CallKind::ChangeVisibility, _) if machine.may_extend() => machine
                .take_extension(serial, now)
                .map(|it| Ask::Extend { by: it.by, is_final: it.is_final, warns: it.warns }),
            _ => None,
        };
        self.place(key, now);
        ask.map(|ask| Entry { key: LeaseKey(key), ask, serial })
    }

    /// By when the answer for this entry is wanted.
    pub(super) fn wanted_by(&self, entry: &Entry) -> Option<Moment> {
        self.leases.get(entry.key.0)?.machine.answer_by(entry.serial)
    }

    pub(super) fn apply(&mut self, entry: &Entry, outcome: Result<(), Failure>, now: Moment) {
        let Some(held) = self.leases.get_mut(entry.key.0) else { return };
        let before = Counted::of(&held.machine);
        let counted = held.machine.answer(entry.serial, outcome, now);
        match outcome {
            Ok(()) if counted && matches!(entry.ask, Ask::Extend { .. }) => {
                let held_until = self.clock.outer(held.machine.held_until());
                let attempt = u32::from(before.extension).saturating_add(1);
                self.events.push_back(Event::Extended { key: entry.key, held_until, attempt });
            }
            Err(failure) => self.tell_failures(entry.key.0, before, failure),
            Ok(()) => {}
        }
        self.place(entry.key.0, now);
    }

    /// Tells the failures that were counted since `before`.
    pub(super) fn tell_failures(&mut self, key: Key, before: Counted, failure: Failure) {
        let Some(held) = self.leases.get(key) else { return };
        let machine = &held.machine;
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
