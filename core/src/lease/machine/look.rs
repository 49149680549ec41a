//! What can be seen of a lease without changing it.

use super::{Machine, WORTHWHILE};
use crate::action::{Ended, StopReason};
use crate::lease::state::{
    DueSettle, ExtensionInFlight, InFlight, Plan, Renewal, Settle, Waiting, Warning, Wish,
};
use crate::policy::Guard;
use crate::time::Moment;
use crate::visibility::Visibility;

impl Machine {
    pub(crate) fn ended(&self) -> Option<Ended> {
        match self.renewal {
            Renewal::Ending(ended) | Renewal::Ended(ended) => Some(ended),
            _ => None,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.ended().is_some()
    }

    /// Whether there is something that the owner has not been told yet.
    pub(super) fn has_news(&self) -> bool {
        self.denied == Warning::Due
            || self.limit_near == Warning::Due
            || matches!(self.renewal, Renewal::Ending(_))
    }

    /// How it ends unless an extension is acknowledged before.
    pub(crate) fn coming_end(&self) -> Ended {
        let at = self.held_until();
        let at_limit = self.renewal == Renewal::Spent || at == self.limit;
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
            Settle::Due(_, at) => Some(at),
            _ => None,
        }
    }

    pub(crate) fn is_deleting(&self) -> bool {
        self.settle.wish() == Some(Wish::Delete)
    }

    /// Whether a delete was sent at some time, so that SQS may say "gone" because of it.
    pub(super) fn delete_was_sent(&self) -> bool {
        self.is_deleting() && (self.settle_failures > 0 || matches!(self.settle, Settle::InFlight(..)))
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
        if self.has_news() {
            return Some(Moment::ORIGIN);
        }
        if self.is_over() {
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
            if let Some((_, call)) = self.settle_in_flight() {
                wake = wake.min(call.answer_by);
            }
        }
        Some(wake)
    }

    /// When something will be to be done, where nothing is now and nothing is to be settled.
    pub(crate) fn undisturbed_until(&self, now: Moment) -> Option<Moment> {
        if self.is_settling() || self.has_news() {
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
            && !self.has_news()
            && !self.is_over()
    }

    /// Whether an extension may be sent at `now`, and would be one.
    pub(crate) fn may_send(&self, now: Moment) -> bool {
        !self.has_news()
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
            if self.is_over() || at >= self.held_until() {
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
        if self.is_over() || self.settle_at().is_none_or(|at| at > now) {
            return None;
        }
        self.settle.wish().map(|wish| match wish {
            Wish::Delete => DueSettle::Delete,
            Wish::Release { .. } => DueSettle::Release,
        })
    }

    pub(crate) fn is_extension_due(&self, now: Moment) -> bool {
        !self.is_over() && self.extension_at().is_some_and(|at| at <= now)
    }

    /// Whether nothing in flight or wanted stands in the way of an extension.
    pub(crate) fn may_extend(&self) -> bool {
        !self.is_over() && self.extension_at().is_some()
    }

    /// By when the answer of this call is wanted.
    pub(crate) fn answer_by(&self, serial: u32) -> Option<Moment> {
        let call = if serial == self.extension_serial() {
            self.extension_in_flight().map(|it| it.call)
        } else if serial == self.settle_serial() {
            self.settle_in_flight().map(|(_, call)| call)
        } else {
            None
        };
        call.map(|call| call.answer_by)
    }

    /// What the extension sent last is called: extensions have even numbers.
    pub(super) fn extension_serial(&self) -> u32 {
        extension_serial(self.extensions)
    }

    /// What the next try of the settle is called, or the one in flight: they have odd numbers.
    ///
    /// Past 65 535 failures the number stays. A late answer is then taken for that of the try in flight: a delete that
    /// succeeded has, and one that failed is tried again a little sooner.
    pub(super) fn settle_serial(&self) -> u32 {
        u32::from(self.settle_failures).wrapping_mul(2).wrapping_add(1)
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
            Renewal::InFlight(extension) => Some(extension),
            _ => None,
        }
    }

    pub(super) fn settle_in_flight(&self) -> Option<(Wish, InFlight)> {
        match self.settle {
            Settle::InFlight(wish, call) if !self.is_over() => Some((wish, call)),
            _ => None,
        }
    }

    /// When the settle is to be sent, where nothing in flight stands in its way.
    pub(super) fn settle_at(&self) -> Option<Moment> {
        match self.settle {
            Settle::Due(Wish::Delete, at) => Some(at),
            // A late extension would hide the message again: wait until none is on the wire.
            Settle::Due(Wish::Release { .. }, at) => {
                (!matches!(self.renewal, Renewal::InFlight(_))).then_some(at)
            }
            _ => None,
        }
    }

    /// When an extension is to be sent, where nothing in flight or wanted stands in its way.
    pub(super) fn extension_at(&self) -> Option<Moment> {
        let blocked = match self.settle.wish() {
            None => false,
            Some(Wish::Delete) => matches!(self.settle, Settle::InFlight(..)),
            Some(Wish::Release { .. }) => true,
        };
        match self.renewal {
            Renewal::Middle(at) | Renewal::Due(at) if !blocked => Some(at),
            _ => None,
        }
    }
}

/// What an extension is called of which it is the how manieth.
#[inline]
pub(super) fn extension_serial(extensions: u32) -> u32 {
    extensions.wrapping_mul(2)
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
