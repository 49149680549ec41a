//! What is given up, late, stale, or stands still.

use std::time::Duration;

use sqs_lease_core::{
    Answer, CallKind, Event, FailedCall, Failure, SetPolicy, SettleError, StopReason, Visibility,
};

use super::{Set, call, calls, drain, insert, keys, ms, narrow, visibility};

const CHANGE: CallKind = CallKind::ChangeVisibility;

#[test]
fn a_call_is_given_up_by_itself_and_frees_its_place() {
    let mut set = narrow();
    let key = insert(&mut set, 0, 30);
    let first = call(&mut set, 15_000);
    assert_eq!(first.answer_by, ms(20_000));
    assert_eq!(set.poll_timeout(), Some(ms(20_000)));
    let (told, under_way) = drain(&mut set, 20_000);
    assert_eq!(under_way, []);
    assert!(matches!(told[..], [Event::Failed { failure: Failure::Transient, attempt: 1, .. }]), "{told:?}");
    assert_eq!(set.calls_in_flight(CHANGE), 0);
    assert!(!set.awaits(first.id));
    // A late answer changes nothing.
    set.handle_answer(first.id, Answer::Done, ms(20_500));
    assert_eq!(set.lease(key).unwrap().end(), ms(30_000));
    assert_eq!(keys(&call(&mut set, 21_000)), [key]);
}

#[test]
fn a_settle_that_nobody_answers_is_told_as_failed() {
    for which in [FailedCall::Delete, FailedCall::Release] {
        let mut set = Set::new(SetPolicy::new());
        let key = insert(&mut set, 0, 30);
        let asked = match which {
            FailedCall::Delete => set.delete(key, ms(3_000)),
            _ => set.release(key, visibility(20), ms(3_000)),
        };
        asked.unwrap();
        let under_way = call(&mut set, 3_000);
        // A third of what is left.
        assert_eq!(under_way.answer_by, ms(12_000));
        let (told, _) = drain(&mut set, 12_000);
        let failed = Event::Failed {
            key,
            call: which,
            failure: Failure::Transient,
            attempt: 1,
            retry_at: Some(ms(13_000)),
        };
        assert_eq!(told, [failed]);
        assert_eq!(keys(&call(&mut set, 13_000)), [key]);
    }
}

#[test]
fn each_entry_gives_up_at_its_own_time_and_the_call_at_the_latest() {
    let mut set = Set::new(SetPolicy::new());
    let short = insert(&mut set, 0, 4);
    let long = insert(&mut set, 1_900, 60);
    set.extend(long, visibility(60), ms(2_000)).unwrap();
    let under_way = call(&mut set, 2_000);
    assert_eq!(under_way.entries.len(), 2);
    // The short one wants its answer within a second, the long one within ten.
    assert_eq!(under_way.answer_by, ms(12_000));
    let (told, _) = drain(&mut set, 3_000);
    assert!(matches!(told[..], [Event::Failed { key, .. }] if key == short), "{told:?}");
    assert!(set.awaits(under_way.id));
    set.handle_answer(under_way.id, Answer::Done, ms(3_050));
    let (told, _) = drain(&mut set, 3_050);
    assert!(matches!(told[..], [Event::Extended { key, .. }] if key == long), "{told:?}");
    assert_eq!(set.lease(short).unwrap().end(), ms(4_000), "it was given up");
    assert_eq!(set.lease(long).unwrap().end(), ms(62_000));
}

#[test]
fn the_answer_to_a_try_that_was_given_up_is_not_taken_for_a_later_one() {
    let mut set = Set::new(SetPolicy::new());
    let short = insert(&mut set, 0, 4);
    let long = insert(&mut set, 1_900, 60);
    set.extend(long, visibility(60), ms(2_000)).unwrap();
    let first = call(&mut set, 2_000);
    // The short one gives it up after a second, and is extended by another call; the long one still waits for it.
    drain(&mut set, 3_000);
    let second = call(&mut set, 3_134);
    assert_eq!(keys(&second), [short]);
    set.handle_answer(second.id, Answer::Done, ms(3_200));
    let third = call(&mut set, 5_134);
    assert_eq!(keys(&third), [short]);
    drain(&mut set, 5_200);
    set.handle_answer(first.id, Answer::Done, ms(5_200));
    let (told, _) = drain(&mut set, 5_200);
    assert!(matches!(told[..], [Event::Extended { key, .. }] if key == long), "{told:?}");
    assert_eq!(set.lease(short).unwrap().end(), ms(7_134));
    set.handle_answer(third.id, Answer::Done, ms(5_300));
    assert_eq!(set.lease(short).unwrap().end(), ms(9_134));
}

#[test]
fn an_answer_counts_once() {
    let mut set = Set::new(SetPolicy::new());
    let key = insert(&mut set, 0, 30);
    let under_way = call(&mut set, 15_000);
    set.handle_answer(under_way.id, Answer::Failed(Failure::Transient), ms(15_100));
    for answer in [Answer::Done, Answer::Failed(Failure::Gone)] {
        set.handle_answer(under_way.id, answer, ms(15_200));
    }
    assert_eq!(set.lease(key).unwrap().end(), ms(30_000));
    assert_eq!(set.calls_in_flight(CHANGE), 0);
    assert_eq!(keys(&call(&mut set, 16_100)), [key]);
}

#[test]
fn an_answer_to_an_old_call_is_not_taken_for_a_new_one() {
    let mut set = Set::new(SetPolicy::new());
    let key = insert(&mut set, 0, 30);
    let old = call(&mut set, 15_000);
    set.handle_answer(old.id, Answer::Failed(Failure::Transient), ms(15_100));
    let new = call(&mut set, 16_100);
    assert_ne!(old.id, new.id);
    set.handle_answer(old.id, Answer::Failed(Failure::Gone), ms(16_200));
    assert!(set.lease(key).unwrap().is_held(ms(16_200)));
    assert!(set.awaits(new.id));
}

#[test]
fn an_answer_at_the_very_end_counts_and_one_after_it_does_not() {
    for (answered, end) in [(30_000, 59_000), (30_001, 30_000)] {
        let mut set = Set::new(SetPolicy::new());
        let key = insert(&mut set, 0, 30);
        // Woken late: the call is made a second before the end.
        let under_way = call(&mut set, 29_000);
        set.handle_answer(under_way.id, Answer::Done, ms(answered));
        assert_eq!(set.lease(key).unwrap().end(), ms(end), "answered at {answered} ms");
    }
}

#[test]
fn a_stale_key_finds_nothing() {
    let mut set = Set::new(SetPolicy::new());
    let old = insert(&mut set, 0, 30);
    assert_eq!(set.remove(old), Some(30));
    let new = insert(&mut set, 0, 60);
    assert_eq!(set.remove(old), None);
    assert_eq!(set.get(old), None);
    assert!(set.lease(old).is_none());
    assert_eq!(set.delete(old, ms(1)), Err(SettleError::Unknown));
    assert_eq!(set.release(old, Visibility::ZERO, ms(1)), Err(SettleError::Unknown));
    assert_eq!(set.leave(old, ms(1)), Err(SettleError::Unknown));
    assert_eq!(set.extend(old, visibility(5), ms(1)), Ok(()));
    assert_eq!(set.get(new), Some(&60));
    assert_eq!(set.poll_timeout(), Some(ms(30_000)), "the new lease in the old place is untouched");
    assert_eq!(set.len(), 1);
}

#[test]
fn a_lease_removed_while_in_a_call_is_not_answered_for() {
    let mut set = Set::new(SetPolicy::new());
    let (removed, kept) = (insert(&mut set, 0, 30), insert(&mut set, 0, 30));
    let under_way = call(&mut set, 15_000);
    set.remove(removed);
    // Another takes its place, and is not extended by the answer.
    let newcomer = insert(&mut set, 15_050, 20);
    set.handle_answer(under_way.id, Answer::Done, ms(15_100));
    let (told, _) = drain(&mut set, 15_100);
    assert!(matches!(told[..], [Event::Extended { key, .. }] if key == kept), "{told:?}");
    assert_eq!(set.lease(newcomer).unwrap().end(), ms(35_050));
    assert_eq!(set.calls_in_flight(CHANGE), 0);
}

#[test]
fn a_call_whose_leases_are_all_removed_still_frees_its_place() {
    let mut set = narrow();
    let removed = insert(&mut set, 0, 30);
    let under_way = call(&mut set, 15_000);
    set.remove(removed);
    assert!(!set.awaits(under_way.id));
    let key = insert(&mut set, 1_000, 30);
    assert_eq!(calls(&mut set, 16_000), []);
    assert_eq!(keys(&call(&mut set, 20_000)), [key]);
}

#[test]
fn a_gap_brings_everything_nearer() {
    let mut set = Set::new(SetPolicy::new());
    let (one, two) = (insert(&mut set, 0, 30), insert(&mut set, 0, 600));
    set.handle_gap(Duration::from_secs(6), ms(5_000));
    assert_eq!(set.lease(one).unwrap().end(), ms(24_000));
    assert_eq!(set.lease(two).unwrap().end(), ms(594_000));
    let under_way = call(&mut set, 9_000);
    assert_eq!(under_way.answer_by, ms(14_000));
    set.handle_gap(Duration::from_secs(100), ms(10_000));
    let (told, _) = drain(&mut set, 10_000);
    let lost = told.iter().filter_map(|event| match event {
        Event::Stopped { key, ended } => Some((*key, ended.reason)),
        _ => None,
    });
    assert_eq!(lost.collect::<Vec<_>>(), [(one, StopReason::Expired)]);
    assert_eq!(set.calls_in_flight(CHANGE), 0);
    assert_eq!(set.poll_timeout(), Some(ms(194_000)), "300 s after the receive, 106 s nearer");
    // One that comes after the gap is not moved by it.
    let three = insert(&mut set, 10_000, 30);
    assert_eq!(set.lease(three).unwrap().end(), ms(40_000));
}

#[test]
fn what_is_told_after_a_gap_is_told_by_the_callers_clock() {
    let mut set = Set::new(SetPolicy::new());
    insert(&mut set, 0, 30);
    set.handle_gap(Duration::from_secs(5), ms(1_000));
    let first = call(&mut set, 10_000);
    set.handle_answer(first.id, Answer::Failed(Failure::Transient), ms(10_100));
    let (told, _) = drain(&mut set, 10_100);
    let [Event::Failed { retry_at, .. }] = told[..] else { panic!("{told:?}") };
    assert_eq!(retry_at, Some(ms(11_100)));
    let second = call(&mut set, 11_100);
    set.handle_answer(second.id, Answer::Done, ms(11_200));
    let (told, _) = drain(&mut set, 11_200);
    assert!(
        matches!(told[..], [Event::Extended { held_until, attempt: 2, .. }] if held_until == ms(41_100)),
        "{told:?}"
    );
    let third = call(&mut set, 26_100);
    set.handle_answer(third.id, Answer::Done, ms(26_200));
    let (told, _) = drain(&mut set, 26_200);
    assert!(
        matches!(told[..], [Event::Extended { held_until, attempt: 1, .. }] if held_until == ms(56_100)),
        "{told:?}"
    );
}

/// Neither a wake-up nor a place before the calls.
#[test]
fn what_is_removed_leaves_nothing_behind() {
    let mut set = narrow();
    let waits = insert(&mut set, 0, 30);
    set.remove(waits);
    assert_eq!(set.poll_timeout(), None, "it waited for its middle");

    let [taken, held_back] = [insert(&mut set, 1_000, 30), insert(&mut set, 1_050, 30)];
    let under_way = call(&mut set, 16_000);
    assert_eq!(keys(&under_way), [taken]);
    assert_eq!(calls(&mut set, 16_050), []);
    assert_eq!(set.held_back(CHANGE), 1);
    set.remove(held_back);
    assert_eq!(set.held_back(CHANGE), 0, "it waited for a call");
    set.handle_answer(under_way.id, Answer::Failed(Failure::Transient), ms(16_100));
    drain(&mut set, 16_100);
    assert_eq!(set.poll_timeout(), Some(ms(17_100)));
    set.remove(taken);
    assert_eq!(set.poll_timeout(), None, "it waited for its next try");

    let [taken, held_back] = [insert(&mut set, 17_000, 30), insert(&mut set, 17_000, 30)];
    set.delete(taken, ms(18_000)).unwrap();
    let under_way = call(&mut set, 18_000);
    set.delete(held_back, ms(18_050)).unwrap();
    assert_eq!(calls(&mut set, 18_050), []);
    assert_eq!(set.held_back(CallKind::Delete), 1);
    set.remove(held_back);
    assert_eq!(set.held_back(CallKind::Delete), 0);
    set.handle_answer(under_way.id, Answer::Done, ms(18_100));
    drain(&mut set, 18_100);
    assert_eq!(set.poll_timeout(), None);
}

#[test]
fn a_call_takes_all_that_is_due_also_where_no_event_was_asked_for() {
    let mut set = Set::new(SetPolicy::new().coalesce(0).unwrap());
    let due: Vec<_> = (0..10).map(|_| insert(&mut set, 0, 30)).collect();
    assert_eq!(set.poll_call(ms(15_000)).map(|call| keys(&call)), Some(due));
}

#[test]
fn a_timeout_of_zero_is_stopped_from_the_start() {
    let mut set = Set::new(SetPolicy::new());
    let key = insert(&mut set, 0, 0);
    assert!(!set.lease(key).unwrap().is_held(ms(0)));
    let (told, under_way) = drain(&mut set, 0);
    assert!(
        matches!(told[..], [Event::Stopped { ended, .. }] if ended.reason == StopReason::ZeroTimeout),
        "{told:?}"
    );
    assert_eq!(under_way, []);
    assert_eq!(set.poll_timeout(), None);
    assert!(matches!(set.delete(key, ms(1)), Err(SettleError::Ended(_))));
}

#[test]
fn every_failure_is_told_however_many_there_are() {
    let mut set = Set::new(SetPolicy::new());
    insert(&mut set, 0, 28_800);
    let mut failures = 0_u32;
    let mut last = 0;
    // It fails for four hours, every half minute.
    for step in 0.. {
        let Some(at) = set.poll_timeout() else { break };
        assert!(step < 2_000, "still awake at {at}, after {failures} failures");
        if let Some(under_way) = set.poll_call(at) {
            set.handle_answer(under_way.id, Answer::Failed(Failure::Transient), at);
        }
        while let Some(event) = set.poll_event(at) {
            if let Event::Failed { attempt, .. } = event {
                failures += 1;
                last = attempt;
            }
        }
    }
    assert!(failures > 400, "{failures} failures were told");
    assert_eq!(last, failures);
}

#[test]
fn a_clock_that_runs_backwards_stands_still() {
    let mut set = Set::new(SetPolicy::new());
    let key = insert(&mut set, 0, 30);
    let under_way = call(&mut set, 15_000);
    set.handle_answer(under_way.id, Answer::Done, ms(3_000));
    assert_eq!(calls(&mut set, 15_000), []);
    assert_eq!(set.lease(key).unwrap().end(), ms(45_000));
    set.delete(key, ms(0)).unwrap();
    assert_eq!(set.poll_timeout(), Some(ms(15_000)));
    assert_eq!(set.poll_call(ms(0)).unwrap().answer_by, ms(25_000));
}
