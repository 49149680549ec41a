//! What the answer of a call does.

use sqs_lease_core::Failure;

use super::{Reference, SEC, Settle, Time, secs};
use crate::transcript::Output;

impl Reference {
    pub(super) fn extension_answered(&mut self, answer: Result<(), Failure>, now: Time) {
        let attempt = self.in_flight.take().expect("it was in flight");
        let asked_again = std::mem::take(&mut self.asked_again);
        let Err(failure) = answer else {
            self.end = attempt.sent + secs(attempt.by);
            self.timeout = attempt.by;
            self.counted = attempt.counts;
            self.failures = 0;
            self.spent |= attempt.is_final;
            self.due = match (self.spent, asked_again) {
                (true, _) => None,
                (false, true) => Some(now),
                (false, false) => Some(attempt.sent + secs(attempt.by) / 2),
            };
            if self.settle == Some(Settle::Delete) && self.settling.is_none() && self.settle_due.is_none() {
                self.settle_due = Some(now);
            }
            return;
        };
        if failure == Failure::Gone {
            if self.delete_was_sent {
                self.due = None;
            } else {
                self.stop("refused", now);
            }
            return;
        }
        let failed_before = self.failures;
        self.failures += 1;
        self.due = match failure {
            Failure::Limit => {
                let less = self.limit.min(attempt.sent + secs(attempt.by)) - 10 * SEC;
                self.limit = less.max(self.end).min(self.limit);
                if failed_before == 0 {
                    Some(now)
                } else {
                    self.retry(attempt.sent, now, failure, failed_before)
                }
            }
            _ => self.retry(attempt.sent, now, failure, failed_before),
        };
    }

    pub(super) fn settle_answered(&mut self, answer: Result<(), Failure>, now: Time) {
        let attempt = self.settling.take().expect("it was in flight");
        let is_release = matches!(self.settle, Some(Settle::Release(_)));
        let Err(failure) = answer else {
            self.stop(if is_release { "released" } else { "deleted" }, now);
            return;
        };
        match failure {
            Failure::Gone => {
                self.stop("refused", now);
                return;
            }
            Failure::Transient if is_release => self.end = self.end.min(attempt.sent + secs(attempt.by)),
            // 10 s less for each refusal.
            Failure::Limit if is_release => self.release_less += 10,
            _ => {}
        }
        let failed_before = self.settle_failures;
        self.settle_failures += 1;
        self.settle_due = self.retry(attempt.sent, now, failure, failed_before);
    }

    /// When a call that failed is tried again.
    fn retry(&mut self, sent: Time, now: Time, failure: Failure, failed_before: u32) -> Option<Time> {
        let pause = match failure {
            Failure::Denied => {
                if !self.warned_denied {
                    self.warned_denied = true;
                    self.notices.push_back(Output::WarnDenied);
                }
                30 * SEC
            }
            failure => {
                let doublings = failed_before + u32::from(failure == Failure::Throttled);
                (self.unit() * (1 << doublings.min(20))).min(30 * SEC)
            }
        };
        let last = self.held_until() - self.unit();
        // What was sent at the last moment was the last.
        (now <= last && sent < last).then_some((now + pause).min(last))
    }
}
