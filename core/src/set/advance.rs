//! Time passing in a set: which lease is driven, what it has to tell, and where it then belongs.

use super::answers::Counted;
use super::lane::Closed;
use super::{Event, LeaseSet, SETTLE_PATIENCE};
use crate::call::{CallKind, LeaseKey};
use crate::failure::Failure;
use crate::lease::machine::Machine;
use crate::lease::state::{DueSettle, Notice, Plan, Waiting};
use crate::schedule::Taken;
use crate::slots::Key;
use crate::time::Moment;
use crate::view::LeaseView;
use crate::visibility::Visibility;

impl<T> LeaseSet<T> {
    /// Does the next thing that time alone does by `now`; whether there was one.
    pub(super) fn run_one(&mut self, now: Moment) -> bool {
        if let Some(due) = self.others.pop_due(now).or_else(|| self.pop_due_middle(now)) {
            if let Some(key) = self.leases.key(due.slot) {
                self.run(key, now);
            }
            return true;
        }
        if let Some(slot) = self.lingering.pop_due(now) {
            self.place_slot(slot, now);
            return true;
        }
        if let Some(due) = self.closing.pop_due(now) {
            if let Some(id) = self.calls.key(due.slot) {
                self.give_up(id, now);
            }
            return true;
        }
        false
    }

    /// Takes out a lease whose middle has come, to let it wait for a call.
    ///
    /// None where all whose middle has come find room in calls that may go now: then calls take them from where
    /// they are. Else those go first that are lost first.
    fn pop_due_middle(&mut self, now: Moment) -> Option<Taken> {
        self.middles.first_at().filter(|at| *at <= now)?;
        if self.fits_at(now) { None } else { self.middles.pop_due(now) }
    }

    /// Whether all whose middle has come find room in calls that may go now.
    pub(super) fn fits_at(&mut self, now: Moment) -> bool {
        if self.policy.coalesce == 0 || !self.changes.can_send(now) {
            return false;
        }
        if self.fits.0 != now {
            let room = self.changes.room(now).saturating_mul(Visibility::BATCH);
            let due = self.middles.due(now, room.saturating_add(1));
            self.fits = (now, due.saturating_add(self.changes.waiting()) <= room);
        }
        self.fits.1
    }

    /// Gives up those entries of a call whose answers are overdue, and the call after the last.
    fn give_up(&mut self, id: Key, now: Moment) {
        let Some(open) = self.calls.get(id) else { return };
        let (kind, sent, answer_by, entries) = (open.kind, open.sent, open.answer_by, open.entries);
        let mut next = answer_by;
        for entry in &entries {
            let key = entry.key.0;
            let lease = self.leases.load(key);
            match lease.and_then(|machine| machine.answer_by(entry.serial)) {
                Some(at) if at <= now => self.run(key, now),
                Some(at) => next = next.min(at),
                None => {}
            }
        }
        if now < answer_by {
            self.closing.set(id.slot, next);
        } else {
            self.calls.discard(id);
            self.closed(kind, sent, Closed::GivenUp, now);
        }
    }

    /// Drives one lease: what it has to tell becomes events, what it wants sent waits for a call.
    pub(super) fn run(&mut self, key: Key, now: Moment) {
        let Some(mut machine) = self.leases.load(key) else { return };
        if machine.only_extends(now) {
            self.place(key, &machine, now);
            return;
        }
        let before = Counted::of(&machine);
        machine.advance(now);
        self.tell_failures(key, &machine, before, Failure::Transient);
        loop {
            while let Some(notice) = machine.take_notice() {
                match notice {
                    Notice::WarnDenied => self.denials.note(LeaseKey(key)),
                    Notice::WarnLimit => self.events.push_back(Event::LimitNear { key: LeaseKey(key) }),
                    Notice::Stop(_) => {
                        let view = LeaseView { clock: &self.clock, machine };
                        if let Some(ended) = view.ended() {
                            self.events.push_back(Event::Stopped { key: LeaseKey(key), ended });
                        }
                    }
                }
            }
            let due = machine.is_extension_due(now);
            let deletes_first = machine.due_settle(now) == Some(DueSettle::Delete);
            // Not where a delete is about to go: no extension follows one that succeeds, and after one that
            // fails it is worked out anew.
            if deletes_first || !due || !matches!(machine.plan(now), Plan::Wait(_) | Plan::Warn) {
                break;
            }
            // Sends nothing: it waits, or warns.
            machine.take_extension(now);
        }
        self.put(key, &machine, now);
    }

    /// Puts a lease back that was changed, and where its state belongs.
    pub(super) fn put(&mut self, key: Key, machine: &Machine, now: Moment) {
        self.leases.save(key, machine);
        self.place(key, machine, now);
    }

    /// Puts a lease where its state belongs: before the lanes, and at its wake-up time.
    pub(super) fn place(&mut self, key: Key, machine: &Machine, now: Moment) {
        let slot = key.slot;
        if machine.only_awaits() {
            self.deletes.dequeue(slot);
            self.changes.dequeue(slot);
            self.middles.remove(slot);
            self.others.remove(slot);
            return;
        }
        if let Some(wake) = machine.undisturbed_until(now) {
            // What nearly every lease does nearly always.
            self.deletes.dequeue(slot);
            self.changes.dequeue(slot);
            if machine.middle() == Some(wake) {
                self.others.remove(slot);
                self.middles.set(slot, wake);
            } else {
                self.middles.remove(slot);
                self.others.set(slot, wake);
            }
            return;
        }
        let due_settle = machine.due_settle(now);
        let deletes = due_settle == Some(DueSettle::Delete);
        let releases = due_settle == Some(DueSettle::Release);
        let plan_is_due = machine.is_extension_due(now).then(|| machine.plan(now));
        let extends = matches!(plan_is_due, Some(Plan::Extend(_) | Plan::Final(_)));
        // One that sends nothing waits until the delete is out of the way.
        let waits = matches!(plan_is_due, Some(Plan::Warn | Plan::Wait(_))) && deletes;

        let held_until = machine.held_until();
        // What is no longer to be settled waits for no company.
        if !deletes && !releases {
            self.lingering.remove(slot);
        }
        if deletes && !self.lingering.has(CallKind::Delete, slot) {
            self.deletes.enqueue(slot, held_until);
        } else {
            self.deletes.dequeue(slot);
        }
        if releases && !self.lingering.has(CallKind::ChangeVisibility, slot) {
            // Where calls are scarce a release can wait, as long as it is not lost for it: others may not.
            let patience = if self.changes.is_paced() { u64::MAX } else { SETTLE_PATIENCE };
            self.changes.enqueue(slot, held_until.min(now.plus_nanos(patience)));
        } else if extends {
            self.changes.enqueue(slot, held_until);
        } else {
            self.changes.dequeue(slot);
        }

        let waiting = Waiting { extension: extends || waits, settle: deletes || releases };
        let wake = machine.wake_except(waiting);
        // What waits for its middle alone is undisturbed.
        self.middles.remove(slot);
        match wake {
            Some(at) => self.others.set(slot, at),
            None => {
                self.others.remove(slot);
            }
        }
    }
}
