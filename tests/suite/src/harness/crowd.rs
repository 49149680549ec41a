//! Several leases in a set: beside what can be seen by a scan of all of them, beside the truth of SQS, and,
//! where calls are neither shared early nor held back, beside a reference for each.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sqs_lease_core::{
    Answer, Ask, Call, CallKind, Event, FailedCall, Failure, LeaseKey, LeaseSet, Moment, Received, SetPolicy,
    Visibility,
};

use super::{Bytes, duel};
use crate::reference::{Reference, Time, Wish};
use crate::transcript::Output;

mod member;

use member::{Member, Sent};

const SEC: u64 = 1_000_000_000;
const INPUTS: usize = 120;
const MEMBERS: usize = 24;

/// Plays these bytes on a set.
///
/// # Panics
/// The set broke a promise, with what it did.
pub fn crowd(bytes: &[u8]) {
    let mut bytes = Bytes::new(bytes);
    let mut crowd = Crowd::new(&mut bytes);
    crowd.drive();
    for _ in 0..INPUTS {
        if bytes.is_empty() {
            break;
        }
        crowd.step(&mut bytes);
    }
}

struct Crowd {
    set: LeaseSet<u64>,
    percent: u64,
    bounds: [usize; 2],
    /// Whether each lease does what it would do alone.
    is_exact: bool,
    /// How many calls were throttled, in full or in part.
    throttled: u32,
    now: u64,
    driven_at: u64,
    is_wake: bool,
    members: BTreeMap<LeaseKey, Member>,
    inserted: u64,
    calls: Vec<(Call, u64)>,
    removed: Vec<LeaseKey>,
}

impl Crowd {
    fn new(bytes: &mut Bytes<'_>) -> Self {
        let percent = bytes.pick(&[10_u8, 0, 25, 1]);
        let bound = bytes.pick(&[64_u16, 1, 2]);
        let linger = Duration::from_millis(bytes.pick(&[0, 0, 0, 200, 10_000]));
        let policy = SetPolicy::new()
            .coalesce(percent)
            .and_then(|it| it.changes_in_flight(bound))
            .and_then(|it| it.deletes_in_flight(bound))
            .and_then(|it| it.linger(linger))
            .expect("in range")
            .slack(Duration::from_millis(bytes.pick(&[50, 0, 60_000])));
        Self {
            set: LeaseSet::new(policy),
            percent: u64::from(percent),
            bounds: [usize::from(bound); 2],
            is_exact: percent == 0 && bound == 64 && linger.is_zero(),
            throttled: 0,
            now: 1_000_000 * SEC,
            driven_at: 1_000_000 * SEC,
            is_wake: false,
            members: BTreeMap::new(),
            inserted: 0,
            calls: Vec::new(),
            removed: Vec::new(),
        }
    }

    fn at(&self) -> Moment {
        Moment::from_nanos(self.now)
    }

    fn step(&mut self, bytes: &mut Bytes<'_>) {
        match bytes.below(8) {
            0..=2 => self.pass(self.set.poll_timeout().map_or(0, Moment::as_nanos).saturating_sub(self.now)),
            3 => self.pass(bytes.below(4_000) * 10_000_000),
            4 => self.pass(bytes.below(3)),
            _ => {}
        }
        let now = self.at();
        let key = self.members.keys().copied().nth(usize::from(bytes.byte()) % self.members.len().max(1));
        match (bytes.below(16), key) {
            (0..=2, _) | (_, None) => self.insert(bytes),
            (3..=7, _) => self.answer(bytes),
            (8, Some(key)) => {
                let taken = self.set.delete(key, now).is_ok();
                self.settled(key, taken, false, Reference::delete);
            }
            (9, Some(key)) => {
                let after = bytes.pick(&[0, 1, 30, 43_200]);
                let taken = self.set.release(key, visibility(after), now).is_ok();
                self.settled(key, taken, true, move |it, now| it.release(after, now));
            }
            (10, Some(key)) => {
                let taken = self.set.leave(key, now).is_ok();
                self.settled(key, taken, false, Reference::leave);
            }
            (11, Some(key)) => {
                let by = bytes.pick(&[1, 5, 30, 60, 600, 43_200]);
                self.set.extend(key, visibility(by), now).expect("in range");
                let member = self.members.get_mut(&key).expect("it is one");
                member.reference.extend(by, Time::from(self.now));
                member.not_before = 0;
            }
            (12, _) => {
                let gap = bytes.pick(&[0, 1, 300, 2_000, 20_000]) * 1_000_000;
                self.set.handle_gap(Duration::from_nanos(gap), now);
                for member in self.members.values_mut() {
                    member.gap(gap, self.now);
                }
            }
            (13, Some(key)) => {
                assert!(self.set.remove(key).is_some());
                self.members.remove(&key);
                self.removed.push(key);
            }
            (14, _) => self.stale(bytes),
            _ => {
                let backwards = Moment::from_nanos(self.driven_at - bytes.below(100_000) * SEC / 10);
                assert!(self.set.poll_event(backwards).is_none(), "it was drained at a later time");
                assert!(self.set.poll_call(backwards).is_none(), "it was drained at a later time");
            }
        }
        self.drive();
    }

    /// Time runs on; where somebody is held by the set, nobody else can have the message by then.
    fn pass(&mut self, nanos: u64) {
        self.now += nanos.min(50_000 * SEC);
        for (&key, member) in &self.members {
            let view = self.set.lease(key).expect("it was not removed");
            if view.is_held(self.at()) {
                assert!(self.now < member.true_end, "{key:?} is held at {}: {member:?}", self.at());
            }
        }
    }

    fn insert(&mut self, bytes: &mut Bytes<'_>) {
        if self.members.len() >= MEMBERS {
            return;
        }
        let mut settings = duel::settings(bytes);
        // Most alike, so that they meet.
        if bytes.below(4) != 0 {
            settings = crate::transcript::Settings::of_timeout(bytes.pick(&[30, 30, 30, 60]));
        }
        let at = self.now - bytes.pick(&[0, 0, SEC, SEC / 20]);
        let received = Received::new(Moment::from_nanos(at), visibility(settings.timeout))
            .requested(Moment::from_nanos(at - settings.requested))
            .expect("before the receive");
        let policy = settings.policy().expect("in range");
        self.inserted += 1;
        let key = self.set.insert(&policy, received, self.inserted, self.at());
        let member = Member::new(settings, at, self.now);
        assert!(self.members.insert(key, member).is_none(), "{key:?} names two leases");
    }

    fn settled(
        &mut self,
        key: LeaseKey,
        taken: bool,
        is_release: bool,
        settle: impl Fn(&mut Reference, Time) -> Wish,
    ) {
        let member = self.members.get_mut(&key).expect("it is one");
        settle(&mut member.reference, Time::from(self.now));
        member.releases |= taken && is_release;
    }

    /// What is stale changes nothing.
    fn stale(&mut self, bytes: &mut Bytes<'_>) {
        // What is overdue is due at once.
        let now = self.at();
        let look = |set: &LeaseSet<u64>| (set.poll_timeout().map(|at| at.max(now)), set.len());
        let before = look(&self.set);
        if !self.removed.is_empty() {
            let key = bytes.pick(&self.removed);
            assert!(self.set.delete(key, self.at()).is_err());
            assert!(self.set.remove(key).is_none());
            assert!(self.set.get(key).is_none());
        }
        assert_eq!(before, look(&self.set));
    }

    fn answer(&mut self, bytes: &mut Bytes<'_>) {
        if self.calls.is_empty() {
            return;
        }
        let index = usize::from(bytes.byte()) % self.calls.len();
        let (call, sent) = self.calls.swap_remove(index);
        let failures =
            [Failure::Transient, Failure::Throttled, Failure::Denied, Failure::Limit, Failure::Gone];
        let whole = bytes.below(4);
        let mut outcomes: Vec<Option<Result<(), Failure>>> = Vec::new();
        for _ in 0..call.entries.len() {
            outcomes.push(match bytes.below(5) {
                0 => Some(Err(bytes.pick(&failures))),
                1 if bytes.below(4) == 0 => None,
                _ => Some(Ok(())),
            });
        }
        let failed = bytes.pick(&failures);
        let answer = match whole {
            0 => {
                outcomes.fill(Some(Ok(())));
                Answer::Done
            }
            1 => {
                let about_one = call.entries.len() == 1;
                let counts = match failed {
                    Failure::Gone | Failure::Limit if !about_one => Failure::Denied,
                    failed => failed,
                };
                outcomes.fill(Some(Err(counts)));
                Answer::Failed(failed)
            }
            _ => Answer::Entries(&outcomes),
        };
        self.throttled += u32::from(outcomes.contains(&Some(Err(Failure::Throttled))));
        // From then on calls are kept apart, and what is throttled goes again in its turn.
        self.is_exact &= self.throttled <= 8;
        let arrived = bytes.below(2) == 0;
        self.set.handle_answer(call.id, answer, self.at());
        for (entry, outcome) in call.entries.iter().zip(&outcomes) {
            let outcome = outcome.unwrap_or(Err(Failure::Transient));
            if let Some(member) = self.members.get_mut(&entry.key) {
                member.answered(call.id, outcome, arrived, self.now);
            }
        }
        assert!(!self.set.awaits(call.id), "{call:?} of {sent} was answered");
    }

    /// Drains the set, and looks at all that comes.
    fn drive(&mut self) {
        let mut told: BTreeMap<LeaseKey, Vec<Output>> = BTreeMap::new();
        // Several drives of one instant are one wake.
        let mut is_wake = self.is_wake && self.driven_at == self.now;
        self.driven_at = self.now;
        for member in self.members.values_mut() {
            member.give_up(self.now);
        }
        for step in 0.. {
            assert!(step <= 8 * (MEMBERS + INPUTS), "draining does not end");
            if let Some(event) = self.set.poll_event(self.at()) {
                self.event(event, &mut told);
                continue;
            }
            let planned: BTreeMap<_, _> = self
                .members
                .keys()
                .map(|&key| (key, self.set.lease(key).and_then(|view| view.next())))
                .collect();
            let Some(call) = self.set.poll_call(self.at()) else {
                // One that was held back may have nothing to send any more, and then has something to tell.
                if self.set.poll_timeout().is_some_and(|at| at <= self.at()) {
                    continue;
                }
                break;
            };
            self.call(&call, &planned, &mut is_wake, &mut told);
            self.calls.push((call, self.now));
        }
        self.is_wake = is_wake;
        let wake_up = self.set.poll_timeout();
        assert!(wake_up.is_none_or(|at| at > self.at()), "drained at {}: {wake_up:?}", self.at());
        let in_flight =
            [CallKind::ChangeVisibility, CallKind::Delete].map(|kind| self.set.calls_in_flight(kind));
        for (kind, (in_flight, bound)) in [CallKind::ChangeVisibility, CallKind::Delete]
            .into_iter()
            .zip(in_flight.into_iter().zip(self.bounds))
        {
            assert!(in_flight <= bound, "{in_flight} calls in flight");
            let held_back = self.set.held_back(kind);
            assert!(
                held_back == 0 || in_flight == bound || self.throttled > 0,
                "{held_back} wait for nothing"
            );
            self.is_exact &= held_back == 0;
        }
        self.compare(&told);
    }

    fn event(&mut self, event: Event, told: &mut BTreeMap<LeaseKey, Vec<Output>>) {
        match event {
            Event::Stopped { key, ended } => {
                let member = self.members.get_mut(&key).expect("a removed lease tells nothing");
                assert!(!member.is_stopped, "{key:?} stopped twice");
                member.is_stopped = true;
                told.entry(key).or_default().push(Output::Stop(ended.reason.as_str()));
            }
            Event::LimitNear { key } => told.entry(key).or_default().push(Output::WarnLimit),
            Event::Failed { key, retry_at, call, .. } => {
                assert!(retry_at.is_none_or(|at| at >= self.at()), "{event:?} at {}", self.at());
                if let (Some(member), FailedCall::Extension) = (self.members.get_mut(&key), call) {
                    member.not_before = retry_at.map_or(0, Moment::as_nanos);
                }
            }
            _ => {}
        }
    }

    fn call(
        &mut self,
        call: &Call,
        planned: &BTreeMap<LeaseKey, Option<sqs_lease_core::Next>>,
        is_wake: &mut bool,
        told: &mut BTreeMap<LeaseKey, Vec<Output>>,
    ) {
        let now = self.at();
        let mut keys = BTreeSet::new();
        let mut latest = now;
        assert!((1..=10).contains(&call.entries.len()), "{call:?}");
        for entry in &call.entries {
            assert!(keys.insert(entry.key), "{call:?} carries a lease twice");
            let view = self.set.lease(entry.key).expect("a removed lease is in no call");
            let held_until = view.held_until();
            let member = self.members.get_mut(&entry.key).expect("as above");
            assert!(!member.is_stopped && now < held_until, "{entry:?} is sent for a lease that is over");
            let patience = (held_until.since(now) / 3).clamp(Duration::from_secs(1), Duration::from_secs(10));
            let wanted_by = (now + patience).min(held_until);
            latest = latest.max(wanted_by);
            let sent = Sent { call: call.id, at: self.now, ask: entry.ask, wanted_by: wanted_by.as_nanos() };
            let output = member.sent(sent, call.kind);
            told.entry(entry.key).or_default().push(output);
            let Ask::Extend { by, is_final, .. } = entry.ask else {
                *is_wake = true;
                continue;
            };
            assert!(!by.is_zero(), "an extension by nothing");
            let reach = self.now + u64::from(by.secs()) * SEC;
            assert!(reach <= view.limit().as_nanos(), "{entry:?} reaches past the limit");
            assert!(reach > view.end().as_nanos(), "{entry:?} shortens");
            let Some(next) = planned[&entry.key] else {
                // At its middle no extension would gain a second any more; drawn forward it gains a little.
                assert!(self.percent > 0, "{entry:?} was not announced");
                continue;
            };
            if next.at <= now {
                *is_wake = true;
                assert_eq!((next.by, next.is_final), (by, is_final), "{entry:?} is not what was announced");
            } else {
                let early = next.at.since(now).as_nanos();
                let window = u128::from(view.timeout().secs()) * u128::from(SEC * self.percent / 100);
                assert!(early <= window, "{entry:?} is sent {early} ns before its middle");
                assert!(member.not_before <= self.now, "{entry:?} is a retry, and was drawn forward");
            }
        }
        assert!(*is_wake, "{call:?} is made although nothing is due");
        assert_eq!(call.answer_by, latest, "{call:?}");
    }

    /// Each lease beside its reference.
    fn compare(&mut self, told: &BTreeMap<LeaseKey, Vec<Output>>) {
        for (key, member) in &mut self.members {
            let expected = member.drain(self.now);
            if self.is_exact {
                let came = told.get(key).map_or(&[][..], Vec::as_slice);
                assert_eq!(came, expected, "{key:?} at {}: {member:?}", self.now);
            }
        }
    }
}

fn visibility(secs: u32) -> Visibility {
    Visibility::new(secs).expect("in range")
}
