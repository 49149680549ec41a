//! What is held back, and in which order it goes.

use sqs_lease_core::{Answer, CallKind, Failure, Received, SetPolicy, Visibility};

use super::{Set, call, calls, drain, insert, keys, ms, narrow, policy, visibility};

const CHANGE: CallKind = CallKind::ChangeVisibility;

/// Teaches the set how long calls take: three of each kind go out at `at` and answered `took` later.
fn time_calls(set: &mut Set, at: u64, took: u64) {
    for at in [at, at + took, at + 2 * took] {
        let (one, two) = (insert(set, at, 43_000), insert(set, at, 43_000));
        set.delete(one, ms(at)).unwrap();
        set.release(two, Visibility::ZERO, ms(at)).unwrap();
        let under_way = calls(set, at);
        assert_eq!(under_way.len(), 2);
        for call in under_way {
            set.handle_answer(call.id, Answer::Done, ms(at + took));
        }
        drain(set, at + took);
        set.remove(one);
        set.remove(two);
    }
}

#[test]
fn a_bound_of_one_sends_one_call_at_a_time() {
    let mut set = narrow();
    for _ in 0..12 {
        insert(&mut set, 0, 30);
    }
    let first = call(&mut set, 15_000);
    assert_eq!((set.calls_in_flight(CHANGE), set.held_back(CHANGE)), (1, 2));
    assert_eq!(calls(&mut set, 15_500), []);
    set.handle_answer(first.id, Answer::Done, ms(15_500));
    assert_eq!(call(&mut set, 15_500).entries.len(), 2);
}

#[test]
fn the_kinds_have_bounds_of_their_own() {
    let mut set = narrow();
    insert(&mut set, 0, 30);
    let deleted = insert(&mut set, 0, 30);
    call(&mut set, 15_000);
    set.delete(deleted, ms(15_001)).unwrap();
    assert_eq!(call(&mut set, 15_001).kind, CallKind::Delete);
}

#[test]
fn while_held_back_the_soonest_lost_goes_first() {
    let mut set = narrow();
    insert(&mut set, 0, 30);
    let first = call(&mut set, 15_000);
    // All due while the first call is under way; they are lost in another order than they became due.
    let late: Vec<_> = (0..8).map(|_| insert(&mut set, 15_000, 8)).collect();
    let soon: Vec<_> = (0..8).map(|_| insert(&mut set, 17_000, 5)).collect();
    assert_eq!(calls(&mut set, 19_500), []);
    set.handle_answer(first.id, Answer::Done, ms(19_600));
    let second = call(&mut set, 19_600);
    assert_eq!(keys(&second)[..8], soon);
    assert_eq!(keys(&second)[8..], late[..2]);
}

#[test]
fn while_held_back_one_that_cannot_be_saved_is_passed_over() {
    let mut set = narrow();
    time_calls(&mut set, 0, 500);
    insert(&mut set, 2_000, 30);
    let first = call(&mut set, 17_000);
    let lost: Vec<_> = (0..3).map(|_| insert(&mut set, 17_000, 4)).collect();
    let saved: Vec<_> = (0..10).map(|_| insert(&mut set, 17_000, 7)).collect();
    assert_eq!(calls(&mut set, 20_500), []);
    // The three have 0.4 s left, a call takes 0.5 s.
    set.handle_answer(first.id, Answer::Done, ms(20_600));
    let second = call(&mut set, 20_600);
    assert_eq!(keys(&second), saved);
    assert_eq!(set.held_back(CHANGE), 3);
    assert!(lost.iter().all(|&key| set.lease(key).unwrap().is_held(ms(20_600))));
}

#[test]
fn a_call_that_was_given_up_took_so_long() {
    let mut set = narrow();
    insert(&mut set, 0, 40);
    let first = call(&mut set, 20_000);
    let given_up = 26_667;
    assert_eq!(set.poll_timeout(), Some(first.answer_by));
    assert!((ms(given_up - 1)..ms(given_up)).contains(&first.answer_by));
    // With three seconds left, and with nine.
    let lost: Vec<_> = (0..3).map(|_| insert(&mut set, 17_700, 12)).collect();
    let saved: Vec<_> = (0..10).map(|_| insert(&mut set, 16_000, 20)).collect();
    assert_eq!(calls(&mut set, 26_500), []);
    assert_eq!(keys(&call(&mut set, given_up)), saved);
    assert!(lost.iter().all(|&key| set.lease(key).unwrap().is_held(ms(given_up))));
}

#[test]
fn a_settle_waits_at_most_a_second_behind_extensions() {
    let mut set = narrow();
    insert(&mut set, 0, 60);
    let mut under_way = call(&mut set, 30_000);
    // A crowd that is always more urgent: 5 s each, while the released one has 40 s left.
    let released = insert(&mut set, 30_000, 43_000);
    set.release(released, Visibility::ZERO, ms(30_100)).unwrap();
    for _ in 0..40 {
        insert(&mut set, 30_000, 5);
    }
    assert_eq!(calls(&mut set, 32_500), []);
    set.handle_answer(under_way.id, Answer::Done, ms(32_600));
    under_way = call(&mut set, 32_600);
    assert!(keys(&under_way).contains(&released), "it has waited for 2.5 s");
}

#[test]
fn a_settle_is_not_passed_over_because_calls_are_slow() {
    let mut set = narrow();
    // A call takes longer than a settle may wait.
    time_calls(&mut set, 0, 2_000);
    insert(&mut set, 6_000, 52);
    let under_way = call(&mut set, 32_000);
    let released = insert(&mut set, 32_000, 43_000);
    set.release(released, Visibility::ZERO, ms(32_100)).unwrap();
    for _ in 0..30 {
        insert(&mut set, 32_000, 16);
    }
    assert_eq!(calls(&mut set, 40_100), [], "thirty are due");
    set.handle_answer(under_way.id, Answer::Done, ms(40_200));
    let under_way = call(&mut set, 40_200);
    assert!(
        keys(&under_way).contains(&released),
        "it has waited for eight seconds, and has twelve hours left"
    );
}

#[test]
fn a_delete_that_could_not_be_saved_is_when_an_extension_made_time() {
    let mut set = narrow();
    time_calls(&mut set, 0, 1_300);
    let old = insert(&mut set, 3_900, 60);
    set.delete(old, ms(4_000)).unwrap();
    let first = call(&mut set, 4_000);
    // Its delete waits, and at 13 s it has a second left: less than a call takes.
    let tight = insert(&mut set, 4_000, 10);
    set.delete(tight, ms(5_000)).unwrap();
    let others: Vec<_> = (0..30).map(|_| insert(&mut set, 4_000, 600)).collect();
    for &key in &others {
        set.delete(key, ms(5_000)).unwrap();
    }
    assert_eq!(calls(&mut set, 5_000), []);
    let extension = call(&mut set, 13_000);
    assert_eq!((extension.kind, keys(&extension)), (CHANGE, vec![tight]));
    set.handle_answer(first.id, Answer::Done, ms(13_000));
    let second = call(&mut set, 13_000);
    assert!(!keys(&second).contains(&tight), "passed over: a second is left");
    set.handle_answer(extension.id, Answer::Done, ms(13_500));
    assert_eq!(set.lease(tight).unwrap().held_until(), ms(23_000));
    // Now it is the first to be lost again, and can be saved.
    set.handle_answer(second.id, Answer::Done, ms(14_000));
    let third = call(&mut set, 14_000);
    assert_eq!(keys(&third)[0], tight);
}

#[test]
fn throttling_halves_the_calls_and_time_brings_them_back() {
    let mut set = Set::new(SetPolicy::new().coalesce(0).unwrap().changes_in_flight(4).unwrap());
    time_calls(&mut set, 0, 200);
    for _ in 0..80 {
        insert(&mut set, 1_000, 30);
    }
    let under_way = calls(&mut set, 16_000);
    assert_eq!(under_way.len(), 4);
    for call in &under_way[1..] {
        set.handle_answer(call.id, Answer::Done, ms(16_100));
    }
    set.handle_answer(under_way[0].id, Answer::Failed(Failure::Throttled), ms(16_100));
    // Four more calls wait; two may go, then one more with each 200 ms that a call takes.
    assert_eq!(calls(&mut set, 16_100).len(), 2);
    assert_eq!(set.poll_timeout(), Some(ms(16_300)));
    assert_eq!(calls(&mut set, 16_299).len(), 0);
    assert_eq!(calls(&mut set, 16_300).len(), 1);
    assert_eq!(calls(&mut set, 16_500).len(), 1);
}

#[test]
fn throttling_never_leaves_less_than_one_call() {
    let mut set = Set::new(SetPolicy::new().changes_in_flight(4).unwrap());
    insert(&mut set, 0, 600);
    let mut throttled = 0;
    // A lone lease that is throttled for its whole life is asked for all the same.
    while let Some(at) = set.poll_timeout() {
        while set.poll_event(at).is_some() {}
        if let Some(call) = set.poll_call(at) {
            set.handle_answer(call.id, Answer::Failed(Failure::Throttled), at);
            throttled += 1;
        }
        assert!(throttled < 100, "it hammers");
    }
    assert!(throttled > 8, "{throttled} tries");
}

#[test]
fn a_settle_that_waits_is_not_put_off_by_being_asked_about_again() {
    // Received just now, or so long ago that its extension waits already when the release is asked for.
    for received in [128_500, 95_000] {
        let mut set = narrow();
        time_calls(&mut set, 50_000, 100);
        insert(&mut set, 100_000, 55);
        let busy = call(&mut set, 127_500);
        // Ten that are lost at 130 s, and a release that has waited for long enough at 129.5 s.
        for _ in 0..10 {
            set.insert(&policy(), Received::new(ms(100_000), visibility(30)), 30, ms(128_500));
        }
        let released = set.insert(&policy(), Received::new(ms(received), visibility(60)), 60, ms(128_500));
        assert_eq!(calls(&mut set, 128_500), []);
        set.release(released, visibility(0), ms(128_500)).unwrap();
        assert_eq!(calls(&mut set, 128_500), []);
        // Neither changes anything: a release is wanted.
        assert!(set.delete(released, ms(129_400)).is_err());
        set.extend(released, visibility(90), ms(129_400)).unwrap();
        assert_eq!(calls(&mut set, 129_400), []);
        set.handle_answer(busy.id, Answer::Done, ms(129_450));
        let next = call(&mut set, 129_450);
        assert_eq!((next.entries.len(), keys(&next)[0]), (10, released), "{received}");
    }
}
