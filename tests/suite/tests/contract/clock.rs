//! Clocks that stand still, jump, run backwards or come to their ends.

use std::time::Duration;

use sqs_lease_core::{
    Action, Answer, CallId, Failure, Lease, LeaseKey, LeaseSet, Moment, Policy, Received, StopReason,
};

use super::{at, extension, lease, policy, secs, set, unknown_attempt};

#[test]
fn a_clock_that_stands_still_gets_everything_once() {
    let mut lease = lease();
    let extend = extension(&mut lease, at(115_000));
    for _ in 0..10 {
        assert_eq!(lease.poll(at(115_000)), None);
    }
    lease.handle_answer(extend.attempt.id, Err(Failure::Transient), at(115_000));
    for _ in 0..10 {
        assert_eq!(lease.poll(at(115_000)), None);
    }
    assert_eq!(lease.poll_timeout(), Some(at(116_000)));
}

#[test]
fn a_clock_that_jumps_over_the_end_finds_it_over_and_sends_nothing() {
    for millis in [130_000, 130_001, 500_000, 40_000_000_000] {
        let mut lease = lease();
        assert_eq!(lease.poll(at(millis)), Some(Action::Stop(StopReason::Expired)), "{millis}");
        assert_eq!(lease.poll(at(millis)), None);
        // However late it was noticed.
        assert_eq!(lease.ended().unwrap().at, at(130_000));
    }
}

#[test]
fn a_clock_that_runs_backwards_counts_as_standing_still() {
    let mut lease = lease();
    let extend = extension(&mut lease, at(116_000));
    for millis in [115_999, 100_000, 0] {
        assert_eq!(lease.poll(at(millis)), None);
        assert_eq!(lease.remaining(at(millis)), Duration::from_secs(14));
    }
    lease.handle_answer(extend.attempt.id, Err(Failure::Transient), at(90_000));
    // A second after the failure, and that was at the latest that was seen.
    assert_eq!(lease.poll_timeout(), Some(at(117_000)));
    lease.extend(secs(60), at(0)).unwrap();
    assert_eq!(lease.poll_timeout(), Some(at(116_000)));
    lease.leave(at(0)).unwrap();
    assert_eq!(lease.ended().unwrap().at, at(116_000));
}

#[test]
fn a_set_s_clock_that_runs_backwards_counts_as_standing_still() {
    let mut set = set();
    let received = Received::new(at(100_000), secs(30));
    set.insert(&policy(), received, "a", at(100_000));
    let call = set.poll_call(at(116_000)).unwrap();
    assert_eq!((set.poll_event(at(3)), set.poll_call(at(2))), (None, None));
    set.handle_answer(call.id, Answer::Failed(Failure::Transient), at(1));
    while set.poll_event(at(0)).is_some() {}
    assert_eq!(set.poll_timeout(), Some(at(117_000)));
    // A lease that is received before what was seen lives by its own instant all the same.
    let late = set.insert(&policy(), received, "b", at(50_000));
    assert_eq!(set.lease(late).unwrap().held_until(), at(130_000));
}

#[test]
fn a_gap_brings_everything_nearer() {
    let mut lease = lease();
    lease.handle_gap(Duration::from_secs(10), at(101_000));
    assert_eq!((lease.end(), lease.held_until()), (at(120_000), at(120_000)));
    assert_eq!(lease.poll_timeout(), Some(at(105_000)));
    assert_eq!(lease.remaining(at(101_000)), Duration::from_secs(19));
    let extend = extension(&mut lease, at(105_000));
    assert_eq!(extend.attempt.answer_by, at(110_000));
    lease.handle_gap(Duration::from_secs(4), at(105_000));
    assert_eq!(lease.poll_timeout(), Some(at(106_000)));
    // It was sent four seconds earlier than the clock says now.
    lease.handle_answer(extend.attempt.id, Ok(()), at(105_500));
    assert_eq!(lease.end(), at(131_000));
    lease.handle_gap(Duration::from_hours(24), at(106_000));
    assert_eq!(lease.poll(at(106_000)), Some(Action::Stop(StopReason::Expired)));
}

type OfLease = fn(&mut Lease, Moment);
type OfSet = fn(&mut LeaseSet<&str>, LeaseKey, CallId, Moment);

/// A clock that runs backwards afterwards stands still there.
#[test]
fn the_time_of_every_input_was_seen() {
    let late = at(112_000);
    let inputs: [OfLease; 6] = [
        |lease, now| assert_eq!(lease.poll(now), None),
        |lease, now| lease.handle_answer(unknown_attempt(), Ok(()), now),
        |lease, now| lease.handle_gap(Duration::ZERO, now),
        |lease, now| lease.delete(now).unwrap(),
        |lease, now| lease.release(secs(0), now).unwrap(),
        |lease, now| lease.extend(secs(30), now).unwrap(),
    ];
    for (which, input) in inputs.into_iter().enumerate() {
        let mut lease = lease();
        input(&mut lease, late);
        assert_eq!(lease.remaining(at(101_000)), Duration::from_secs(18), "{which}");
    }
    let inputs: [OfSet; 7] = [
        |set, _, _, now| assert_eq!(set.poll_event(now), None),
        |set, _, _, now| assert_eq!(set.poll_call(now), None),
        |set, _, stale, now| set.handle_answer(stale, Answer::Done, now),
        |set, _, _, now| set.handle_gap(Duration::ZERO, now),
        |set, key, _, now| set.delete(key, now).unwrap(),
        |set, key, _, now| set.release(key, secs(0), now).unwrap(),
        |set, key, _, now| set.extend(key, secs(30), now).unwrap(),
    ];
    for (which, input) in inputs.into_iter().enumerate() {
        let mut set = set();
        let gone = set.insert(&policy(), Received::new(at(85_000), secs(30)), "gone", at(85_000));
        let stale = set.poll_call(at(100_000)).unwrap().id;
        set.handle_answer(stale, Answer::Done, at(100_000));
        set.remove(gone);
        while set.poll_event(at(100_000)).is_some() {}
        let key = set.insert(&policy(), Received::new(at(100_000), secs(30)), "a", at(100_000));
        input(&mut set, key, stale, late);
        assert_eq!(set.lease(key).unwrap().remaining(at(101_000)), Duration::from_secs(18), "{which}");
    }
}

#[test]
fn the_time_of_an_answer_and_of_a_gap_was_seen() {
    // An answer.
    let mut lease = lease();
    let extend = extension(&mut lease, at(115_000));
    lease.handle_answer(extend.attempt.id, Ok(()), at(124_000));
    lease.extend(secs(20), at(100_000)).unwrap();
    assert_eq!(lease.poll_timeout(), Some(at(124_000)));
    // A gap, and what it adds: five seconds after 108 s it is as late as at 113 s.
    let mut lease = Lease::new(&policy(), Received::new(at(100_000), secs(30)));
    lease.handle_gap(Duration::from_secs(5), at(108_000));
    assert_eq!(lease.remaining(at(101_000)), Duration::from_secs(17));
    lease.handle_gap(Duration::from_secs(2), at(100_000));
    assert_eq!(lease.remaining(at(107_000)), Duration::from_secs(15));
    extension(&mut lease, at(107_000));
}

#[test]
fn a_gap_of_a_set_brings_everything_nearer() {
    let mut set = set();
    let key = set.insert(&policy(), Received::new(at(100_000), secs(30)), "a", at(100_000));
    set.handle_gap(Duration::from_secs(10), at(101_000));
    assert_eq!(set.poll_timeout(), Some(at(105_000)));
    assert_eq!(set.poll_call(at(104_999)), None);
    let call = set.poll_call(at(105_000)).unwrap();
    assert_eq!(call.answer_by, at(110_000));
    assert_eq!(set.lease(key).unwrap().end(), at(120_000));
    // What is received after it is on the same clock.
    let late = set.insert(&policy(), Received::new(at(106_000), secs(30)), "b", at(106_000));
    assert_eq!(set.lease(late).unwrap().end(), at(136_000));
}

#[test]
fn the_longest_gap_ends_everything_and_nothing_overflows() {
    let mut lease = lease();
    lease.handle_gap(Duration::MAX, at(101_000));
    lease.handle_gap(Duration::MAX, at(102_000));
    assert!(!lease.is_held(at(102_000)));
    assert!(matches!(lease.poll(at(102_000)), Some(Action::Stop(_))));
    assert_eq!(lease.poll_timeout(), None);
}

#[test]
fn a_lease_at_the_origin() {
    let mut lease = Lease::new(&policy(), Received::new(Moment::ORIGIN, secs(30)));
    let extend = extension(&mut lease, at(15_000));
    lease.handle_answer(extend.attempt.id, Ok(()), at(15_100));
    assert_eq!(lease.end(), at(45_000));
    let long_poll = Received::new(at(1), secs(30)).requested(Moment::ORIGIN).unwrap();
    assert_eq!(Lease::new(&policy(), long_poll).limit(), at(43_195_000));
}

#[test]
fn a_lease_at_the_last_moment_ends_there() {
    for before in [0, 1, 1_000_000_000, 15_000_000_000] {
        let received = Moment::from_nanos(u64::MAX - before);
        for policy in [policy(), Policy::new()] {
            let mut lease = Lease::new(&policy, Received::new(received, secs(30)));
            for _ in 0..4 {
                if let Some(Action::Extend(extend)) = lease.poll(received) {
                    lease.handle_answer(extend.attempt.id, Err(Failure::Transient), received);
                }
            }
            // The clock has no later moment: it is over there, not before for nothing, and not never.
            while lease.poll(Moment::MAX).is_some() {}
            assert!(lease.ended().is_some(), "{before}");
            assert_eq!(lease.poll_timeout(), None);
        }
    }
}

#[test]
fn before_its_receive_a_lease_counts_from_the_receive() {
    let lease = lease();
    assert_eq!(lease.remaining(Moment::ORIGIN), Duration::from_secs(30));
    assert!(lease.is_held(Moment::ORIGIN));
}
