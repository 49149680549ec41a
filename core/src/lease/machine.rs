//! Every transition of one lease, on an internal clock that never runs backwards.
//!
//! [`Lease`](super::Lease) and [`LeaseSet`](crate::LeaseSet) both drive this machine: they keep the clock
//! and hand out what the machine wants.

use crate::action::{Ended, SettleError, StopReason};
use crate::failure::Failure;
use crate::policy::{Guard, Policy, Received};
use crate::time::{Moment, NANOS_PER_SEC};
use crate::visibility::Visibility;

use super::state::{
    ExtensionInFlight, InFlight, Notice, Plan, Renewal, Sent, SentExtension, SentSettle, Settle, Warning,
    Wish,
};

pub(crate) mod compact;
mod look;

const MS: u64 = 1_000_000;
/// What an extension must gain before the limit to be worth a call.
const WORTHWHILE: u64 = NANOS_PER_SEC;
const LONGEST_BACK_OFF: u64 = 30 * NANOS_PER_SEC;
/// How long a denied call waits: only a person can mend it.
const DENIED_BACK_OFF: u64 = 30 * NANOS_PER_SEC;
/// How much less is asked for when SQS counts more time than we do.
const LIMIT_STEP: u64 = 10 * NANOS_PER_SEC;
const LIMIT_STEP_SECS: u16 = 10;

/// Nothing is in here that follows from the rest: a lease on its own is no larger than it has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Machine {
    /// The earliest instant at which SQS may hand the message to somebody else.
    end: Moment,
    /// Where the last extension may reach.
    limit: Moment,
    /// Where anything hidden must end, a release included.
    wall: Moment,
    guard: Guard,
    /// The visibility timeout in force.
    timeout: Visibility,
    /// What the next extension asks for.
    extension: Visibility,
    /// The extension that counts in the span: lowered at once, raised by an acknowledgement.
    counted: Visibility,
    renewal: Renewal,
    settle: Settle,
    /// How many extensions were sent, retries counted.
    extensions: u32,
    extension_failures: u16,
    settle_failures: u16,
    in_turn: InTurn,
    /// That a call was denied, and that the limit is near.
    denied: Warning,
    limit_near: Warning,
}

/// How many of the failures in a row had no pause of their own, and so lengthen none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct InTurn {
    extension: u8,
    settle: u8,
}

impl Machine {
    pub(crate) fn new(policy: &Policy, received: &Received) -> Self {
        let timeout = received.timeout;
        let extension = policy.extension_for(timeout);
        let mut machine = Self {
            end: received.at.plus_nanos(timeout.nanos()),
            limit: policy.limit(received),
            wall: policy.wall(received.requested),
            guard: policy.guard_setting(),
            timeout,
            extension,
            counted: extension,
            renewal: Renewal::Middle(received.at.plus_nanos(timeout.nanos() / 2)),
            settle: Settle::None,
            extensions: 0,
            extension_failures: 0,
            in_turn: InTurn::default(),
            settle_failures: 0,
            denied: Warning::None,
            limit_near: Warning::None,
        };
        if timeout.is_zero() {
            machine.stop(StopReason::ZeroTimeout, received.at);
        }
        machine
    }

    // ---- Time passing -----------------------------------------------------------------------------------

    /// Does what time alone does: ends the lease, gives calls up.
    pub(crate) fn advance(&mut self, now: Moment) {
        self.end_if(now >= self.held_until());
        if let Some(extension) = self.extension_in_flight() {
            if now >= extension.call.answer_by {
                self.extension_failed(extension, Failure::Transient, now);
            }
        }
        if let Some((wish, call)) = self.settle_in_flight() {
            if now >= call.answer_by {
                self.settle_failed(wish, call, Failure::Transient, now);
            }
        }
        // A release of unknown outcome may have brought the end nearer.
        self.end_if(now >= self.held_until());
    }

    /// Takes out one thing that the owner is to be told.
    pub(crate) fn take_notice(&mut self) -> Option<Notice> {
        for (warning, notice) in
            [(&mut self.denied, Notice::WarnDenied), (&mut self.limit_near, Notice::WarnLimit)]
        {
            if *warning == Warning::Due {
                *warning = Warning::Told;
                return Some(notice);
            }
        }
        if let Renewal::Ending(ended) = self.renewal {
            self.renewal = Renewal::Ended(ended);
            return Some(Notice::Stop(ended.reason));
        }
        None
    }

    // ---- Calls taken out --------------------------------------------------------------------------------

    /// Sends the extension, or does what stands in its place: waits, or only warns.
    ///
    /// The owner has asked [`is_extension_due`](Self::is_extension_due), or may send a
    /// [`middle`](Self::middle) early.
    pub(crate) fn take_extension(&mut self, now: Moment) -> Option<SentExtension> {
        let (by, is_final) = match self.plan(now) {
            Plan::Extend(by) => (by, false),
            Plan::Final(by) => (by, true),
            Plan::Wait(until) => {
                self.renewal = Renewal::Middle(until);
                return None;
            }
            Plan::Warn => {
                self.renewal = Renewal::Spent;
                if self.limit_near == Warning::None {
                    self.limit_near = Warning::Due;
                }
                return None;
            }
        };
        self.extensions = self.extensions.wrapping_add(1);
        let call = self.send(now);
        let counts = self.extension;
        self.renewal = Renewal::InFlight(ExtensionInFlight { call, by, counts, is_final, by_hand: false });
        let warns = is_final && self.limit_near == Warning::None;
        if warns {
            self.limit_near = Warning::Told;
        }
        let sent = Sent { serial: self.extension_serial(), answer_by: call.answer_by };
        Some(SentExtension { sent, by, is_final, warns })
    }

    /// Sends the settle that is due.
    pub(crate) fn take_settle(&mut self, now: Moment) -> Option<SentSettle> {
        self.due_settle(now)?;
        let wish = self.settle.wish()?;
        let call = self.send(now);
        self.settle = Settle::InFlight(wish, call);
        let sent = Sent { serial: self.settle_serial(), answer_by: call.answer_by };
        Some(SentSettle { sent, after: wish.after(now, self.wall) })
    }

    fn send(&self, now: Moment) -> InFlight {
        InFlight { sent: now, answer_by: answer_by(self.held_until(), now) }
    }

    // ---- Answers put in ---------------------------------------------------------------------------------

    /// Takes the answer of a call; whether it counted.
    pub(crate) fn answer(&mut self, serial: u32, answer: Result<(), Failure>, now: Moment) -> bool {
        if self.is_over_for_inputs(now) {
            return false;
        }
        if let Some(extension) = self.extension_in_flight().filter(|_| serial == self.extension_serial()) {
            match answer {
                Ok(()) => self.extended(extension, now),
                Err(failure) => self.extension_failed(extension, failure, now),
            }
            return true;
        }
        if let Some((wish, call)) = self.settle_in_flight().filter(|_| serial == self.settle_serial()) {
            match (answer, wish) {
                (Ok(()), Wish::Delete) => self.stop(StopReason::Deleted, now),
                (Ok(()), Wish::Release { .. }) => self.stop(StopReason::Released, now),
                (Err(failure), _) => self.settle_failed(wish, call, failure, now),
            }
            return true;
        }
        false
    }

    fn extended(&mut self, extension: ExtensionInFlight, now: Moment) {
        let ExtensionInFlight { call, by, counts, is_final, by_hand } = extension;
        self.end = call.sent.plus_nanos(by.nanos());
        self.timeout = by;
        self.counted = counts;
        self.extension_failures = 0;
        self.in_turn.extension = 0;
        self.renewal = if is_final {
            Renewal::Spent
        } else if by_hand {
            Renewal::Due(now)
        } else {
            Renewal::Middle(call.sent.plus_nanos(by.nanos() / 2))
        };
        if let Settle::GivenUp(wish @ Wish::Delete) = self.settle {
            self.settle = Settle::Due(wish, now);
        }
    }

    fn extension_failed(&mut self, extension: ExtensionInFlight, failure: Failure, now: Moment) {
        let (failures, sent) = (self.extension_failures, extension.call.sent);
        self.extension_failures = failures.saturating_add(1);
        // Where another was asked for by hand the retry asks for it; nothing else is due.
        self.renewal = match failure {
            // Our own delete's doing: its answer decides.
            Failure::Gone if self.delete_was_sent() => Renewal::GivenUp,
            Failure::Gone => Renewal::ending(StopReason::Refused, now),
            Failure::Limit => {
                let refused = sent.plus_nanos(extension.by.nanos());
                let lowered = self.limit.min(refused).minus_nanos(LIMIT_STEP).max(self.end);
                self.limit = self.limit.min(lowered);
                if failures == 0 {
                    Renewal::Due(now)
                } else {
                    self.retry_extension(failure, failures, sent, now)
                }
            }
            Failure::Transient | Failure::Throttled | Failure::Denied => {
                self.retry_extension(failure, failures, sent, now)
            }
        };
        self.warn_denied_once(failure);
    }

    fn retry_extension(&self, failure: Failure, failures: u16, sent: Moment, now: Moment) -> Renewal {
        let failures = failures.saturating_sub(self.in_turn.extension.into());
        self.retry(failure, failures, sent, now).map_or(Renewal::GivenUp, Renewal::Due)
    }

    fn settle_failed(&mut self, mut wish: Wish, call: InFlight, failure: Failure, now: Moment) {
        let failures = self.settle_failures;
        self.settle_failures = failures.saturating_add(1);
        match failure {
            Failure::Gone => {
                self.stop(StopReason::Refused, now);
                return;
            }
            Failure::Transient => {
                // It may have been released: this handle may already be somebody else's to overtake.
                if let Some(after) = wish.after(call.sent, self.wall) {
                    self.end = self.end.min(call.sent.plus_nanos(after.nanos()));
                }
            }
            Failure::Limit => {
                if let Wish::Release { less, .. } = &mut wish {
                    *less = less.saturating_add(LIMIT_STEP_SECS);
                }
            }
            Failure::Throttled | Failure::Denied => {}
        }
        let failures = failures.saturating_sub(self.in_turn.settle.into());
        let retry = self.retry(failure, failures, call.sent, now);
        self.settle = retry.map_or(Settle::GivenUp(wish), |at| Settle::Due(wish, at));
        self.warn_denied_once(failure);
    }

    fn warn_denied_once(&mut self, failure: Failure) {
        if failure == Failure::Denied && self.denied == Warning::None {
            self.denied = Warning::Due;
        }
    }

    /// When to try again after a failure at `now`; `None` where no time is left for it.
    fn retry(&self, failure: Failure, failures: u16, sent: Moment, now: Moment) -> Option<Moment> {
        let step = (self.span() / 30).clamp(50 * MS, 1000 * MS);
        let last = self.held_until().minus_nanos(step);
        // One sent at the last moment was the last, also where it fails at once: no hot loop there.
        if now > last || sent >= last {
            return None;
        }
        let doublings = u32::from(failures).saturating_add(u32::from(failure == Failure::Throttled)).min(16);
        let pause = match failure {
            Failure::Denied => DENIED_BACK_OFF,
            _ => step.saturating_mul(1 << doublings).min(LONGEST_BACK_OFF),
        };
        Some(now.plus_nanos(pause).min(last))
    }

    /// Tries what was throttled again without a pause of its own: in a set whose calls are kept apart, and where
    /// others wait for them, the set says who goes next.
    pub(crate) fn again_in_turn(&mut self, is_extension: bool, now: Moment) {
        match (is_extension, self.renewal, self.settle) {
            (true, Renewal::Due(_) | Renewal::GivenUp, _) => {
                self.renewal = Renewal::Due(now);
                self.in_turn.extension = self.in_turn.extension.saturating_add(1);
            }
            (false, _, Settle::Due(wish, _) | Settle::GivenUp(wish)) => {
                self.settle = Settle::Due(wish, now);
                self.in_turn.settle = self.in_turn.settle.saturating_add(1);
            }
            _ => {}
        }
    }

    // ---- What the owner wants ---------------------------------------------------------------------------

    pub(crate) fn delete(&mut self, now: Moment) -> Result<(), SettleError> {
        self.can_settle(now)?;
        self.settle = Settle::Due(Wish::Delete, now);
        Ok(())
    }

    pub(crate) fn release(&mut self, after: Visibility, now: Moment) -> Result<(), SettleError> {
        self.can_settle(now)?;
        self.settle = Settle::Due(Wish::Release { after, less: 0 }, now);
        Ok(())
    }

    pub(crate) fn leave(&mut self, now: Moment) -> Result<(), SettleError> {
        self.can_settle(now)?;
        self.stop(StopReason::Left, now);
        Ok(())
    }

    fn can_settle(&mut self, now: Moment) -> Result<(), SettleError> {
        if self.is_over_for_inputs(now) {
            return Err(self.ended().map_or(SettleError::Unknown, SettleError::Ended));
        }
        if self.is_settling() { Err(SettleError::AlreadySettling) } else { Ok(()) }
    }

    /// Asks for `extension` from now on; whether that changes anything.
    pub(crate) fn extend(&mut self, extension: Visibility, now: Moment) -> bool {
        if self.is_over_for_inputs(now) || self.renewal == Renewal::Spent || self.is_settling() {
            return false;
        }
        self.extension = extension;
        self.counted = self.counted.min(extension);
        if let Renewal::InFlight(in_flight) = &mut self.renewal {
            in_flight.counts = in_flight.counts.min(extension);
            in_flight.by_hand = true;
        } else {
            self.renewal = Renewal::Due(now);
        }
        true
    }

    // ---- Helpers ----------------------------------------------------------------------------------------

    /// An input after *held until* finds the lease over; one at that very instant still counts.
    fn is_over_for_inputs(&mut self, now: Moment) -> bool {
        self.end_if(now > self.held_until());
        self.is_over()
    }

    fn end_if(&mut self, is_over: bool) {
        if is_over && !self.is_over() {
            let Ended { reason, at } = self.coming_end();
            self.stop(reason, at);
        }
    }

    fn stop(&mut self, reason: StopReason, at: Moment) {
        self.renewal = Renewal::ending(reason, at);
    }
}

/// By when the answer of a call is wanted that is sent at `now`.
#[inline]
fn answer_by(held_until: Moment, now: Moment) -> Moment {
    let patience = (held_until.nanos_since(now) / 3).clamp(NANOS_PER_SEC, 10 * NANOS_PER_SEC);
    now.plus_nanos(patience).min(held_until)
}
