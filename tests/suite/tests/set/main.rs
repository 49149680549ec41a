//! How leases of a set share calls, each rule by name and with literals.

use std::time::Duration;

use sqs_lease_core::{Call, Event, LeaseKey, LeaseSet, Moment, Policy, Received, SetPolicy, Visibility};

mod acknowledged;
mod alike;
mod bounds;
mod events;
mod late;
mod lead;
mod linger;
mod paced;
mod rate;
mod same_receive;
mod sharing;

type Set = LeaseSet<u32>;

fn ms(millis: u64) -> Moment {
    Moment::from_millis(millis)
}

fn visibility(secs: u32) -> Visibility {
    Visibility::new(secs).unwrap()
}

/// Guard 0, so that times are easy to work out.
fn policy() -> Policy {
    Policy::new().guard(Duration::ZERO)
}

fn insert(set: &mut Set, received: u64, timeout: u32) -> LeaseKey {
    let at = ms(received);
    set.insert(&policy(), Received::new(at, visibility(timeout)), timeout, at)
}

/// Bounds of one call of each kind, and each extension in its own middle.
fn narrow() -> Set {
    Set::new(
        SetPolicy::new().coalesce(0).unwrap().changes_in_flight(1).unwrap().deletes_in_flight(1).unwrap(),
    )
}

fn drain(set: &mut Set, millis: u64) -> (Vec<Event>, Vec<Call>) {
    let (mut events, mut calls) = (Vec::new(), Vec::new());
    loop {
        events.extend(std::iter::from_fn(|| set.poll_event(ms(millis))));
        let Some(call) = set.poll_call(ms(millis)) else { break };
        calls.push(call);
    }
    let wake_up = set.poll_timeout();
    assert!(wake_up.is_none_or(|at| at > ms(millis)), "drained at {millis} ms, and offers {wake_up:?}");
    (events, calls)
}

fn calls(set: &mut Set, millis: u64) -> Vec<Call> {
    drain(set, millis).1
}

fn call(set: &mut Set, millis: u64) -> Call {
    let calls = calls(set, millis);
    assert_eq!(calls.len(), 1, "{calls:?}");
    calls[0]
}

fn keys(call: &Call) -> Vec<LeaseKey> {
    call.entries.iter().map(|entry| entry.key).collect()
}

fn events(set: &mut Set, millis: u64) -> Vec<Event> {
    drain(set, millis).0
}
