//! How leases share calls: which entries a call takes.

use alloc::vec::Vec;

use super::{LeaseSet, SetPolicy};
use crate::call::{Ask, CallKind, Entries, Entry, LeaseKey};
use crate::lease::machine::Machine;
use crate::lease::machine::compact::Extending;
use crate::lease::state::DueSettle;
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
    /// By when the first and the last of the answers are wanted.
    pub(super) first_by: Moment,
    pub(super) answer_by: Moment,
    /// When the message of the first entry was received, where the others have to be of that receive.
    receive: Option<Moment>,
}

impl Filling {
    pub(super) fn new(now: Moment) -> Self {
        let kind = CallKind::ChangeVisibility;
        Self { kind, entries: Entries::EMPTY, first_by: Moment::MAX, answer_by: now, receive: None }
    }

    #[inline]
    fn push(&mut self, entry: Entry, answer_by: Moment) {
        self.entries.push(entry);
        self.note(answer_by);
    }

    #[inline]
    fn note(&mut self, answer_by: Moment) {
        self.first_by = self.first_by.min(answer_by);
        self.answer_by = self.answer_by.max(answer_by);
    }

    pub(super) fn has_room_for(&self, machine: &Machine) -> bool {
        self.receive.is_none_or(|receive| machine.wall() == receive)
    }
}

/// What was looked at and does not fit into this call. Nothing is allocated where everything fits.
#[derive(Default)]
pub(super) struct PassedOver(Vec<Taken>);

impl PassedOver {
    pub(super) fn push(&mut self, taken: Taken) {
        self.0.push(taken);
    }

    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= LOOKED_AT
    }

    /// The last that was pushed comes first.
    pub(super) fn drain(self) -> impl Iterator<Item = Taken> {
        self.0.into_iter().rev()
    }
}

/// How far before their middle leases may go, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    /// Before which the set wakes for the first.
    pub(super) lead: u64,
    slack: u64,
    percent: u64,
    /// Of the longest timeout.
    widest: u64,
}

impl Reach {
    pub(super) fn of(policy: &SetPolicy) -> Self {
        let percent = u64::from(policy.coalesce);
        let slack = nanos(policy.slack);
        let lead = if percent == 0 { 0 } else { nanos(policy.lead).min(slack) };
        Self { lead, slack, percent, widest: Visibility::MAX.nanos() / 100 * percent }
    }
}

/// Which leases are drawn into a call from before their middle.
#[derive(Clone, Copy)]
enum Drawn {
    /// None: only those whose middle has come.
    Due,
    /// Those of a window before it.
    Near,
}

impl<T> LeaseSet<T> {
    /// Takes the entries of the next call out of their leases; none where there is no call to make.
    pub(super) fn fill(&mut self, call: &mut Filling, kind: CallKind, now: Moment) {
        call.kind = kind;
        if !self.lane(kind).can_send(now) {
            return;
        }
        self.take_ready(call, now);
        if kind == CallKind::ChangeVisibility && self.fits_at(now) {
            // Those that are due go from where they are.
            self.draw_forward(call, now, Drawn::Due);
        }
        self.take_along(call, now);
        let lead = self.reach.lead;
        let is_ahead = lead > 0 && self.middles.first_at().is_some_and(|at| at <= now.plus_nanos(lead));
        let is_awake = !call.entries.is_empty() || self.changes.taken_at == Some(now) || is_ahead;
        if kind == CallKind::ChangeVisibility && self.policy.coalesce > 0 && is_awake {
            self.draw_forward(call, now, Drawn::Near);
        }
    }

    /// Takes leases that wait for a call, the most urgent first.
    fn take_ready(&mut self, call: &mut Filling, now: Moment) {
        if self.lane(call.kind).waiting() == 0 {
            return;
        }
        let mut passed_over = PassedOver::default();
        while !call.entries.is_full() && !passed_over.is_full() {
            let leases = &self.leases;
            let lost_at = |slot| {
                let lease = leases.key(slot).and_then(|key| leases.load(key));
                lease.map_or(now, |machine| machine.held_until())
            };
            let lane = match call.kind {
                CallKind::ChangeVisibility => &mut self.changes,
                CallKind::Delete => &mut self.deletes,
            };
            let Some(taken) = lane.pop(now, lost_at) else { break };
            let Some(key) = self.leases.key(taken.slot) else { continue };
            let Some(machine) = self.leases.load(key) else { continue };
            if call.has_room_for(&machine) {
                self.take(key, machine, call, now);
            } else {
                passed_over.push(taken);
            }
        }
        for taken in passed_over.drain() {
            self.lane(call.kind).put_back(taken);
        }
    }

    /// Fills the room that is left with leases whose middle is near, the soonest first.
    fn draw_forward(&mut self, call: &mut Filling, now: Moment, which: Drawn) {
        let Reach { slack, percent, widest, .. } = self.reach;
        let mut passed_over = PassedOver::default();
        while !passed_over.is_full() && !call.entries.is_full() {
            // An empty call is begun only for what is due within the slack of this wake.
            let begins = call.entries.is_empty();
            let reach = now.plus_nanos(match which {
                Drawn::Due => 0,
                Drawn::Near if begins => slack,
                Drawn::Near => widest,
            });
            // One alone where it decides how near the others have to be.
            let most = if begins && reach > now { 1 } else { call.entries.room() };
            let Some(group) = self.middles.pop_group_due(reach, most) else { break };
            let ahead = group.at().nanos_since(now);
            let mut last = None;
            for taken in group.iter() {
                let is_near = |span: u64, timeout: Visibility| {
                    ahead <= slack.min(span / 100) || !begins && ahead <= timeout.nanos() / 100 * percent
                };
                if !self.draw(taken, call, is_near, &mut last, now) {
                    passed_over.push(taken);
                }
            }
        }
        for taken in passed_over.drain() {
            self.middles.put_back(taken);
        }
    }

    /// Lets a lease that waits for its middle share the call; whether it does, or has to do something else now.
    ///
    /// `last`: the extension of one that was scheduled for the same moment, and taken.
    #[inline]
    fn draw(
        &mut self,
        taken: Taken,
        call: &mut Filling,
        is_near: impl Fn(u64, Visibility) -> bool,
        last: &mut Option<Extending>,
        now: Moment,
    ) -> bool {
        if let Some((key, lease, terms)) = self.leases.compact_at(taken.slot) {
            if !last.as_ref().is_some_and(|it| lease.extends_as(it)) {
                *last = terms.of(lease).and_then(|terms| {
                    let wall = lease.wall(terms);
                    let fits =
                        is_near(lease.span(), lease.timeout()) && call.receive.is_none_or(|its| its == wall);
                    let it = if fits { lease.extending(terms, now) } else { None };
                    call.note(it.as_ref()?.answer_by);
                    if self.policy.same_receive {
                        call.receive = Some(wall);
                    }
                    it
                });
            }
            if let Some(it) = last {
                let own = *lease;
                let serial = lease.extend(it, || terms.of(&own), now);
                call.entries.push(Entry { key: LeaseKey(key), ask: it.ask, serial });
                return true;
            }
        }
        let Some(key) = self.leases.key(taken.slot) else { return true };
        let Some(machine) = self.leases.load(key) else { return true };
        if machine.may_send(now) {
            let fits = is_near(machine.span(), machine.timeout()) && call.has_room_for(&machine);
            if fits {
                self.take(key, machine, call, now);
            }
            fits
        } else if taken.at <= now {
            self.run(key, now);
            true
        } else {
            false
        }
    }

    /// Takes what the lease wants sent by a call of this kind, worked out anew.
    pub(super) fn take(&mut self, key: Key, mut machine: Machine, call: &mut Filling, now: Moment) {
        let taken = match (call.kind, machine.due_settle(now)) {
            (CallKind::Delete, Some(DueSettle::Delete))
            | (CallKind::ChangeVisibility, Some(DueSettle::Release)) => machine
                .take_settle(now)
                .map(|it| (it.after.map_or(Ask::Delete, |after| Ask::Release { after }), it.sent)),
            (CallKind::ChangeVisibility, _) if machine.may_extend() => machine
                .take_extension(now)
                .map(|it| (Ask::Extend { by: it.by, is_final: it.is_final, warns: it.warns }, it.sent)),
            _ => None,
        };
        self.put(key, &machine, now);
        let Some((ask, sent)) = taken else { return };
        call.push(Entry { key: LeaseKey(key), ask, serial: sent.serial }, sent.answer_by);
        if self.policy.same_receive {
            call.receive = Some(machine.wall());
        }
    }
}
