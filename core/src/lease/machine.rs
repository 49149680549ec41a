//! Every transition of one lease, on an internal clock that never runs backwards.
//!
//! [`Lease`](super::Lease) and [`LeaseSet`](crate::LeaseSet) both drive this machine: they keep the clock,
//! name the calls, and hand out what the machine wants.

use crate::action::{Ended, SettleError, StopReason};
use crate::failure::Failure;
use crate::policy::{Guard, Policy, Received};
use crate::time::{Moment, NANOS_PER_SEC};
use crate::visibility::Visibility;

use super::state::{
    ExtensionInFlight, InFlight, Notice, Plan, Renewal, Sent, SentExtension, Settle, SettleCall, Untold,
    Warned,
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
    extension_failures: u16,
    settle_failures: u16,
    /// The final extension was acknowledged, or only warned of.
    spent: bool,
    /// An extension was asked for by hand while one was in flight.
    by_hand: bool,
    /// What the owner has been warned of, once and for all.
    warned: Warned,
    /// What the owner has not been told yet.
    untold: Untold,
    ended: Option<Ended>,
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
            extension_failures: 0,
            settle_failures: 0,
            spent: false,
            by_hand: false,
            warned: Warned::default(),
            untold: Untold::default(),
            ended: None,
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
        if let Some((call, after)) = self.settle_in_flight() {
            if now >= call.answer_by {
                self.settle_failed(call, after, Failure::Transient, now);
            }
        }
        // A release of unknown outcome may have brought the end nearer.
        self.end_if(now >= self.held_until());
    }

    /// Takes out one thing that the owner is to be told.
    pub(crate) fn take_notice(&mut self) -> Option<Notice> {
        if core::mem::take(&mut self.untold.denied) {
            return Some(Notice::WarnDenied);
        }
        if core::mem::take(&mut self.untold.limit) {
            return Some(Notice::WarnLimit);
        }
        if core::mem::take(&mut self.untold.stop) {
            return self.ended.map(|ended| Notice::Stop(ended.reason));
        }
        None
    }

    // ---- Calls taken out --------------------------------------------------------------------------------

    /// Sends the extension, or does what stands in its place: waits, or only warns.
    ///
    /// The owner has asked [`is_extension_due`](Self::is_extension_due), or may send a
    /// [`middle`](Self::middle) early.
    pub(crate) fn take_extension(&mut self, serial: u32, now: Moment) -> Option<SentExtension> {
        let (by, is_final) = match self.plan(now) {
            Plan::Extend(by) => (by, false),
            Plan::Final(by) => (by, true),
            Plan::Wait(until) => {
                self.renewal = Renewal::Middle(until);
                return None;
            }
            Plan::Warn => {
                self.renewal = Renewal::Over;
                self.spent = true;
                self.untold.limit = !core::mem::replace(&mut self.warned.limit, true);
                return None;
            }
        };
        let call = self.send(serial, now);
        let counts = self.extension;
        self.renewal = Renewal::InFlight(ExtensionInFlight { call, by, counts, is_final });
        let warns = is_final && !core::mem::replace(&mut self.warned.limit, true);
        Some(SentExtension { sent: call.into(), by, is_final, warns })
    }

    pub(crate) fn take_delete(&mut self, serial: u32, now: Moment) -> Sent {
        let call = self.send(serial, now);
        self.settle =
            Settle::Delete { call: SettleCall::InFlight { call, after: Visibility::ZERO }, sent: true };
        call.into()
    }

    /// Sends the release: what was asked for, cut to what is left to the wall, less what SQS has refused.
    pub(crate) fn take_release(&mut self, serial: u32, now: Moment) -> (Sent, Visibility) {
        let call = self.send(serial, now);
        let mut sent = Visibility::ZERO;
        if let Settle::Release { call: state, after, less } = &mut self.settle {
            sent = (*after).min(Visibility::whole_between(now, self.wall)).less(*less);
            *state = SettleCall::InFlight { call, after: sent };
        }
        (call.into(), sent)
    }

    fn send(&self, serial: u32, now: Moment) -> InFlight {
        InFlight { serial, sent: now, answer_by: answer_by(self.held_until(), now) }
    }

    // ---- Answers put in ---------------------------------------------------------------------------------

    /// Takes the answer of a call; whether it counted.
    pub(crate) fn answer(&mut self, serial: u32, answer: Result<(), Failure>, now: Moment) -> bool {
        if self.is_over_for_inputs(now) {
            return false;
        }
        if let Some(extension) = self.extension_in_flight().filter(|it| it.call.serial == serial) {
            match answer {
                Ok(()) => self.extended(extension, now),
                Err(failure) => self.extension_failed(extension, failure, now),
            }
            return true;
        }
        if let Some((call, after)) = self.settle_in_flight().filter(|(call, _)| call.serial == serial) {
            match answer {
                Ok(()) => self.settled(now),
                Err(failure) => self.settle_failed(call, after, failure, now),
            }
            return true;
        }
        false
    }

    fn extended(&mut self, extension: ExtensionInFlight, now: Moment) {
        let ExtensionInFlight { call, by, counts, is_final } = extension;
        self.end = call.sent.plus_nanos(by.nanos());
        self.timeout = by;
        self.counted = counts;
        self.extension_failures = 0;
        let by_hand = core::mem::take(&mut self.by_hand);
        self.renewal = if is_final {
            self.spent = true;
            Renewal::Over
        } else if by_hand {
            Renewal::Due(now)
        } else {
            Renewal::Middle(call.sent.plus_nanos(by.nanos() / 2))
        };
        if let Settle::Delete { call: call @ SettleCall::GivenUp, .. } = &mut self.settle {
            *call = SettleCall::Due(now);
        }
    }

    fn extension_failed(&mut self, extension: ExtensionInFlight, failure: Failure, now: Moment) {
        let (failures, sent) = (self.extension_failures, extension.call.sent);
        self.extension_failures = failures.saturating_add(1);
        // The retry asks for it; nothing else is due.
        self.by_hand = false;
        self.renewal = match failure {
            Failure::Gone => {
                if !matches!(self.settle, Settle::Delete { sent: true, .. }) {
                    self.stop(StopReason::Refused, now);
                }
                // Our own delete's doing: its answer decides.
                Renewal::Over
            }
            Failure::Limit => {
                let refused = extension.call.sent.plus_nanos(extension.by.nanos());
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
        self.retry(failure, failures, sent, now).map_or(Renewal::Over, Renewal::Due)
    }

    fn settled(&mut self, now: Moment) {
        let reason = match self.settle {
            Settle::Release { .. } => StopReason::Released,
            Settle::Delete { .. } | Settle::None => StopReason::Deleted,
        };
        self.stop(reason, now);
    }

    fn settle_failed(&mut self, call: InFlight, sent_after: Visibility, failure: Failure, now: Moment) {
        let failures = self.settle_failures;
        self.settle_failures = failures.saturating_add(1);
        if failure == Failure::Gone {
            self.stop(StopReason::Refused, now);
            return;
        }
        if let Settle::Release { less, .. } = &mut self.settle {
            match failure {
                // It may have been released: this handle may already be somebody else's to overtake.
                Failure::Transient => {
                    self.end = self.end.min(call.sent.plus_nanos(sent_after.nanos()));
                }
                Failure::Limit => *less = less.saturating_add(LIMIT_STEP_SECS),
                _ => {}
            }
        }
        let retry =
            self.retry(failure, failures, call.sent, now).map_or(SettleCall::GivenUp, SettleCall::Due);
        match &mut self.settle {
            Settle::None => {}
            Settle::Delete { call, .. } | Settle::Release { call, .. } => *call = retry,
        }
        self.warn_denied_once(failure);
    }

    fn warn_denied_once(&mut self, failure: Failure) {
        if failure == Failure::Denied {
            self.untold.denied |= !core::mem::replace(&mut self.warned.denied, true);
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

    // ---- What the owner wants ---------------------------------------------------------------------------

    pub(crate) fn delete(&mut self, now: Moment) -> Result<(), SettleError> {
        self.can_settle(now)?;
        self.settle = Settle::Delete { call: SettleCall::Due(now), sent: false };
        Ok(())
    }

    pub(crate) fn release(&mut self, after: Visibility, now: Moment) -> Result<(), SettleError> {
        self.can_settle(now)?;
        self.settle = Settle::Release { call: SettleCall::Due(now), after, less: 0 };
        Ok(())
    }

    pub(crate) fn leave(&mut self, now: Moment) -> Result<(), SettleError> {
        self.can_settle(now)?;
        self.stop(StopReason::Left, now);
        Ok(())
    }

    fn can_settle(&mut self, now: Moment) -> Result<(), SettleError> {
        if self.is_over_for_inputs(now) {
            return Err(self.ended.map_or(SettleError::Unknown, SettleError::Ended));
        }
        if self.is_settling() { Err(SettleError::AlreadySettling) } else { Ok(()) }
    }

    /// Asks for `extension` from now on; whether that changes anything.
    pub(crate) fn extend(&mut self, extension: Visibility, now: Moment) -> bool {
        if self.is_over_for_inputs(now) || self.spent || self.is_settling() {
            return false;
        }
        self.extension = extension;
        self.counted = self.counted.min(extension);
        if let Renewal::InFlight(in_flight) = &mut self.renewal {
            in_flight.counts = in_flight.counts.min(extension);
            self.by_hand = true;
        } else {
            self.renewal = Renewal::Due(now);
        }
        true
    }

    // ---- Helpers ----------------------------------------------------------------------------------------

    /// An input after *held until* finds the lease over; one at that very instant still counts.
    fn is_over_for_inputs(&mut self, now: Moment) -> bool {
        self.end_if(now > self.held_until());
        self.ended.is_some()
    }

    fn end_if(&mut self, is_over: bool) {
        if is_over && self.ended.is_none() {
            let Ended { reason, at } = self.coming_end();
            self.stop(reason, at);
        }
    }

    fn stop(&mut self, reason: StopReason, at: Moment) {
        self.ended = Some(Ended { reason, at });
        self.untold.stop = true;
    }
}

/// By when the answer of a call is wanted that is sent at `now`.
fn answer_by(held_until: Moment, now: Moment) -> Moment {
    let patience = (held_until.nanos_since(now) / 3).clamp(NANOS_PER_SEC, 10 * NANOS_PER_SEC);
    now.plus_nanos(patience).min(held_until)
}
