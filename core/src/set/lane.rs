use super::pace::Pace;
use crate::call::Answer;
use crate::failure::Failure;
use crate::schedule::{Schedule, Taken};
use crate::time::{Moment, NANOS_PER_SEC};
use crate::visibility::Visibility;

/// The calls of one kind: what is ready to go, and how many calls may be under way.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    /// Leases that wait for a call, the soonest lost first.
    ready: Schedule,
    bound: usize,
    /// How many calls throttling leaves of the bound.
    allowed: usize,
    in_flight: usize,
    /// When `allowed` was changed last.
    changed_at: Moment,
    /// When a call was last taken.
    pub(crate) taken_at: Option<Moment>,
    times: CallTimes,
    /// How much was throttled of late: more with each throttled answer, less with each other one.
    trouble: u32,
    /// How many calls were in flight at most when that began.
    busiest: u32,
    /// Where there is one, as many calls are allowed as the bound says.
    pace: Option<Pace>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    Answered,
    /// As a whole.
    Throttled,
    /// As a whole and for another reason: that says nothing of how many calls SQS takes.
    Failed,
    /// Nobody answered.
    GivenUp,
}

impl Closed {
    /// How a call of so many entries ended that was answered.
    pub(crate) fn by(answer: &Answer<'_>, entries: usize) -> Self {
        let mut how = Self::Throttled;
        for index in 0..entries {
            match answer.of(index, entries) {
                Err(Failure::Throttled) => {}
                Err(Failure::Transient | Failure::Denied) => how = Self::Failed,
                Ok(()) | Err(Failure::Gone | Failure::Limit) => return Self::Answered,
            }
        }
        how
    }
}

/// Leases that cannot be saved wait behind all others: this much later than any real moment of theirs.
const HOPELESS: u64 = 1 << 62;
/// How fast calls are allowed again while no call has been timed.
const UNTIMED: u64 = 100_000_000;
const SHORTEST_CALL: u64 = 1_000_000;
/// So many throttled answers are more than a moment's trouble, ...
const MANY: u32 = 8;
/// ... unless there is only one among so many answers.
const RARELY: u32 = 128;
/// Where nothing was throttled for so long, and nothing waits, calls need not be kept apart.
const FORGOTTEN: u64 = 60 * NANOS_PER_SEC;

impl Lane {
    pub(crate) fn new(bound: u16) -> Self {
        let bound = usize::from(bound);
        Self {
            ready: Schedule::default(),
            bound,
            allowed: bound,
            in_flight: 0,
            changed_at: Moment::ORIGIN,
            taken_at: None,
            times: CallTimes::default(),
            trouble: 0,
            busiest: 0,
            pace: None,
        }
    }

    #[inline]
    pub(crate) fn waiting(&self) -> usize {
        self.ready.len()
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Lets a lease wait for a call. `urgency`: when it has waited for long enough, at the latest when it is
    /// lost. It may come nearer; it moves away only for one that could not be saved before.
    pub(crate) fn enqueue(&mut self, slot: u32, urgency: Moment) {
        let moves = match self.ready.at(slot) {
            None => true,
            Some(at) if at.as_nanos() < HOPELESS => urgency < at,
            Some(at) => at.minus_nanos(HOPELESS) < urgency,
        };
        if moves {
            self.ready.set(slot, urgency);
        }
    }

    pub(crate) fn dequeue(&mut self, slot: u32) {
        self.ready.remove(slot);
    }

    /// Takes out the lease that should go next.
    ///
    /// While calls are held back, one that has less left than a call takes is passed over for those that can
    /// be saved. `lost_at` says when a lease is lost: one may be urgent and yet have time.
    pub(crate) fn pop(&mut self, now: Moment, lost_at: impl Fn(u32) -> Moment) -> Option<Taken> {
        let held_back = self.ready.len() > self.room(now).saturating_mul(Visibility::BATCH);
        if !held_back {
            return self.ready.pop();
        }
        let lost_before = now.plus_nanos(self.times.slow().unwrap_or(0));
        loop {
            let taken = self.ready.pop()?;
            if taken.at.as_nanos() >= HOPELESS || lost_at(taken.slot) >= lost_before {
                return Some(taken);
            }
            self.ready.set(taken.slot, taken.at.plus_nanos(HOPELESS));
        }
    }

    /// Puts back what was popped and did not fit; of several the last first.
    pub(crate) fn put_back(&mut self, taken: Taken) {
        self.ready.put_back(taken);
    }

    #[inline]
    pub(crate) fn can_send(&self, now: Moment) -> bool {
        self.room(now) > 0
    }

    /// How many calls may go now.
    #[inline]
    pub(crate) fn room(&self, now: Moment) -> usize {
        let room = self.allowed_at(now).saturating_sub(self.in_flight);
        match self.pace {
            Some(pace) => room.min(usize::from(pace.next() <= now)),
            None => room,
        }
    }

    /// When a call that throttling holds back will be allowed; `None` where only an answer can help.
    pub(crate) fn sendable_at(&self, now: Moment) -> Option<Moment> {
        if self.ready.is_empty() {
            None
        } else if self.can_send(now) {
            Some(now)
        } else if self.in_flight >= self.bound {
            None
        } else if let Some(pace) = self.pace {
            Some(pace.next())
        } else {
            let missing = self.in_flight.saturating_sub(self.allowed).saturating_add(1);
            let pause = self.times.pace().saturating_mul(u64::try_from(missing).unwrap_or(u64::MAX));
            Some(self.changed_at.plus_nanos(pause))
        }
    }

    /// One more call for each median call time without throttling.
    #[inline]
    fn allowed_at(&self, now: Moment) -> usize {
        if self.allowed >= self.bound {
            return self.bound;
        }
        let more = now.nanos_since(self.changed_at) / self.times.pace();
        self.allowed.saturating_add(usize::try_from(more).unwrap_or(usize::MAX)).min(self.bound)
    }

    pub(crate) fn sent(&mut self, now: Moment) {
        self.in_flight = self.in_flight.saturating_add(1);
        self.taken_at = Some(now);
        if let Some(pace) = &mut self.pace {
            pace.sent(now);
        }
    }

    /// Whether calls are kept apart.
    pub(crate) fn is_paced(&self) -> bool {
        self.pace.is_some()
    }

    /// Whether calls are kept apart and leases wait for them, or throttling says nothing: then who goes next is the
    /// lane's to say.
    pub(crate) fn is_crowded(&self) -> bool {
        self.pace.is_some_and(|pace| pace.is_by_chance() || !self.ready.is_empty())
    }

    /// A call has come back, or was given up. `is_crowd`: there are more leases than one call takes.
    pub(crate) fn closed(&mut self, took: u64, how: Closed, is_crowd: bool, now: Moment) {
        let allowed = self.allowed_at(now);
        self.in_flight = self.in_flight.saturating_sub(1);
        let in_flight = u32::try_from(self.in_flight).unwrap_or(u32::MAX);
        let sent = now.minus_nanos(took);
        if how == Closed::Answered || how == Closed::GivenUp {
            self.times.record(took);
        }
        match (how, &mut self.pace) {
            (Closed::Throttled, Some(pace)) => pace.throttled(sent, in_flight, now),
            (Closed::Throttled, None) => {
                (self.allowed, self.changed_at) = ((allowed / 2).max(1), now);
                let before = if self.trouble == 0 { 0 } else { self.busiest };
                self.busiest = before.max(in_flight.saturating_add(1));
                self.trouble = self.trouble.saturating_add(RARELY);
                if is_crowd && self.trouble > MANY * RARELY {
                    // Too fast is soon found out.
                    let gap = self.times.pace() / u64::from(self.busiest);
                    self.pace = Some(Pace::new(gap, in_flight, now));
                    (self.allowed, self.trouble) = (self.bound, 0);
                }
            }
            (Closed::Answered, Some(pace)) if !self.ready.is_empty() => {
                pace.answered(sent, in_flight, now);
                // Far less than the bound of calls in flight leaves between them.
                let shortest = self.times.pace() / u64::try_from(self.bound).unwrap_or(u64::MAX) / 2;
                if pace.is_by_chance() {
                    pace.keep_wider_than(shortest);
                } else if pace.gap() <= shortest {
                    self.pace = None;
                }
            }
            (Closed::Answered, Some(pace)) => {
                pace.answered_at_leisure(sent, in_flight, now);
                if now.nanos_since(pace.throttled_at()) > FORGOTTEN {
                    self.pace = None;
                }
            }
            (Closed::Answered, None) => self.trouble = self.trouble.saturating_sub(1),
            (Closed::Failed | Closed::GivenUp, _) => {}
        }
    }
}

/// How long the last calls took.
#[derive(Clone, Debug, Default)]
struct CallTimes {
    ring: [u64; 32],
    len: usize,
    next: usize,
    /// What few calls take longer than.
    slow: u64,
}

impl CallTimes {
    fn record(&mut self, took: u64) {
        // One of a hundred or so takes longer. A single one that hung does not say much.
        if self.len == 0 {
            self.slow = took;
        } else if took > self.slow {
            let most = self.slow.saturating_add(self.slow / 4).saturating_add(SHORTEST_CALL);
            self.slow = took.saturating_add(took / 16).min(most);
        } else if took < self.slow - self.slow / 1_024 {
            self.slow -= self.slow / 2_048;
        }
        if let Some(it) = self.ring.get_mut(self.next) {
            *it = took;
        }
        self.next = self.next.wrapping_add(1) % self.ring.len();
        self.len = self.len.saturating_add(1).min(self.ring.len());
    }

    fn slow(&self) -> Option<u64> {
        self.median().map(|median| median.max(self.slow))
    }

    /// How fast calls are allowed again.
    fn pace(&self) -> u64 {
        self.median().unwrap_or(UNTIMED).max(SHORTEST_CALL)
    }

    fn median(&self) -> Option<u64> {
        let mut sorted = self.ring;
        let times = sorted.get_mut(..self.len)?;
        times.sort_unstable();
        times.get(self.len / 2).copied()
    }
}

#[cfg(test)]
mod tests;
