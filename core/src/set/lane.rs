use super::pace::Pace;
use crate::schedule::{Schedule, Taken};
use crate::time::Moment;
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
    pace: Option<Pace>,
}

/// Leases that cannot be saved wait behind all others: this much later than any real moment of theirs.
const HOPELESS: u64 = 1 << 62;
/// How fast calls are allowed again while no call has been timed.
const UNTIMED: u64 = 100_000_000;
const SHORTEST_CALL: u64 = 1_000_000;

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
        let lost_before = now.plus_nanos(self.times.median().unwrap_or(0));
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
        } else if let Some(pace) = self.pace.filter(|_| self.allowed_at(now) > self.in_flight) {
            Some(pace.next())
        } else {
            let missing = self.in_flight.saturating_sub(self.allowed).saturating_add(1);
            let pause = self.pace().saturating_mul(u64::try_from(missing).unwrap_or(u64::MAX));
            Some(self.changed_at.plus_nanos(pause))
        }
    }

    /// One more call for each median call time without throttling.
    #[inline]
    fn allowed_at(&self, now: Moment) -> usize {
        if self.allowed >= self.bound {
            return self.bound;
        }
        let more = now.nanos_since(self.changed_at) / self.pace();
        self.allowed.saturating_add(usize::try_from(more).unwrap_or(usize::MAX)).min(self.bound)
    }

    fn pace(&self) -> u64 {
        self.times.median().unwrap_or(UNTIMED).max(SHORTEST_CALL)
    }

    pub(crate) fn sent(&mut self, now: Moment) {
        self.in_flight = self.in_flight.saturating_add(1);
        self.taken_at = Some(now);
        if let Some(pace) = &mut self.pace {
            pace.sent(now);
        }
    }

    /// A call has come back, or was given up.
    pub(crate) fn closed(&mut self, took: u64, throttled: bool, now: Moment) {
        let allowed = self.allowed_at(now);
        self.in_flight = self.in_flight.saturating_sub(1);
        if throttled {
            // What was under way already when it last became less says nothing new.
            let is_news = now.minus_nanos(took) > self.changed_at;
            let was_one = self.allowed == 1;
            self.allowed = (allowed / 2).max(1);
            match &mut self.pace {
                Some(pace) if is_news => pace.throttled(now),
                None if is_news && was_one && self.allowed == 1 => {
                    self.pace = Some(Pace::new(self.pace(), now));
                }
                _ => {}
            }
            self.changed_at = now;
        } else {
            self.times.record(took);
            if let Some(mut pace) = self.pace {
                let shortest = self.pace() / u64::try_from(self.bound).unwrap_or(u64::MAX);
                self.pace = pace.answered(shortest).then_some(pace);
            }
        }
    }
}

/// How long the last calls took.
#[derive(Clone, Debug, Default)]
struct CallTimes {
    ring: [u64; 32],
    len: usize,
    next: usize,
}

impl CallTimes {
    fn record(&mut self, took: u64) {
        if let Some(it) = self.ring.get_mut(self.next) {
            *it = took;
        }
        self.next = self.next.wrapping_add(1) % self.ring.len();
        self.len = self.len.saturating_add(1).min(self.ring.len());
    }

    fn median(&self) -> Option<u64> {
        let mut sorted = self.ring;
        let times = sorted.get_mut(..self.len)?;
        times.sort_unstable();
        times.get(self.len / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Moment {
        Moment::from_millis(millis)
    }

    fn lane(bound: u16) -> Lane {
        Lane::new(bound)
    }

    #[test]
    fn throttling_halves_and_time_brings_calls_back() {
        let mut lane = lane(8);
        for _ in 0..3 {
            lane.sent(at(0));
            lane.closed(100_000_000, false, at(100));
        }
        lane.sent(at(100));
        lane.closed(0, true, at(200));
        assert_eq!(lane.room(at(200)), 4);
        lane.sent(at(200));
        lane.closed(0, true, at(200));
        lane.sent(at(200));
        lane.closed(0, true, at(200));
        lane.sent(at(200));
        lane.closed(0, true, at(200));
        assert_eq!(lane.room(at(200)), 1, "never less than one call");
        assert_eq!(lane.room(at(300)), 2);
        assert_eq!(lane.room(at(450)), 3);
        assert_eq!(lane.room(at(60_000)), 8, "never more than the bound");
    }

    #[test]
    fn says_when_a_throttled_call_will_be_allowed() {
        let mut lane = lane(2);
        lane.enqueue(1, at(5_000));
        lane.sent(at(0));
        lane.sent(at(0));
        assert_eq!(lane.sendable_at(at(10)), None, "only an answer helps at the bound");
        lane.closed(0, true, at(20));
        assert_eq!(lane.sendable_at(at(20)), Some(at(120)));
        assert!(!lane.can_send(at(119)));
        assert!(lane.can_send(at(120)));
    }

    #[test]
    fn while_held_back_the_lost_are_passed_over() {
        let mut lane = lane(1);
        lane.sent(at(0));
        lane.closed(1_000_000_000, false, at(1_000));
        let lost_at = |slot| at(if slot < 2 { 1_500 } else { 4_000 });
        for slot in 0..12 {
            lane.enqueue(slot, lost_at(slot));
        }
        let order: [Option<u32>; 12] =
            core::array::from_fn(|_| lane.pop(at(1_000), lost_at).map(|it| it.slot));
        assert_eq!(order[..2], [Some(2), Some(3)]);
    }
}
