//! Settles that wait for company.

use std::time::Duration;

use sqs_lease_core::{Answer, CallKind, Event, Failure, SetPolicy, SetPolicyError, SettleError, StopReason};

use super::{Set, call, calls, events, insert, keys, ms, visibility};

fn lingering(millis: u64) -> Set {
    Set::new(SetPolicy::new().linger(Duration::from_millis(millis)).unwrap())
}

#[test]
fn without_lingering_settles_of_one_instant_share_a_call_at_once() {
    let mut set = Set::new(SetPolicy::new());
    let all: Vec<_> = (0..3).map(|_| insert(&mut set, 0, 30)).collect();
    for key in &all {
        set.delete(*key, ms(1_000)).unwrap();
    }
    assert_eq!(keys(&call(&mut set, 1_000)), all);
}

#[test]
fn the_first_waits_and_takes_those_that_came_meanwhile() {
    let mut set = lingering(200);
    let all: Vec<_> = (0..4).map(|_| insert(&mut set, 0, 30)).collect();
    set.delete(all[0], ms(1_000)).unwrap();
    assert_eq!(calls(&mut set, 1_000), []);
    assert_eq!(set.poll_timeout(), Some(ms(1_200)));
    set.delete(all[1], ms(1_150)).unwrap();
    set.release(all[2], visibility(9), ms(1_150)).unwrap();
    assert_eq!(calls(&mut set, 1_150), []);
    let deletes = call(&mut set, 1_200);
    assert_eq!((deletes.kind, keys(&deletes)), (CallKind::Delete, all[..2].to_vec()));
    // Each has its own outcome.
    set.handle_answer(deletes.id, Answer::Entries(&[Some(Ok(())), None]), ms(1_300));
    events(&mut set, 1_300);
    let ended = |set: &Set, key| set.lease(key).unwrap().ended().map(|ended| ended.reason);
    assert_eq!((ended(&set, all[0]), ended(&set, all[1])), (Some(StopReason::Deleted), None));
    // Releases wait for releases.
    let releases = call(&mut set, 1_350);
    assert_eq!((releases.kind, keys(&releases)), (CallKind::ChangeVisibility, vec![all[2]]));
    // A retry does not wait again: a second after the failure, as ever.
    assert_eq!(keys(&call(&mut set, 2_300)), [all[1]]);
}

#[test]
fn ten_go_at_once() {
    let mut set = lingering(10_000);
    let all: Vec<_> = (0..12).map(|_| insert(&mut set, 0, 600)).collect();
    for key in &all[..9] {
        set.delete(*key, ms(1_000)).unwrap();
    }
    assert_eq!(calls(&mut set, 1_000), []);
    for key in &all[9..] {
        set.delete(*key, ms(2_000)).unwrap();
    }
    // The tenth fills a call. The two behind it wait for their own company.
    assert_eq!(keys(&call(&mut set, 2_000)), all[..10]);
    assert_eq!(keys(&call(&mut set, 12_000)), all[10..]);
}

#[test]
fn a_release_goes_along_with_an_extension() {
    let mut set = lingering(5_000);
    let (extended, released) = (insert(&mut set, 0, 30), insert(&mut set, 0, 300));
    set.release(released, visibility(0), ms(14_000)).unwrap();
    assert_eq!(calls(&mut set, 14_000), []);
    assert_eq!(keys(&call(&mut set, 15_000)), [extended, released]);
}

#[test]
fn no_more_than_a_tenth_of_what_is_left_is_spent_on_waiting() {
    let mut set = lingering(10_000);
    let key = insert(&mut set, 0, 30);
    set.delete(key, ms(10_000)).unwrap();
    assert_eq!(set.poll_timeout(), Some(ms(12_000)));
    assert_eq!(keys(&call(&mut set, 12_000)), [key]);
}

#[test]
fn a_lease_is_extended_while_its_delete_waits() {
    let mut set = lingering(5_000);
    let key = insert(&mut set, 0, 100);
    set.delete(key, ms(49_000)).unwrap();
    let extension = call(&mut set, 50_000);
    assert_eq!(extension.kind, CallKind::ChangeVisibility);
    set.handle_answer(extension.id, Answer::Done, ms(50_100));
    assert_eq!(call(&mut set, 54_000).kind, CallKind::Delete);
}

#[test]
fn one_that_is_lost_or_removed_while_it_waits_sends_nothing() {
    let mut set = lingering(10_000);
    let (lost, removed) = (insert(&mut set, 0, 30), insert(&mut set, 0, 30));
    set.release(lost, visibility(0), ms(1_000)).unwrap();
    set.delete(removed, ms(1_000)).unwrap();
    assert!(set.remove(removed).is_some());
    // Driven late: after the end.
    assert_eq!(calls(&mut set, 31_000), []);
    assert_eq!(set.lease(lost).unwrap().ended().map(|it| it.reason), Some(StopReason::Expired));
    assert_eq!(set.poll_timeout(), None);
}

#[test]
fn the_range_is_ten_seconds() {
    let longest = Duration::from_secs(10);
    SetPolicy::new().linger(longest).unwrap();
    let given = longest + Duration::from_nanos(1);
    let error = SetPolicy::new().linger(given).unwrap_err();
    assert_eq!(error, SetPolicyError::Linger(given));
    assert_eq!(error.to_string(), "a linger of 10.000000001s is out of range: 0 to 10 s");
}

#[test]
fn what_was_removed_waits_for_no_company() {
    let mut set = lingering(1_000);
    let [deleted, released] = [0, 0].map(|_| insert(&mut set, 0, 30));
    set.delete(deleted, ms(1_000)).unwrap();
    set.release(released, visibility(9), ms(1_000)).unwrap();
    assert_eq!(set.poll_timeout(), Some(ms(2_000)));
    set.remove(deleted);
    set.remove(released);
    assert_eq!(set.poll_timeout(), None);
}

#[test]
fn each_kind_is_woken_for_alone() {
    for is_delete in [true, false] {
        let mut set = lingering(1_000);
        let key = insert(&mut set, 0, 30);
        let asked =
            if is_delete { set.delete(key, ms(1_000)) } else { set.release(key, visibility(9), ms(1_000)) };
        asked.unwrap();
        assert_eq!(set.poll_timeout(), Some(ms(2_000)), "a delete: {is_delete}");
        assert_eq!(keys(&call(&mut set, 2_000)), [key]);
    }
}

#[test]
fn asking_twice_waits_no_longer() {
    let mut set = lingering(1_000);
    let key = insert(&mut set, 0, 30);
    set.delete(key, ms(1_000)).unwrap();
    assert_eq!(set.delete(key, ms(1_500)), Err(SettleError::AlreadySettling));
    assert_eq!(set.release(key, visibility(0), ms(1_600)), Err(SettleError::AlreadySettling));
    assert_eq!(set.poll_timeout(), Some(ms(2_000)));
    assert_eq!(keys(&call(&mut set, 2_000)), [key]);
}

/// An extension that was under way finds that it is gone.
#[test]
fn what_is_over_waits_for_no_company() {
    let mut set = lingering(1_000);
    let key = insert(&mut set, 0, 30);
    let extension = call(&mut set, 15_000);
    set.delete(key, ms(15_100)).unwrap();
    assert_eq!(set.poll_timeout(), Some(ms(16_100)));
    set.handle_answer(extension.id, Answer::Failed(Failure::Gone), ms(15_200));
    let told = events(&mut set, 15_200);
    assert!(
        matches!(told[..], [.., Event::Stopped { ended, .. }] if ended.reason == StopReason::Refused),
        "{told:?}"
    );
    assert_eq!(set.poll_timeout(), None);
}

/// With those that are ready for a call already, and wait only because a bound holds it back.
#[test]
fn those_that_are_ready_count_towards_a_full_call() {
    let mut set =
        Set::new(SetPolicy::new().linger(Duration::from_secs(1)).unwrap().deletes_in_flight(1).unwrap());
    let all: Vec<_> = (0..20).map(|_| insert(&mut set, 0, 600)).collect();
    for key in &all[..10] {
        set.delete(*key, ms(1_000)).unwrap();
    }
    assert_eq!(keys(&call(&mut set, 1_000)).len(), 10);
    for key in &all[10..15] {
        set.delete(*key, ms(1_000)).unwrap();
    }
    // Their second is over, and the only call that may be under way is.
    assert_eq!(calls(&mut set, 2_000), []);
    assert_eq!(set.held_back(CallKind::Delete), 5);
    for key in &all[15..19] {
        set.delete(*key, ms(2_100)).unwrap();
    }
    assert_eq!(set.held_back(CallKind::Delete), 5, "nine are not ten");
    set.delete(all[19], ms(2_100)).unwrap();
    assert_eq!(set.held_back(CallKind::Delete), 10);
}
