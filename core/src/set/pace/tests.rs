use super::*;
use alloc::collections::VecDeque;

const LATENCY: u64 = 20_000_000;

/// Calls that are always wanted, and a queue that takes so many a second and saves up so many.
struct Loop {
    pace: Pace,
    now: u64,
    in_flight: VecDeque<(u64, bool)>,
    rate: f64,
    saves: f64,
    saved: f64,
    taken: u32,
    throttled: u32,
}

impl Loop {
    fn new(gap: u64, rate: f64, saves: f64) -> Self {
        let now = 1_000 * NANOS_PER_SEC;
        let pace = Pace::new(gap, 1, Moment::from_nanos(now));
        let in_flight = VecDeque::new();
        Self { pace, now, in_flight, rate, saves, saved: 0.0, taken: 0, throttled: 0 }
    }

    fn run(&mut self, secs: u64) {
        let until = self.now + secs * NANOS_PER_SEC;
        (self.taken, self.throttled) = (0, 0);
        loop {
            let answer = self.in_flight.front().map_or(u64::MAX, |(sent, _)| sent + LATENCY);
            let next = self.pace.next().as_nanos().max(self.now);
            let at = answer.min(next);
            if at >= until {
                break;
            }
            let passed = core::time::Duration::from_nanos(at - self.now).as_secs_f64();
            self.saved = (self.saved + passed * self.rate).min(self.saves);
            self.now = at;
            let now = Moment::from_nanos(at);
            if answer <= next {
                let (sent, is_taken) = self.in_flight.pop_front().unwrap();
                let (sent, others) = (Moment::from_nanos(sent), u32::try_from(self.in_flight.len()).unwrap());
                if is_taken {
                    self.taken += 1;
                    self.pace.answered(sent, others, now);
                } else {
                    self.throttled += 1;
                    self.pace.throttled(sent, others, now);
                }
            } else {
                let is_taken = self.saved >= 1.0;
                self.saved -= if is_taken { 1.0 } else { 0.0 };
                self.pace.sent(now);
                self.in_flight.push_back((at, is_taken));
            }
        }
        self.now = until;
    }
}

#[test]
fn it_finds_what_is_borne_and_stays_there() {
    for (rate, saves) in [(12.0, 12.0), (12.0, 1.0), (300.0, 300.0), (300.0, 3_000.0), (2_400.0, 240.0)] {
        for first in [1_000_000, 900_000_000] {
            let mut queue = Loop::new(first, rate, saves);
            queue.run(300);
            queue.run(100);
            assert!(f64::from(queue.taken) > rate * 99.0, "{rate} {saves}: {} taken", queue.taken);
            assert!(f64::from(queue.throttled) < rate, "{rate} {saves}: {} throttled", queue.throttled);
        }
    }
}

#[test]
fn where_all_is_throttled_it_tries_once_a_second_and_is_soon_back() {
    let mut queue = Loop::new(3_000_000, 300.0, 300.0);
    queue.run(100);
    queue.rate = 0.0;
    queue.saved = 0.0;
    queue.run(5);
    queue.run(10);
    assert!((5..=11).contains(&queue.throttled), "{} tries in ten seconds", queue.throttled);
    queue.rate = 300.0;
    queue.run(3);
    queue.run(10);
    assert!(queue.taken > 2_800, "{} in ten seconds", queue.taken);
}

#[test]
fn more_that_is_borne_is_found() {
    let mut queue = Loop::new(3_000_000, 12.0, 12.0);
    queue.run(60);
    queue.rate = 300.0;
    queue.run(120);
    queue.run(10);
    assert!(queue.taken > 2_900, "{} in ten seconds", queue.taken);
}

#[test]
fn what_was_on_its_way_when_the_gap_was_widened_says_nothing() {
    let at = Moment::from_millis;
    let mut pace = Pace::new(10_000_000, 8, at(1_000));
    for _ in 0..20 {
        pace.answered(at(1_100), 8, at(1_200));
    }
    pace.throttled(at(1_150), 8, at(1_250));
    let gap = pace.gap();
    assert!(gap > 9_000_000);
    pace.throttled(at(1_200), 8, at(1_260));
    pace.answered(at(1_200), 8, at(1_260));
    assert_eq!(pace.gap(), gap);
}

#[test]
fn a_late_wake_is_made_up_for_and_a_long_pause_is_not() {
    let at = Moment::from_millis;
    let mut pace = Pace::new(4_000_000, 1, at(1_000));
    pace.sent(at(1_010));
    assert_eq!(pace.next(), at(1_008), "six milliseconds late");
    pace.sent(at(5_000));
    assert_eq!(pace.next(), at(5_004));
}

const NOW: Moment = Moment::from_secs(1_000);

/// A gap of a millisecond is borne, and four fifths of it are not, as was found at that moment.
fn found() -> Pace {
    let mut pace = Pace::new(1_000_000, 1, NOW);
    (pace.throttled, pace.patience) = (800_000, 100);
    pace
}

#[test]
fn the_gap_narrows_in_so_many_answers_to_what_was_throttled_and_little_below() {
    let mut pace = found();
    let gaps = [0, 1, 50, 100, 140, 150, 200].map(|answers| pace.after(answers));
    assert_eq!(gaps, [1_000_000, 998_000, 900_000, 800_000, 720_000, 700_000, 700_000]);
    // Also from a gap that is a little wider than what is borne; from one that is far wider it comes back first.
    pace.gap = 1_125_000;
    pace.answered(NOW, 1, NOW);
    assert_eq!(pace.gap(), 998_000);
    pace.gap = 1_126_000;
    pace.answered(NOW, 1, NOW);
    assert_eq!(pace.gap(), 1_000_000);
}

#[test]
fn from_far_too_wide_it_comes_back_by_quarters() {
    let mut pace = found();
    pace.gap = 100_000_000;
    for gap in [25_000_000, 6_250_000, 1_562_500, 1_000_000] {
        pace.answered(NOW, 1, NOW);
        assert_eq!(pace.gap(), gap);
    }
}

#[test]
fn a_limit_is_left_alone_for_a_minute_at_most() {
    let mut pace = Pace::new(500_000_000, 1, NOW);
    (pace.throttled, pace.patience, pace.well) = (500_000_000, 100, 100);
    pace.throttled(NOW, 1, NOW);
    assert_eq!((pace.gap(), pace.patience), (505_000_000, 118));
}

#[test]
fn long_after_the_limit_was_expected_it_narrows_by_a_part_of_itself() {
    let mut pace = found();
    pace.well = 201;
    pace.answered(NOW, 1, NOW);
    assert_eq!(pace.gap(), 1_000_000 - 1_000_000 / 36);
    assert_eq!(pace.borne, pace.gap());
}

#[test]
fn a_narrower_gap_makes_the_next_call_due_at_once_where_it_was_not_yet() {
    for (early, next) in [(1, NOW.plus_nanos(999_999)), (0, NOW.plus_nanos(998_000))] {
        let mut pace = found();
        pace.answered(NOW, 1, pace.next().minus_nanos(early));
        assert_eq!(pace.next(), next, "{early} ns early");
    }
}

#[test]
fn what_was_sent_before_the_last_throttled_one_came_back_does_not_count() {
    for answered in [Pace::answered, Pace::answered_at_leisure] {
        let mut pace = found();
        answered(&mut pace, NOW.minus_nanos(1), 1, NOW);
        assert_eq!(pace.well, 0);
        answered(&mut pace, NOW, 1, NOW);
        answered(&mut pace, NOW.plus_nanos(1), 1, NOW.plus_nanos(1));
        assert_eq!(pace.well, 2);
    }
}

#[test]
fn the_gap_widens_by_as_much_as_was_throttled_once_enough_answers_are_there() {
    for answered in [Pace::answered, Pace::answered_at_leisure] {
        let mut pace = found();
        pace.throttled = 1_000_000;
        (0..6).for_each(|_| pace.answered_at_leisure(NOW, 100, NOW));
        pace.throttled(NOW, 100, NOW);
        assert_eq!(pace.gap(), 1_000_000, "seven answers are too few");
        pace.ill += 1;
        (pace.well, pace.gap) = (15, 1_000_000);
        answered(&mut pace, NOW, 100, NOW);
        assert_eq!(pace.gap(), 1_125_000, "two of sixteen");
        assert_eq!((pace.well, pace.ill), (0, 0));
    }
}

#[test]
fn a_limit_that_is_met_much_too_soon_is_looked_for_twice_as_soon() {
    let mut pace = found();
    (pace.patience, pace.well) = (256, 8);
    pace.throttled(NOW, 1, NOW);
    assert_eq!(pace.patience, 128);
    (pace.patience, pace.well) = (256, 128);
    pace.throttled(NOW, 1, NOW);
    assert_eq!(pace.patience, 512, "it was where it was");
}

#[test]
fn a_limit_that_moved_is_met_by_what_the_gap_was_then_and_a_sixteenth() {
    let mut pace = found();
    pace.well = 10_000;
    pace.throttled(NOW, 64, NOW);
    // Since the call that was throttled 64 answers came, and each narrowed the gap by one part in 288.
    let tried = 1_000_000 + 1_000_000 / 288 * 64;
    assert_eq!(pace.gap(), tried + tried / 16);
    assert_eq!(pace.patience, least_patience(64));
}

#[test]
fn where_calls_are_throttled_by_chance_it_returns_to_the_gap_that_was_as_good() {
    let mut pace = found();
    let mut now = NOW;
    let first = pace.gap();
    for _ in 0..100_000 {
        assert!(!pace.is_by_chance());
        now = now.plus_nanos(pace.gap());
        (0..3).for_each(|_| pace.answered(now, 0, now));
        pace.throttled(now, 0, now);
        if pace.is_by_chance() {
            break;
        }
    }
    assert!(pace.is_by_chance());
    assert!((first / 2..first * 2).contains(&pace.gap()), "{}", pace.gap());
    assert_eq!((pace.borne, pace.throttled), (pace.gap(), pace.gap() / 2));
    pace.keep_wider_than(first * 3);
    assert_eq!((pace.gap(), pace.borne), (first * 3, first * 3));
    pace.keep_wider_than(first);
    assert_eq!((pace.gap(), pace.borne), (first * 3, first * 3));
}
