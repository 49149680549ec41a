//! What can be seen of a lease without changing it.

use super::{Machine, WORTHWHILE};
use crate::action::{Ended, StopReason};
use crate::lease::state::{
    DueSettle, ExtensionInFlight, InFlight, Plan, Renewal, Settle, SettleCall, Waiting,
};
use crate::policy::Guard;
use crate::time::Moment;
use crate::visibility::Visibility;

impl Machine {
    pub(crate) fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// How it ends unless an extension is acknowledged before.
    pub(crate) fn coming_end(&self) -> Ended {
        let at = self.held_until();
        let at_limit = self.spent || at == self.limit;
        Ended { reason: if at_limit { StopReason::Limit } else { StopReason::Expired }, at }
    }

    pub(crate) fn end(&self) -> Moment {
        self.end
    }

    pub(crate) fn limit(&self) -> Moment {
        self.limit
    }

    /// Where anything hidden must end. Deliveries of one receive that are kept by one policy have it in common.
    pub(crate) fn wall(&self) -> Moment {
        self.wall
    }

    pub(crate) fn timeout(&self) -> Visibility {
        self.timeout
    }

    /// The instant at which the lease is over, whatever any answer says later.
    pub(crate) fn held_until(&self) -> Moment {
        held_until(self.end, self.limit, self.guard, self.span())
    }

    /// Failures in a row of the extension.
    pub(crate) fn extension_failures(&self) -> u16 {
        self.extension_failures
    }

    pub(crate) fn settle_failures(&self) -> u16 {
        self.settle_failures
    }

    /// When the extension is tried again; `None` where it is in flight or given up.
    pub(crate) fn extension_retry_at(&self) -> Option<Moment> {
        match self.renewal {
            Renewal::Middle(at) | Renewal::Due(at) => Some(at),
            _ => None,
        }
    }

    /// When the settle is tried again; `None` where it is in flight or given up.
    pub(crate) fn settle_retry_at(&self) -> Option<Moment> {
        match self.settle {
            Settle::Delete { call: SettleCall::Due(at), .. }
            | Settle::Release { call: SettleCall::Due(at), .. } => Some(at),
            _ => None,
        }
    }

    pub(crate) fn is_deleting(&self) -> bool {
        matches!(self.settle, Settle::Delete { .. })
    }

    /// Whether this call's answer would still count.
    pub(crate) fn awaits(&self, serial: u32) -> bool {
        self.answer_by(serial).is_some()
    }

    /// The earliest instant at which something is to be done.
    pub(crate) fn wake_at(&self) -> Option<Moment> {
        self.wake_except(Waiting::default())
    }

    /// The same, without what is due already and waits for a call to take it.
    pub(crate) fn wake_except(&self, waiting: Waiting) -> Option<Moment> {
        if self.untold.any() {
            return Some(Moment::ORIGIN);
        }
        if self.ended.is_some() {
            return None;
        }
        let mut wake = self.held_until();
        if !waiting.extension {
            wake = wake.min(self.extension_at().unwrap_or(wake));
        }
        if let Renewal::InFlight(it) = self.renewal {
            wake = wake.min(it.call.answer_by);
        }
        if self.is_settling() {
            if !waiting.settle {
                wake = wake.min(self.settle_at().unwrap_or(wake));
            }
            if let Some((call, _)) = self.settle_in_flight() {
                wake = wake.min(call.answer_by);
            }
        }
        Some(wake)
    }

    /// When something will be to be done, where nothing is now and nothing is to be settled.
    pub(crate) fn undisturbed_until(&self, now: Moment) -> Option<Moment> {
        if self.is_settling() || self.untold.any() {
            return None;
        }
        self.wake_at().filter(|at| *at > now)
    }

    /// Whether all that is due at `now` is an extension to send.
    pub(crate) fn only_extends(&self, now: Moment) -> bool {
        !self.is_settling() && self.is_extension_due(now) && self.may_send(now)
    }

    /// Whether an extension in flight is all there is: whoever has sent the call also gives it up.
    pub(crate) fn only_awaits(&self) -> bool {
        matches!(self.renewal, Renewal::InFlight(_))
            && !self.is_settling()
            && !self.untold.any()
            && self.ended.is_none()
    }

    /// Whether an extension may be sent at `now`, and would be one.
    pub(crate) fn may_send(&self, now: Moment) -> bool {
        !self.untold.any()
            && self.may_extend()
            && now < self.held_until()
            && matches!(self.plan(now), Plan::Extend(_) | Plan::Final(_))
    }

    /// When the extension in the middle of the timeout is due, where nothing stands in its way.
    ///
    /// Only these may be sent a little before their time. Retries never are.
    pub(crate) fn middle(&self) -> Option<Moment> {
        match self.renewal {
            Renewal::Middle(at) if self.extension_at().is_some() => Some(at),
            _ => None,
        }
    }

    /// What will be extended next, were nothing else to happen.
    pub(crate) fn next(&self, now: Moment) -> Option<(Moment, Visibility, bool)> {
        let mut at = self.extension_at()?.max(now);
        loop {
            if self.ended.is_some() || at >= self.held_until() {
                return None;
            }
            match self.plan(at) {
                Plan::Extend(by) => return Some((at, by, false)),
                Plan::Final(by) => return Some((at, by, true)),
                Plan::Wait(until) if until > at => at = until,
                Plan::Wait(_) | Plan::Warn => return None,
            }
        }
    }

    /// The settle that is to go at `now`, where one is due and nothing in flight stands in its way.
    pub(crate) fn due_settle(&self, now: Moment) -> Option<DueSettle> {
        if self.ended.is_some() || self.settle_at().is_none_or(|at| at > now) {
            return None;
        }
        match self.settle {
            Settle::None => None,
            Settle::Delete { .. } => Some(DueSettle::Delete),
            Settle::Release { .. } => Some(DueSettle::Release),
        }
    }

    pub(crate) fn is_extension_due(&self, now: Moment) -> bool {
        self.ended.is_none() && self.extension_at().is_some_and(|at| at <= now)
    }

    /// Whether nothing in flight or wanted stands in the way of an extension.
    pub(crate) fn may_extend(&self) -> bool {
        self.ended.is_none() && self.extension_at().is_some()
    }

    /// By when the answer of this call is wanted.
    pub(crate) fn answer_by(&self, serial: u32) -> Option<Moment> {
        let extension = self.extension_in_flight().map(|it| it.call);
        let settle = self.settle_in_flight().map(|(call, _)| call);
        [extension, settle]
            .into_iter()
            .flatten()
            .find(|call| call.serial == serial)
            .map(|call| call.answer_by)
    }

    pub(crate) fn is_settling(&self) -> bool {
        !matches!(self.settle, Settle::None)
    }

    /// What an extension sent at `now` would be.
    pub(crate) fn plan(&self, now: Moment) -> Plan {
        plan(self.end, self.limit, self.extension, now)
    }

    /// The smaller of the timeout in force and the extension, in nanoseconds.
    pub(crate) fn span(&self) -> u64 {
        self.timeout.min(self.counted).nanos()
    }

    pub(super) fn extension_in_flight(&self) -> Option<ExtensionInFlight> {
        match self.renewal {
            Renewal::InFlight(extension) if self.ended.is_none() => Some(extension),
            _ => None,
        }
    }

    pub(super) fn settle_in_flight(&self) -> Option<(InFlight, Visibility)> {
        match self.settle {
            Settle::Delete { call: SettleCall::InFlight { call, after }, .. }
            | Settle::Release { call: SettleCall::InFlight { call, after }, .. }
                if self.ended.is_none() =>
            {
                Some((call, after))
            }
            _ => None,
        }
    }

    /// When the settle is to be sent, where nothing in flight stands in its way.
    pub(super) fn settle_at(&self) -> Option<Moment> {
        match self.settle {
            Settle::Delete { call: SettleCall::Due(at), .. } => Some(at),
            // A late extension would hide the message again: wait until none is on the wire.
            Settle::Release { call: SettleCall::Due(at), .. } => {
                (!matches!(self.renewal, Renewal::InFlight(_))).then_some(at)
            }
            _ => None,
        }
    }

    /// When an extension is to be sent, where nothing in flight or wanted stands in its way.
    pub(super) fn extension_at(&self) -> Option<Moment> {
        let blocked = match self.settle {
            Settle::None => false,
            Settle::Delete { call, .. } => matches!(call, SettleCall::InFlight { .. }),
            Settle::Release { .. } => true,
        };
        match self.renewal {
            Renewal::Middle(at) | Renewal::Due(at) if !blocked => Some(at),
            _ => None,
        }
    }
}

/// The instant at which a lease is over.
#[inline]
pub(super) fn held_until(end: Moment, limit: Moment, guard: Guard, span: u64) -> Moment {
    end.minus_nanos(guard.within(span)).min(limit)
}

/// What an extension sent at `now` would be.
#[inline]
pub(super) fn plan(end: Moment, limit: Moment, extension: Visibility, now: Moment) -> Plan {
    let worthwhile = end.plus_nanos(WORTHWHILE);
    if limit < worthwhile {
        return Plan::Warn;
    }
    // The same as to compare with the room in whole seconds, without a division.
    if extension.nanos() <= limit.nanos_since(now) {
        if now.plus_nanos(extension.nanos()) <= end {
            return Plan::Wait(end.minus_nanos(extension.nanos() / 2));
        }
        return Plan::Extend(extension);
    }
    let room = Visibility::whole_between(now, limit);
    if now.plus_nanos(room.nanos()) < worthwhile { Plan::Warn } else { Plan::Final(room) }
}
