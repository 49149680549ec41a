//! Settles that wait a little for others to share their call.

use super::LeaseSet;
use super::share::{Filling, PassedOver};
use crate::call::CallKind;
use crate::lease::machine::Machine;
use crate::lease::state::DueSettle;
use crate::schedule::Schedule;
use crate::slots::Key;
use crate::time::{Moment, nanos};
use crate::visibility::Visibility;

/// Settles that were asked for and wait for company, by the kind of their call.
#[derive(Clone, Debug, Default)]
pub(super) struct Lingering {
    deletes: Schedule,
    releases: Schedule,
}

/// Of what is left of a lease no more than this part is spent on waiting.
const PART: u64 = 10;

impl Lingering {
    #[inline]
    pub(super) fn of(&mut self, kind: CallKind) -> &mut Schedule {
        match kind {
            CallKind::Delete => &mut self.deletes,
            CallKind::ChangeVisibility => &mut self.releases,
        }
    }

    pub(super) fn remove(&mut self, slot: u32) {
        self.deletes.remove(slot);
        self.releases.remove(slot);
    }

    /// Whether a settle of this kind is still waiting.
    pub(super) fn has(&self, kind: CallKind, slot: u32) -> bool {
        let schedule = match kind {
            CallKind::Delete => &self.deletes,
            CallKind::ChangeVisibility => &self.releases,
        };
        schedule.at(slot).is_some()
    }

    #[inline]
    pub(super) fn pop_due(&mut self, now: Moment) -> Option<u32> {
        self.deletes.pop_due(now).or_else(|| self.releases.pop_due(now)).map(|node| node.slot)
    }

    /// When the first has waited for long enough.
    pub(super) fn due_at(&self) -> Option<Moment> {
        [&self.deletes, &self.releases].into_iter().filter_map(Schedule::first_at).min()
    }
}

impl<T> LeaseSet<T> {
    /// Lets a settle that was just asked for wait. Where that fills a call, all that wait go at once.
    pub(super) fn linger(&mut self, key: Key, machine: &Machine, now: Moment) {
        let linger = nanos(self.policy.linger);
        if linger == 0 {
            return;
        }
        let kind = match machine.due_settle(now) {
            Some(DueSettle::Delete) => CallKind::Delete,
            Some(DueSettle::Release) => CallKind::ChangeVisibility,
            // A release that waits for an extension in flight waits already.
            None => return,
        };
        let left = machine.held_until().nanos_since(now) / PART;
        self.lingering.of(kind).set(key.slot, now.plus_nanos(linger.min(left)));
        // Those of the last call that is ready but not full.
        let ready = self.lane(kind).waiting() % Visibility::BATCH;
        if self.lingering.of(kind).len().saturating_add(ready) >= Visibility::BATCH {
            while let Some(taken) = self.lingering.of(kind).pop() {
                self.place_slot(taken.slot, now);
            }
        }
    }

    /// Fills the room in a call that is made anyway with settles that wait for one.
    pub(super) fn take_along(&mut self, call: &mut Filling, now: Moment) {
        if self.lingering.of(call.kind).is_empty() {
            return;
        }
        let mut passed_over = PassedOver::default();
        while !call.entries.is_empty() && !call.entries.is_full() && !passed_over.is_full() {
            let Some(taken) = self.lingering.of(call.kind).pop() else { break };
            let Some(key) = self.leases.key(taken.slot) else { continue };
            let Some(machine) = self.leases.load(key) else { continue };
            if call.has_room_for(&machine) {
                self.take(key, machine, call, now);
            } else {
                passed_over.push(taken);
            }
        }
        for taken in passed_over.drain() {
            self.lingering.of(call.kind).put_back(taken);
        }
    }

    pub(super) fn place_slot(&mut self, slot: u32, now: Moment) {
        if let Some(key) = self.leases.key(slot) {
            if let Some(machine) = self.leases.load(key) {
                self.place(key, &machine, now);
            }
        }
    }
}
