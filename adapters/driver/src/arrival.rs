//! From when on what a receive brings may have been hidden.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use sqs_lease_core::{Lease, Moment, Received, Visibility};

use crate::keeper::Keeper;

impl Keeper {
    /// Awaits the answer of a receive, and tells from when on the lease of what it brings has to count.
    ///
    /// SQS counts from when it gives a message out, which is somewhere between the request and the answer; of a long poll
    /// that is most of 20 s. So a lease counts from the answer, and the guard covers its way back. But an answer that
    /// came while this process stood still (the machine was suspended, the container frozen, the thread blocked by a
    /// handler) is older than it looks. This looks at the clock all the while, four times in a guard; where that was
    /// missed shortly before the answer, the lease counts from before.
    ///
    /// A loop of your own that does not receive by a [`Source`](crate::Source) of these crates wants this around its
    /// call.
    ///
    /// ```
    /// # async fn example(keeper: sqs_lease_driver::Keeper, receive: impl Future<Output = Vec<String>>) {
    /// use sqs_lease_driver::{Receipt, Visibility};
    ///
    /// let timeout = Visibility::new(30).expect("30 s");
    /// let (handles, received) = keeper.receiving(timeout, receive).await;
    /// for handle in handles {
    ///     let delivery = keeper.hold(Receipt::new(handle, received), "the message");
    /// }
    /// # }
    /// ```
    pub async fn receiving<F: Future>(&self, timeout: Visibility, call: F) -> (F::Output, Received) {
        let requested = self.now();
        let mut watch = Watch::new(requested, self.guard(requested, timeout));
        let mut call = pin!(call);
        let mut sleep = self.sleep_until(requested + watch.step);
        let output = poll_fn(|cx| {
            watch.look(self.now());
            if let Poll::Ready(output) = call.as_mut().poll(cx) {
                return Poll::Ready(output);
            }
            while sleep.as_mut().poll(cx).is_ready() {
                sleep = self.sleep_until(self.now() + watch.step);
            }
            Poll::Pending
        })
        .await;
        let at = watch.came(self.now());
        let received = Received::new(at, timeout);
        // It never lies after `at`: the watch begins with it.
        (output, received.requested(requested).unwrap_or(received))
    }

    /// What a lease with the keeper's policy would leave before its end. An extension shorter than the timeout makes it
    /// smaller, and an answer that is late by more than it must be seen.
    fn guard(&self, now: Moment, timeout: Visibility) -> Duration {
        let lease = Lease::new(self.policy(), Received::new(now, timeout));
        lease.end() - lease.held_until()
    }
}

/// Sees whether the process stood still.
struct Watch {
    step: Duration,
    /// When the clock was last looked at.
    last: Moment,
    /// The last time that it was not looked at for long: from, until.
    gap: Option<(Moment, Moment)>,
}

impl Watch {
    fn new(now: Moment, guard: Duration) -> Self {
        // An answer is late by half of the guard before that is seen.
        Self { step: (guard / 4).max(Duration::from_millis(10)), last: now, gap: None }
    }

    fn look(&mut self, now: Moment) {
        if now - self.last > 2 * self.step {
            self.gap = Some((self.last, now));
        }
        self.last = self.last.max(now);
    }

    /// Since when an answer that is seen now may have been there.
    fn came(&mut self, now: Moment) -> Moment {
        self.look(now);
        match self.gap {
            // What comes right after a gap may have waited for its end.
            Some((from, until)) if now - until <= 2 * self.step => from,
            _ => now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Moment {
        Moment::from_millis(100_000 + millis)
    }

    fn watch() -> Watch {
        let watch = Watch::new(at(0), Duration::from_secs(1));
        assert_eq!(watch.step, Duration::from_millis(250));
        watch
    }

    #[test]
    fn an_answer_counts_from_when_it_is_seen() {
        let mut watch = watch();
        for tick in 1..=40 {
            watch.look(at(tick * 260));
        }
        assert_eq!(watch.came(at(10_500)), at(10_500));
    }

    #[test]
    fn an_answer_after_a_gap_counts_from_before_the_gap() {
        let mut watch = watch();
        watch.look(at(250));
        // Seen in the very step in which the process goes on, or in one shortly after.
        assert_eq!(watch.came(at(20_000)), at(250));
        assert_eq!(watch.came(at(20_500)), at(250));
        watch.look(at(20_500));
        assert_eq!(watch.came(at(20_501)), at(20_501), "that one came by itself");
    }

    #[test]
    fn a_clock_that_runs_backwards_is_no_gap() {
        let mut watch = watch();
        watch.look(at(400));
        watch.look(at(100));
        assert_eq!(watch.came(at(600)), at(600));
    }
}
