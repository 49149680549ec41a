//! The contract of the core, each promise by name.

use std::time::Duration;

use sqs_lease_core::{
    Action, Attempt, AttemptId, Extend, Failure, Lease, LeaseSet, Moment, Policy, Received, SetPolicy,
    Visibility,
};

mod bounds;
mod clock;
mod inputs;
mod looks;
mod retries;
mod texts;
mod values;

fn at(millis: u64) -> Moment {
    Moment::from_millis(millis)
}

fn secs(secs: u32) -> Visibility {
    Visibility::new(secs).unwrap()
}

/// Guard 0, so that times are easy to work out.
fn policy() -> Policy {
    Policy::new().guard(Duration::ZERO)
}

/// Received at 100 s for 30 s.
fn lease() -> Lease {
    Lease::new(&policy(), Received::new(at(100_000), secs(30)))
}

fn set() -> LeaseSet<&'static str> {
    LeaseSet::new(SetPolicy::new())
}

fn extension(lease: &mut Lease, now: Moment) -> Extend {
    match lease.poll(now) {
        Some(Action::Extend(extend)) => extend,
        other => panic!("an extension is due at {now}, not {other:?}"),
    }
}

fn delete(lease: &mut Lease, now: Moment) -> Attempt {
    match lease.poll(now) {
        Some(Action::Delete(attempt)) => attempt,
        other => panic!("a delete is due at {now}, not {other:?}"),
    }
}

/// A lease that has made some calls, for names that are not of the lease in question.
fn unknown_attempt() -> AttemptId {
    let mut other = lease();
    let mut last = extension(&mut other, at(115_000)).attempt;
    for second in 116..120 {
        other.handle_answer(last.id, Err(Failure::Limit), at(second * 1_000));
        let Some(Action::Extend(extend)) = other.poll(other.poll_timeout().unwrap()) else { break };
        last = extend.attempt;
    }
    last.id
}
