//! A second opinion: what one lease does, written from the rules alone, as plain and as slow as can be.
//!
//! It was written without a look at the machine of the core, and shares nothing with it but the classes of
//! failures. Times are nanoseconds on the caller's clock, signed, so that a gap may move them before its origin.

use std::collections::VecDeque;

use sqs_lease_core::Failure;

use crate::transcript::{Output, Settings};

mod answers;
mod looks;
mod sends;

/// Nanoseconds.
pub type Time = i128;

const SEC: Time = 1_000_000_000;
const TWELVE_HOURS: Time = 43_200 * SEC;

/// A call that was sent and is waited for.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    serial: u32,
    sent: Time,
    /// What was asked for, in seconds; 0 for a delete.
    by: u32,
    is_final: bool,
    /// What the span counts once it is acknowledged: what was asked for, or less where that was lowered since.
    counts: u32,
    wanted_by: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settle {
    Delete,
    Release(u32),
}

/// What a call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// An extension.
    Extension,
    /// A delete or a release.
    Settle,
}

/// A call that [`Reference::drain`] asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What it is about.
    pub about: About,
    /// Names it in its answer.
    pub serial: u32,
    /// By when its answer is wanted.
    pub wanted_by: Time,
    /// It carries the warning that the limit is near.
    pub warns: bool,
}

/// What becomes of a settle that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// It is wanted now.
    Taken,
    /// Another was asked for before.
    SecondSettle,
    /// The lease is over, for this reason, since then.
    TooLate {
        /// Why.
        reason: &'static str,
        /// When.
        at: Time,
    },
}

/// The lease of one delivery, by the rules.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "as the rules tell it, not as a machine would")]
pub struct Reference {
    settings: Settings,
    seen: Time,
    wall: Time,
    limit: Time,
    end: Time,
    /// The timeout in force, in seconds.
    timeout: u32,
    /// What an extension asks for.
    extension: u32,
    /// What of it the span counts already.
    counted: u32,
    due: Option<Time>,
    in_flight: Option<Attempt>,
    failures: u32,
    /// An extension was asked for by hand while one was in flight.
    asked_again: bool,
    spent: bool,
    warned_limit: bool,
    warned_denied: bool,
    settle: Option<Settle>,
    settle_due: Option<Time>,
    settling: Option<Attempt>,
    settle_failures: u32,
    /// How many seconds less refusals have made the release.
    release_less: u32,
    delete_was_sent: bool,
    /// Why it is over, and since when.
    stopped: Option<(&'static str, Time)>,
    notices: VecDeque<Output>,
    serial: u32,
}

impl Reference {
    /// The lease of a delivery that was received at `received`.
    pub fn new(settings: Settings, received: Time) -> Self {
        let timeout = settings.timeout;
        let extension = settings.extension.unwrap_or(timeout);
        let requested = received - Time::from(settings.requested);
        let end = received + secs(timeout);
        let wall = requested + TWELVE_HOURS - Time::from(settings.limit_margin);
        let limit = match settings.max_hold {
            Some(hold) if requested + Time::from(hold) < wall => {
                // What the receive granted is held, but never past the wall.
                (requested + Time::from(hold)).max(end).min(wall)
            }
            _ => wall,
        };
        let mut it = Self {
            settings,
            seen: received,
            wall,
            limit,
            end,
            timeout,
            extension,
            counted: extension,
            due: Some(received + secs(timeout) / 2),
            in_flight: None,
            failures: 0,
            asked_again: false,
            spent: false,
            warned_limit: false,
            warned_denied: false,
            settle: None,
            settle_due: None,
            settling: None,
            settle_failures: 0,
            release_less: 0,
            delete_was_sent: false,
            stopped: None,
            notices: VecDeque::new(),
            serial: 0,
        };
        if timeout == 0 {
            it.stop("zero-timeout", received);
        }
        it
    }

    // ---- What the small times are -----------------------------------------------------------------------

    fn span(&self) -> Time {
        secs(self.timeout.min(self.counted))
    }

    fn guard(&self) -> Time {
        match self.settings.guard {
            None => SEC.min(self.span() / 20),
            Some(guard) => Time::from(guard).min(self.span() / 4),
        }
    }

    fn unit(&self) -> Time {
        (self.span() / 30).clamp(50_000_000, SEC)
    }

    // ---- Inputs -----------------------------------------------------------------------------------------

    /// Whether the answer of this call would still count.
    pub fn awaits(&self, serial: u32) -> bool {
        !self.is_over() && [self.in_flight, self.settling].into_iter().flatten().any(|it| it.serial == serial)
    }

    /// An input at `now`: `None` where it finds the lease over.
    fn enter(&mut self, now: Time) -> Option<Time> {
        self.seen = self.seen.max(now);
        if self.seen > self.held_until() {
            self.run_out();
        }
        (!self.is_over()).then_some(self.seen)
    }

    /// A settle is asked for.
    fn wish(&mut self, now: Time, grant: impl FnOnce(&mut Self, Time)) -> Wish {
        let Some(now) = self.enter(now) else {
            let (reason, at) = self.stopped.expect("it is over");
            return Wish::TooLate { reason, at };
        };
        if self.settle.is_some() {
            return Wish::SecondSettle;
        }
        grant(self, now);
        Wish::Taken
    }

    /// The answer of a call.
    pub fn answer(&mut self, serial: u32, answer: Result<(), Failure>, now: Time) {
        let Some(now) = self.enter(now) else { return };
        if self.in_flight.is_some_and(|it| it.serial == serial) {
            self.extension_answered(answer, now);
        } else if self.settling.is_some_and(|it| it.serial == serial) {
            self.settle_answered(answer, now);
        }
    }

    /// The user wants the message deleted.
    pub fn delete(&mut self, now: Time) -> Wish {
        self.wish(now, |it, now| {
            it.settle = Some(Settle::Delete);
            it.settle_due = Some(now);
        })
    }

    /// The user wants the message back in the queue.
    pub fn release(&mut self, after: u32, now: Time) -> Wish {
        self.wish(now, |it, now| {
            it.settle = Some(Settle::Release(after));
            it.settle_due = Some(now);
        })
    }

    /// The user lets go.
    pub fn leave(&mut self, now: Time) -> Wish {
        self.wish(now, |it, now| it.stop("left", now))
    }

    /// The user wants extensions of this length.
    pub fn extend(&mut self, by: u32, now: Time) {
        let Some(now) = self.enter(now) else { return };
        if self.spent || self.settle.is_some() {
            return;
        }
        self.extension = by;
        self.counted = self.counted.min(by);
        if let Some(attempt) = &mut self.in_flight {
            attempt.counts = attempt.counts.min(by);
            self.asked_again = true;
        } else {
            self.due = Some(now);
        }
    }

    /// The clock stood still for `gap` until `now`.
    pub fn gap(&mut self, gap: Time, now: Time) {
        self.seen = self.seen.max(now);
        self.wall -= gap;
        self.limit -= gap;
        self.end -= gap;
        if let Some((_, at)) = &mut self.stopped {
            *at -= gap;
        }
        for due in [&mut self.due, &mut self.settle_due].into_iter().flatten() {
            *due -= gap;
        }
        for attempt in [&mut self.in_flight, &mut self.settling].into_iter().flatten() {
            attempt.sent -= gap;
            attempt.wanted_by -= gap;
        }
    }

    // ---- Driving ----------------------------------------------------------------------------------------

    /// Everything that is due at `now`, in order.
    pub fn drain(&mut self, now: Time) -> Vec<(Output, Option<Asked>)> {
        self.seen = self.seen.max(now);
        let now = self.seen;
        let mut out = Vec::new();
        loop {
            out.extend(self.notices.drain(..).map(|notice| (notice, None)));
            if self.is_over() {
                return out;
            }
            if now >= self.held_until() {
                self.run_out();
            } else if self.in_flight.is_some_and(|it| it.wanted_by <= now) {
                self.extension_answered(Err(Failure::Transient), now);
            } else if self.settling.is_some_and(|it| it.wanted_by <= now) {
                self.settle_answered(Err(Failure::Transient), now);
            } else if self.settle_can_go() && self.settle_due.is_some_and(|due| due <= now) {
                out.push(self.send_settle(now));
            } else if self.extension_can_go() && self.due.is_some_and(|due| due <= now) {
                out.extend(self.send_extension(now));
            } else {
                return out;
            }
        }
    }

    fn stop(&mut self, reason: &'static str, at: Time) {
        if self.stopped.is_none() {
            self.stopped = Some((reason, at));
            self.notices.push_back(Output::Stop(reason));
        }
    }

    /// It ended at *held until*, however late that is noticed.
    fn run_out(&mut self) {
        let at_limit = self.held_until() == self.limit || self.spent;
        self.stop(if at_limit { "limit" } else { "expired" }, self.held_until());
    }

    fn extension_can_go(&self) -> bool {
        let release_wanted = matches!(self.settle, Some(Settle::Release(_)));
        self.in_flight.is_none() && self.settling.is_none() && !release_wanted
    }

    fn settle_can_go(&self) -> bool {
        match self.settle {
            None => false,
            Some(Settle::Delete) => self.settling.is_none(),
            Some(Settle::Release(_)) => self.settling.is_none() && self.in_flight.is_none(),
        }
    }
}

fn secs(secs: u32) -> Time {
    Time::from(secs) * SEC
}
