//! Many leases where SQS takes fewer calls than they need, and where it takes none for a while.
//!
//! On the core, in virtual time, beside a queue that counts what it takes.

use std::collections::BTreeMap;
use std::time::Duration;

use sqs_lease_core::{
    Answer, CallId, CallKind, Event, Failure, LeaseKey, LeaseSet, Moment, Policy, Received, SetPolicy,
    StopReason, Visibility,
};

const T: Duration = Duration::from_secs(30);
const LATENCY: Duration = Duration::from_millis(20);

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// What the queue does with a call.
#[derive(Clone, Copy)]
enum Takes {
    All,
    /// So many calls a second; the others are throttled.
    Calls(u32),
    /// None between these moments: the requests are lost, and nobody answers.
    NoneBetween(Moment, Moment),
}

struct Scene {
    set: LeaseSet<()>,
    now: Moment,
    takes: Takes,
    /// Calls that the queue would take now, in thousandths, and when that was.
    tokens: (u64, Moment),
    answers: BTreeMap<(Moment, CallId), Result<(), Failure>>,
    stopped: Vec<(LeaseKey, StopReason)>,
    most_in_flight: usize,
}

impl Scene {
    fn new(policy: SetPolicy, takes: Takes) -> Self {
        let now = Moment::from_secs(1_000);
        Self {
            set: LeaseSet::new(policy),
            now,
            takes,
            tokens: (0, now),
            answers: BTreeMap::new(),
            stopped: Vec::new(),
            most_in_flight: 0,
        }
    }

    /// Receives so many in tens, spread over half of their timeout.
    fn receive(&mut self, leases: u32) {
        let start = self.now;
        for number in 0..leases {
            if number % 10 == 0 {
                self.run(start + T / 2 * number / leases);
            }
            let received = Received::new(self.now, Visibility::from_duration(T).unwrap());
            self.set.insert(&Policy::new(), received, (), self.now);
        }
    }

    /// Lets time pass.
    fn run(&mut self, until: Moment) {
        loop {
            self.drain();
            let answer = self.answers.keys().next().map(|(at, _)| *at);
            let next = self.set.poll_timeout().into_iter().chain(answer).min();
            let Some(next) = next.filter(|at| *at <= until) else { break };
            self.now = next.max(self.now);
            while let Some(first) = self.answers.first_entry().filter(|it| it.key().0 <= self.now) {
                let ((_, call), outcome) = first.remove_entry();
                self.set.handle_answer(
                    call,
                    outcome.map_or_else(Answer::Failed, |()| Answer::Done),
                    self.now,
                );
            }
        }
        self.now = until;
    }

    fn drain(&mut self) {
        loop {
            while let Some(event) = self.set.poll_event(self.now) {
                if let Event::Stopped { key, ended } = event {
                    self.stopped.push((key, ended.reason));
                    self.set.remove(key);
                }
            }
            let Some(call) = self.set.poll_call(self.now) else { break };
            self.most_in_flight =
                self.most_in_flight.max(self.set.calls_in_flight(CallKind::ChangeVisibility));
            if let Some(outcome) = self.outcome() {
                self.answers.insert((self.now + LATENCY, call.id), outcome);
            }
        }
    }

    fn outcome(&mut self) -> Option<Result<(), Failure>> {
        match self.takes {
            Takes::All => Some(Ok(())),
            Takes::NoneBetween(from, to) => (self.now < from || self.now >= to).then_some(Ok(())),
            Takes::Calls(calls) => {
                let (tokens, at) = self.tokens;
                let more = (self.now - at).as_nanos() * u128::from(calls) / 1_000_000;
                // It may save up for a tenth of a second.
                let tokens = (tokens + u64::try_from(more).unwrap()).min((u64::from(calls) * 100).max(1_000));
                let taken = tokens >= 1_000;
                self.tokens = (tokens - if taken { 1_000 } else { 0 }, self.now);
                Some(if taken { Ok(()) } else { Err(Failure::Throttled) })
            }
        }
    }
}

/// Throttled to 30 % of what would keep all in the middle of their timeouts.
#[test]
fn throttled_it_keeps_as_many_as_the_calls_allow() {
    {
        let leases = 6_000_u32;
        let calls = leases / 150 * 3 / 10;
        let mut scene = Scene::new(SetPolicy::new(), Takes::Calls(calls));
        scene.receive(leases);
        scene.run(scene.now + T * 20);
        // An extension holds a lease for T less the guard of a second.
        let allowed = u64::from(calls) * 10 * 29;
        let kept = scene.set.len() as u64;
        let lost = scene.stopped.len() as u64;
        assert_eq!(kept + lost, u64::from(leases), "each is kept or told");
        assert!(scene.stopped.iter().all(|(_, reason)| *reason == StopReason::Expired));
        // The rest is what a lease needs to be tried again after a throttled call: two seconds and more.
        assert!(kept * 100 >= allowed * 91, "{leases}: {kept} of {allowed} are kept");
    }
}

#[test]
fn an_outage_of_a_third_of_the_timeout_loses_none() {
    for leases in [1_200, 12_000, 120_000] {
        let mut scene = Scene::new(SetPolicy::new(), Takes::All);
        scene.receive(leases);
        scene.run(scene.now + T);
        let from = scene.now;
        scene.takes = Takes::NoneBetween(from, from + T / 3);
        scene.run(from + T * 4);
        assert_eq!(scene.stopped, [], "{leases}");
        assert!(scene.most_in_flight <= 128, "{leases}: {} calls in flight", scene.most_in_flight);
        // Caught up: none is late any more.
        assert_eq!(scene.set.held_back(CallKind::ChangeVisibility), 0, "{leases}");
        let soon = scene.now + millis(50);
        assert!(scene.set.iter().all(|(key, ())| {
            scene.set.lease(key).is_some_and(|lease| lease.remaining(soon) >= millis(13_800))
        }));
    }
}

/// A FIFO queue without high throughput takes 300 calls a second.
#[test]
fn three_hundred_calls_a_second_keep_forty_five_thousand() {
    for (leases, calls) in [(4_500, 30), (45_000, 300)] {
        let mut scene = Scene::new(SetPolicy::new(), Takes::Calls(calls));
        scene.receive(leases);
        scene.run(scene.now + T * 10);
        assert_eq!(scene.stopped, []);
    }
}
