//! The drain rule, with every bound reached: then the wake-up lies after now, and what has waited goes when there is room.

use std::time::Duration;

use sqs_lease_core::{
    Answer, Call, CallKind, Event, Failure, LeaseKey, LeaseSet, Moment, Received, SetPolicy,
};

use super::{at, policy, secs};

const LEASES: u64 = 60;

/// One call of each kind at once, and many more leases than go into them.
fn crowded() -> (LeaseSet<u64>, Vec<LeaseKey>) {
    let bounds = SetPolicy::new().changes_in_flight(1).unwrap().deletes_in_flight(1).unwrap();
    let mut set = LeaseSet::new(bounds);
    let received = Received::new(at(100_000), secs(30));
    let keys = (0..LEASES).map(|nth| set.insert(&policy(), received, nth, at(100_000))).collect();
    (set, keys)
}

fn drain(set: &mut LeaseSet<u64>, now: Moment) -> (Vec<Event>, Vec<Call>) {
    let (mut events, mut calls) = (Vec::new(), Vec::new());
    loop {
        let (event, call) = (set.poll_event(now), set.poll_call(now));
        if event.is_none() && call.is_none() {
            break;
        }
        events.extend(event);
        calls.extend(call);
        assert!(events.len() + calls.len() < 1_000, "draining does not end");
    }
    let wake_up = set.poll_timeout();
    assert!(wake_up.is_none_or(|at| at > now), "drained at {now}, and it wants to be woken at {wake_up:?}");
    (events, calls)
}

#[test]
fn with_both_bounds_reached_it_waits_for_an_answer() {
    let (mut set, keys) = crowded();
    for key in &keys[..30] {
        set.delete(*key, at(115_000)).unwrap();
    }
    let (_, calls) = drain(&mut set, at(115_000));
    let kinds: Vec<_> = calls.iter().map(|call| (call.kind, call.entries.len())).collect();
    assert_eq!(kinds, [(CallKind::Delete, 10), (CallKind::ChangeVisibility, 10)]);
    for kind in [CallKind::ChangeVisibility, CallKind::Delete] {
        assert_eq!(set.calls_in_flight(kind), 1);
        assert!(set.held_back(kind) >= 20, "{kind:?}: {}", set.held_back(kind));
    }
    // The wake-up is where the calls are given up: nothing else can happen.
    assert_eq!(set.poll_timeout(), Some(at(120_000)));
    // An answer of one kind makes room for that kind, and for no other.
    set.handle_answer(calls[0].id, Answer::Done, at(115_100));
    let (_, more) = drain(&mut set, at(115_100));
    assert_eq!(more.iter().map(|call| call.kind).collect::<Vec<_>>(), [CallKind::Delete]);
}

#[test]
fn calls_that_nobody_answers_make_room_when_they_are_given_up() {
    let (mut set, keys) = crowded();
    let (mut stopped, mut now) = (0, at(100_000));
    while let Some(wake_up) = set.poll_timeout() {
        assert!(wake_up > now);
        now = wake_up;
        let (events, _) = drain(&mut set, now);
        for event in events {
            if let Event::Stopped { key, ended } = event {
                assert_eq!(ended.at, at(130_000));
                assert!(set.remove(key).is_some());
                stopped += 1;
            }
        }
        assert!(now <= at(140_000), "it goes on at {now}");
    }
    assert_eq!((stopped, keys.len()), (60, 60));
    assert!(set.is_empty());
}

#[test]
fn with_the_bound_halved_by_throttling_it_wakes_when_a_call_is_allowed() {
    let bounds = SetPolicy::new().changes_in_flight(4).unwrap();
    let mut set = LeaseSet::new(bounds);
    for nth in 0..LEASES {
        set.insert(&policy(), Received::new(at(100_000), secs(30)), nth, at(100_000));
    }
    let (_, calls) = drain(&mut set, at(115_000));
    assert_eq!(calls.len(), 4);
    for call in &calls {
        set.handle_answer(call.id, Answer::Failed(Failure::Throttled), at(115_100));
    }
    let (events, calls) = drain(&mut set, at(115_100));
    assert_eq!((events.len(), calls.len()), (40, 1), "four halved twice is one");
    // Nothing was timed yet: one more in a tenth of a second.
    assert_eq!(set.poll_timeout(), Some(at(115_200)));
    assert_eq!(drain(&mut set, at(115_200)).1.len(), 1);
}

#[test]
fn with_every_lease_over_nothing_is_left_to_do() {
    let (mut set, keys) = crowded();
    for key in &keys {
        set.leave(*key, at(101_000)).unwrap();
    }
    let (events, calls) = drain(&mut set, at(101_000));
    assert_eq!((events.len(), calls.len()), (60, 0));
    assert_eq!((set.poll_timeout(), set.len()), (None, 60));
}

#[test]
fn broken_the_drain_rule_makes_things_late_and_nothing_wrong() {
    let (mut set, _) = crowded();
    // Nobody takes events out, and one call in a second.
    let mut held_at_most = 0;
    for second in 100..150 {
        let now = at(second * 1_000);
        if let Some(call) = set.poll_call(now) {
            set.handle_answer(call.id, Answer::Done, now + Duration::from_millis(100));
        }
        let held = set.iter().filter(|(key, _)| set.lease(*key).is_some_and(|it| it.is_held(now))).count();
        held_at_most = held_at_most.max(held);
        assert!(set.iter().all(|(key, _)| set.lease(key).is_some_and(|it| it.held_until() <= at(180_000))));
    }
    assert_eq!(held_at_most, 60);
    let (events, _) = drain(&mut set, at(150_000));
    assert!(events.len() >= 60, "nothing was told twice or forgotten: {}", events.len());
}

/// Nobody is passed over: of leases that are due at one moment those go first that came first.
#[test]
fn of_one_moment_the_first_comes_first() {
    let bounds = SetPolicy::new().changes_in_flight(1).unwrap();
    for exact in [false, true] {
        let mut set = LeaseSet::new(if exact { bounds.coalesce(0).unwrap() } else { bounds });
        for nth in 0..LEASES {
            // Each fifth is received later, so that there are moments before and after.
            let received = at(100_000 + nth % 5 * 400);
            set.insert(&policy(), Received::new(received, secs(30)), nth, received);
        }
        let mut order = Vec::new();
        for _ in 0..LEASES / 10 {
            let (_, calls) = drain(&mut set, at(116_600));
            let [call] = &calls[..] else { panic!("one call at a time: {calls:?}") };
            order.extend(call.entries.iter().map(|entry| *set.get(entry.key).unwrap()));
            set.handle_answer(call.id, Answer::Done, at(116_600));
        }
        let mut expected: Vec<_> = (0..LEASES).collect();
        expected.sort_by_key(|nth| nth % 5);
        assert_eq!(order, expected);
    }
}
