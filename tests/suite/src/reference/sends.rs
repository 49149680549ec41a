//! What is sent, and what in its place.

use super::{About, Asked, Attempt, Reference, SEC, Settle, Time, secs};
use crate::transcript::Output;

/// What an extension sent now would be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Plan {
    Send { by: u32, is_final: bool },
    NotBefore(Time),
    NoGain,
}

impl Reference {
    fn attempt(&mut self, by: u32, is_final: bool, now: Time) -> Attempt {
        self.serial += 1;
        let held_until = self.held_until();
        let wanted_by = (now + ((held_until - now) / 3).clamp(SEC, 10 * SEC)).min(held_until);
        Attempt { serial: self.serial, sent: now, by, is_final, counts: self.extension, wanted_by }
    }

    /// What an extension sent at `now` would be.
    pub(super) fn plan(&self, now: Time) -> Plan {
        let room = (self.limit - now) / SEC;
        let is_ordinary = Time::from(self.extension) <= room;
        if self.limit - self.end < SEC || (!is_ordinary && now + room * SEC - self.end < SEC) {
            Plan::NoGain
        } else if !is_ordinary {
            Plan::Send { by: u32::try_from(room).expect("at most 12 hours"), is_final: true }
        } else if now + secs(self.extension) <= self.end {
            Plan::NotBefore(self.end - secs(self.extension) / 2)
        } else {
            Plan::Send { by: self.extension, is_final: false }
        }
    }

    pub(super) fn send_extension(&mut self, now: Time) -> Option<(Output, Option<Asked>)> {
        match self.plan(now) {
            Plan::NoGain => {
                self.spent = true;
                self.due = None;
                let is_first = !self.warned_limit;
                self.warned_limit = true;
                is_first.then_some((Output::WarnLimit, None))
            }
            Plan::NotBefore(later) => {
                self.due = Some(later);
                None
            }
            Plan::Send { by, is_final } => {
                let attempt = self.attempt(by, is_final, now);
                let warns = is_final && !self.warned_limit;
                self.warned_limit |= is_final;
                self.in_flight = Some(attempt);
                self.due = None;
                let output = if is_final { Output::Final(by) } else { Output::Extend(by) };
                Some((output, Some(Asked { warns, ..asked(About::Extension, attempt) })))
            }
        }
    }

    pub(super) fn send_settle(&mut self, now: Time) -> (Output, Option<Asked>) {
        let (output, by) = match self.settle.expect("one is wanted") {
            Settle::Delete => {
                self.delete_was_sent = true;
                (Output::Delete, 0)
            }
            Settle::Release(after) => {
                let room = ((self.wall - now) / SEC).clamp(0, 43_200);
                let by = after.min(u32::try_from(room).expect("clamped")).saturating_sub(self.release_less);
                (Output::Release(by), by)
            }
        };
        let attempt = self.attempt(by, false, now);
        self.settling = Some(attempt);
        self.settle_due = None;
        (output, Some(asked(About::Settle, attempt)))
    }
}

fn asked(about: About, attempt: Attempt) -> Asked {
    Asked { about, serial: attempt.serial, wanted_by: attempt.wanted_by, warns: false }
}
