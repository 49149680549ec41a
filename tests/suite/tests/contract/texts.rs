//! What values print, and where their ranges end.

use std::time::Duration;

use sqs_lease_core::{
    Failure, Lease, LeaseSet, Moment, Policy, PolicyError, Received, Scope, SettleError, StopReason,
    Visibility,
};

use super::{at, lease, policy, secs, set};

#[test]
fn a_moment_prints_seconds_without_trailing_zeros() {
    for (nanos, text) in [
        (0, "0s"),
        (1, "0.000000001s"),
        (15_000_000_000, "15s"),
        (15_200_000_000, "15.2s"),
        (15_020_030_000, "15.02003s"),
        (123_456_789_012, "123.456789012s"),
        (u64::MAX, "18446744073.709551615s"),
    ] {
        let moment = Moment::from_nanos(nanos);
        assert_eq!((moment.to_string(), format!("{moment:?}")), (text.to_owned(), text.to_owned()));
    }
}

#[test]
fn moments_add_up() {
    let mut moment = at(1_500);
    moment += Duration::from_millis(700);
    assert_eq!(moment, at(2_200));
}

#[test]
fn a_visibility_timeout_is_whole_seconds_up_to_twelve_hours() {
    assert_eq!(format!("{:?}", secs(30)), "30 s");
    assert_eq!(Visibility::from_duration(Duration::from_hours(12)), Ok(Visibility::MAX));
    let range = "out of range: SQS takes 0 to 43200 s";
    for (duration, text) in [
        (Duration::from_secs(43_201), format!("visibility timeout of 43201s is {range}")),
        (Duration::from_secs(50_000), format!("visibility timeout of 50000s is {range}")),
        (Duration::from_secs(70_000), format!("visibility timeout of 70000s is {range}")),
        (
            Duration::from_millis(30_500),
            "visibility timeout of 30.5s is not a whole number of seconds".into(),
        ),
    ] {
        assert_eq!(Visibility::from_duration(duration).unwrap_err().to_string(), text);
    }
}

#[test]
fn settings_are_taken_to_their_ends_and_no_further() {
    let millis = Duration::from_millis;
    let margin = |margin| Policy::new().limit_margin(margin);
    assert!(margin(millis(0)).is_ok() && margin(millis(59_000)).is_ok() && margin(millis(60_000)).is_ok());
    for beyond in [60_001, 61_000] {
        assert_eq!(margin(millis(beyond)), Err(PolicyError::LimitMargin(millis(beyond))));
    }
    let hold = |hold| Policy::new().max_hold(hold);
    assert!(hold(millis(1_000)).is_ok() && hold(millis(43_200_000)).is_ok());
    for beyond in [0, 999, 43_200_001, 90_000_000] {
        assert_eq!(hold(millis(beyond)), Err(PolicyError::MaxHold(millis(beyond))));
    }
}

#[test]
fn a_guard_prints_as_it_was_set() {
    assert!(format!("{:?}", Policy::new()).contains("guard: default"));
    assert!(format!("{:?}", Policy::new().guard(Duration::from_millis(1_500))).contains("guard: 1.5s"));
}

#[test]
fn the_longest_guard_is_a_quarter_of_the_timeout() {
    let received = Received::new(at(0), secs(40));
    for guard in [Duration::MAX, Duration::from_nanos(u64::MAX), Duration::from_secs(11)] {
        let lease = Lease::new(&Policy::new().guard(guard), received);
        assert_eq!(lease.held_until(), at(30_000));
    }
    // Not to be mistaken for the default, which is a twentieth or a second.
    assert_eq!(Lease::new(&Policy::new(), received).held_until(), at(39_000));
}

#[test]
fn an_error_of_a_settle_says_what_became_of_the_delivery() {
    let mut late = lease();
    let error = late.delete(at(131_000)).unwrap_err();
    assert_eq!(error.to_string(), "the lease ended at 130s: expired");
    let mut twice = lease();
    twice.delete(at(101_000)).unwrap();
    assert_eq!(twice.delete(at(101_000)).unwrap_err().to_string(), "the delivery is already being settled");
    let mut set = set();
    let key = set.insert(&policy(), Received::new(at(0), secs(30)), "a", at(0));
    set.remove(key);
    assert_eq!(set.delete(key, at(0)), Err(SettleError::Unknown));
    assert_eq!(SettleError::Unknown.to_string(), "there is no such lease in the set");
}

#[test]
fn a_failure_prints_its_word() {
    for failure in [Failure::Transient, Failure::Throttled, Failure::Denied, Failure::Limit, Failure::Gone] {
        assert_eq!(failure.to_string(), failure.as_str());
    }
}

#[test]
fn a_code_without_a_status_is_an_answer_and_neither_is_none() {
    assert_eq!(Failure::read(Scope::Single, None, Some("Unheard"), ""), Failure::Gone);
    assert_eq!(Failure::read(Scope::Single, None, Some(""), ""), Failure::Transient);
    assert_eq!(Failure::read(Scope::Single, None, None, ""), Failure::Transient);
}

#[test]
fn a_look_tells_a_delete_from_a_release_and_an_end_by_the_clock() {
    let mut set: LeaseSet<&str> = set();
    let received = Received::new(at(100_000), secs(30));
    let [deleted, released, idle] =
        ["a", "b", "c"].map(|name| set.insert(&policy(), received, name, at(100_000)));
    set.delete(deleted, at(101_000)).unwrap();
    set.release(released, secs(5), at(101_000)).unwrap();
    let is_deleting = [deleted, released, idle].map(|key| set.lease(key).unwrap().is_deleting());
    assert_eq!(is_deleting, [true, false, false]);
    // Nobody drives the set.
    let look = set.lease(idle).unwrap();
    assert_eq!((look.ended(), look.ended_by(at(129_999))), (None, None));
    for late in [130_000, 200_000] {
        let ended = look.ended_by(at(late)).expect("it has run out");
        assert_eq!((ended.reason, ended.at), (StopReason::Expired, at(130_000)));
    }
}
