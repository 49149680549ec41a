//! A queue that takes only so many calls a second: the set finds how many, keeps to it, and follows where it moves.

use std::collections::VecDeque;
use std::time::Duration;

use sqs_lease_core::{Answer, CallId, CallKind, Failure, SetPolicy};

use super::{Set, drain, insert, ms};

/// How long an answer takes, in milliseconds.
const LATENCY: u64 = 20;

/// Messages that are always there to be deleted, and a queue that takes `rate` calls a second and saves up some.
struct Scarce {
    set: Set,
    now: u64,
    rate: f64,
    saves: f64,
    saved: f64,
    in_flight: VecDeque<(u64, CallId, bool)>,
    taken: u32,
    throttled: u32,
    /// How many calls went at one instant at most.
    at_once: usize,
    secs: u64,
}

impl Scarce {
    fn new(rate: f64, saves: f64) -> Self {
        let set = Set::new(SetPolicy::new());
        let in_flight = VecDeque::new();
        Self {
            set,
            now: 1_000_000,
            rate,
            saves,
            saved: 0.0,
            in_flight,
            taken: 0,
            throttled: 0,
            at_once: 0,
            secs: 0,
        }
    }

    /// Has something to delete for so long.
    fn run(&mut self, secs: u64) {
        (self.taken, self.throttled, self.at_once, self.secs) = (0, 0, 0, secs);
        self.pass_until(self.now + secs * 1_000, 100);
    }

    /// The same with nothing to delete.
    fn idle(&mut self, secs: u64) {
        self.pass_until(self.now + secs * 1_000, 0);
    }

    fn pass_until(&mut self, until: u64, backlog: usize) {
        while self.now < until {
            if self.set.held_back(CallKind::Delete) < backlog {
                self.delete(200);
            }
            self.pass();
            let answer = self.in_flight.front().map(|(sent, ..)| sent + LATENCY);
            let wake = self.set.poll_timeout().map(|at| at.as_nanos().div_ceil(1_000_000));
            let next = [answer, wake].into_iter().flatten().min().unwrap_or(until).min(until);
            self.saved = (self.saved + self.rate * Duration::from_millis(next - self.now).as_secs_f64())
                .min(self.saves);
            self.now = next;
        }
    }

    fn delete(&mut self, messages: u32) {
        for _ in 0..messages {
            let key = insert(&mut self.set, self.now, 3_600);
            self.set.delete(key, ms(self.now)).unwrap();
        }
    }

    fn pass(&mut self) {
        while let Some((sent, id, is_taken)) = self.in_flight.front().copied() {
            if sent + LATENCY > self.now {
                break;
            }
            self.in_flight.pop_front();
            let answer = if is_taken { Answer::Done } else { Answer::Failed(Failure::Throttled) };
            if is_taken {
                for key in self.set.entries(id).iter().map(|entry| entry.key).collect::<Vec<_>>() {
                    self.set.handle_answer(id, answer, ms(self.now));
                    self.set.remove(key);
                }
            } else {
                self.set.handle_answer(id, answer, ms(self.now));
            }
        }
        let calls = drain(&mut self.set, self.now).1;
        self.at_once = self.at_once.max(calls.len());
        for call in calls {
            let is_taken = self.saved >= 1.0;
            self.saved -= if is_taken { 1.0 } else { 0.0 };
            *(if is_taken { &mut self.taken } else { &mut self.throttled }) += 1;
            self.in_flight.push_back((self.now, call.id, is_taken));
        }
    }

    /// At least this share of what the queue takes was used, and at most so many calls were throttled.
    fn expect(&self, share: f64, throttled: u32) {
        let used = f64::from(self.taken) / (self.rate * Duration::from_secs(self.secs).as_secs_f64());
        assert!(used >= share, "{} calls a second: {used} of them were used", self.rate);
        assert!(
            self.throttled <= throttled,
            "{} calls a second: {} were throttled",
            self.rate,
            self.throttled
        );
    }
}

/// Where the queue saves up nothing, each call that comes a millisecond late is lost to it.
#[test]
fn nearly_all_that_is_taken_is_used_and_little_is_throttled() {
    for (rate, saves, share, throttled) in
        [(12.0, 12.0, 0.995, 3), (12.0, 1.0, 0.98, 3), (100.0, 1_000.0, 0.999, 4), (300.0, 300.0, 0.998, 14)]
    {
        let mut queue = Scarce::new(rate, saves);
        queue.run(30);
        queue.run(20);
        queue.expect(share, throttled);
    }
}

#[test]
fn a_queue_that_takes_more_is_followed_and_one_that_takes_less_at_once() {
    let mut queue = Scarce::new(12.0, 1.0);
    queue.run(20);
    queue.rate = 120.0;
    queue.run(70);
    queue.run(10);
    queue.expect(0.9, 3);
    queue.rate = 6.0;
    queue.run(10);
    queue.expect(0.85, 40);
    queue.run(20);
    queue.expect(0.96, 3);
}

#[test]
fn where_nothing_is_taken_it_tries_once_a_second_and_is_soon_back() {
    let mut queue = Scarce::new(100.0, 100.0);
    queue.run(20);
    (queue.rate, queue.saved) = (0.0, 0.0);
    queue.run(5);
    queue.run(10);
    assert_eq!(queue.taken, 0);
    assert!((9..=11).contains(&queue.throttled), "{} tries in ten seconds", queue.throttled);
    queue.rate = 100.0;
    queue.run(3);
    queue.run(10);
    queue.expect(0.98, 14);
}

#[test]
fn after_a_minute_without_a_backlog_calls_go_at_once_again() {
    let mut queue = Scarce::new(12.0, 12.0);
    queue.run(10);
    (queue.rate, queue.saves) = (1_000_000.0, 1_000_000.0);
    for (idle, at_once) in [(30, 1), (70, 40)] {
        queue.idle(idle);
        queue.delete(1);
        queue.idle(1);
        queue.at_once = 0;
        queue.delete(400);
        queue.idle(0);
        queue.pass();
        assert_eq!(queue.at_once, at_once, "after {idle} s");
        queue.idle(20);
    }
}
