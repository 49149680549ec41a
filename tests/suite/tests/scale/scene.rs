//! Many leases in a set, and a queue that counts what it takes, in virtual time.

use std::collections::BTreeMap;
use std::time::Duration;

use sqs_lease_core::{
    Answer, CallId, CallKind, Event, Failure, LeaseSet, Moment, Policy, Received, SetPolicy, StopReason,
    Visibility,
};

/// What the queue does with a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Takes {
    All,
    /// So many calls a second, and so many that it saves up; the others are throttled.
    Calls {
        a_second: u32,
        saves: u32,
    },
    /// So many in each second; the others are throttled.
    EachSecond(u32),
    /// None: the requests are lost, and nobody answers.
    Nothing,
}

pub(crate) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) struct Scene {
    pub(crate) set: LeaseSet<()>,
    pub(crate) now: Moment,
    pub(crate) timeout: Duration,
    /// How long a call takes at least, and how much longer it may take by chance.
    pub(crate) latency: (Duration, Duration),
    takes: Takes,
    /// How many calls of a thousand are throttled by chance, however few there are.
    pub(crate) by_chance: u64,
    /// What the queue would take now, in billionths of a call, and when that was.
    tokens: (u64, Moment),
    answers: BTreeMap<(Moment, CallId), Result<(), Failure>>,
    pub(crate) stopped: Vec<(Moment, StopReason)>,
    pub(crate) most_in_flight: usize,
    pub(crate) calls: u64,
    pub(crate) throttled: u64,
    dice: u64,
}

const CALL: u64 = 1_000_000_000;

impl Scene {
    pub(crate) fn new(timeout: Duration, latency: Duration) -> Self {
        let now = Moment::from_secs(1_000);
        Self {
            set: LeaseSet::new(SetPolicy::new()),
            now,
            timeout,
            latency: (latency, Duration::ZERO),
            takes: Takes::All,
            by_chance: 0,
            tokens: (0, now),
            answers: BTreeMap::new(),
            stopped: Vec::new(),
            most_in_flight: 0,
            calls: 0,
            throttled: 0,
            dice: 1,
        }
    }

    /// What the queue takes from here on.
    pub(crate) fn takes(&mut self, takes: Takes) {
        self.takes = takes;
        let saved = if let Takes::Calls { saves, .. } = takes { saves } else { 0 };
        self.tokens = (u64::from(saved) * CALL, self.now);
    }

    /// Receives so many in tens, spread over half of their timeout.
    pub(crate) fn receive(&mut self, leases: u32) {
        let start = self.now;
        for number in 0..leases {
            if number % 10 == 0 {
                self.run(start + self.timeout / 2 * number / leases);
            }
            let received =
                Received::new(self.now, Visibility::from_duration(self.timeout).expect("in range"));
            self.set.insert(&Policy::new(), received, (), self.now);
        }
    }

    /// Lets time pass.
    pub(crate) fn run(&mut self, until: Moment) {
        loop {
            self.drain();
            let answer = self.answers.keys().next().map(|(at, _)| *at);
            let next = self.set.poll_timeout().into_iter().chain(answer).min();
            let Some(next) = next.filter(|at| *at <= until) else { break };
            self.now = next.max(self.now);
            while let Some(first) = self.answers.first_entry().filter(|it| it.key().0 <= self.now) {
                let ((_, call), outcome) = first.remove_entry();
                let answer = outcome.map_or_else(Answer::Failed, |()| Answer::Done);
                self.set.handle_answer(call, answer, self.now);
            }
        }
        self.now = until;
    }

    fn drain(&mut self) {
        loop {
            while let Some(event) = self.set.poll_event(self.now) {
                if let Event::Stopped { key, ended } = event {
                    self.stopped.push((ended.at, ended.reason));
                    self.set.remove(key);
                }
            }
            let Some(call) = self.set.poll_call(self.now) else { break };
            let in_flight = self.set.calls_in_flight(CallKind::ChangeVisibility);
            self.most_in_flight = self.most_in_flight.max(in_flight);
            self.calls += 1;
            let Some(outcome) = self.outcome() else { continue };
            self.throttled += u64::from(outcome.is_err());
            let (least, more) = self.latency;
            let after = least + more * self.roll() / (1 << 16);
            self.answers.insert((self.now + after, call.id), outcome);
        }
    }

    fn outcome(&mut self) -> Option<Result<(), Failure>> {
        if self.by_chance > 0 && u64::from(self.roll()) * 1_000 < self.by_chance << 16 {
            return Some(Err(Failure::Throttled));
        }
        Some(match self.takes {
            Takes::All => Ok(()),
            Takes::Nothing => return None,
            Takes::Calls { a_second, saves } => {
                let more = self.now.since(self.tokens.1).as_nanos() * u128::from(a_second);
                let most = u64::from(saves.max(1)) * CALL;
                self.take((self.tokens.0 + u64::try_from(more).expect("no years")).min(most))
            }
            Takes::EachSecond(calls) => {
                let second = |at: Moment| at.as_nanos() / CALL;
                let is_new = second(self.now) > second(self.tokens.1);
                self.take(if is_new { u64::from(calls) * CALL } else { self.tokens.0 })
            }
        })
    }

    /// 16 bits of chance, the same in every run.
    fn roll(&mut self) -> u32 {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(self.dice >> 48).expect("16 bits")
    }

    fn take(&mut self, tokens: u64) -> Result<(), Failure> {
        let is_taken = tokens >= CALL;
        self.tokens = (tokens - if is_taken { CALL } else { 0 }, self.now);
        if is_taken { Ok(()) } else { Err(Failure::Throttled) }
    }
}
