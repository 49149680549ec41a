//! All sequences of inputs up to a length, on a coarse clock: a set of two leases beside a naive one that scans.
//!
//! `DEPTH=6 cargo test --release -p sqs-lease-suite --test exhaustive` goes further; each step is sixteen times as many.

use std::collections::VecDeque;
use std::time::Duration;

use sqs_lease_core::{
    Answer, Ask, Call, Event, Failure, LeaseKey, LeaseSet, Moment, Received, SetPolicy, Visibility,
};
use sqs_lease_suite::reference::{About, Reference, Time};
use sqs_lease_suite::transcript::{Output, Settings};

const SEC: u64 = 1_000_000_000;
const START: u64 = 1_000 * SEC;
/// Two leases that are due at different instants, and together at some.
const TIMEOUTS: [u32; 2] = [4, 6];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    /// The clock goes on by half a second.
    Tick,
    /// The clock goes on to when the set wants to be woken.
    WakeUp,
    /// The clock stood still for two seconds.
    Gap,
    /// The call that was sent first, or last, is answered, all entries alike.
    First(Result<(), Failure>),
    Last(Result<(), Failure>),
    /// The first of its entries is done, the others are not mentioned.
    InPart,
    /// The last answer comes again, as a refusal.
    Again,
    Delete(usize),
    Release(usize),
    Leave(usize),
    Extend(usize),
}

const INPUTS: [Input; 16] = [
    Input::Tick,
    Input::WakeUp,
    Input::Gap,
    Input::First(Ok(())),
    Input::First(Err(Failure::Transient)),
    Input::First(Err(Failure::Throttled)),
    Input::First(Err(Failure::Limit)),
    Input::First(Err(Failure::Gone)),
    Input::Last(Ok(())),
    Input::Last(Err(Failure::Denied)),
    Input::InPart,
    Input::Again,
    Input::Delete(0),
    Input::Release(1),
    Input::Leave(1),
    Input::Extend(0),
];

/// A call, and what each of its entries is called by the reference of its lease.
type Sent = (Call, Vec<(usize, Option<u32>)>);

#[derive(Clone)]
struct Pair {
    set: LeaseSet<usize>,
    keys: [LeaseKey; 2],
    references: [Reference; 2],
    /// Names of calls that the references asked for: of which lease, about what.
    asked: Vec<(usize, About, u32)>,
    calls: VecDeque<Sent>,
    answered: Option<Call>,
    /// Denials that the set has not told yet: many are one event in half a minute.
    untold: usize,
    now: u64,
}

impl Pair {
    fn new() -> Self {
        let mut set = LeaseSet::new(SetPolicy::new().coalesce(0).unwrap());
        let settings = TIMEOUTS.map(|timeout| Settings {
            guard: Some(SEC / 4),
            max_hold: Some(9 * SEC),
            ..Settings::of_timeout(timeout)
        });
        let start = Moment::from_nanos(START);
        let keys = [0, 1].map(|of| {
            let received = Received::new(start, Visibility::new(TIMEOUTS[of]).unwrap());
            set.insert(&settings[of].policy().unwrap(), received, of, start)
        });
        let references = settings.map(|settings| Reference::new(settings, Time::from(START)));
        let (asked, calls, answered) = (Vec::new(), VecDeque::new(), None);
        Self { set, keys, references, asked, calls, answered, untold: 0, now: START }
    }

    /// Whether the input makes sense here.
    fn takes(&mut self, input: Input) -> bool {
        let now = Moment::from_nanos(self.now);
        let time = Time::from(self.now);
        match input {
            Input::Tick => self.now += SEC / 2,
            Input::WakeUp => match self.set.poll_timeout() {
                Some(at) => self.now = self.now.max(at.as_nanos()),
                None => return false,
            },
            Input::Gap => {
                self.set.handle_gap(Duration::from_secs(2), now);
                for reference in &mut self.references {
                    reference.gap(Time::from(2 * SEC), time);
                }
            }
            Input::First(outcome) => {
                let Some(sent) = self.calls.pop_front() else { return false };
                self.answer(sent, |_| Some(outcome));
            }
            Input::Last(outcome) => {
                let Some(sent) = self.calls.pop_back() else { return false };
                self.answer(sent, |_| Some(outcome));
            }
            Input::InPart => {
                let Some(sent) = self.calls.pop_front() else { return false };
                self.answer(sent, |index| (index == 0).then_some(Ok(())));
            }
            Input::Again => {
                let Some(call) = self.answered else { return false };
                self.set.handle_answer(call.id, Answer::Failed(Failure::Gone), now);
            }
            Input::Delete(of) => {
                let _ = self.set.delete(self.keys[of], now);
                self.references[of].delete(time);
            }
            Input::Release(of) => {
                let _ = self.set.release(self.keys[of], Visibility::new(1).unwrap(), now);
                self.references[of].release(1, time);
            }
            Input::Leave(of) => {
                let _ = self.set.leave(self.keys[of], now);
                self.references[of].leave(time);
            }
            Input::Extend(of) => {
                self.set.extend(self.keys[of], Visibility::new(3).unwrap(), now).unwrap();
                self.references[of].extend(3, time);
            }
        }
        true
    }

    fn answer(&mut self, sent: Sent, outcome: impl Fn(usize) -> Option<Result<(), Failure>>) {
        let (call, names) = sent;
        let outcomes: Vec<_> = (0..names.len()).map(outcome).collect();
        self.set.handle_answer(call.id, Answer::Entries(&outcomes), Moment::from_nanos(self.now));
        for ((of, name), outcome) in names.into_iter().zip(outcomes) {
            if let Some(name) = name {
                let outcome = outcome.unwrap_or(Err(Failure::Transient));
                self.references[of].answer(name, outcome, Time::from(self.now));
            }
        }
        self.answered = Some(call);
    }

    /// Drains the set, scans the references, and compares.
    fn drive(&mut self) -> Result<(), String> {
        let now = Moment::from_nanos(self.now);
        let mut expected: [Vec<Output>; 2] = Default::default();
        for (of, reference) in self.references.iter_mut().enumerate() {
            for (output, asked) in reference.drain(Time::from(self.now)) {
                if let Some(asked) = asked {
                    self.asked.retain(|(it, about, _)| (*it, *about) != (of, asked.about));
                    self.asked.push((of, asked.about, asked.serial));
                }
                if output == Output::WarnDenied {
                    self.untold += 1;
                } else {
                    expected[of].push(output);
                }
            }
        }
        let (mut came, mut calls): ([Vec<Output>; 2], Vec<Sent>) = Default::default();
        loop {
            if let Some(event) = self.set.poll_event(now) {
                let (key, output) = match event {
                    Event::Stopped { key, ended } => (key, Output::Stop(ended.reason.as_str())),
                    Event::LimitNear { key } => (key, Output::WarnLimit),
                    Event::Denied { .. } if self.untold == 0 => return Err("nobody was denied".to_owned()),
                    Event::Denied { .. } => {
                        self.untold = 0;
                        continue;
                    }
                    _ => continue,
                };
                came[*self.set.get(key).unwrap()].push(output);
            } else if let Some(call) = self.set.poll_call(now) {
                let mut names = Vec::new();
                for entry in &call.entries {
                    let of = *self.set.get(entry.key).unwrap();
                    let (output, about) = match entry.ask {
                        Ask::Extend { by, is_final: true, .. } => {
                            (Output::Final(by.secs()), About::Extension)
                        }
                        Ask::Extend { by, .. } => (Output::Extend(by.secs()), About::Extension),
                        Ask::Release { after } => (Output::Release(after.secs()), About::Settle),
                        _ => (Output::Delete, About::Settle),
                    };
                    let asked = self.asked.iter().find(|it| (it.0, it.1) == (of, about));
                    names.push((of, asked.map(|it| it.2)));
                    came[of].push(output);
                }
                calls.push((call, names));
            } else if self.set.poll_timeout().is_none_or(|at| at > now) {
                break;
            }
        }
        self.calls.extend(calls);
        let set = &self.set;
        for (of, reference) in self.references.iter().enumerate() {
            if came[of] != expected[of] {
                return Err(format!("lease {of}: {:?}, not {:?}", came[of], expected[of]));
            }
            let view = set.lease(self.keys[of]).unwrap();
            let nanos = |moment: Moment| Time::from(moment.as_nanos());
            let theirs =
                view.ended().is_none().then(|| [view.held_until(), view.end(), view.limit()].map(nanos));
            let is_held = !reference.is_over();
            let ours = is_held.then(|| [reference.held_until(), reference.end(), reference.limit()]);
            if theirs != ours {
                return Err(format!("lease {of} is {theirs:?}, not {ours:?}"));
            }
        }
        // The first of all, by a scan; or sooner, to close a call or to tell of denials.
        let first = self.references.iter().filter_map(Reference::wake_up).min();
        let wake_up = set.poll_timeout().map(|at| Time::from(at.as_nanos()));
        let may_be_sooner = self.untold > 0 || !self.calls.is_empty();
        let agrees = match (wake_up, first) {
            (Some(wake_up), Some(first)) => wake_up == first || (wake_up < first && may_be_sooner),
            (wake_up, None) => wake_up.is_none() || may_be_sooner,
            (None, Some(_)) => false,
        };
        if agrees { Ok(()) } else { Err(format!("it wakes up at {wake_up:?}, the first is at {first:?}")) }
    }
}

fn try_all(pair: &Pair, left: u32, path: &mut Vec<Input>, tried: &mut u64) {
    for input in INPUTS {
        let mut next = pair.clone();
        if !next.takes(input) {
            continue;
        }
        path.push(input);
        *tried += 1;
        if let Err(what) = next.drive() {
            panic!("after {path:?}: {what}");
        }
        if left > 1 {
            try_all(&next, left - 1, path, tried);
        }
        path.pop();
    }
}

#[test]
fn all_sequences_of_inputs() {
    let depth = std::env::var("DEPTH").ok().and_then(|it| it.parse().ok()).unwrap_or(4);
    let mut tried = 0;
    // Before its first middle a lease has little to decide: from the start, and from there.
    for warm_up in [&[][..], &[Input::WakeUp], &[Input::WakeUp, Input::WakeUp, Input::First(Ok(()))]] {
        let mut pair = Pair::new();
        pair.drive().unwrap();
        for input in warm_up {
            assert!(pair.takes(*input), "{input:?}");
            pair.drive().unwrap();
        }
        try_all(&pair, depth, &mut warm_up.to_vec(), &mut tried);
    }
    println!("{tried} sequences of up to {depth} of {} inputs, from three beginnings", INPUTS.len());
    assert!(tried > 10_000);
}
