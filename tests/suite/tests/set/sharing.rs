//! What goes into one call, and when it is made.

use std::time::Duration;

use sqs_lease_core::{
    Answer, Ask, Call, CallKind, Event, FailedCall, Failure, LeaseKey, Received, SetPolicy, StopReason,
};

use super::{Set, call, calls, events, insert, keys, ms, policy, visibility};

fn sizes(calls: &[Call]) -> Vec<usize> {
    calls.iter().map(|call| call.entries.len()).collect()
}

#[test]
fn twenty_three_that_are_due_make_calls_of_ten_ten_and_three() {
    let mut set = Set::new(SetPolicy::new());
    let all: Vec<_> = (0..23).map(|_| insert(&mut set, 0, 30)).collect();
    assert_eq!(calls(&mut set, 14_999), []);
    let calls = calls(&mut set, 15_000);
    assert_eq!(sizes(&calls), [10, 10, 3]);
    assert!(calls.iter().all(|call| call.kind == CallKind::ChangeVisibility));
    let mut taken: Vec<_> = calls.iter().flat_map(keys).collect();
    taken.sort();
    assert_eq!(taken, all);
    assert_eq!(set.calls_in_flight(CallKind::ChangeVisibility), 3);
}

#[test]
fn each_entry_has_its_own_outcome() {
    let mut set = Set::new(SetPolicy::new());
    let all: Vec<_> = (0..11).map(|_| insert(&mut set, 0, 30)).collect();
    let taken = calls(&mut set, 15_000);
    assert_eq!(sizes(&taken), [10, 1]);
    // Eight are well, one is gone, and the tenth is not mentioned.
    let mut outcomes = vec![Some(Ok(())); 8];
    outcomes.extend([Some(Err(Failure::Gone)), None]);
    set.handle_answer(taken[0].id, Answer::Entries(&outcomes), ms(15_100));
    set.handle_answer(taken[1].id, Answer::Entries(&[Some(Err(Failure::Transient))]), ms(15_100));
    let told = events(&mut set, 15_100);
    let extended = told.iter().filter(|event| matches!(event, Event::Extended { .. })).count();
    assert_eq!(extended, 8);
    for (key, stopped) in all.iter().map(|&key| (key, set.lease(key).unwrap().ended())) {
        let expected = (key == taken[0].entries[8].key).then_some(StopReason::Refused);
        assert_eq!(stopped.map(|ended| ended.reason), expected);
    }
    // The two that failed are tried again together, a second later.
    assert_eq!(calls(&mut set, 16_099), []);
    let again = calls(&mut set, 16_100);
    assert_eq!(sizes(&again), [2]);
    let mut retried = keys(&again[0]);
    retried.sort();
    let mut failed = vec![taken[0].entries[9].key, taken[1].entries[0].key];
    failed.sort();
    assert_eq!(retried, failed);
}

#[test]
fn an_answer_of_the_wrong_length_is_harmless() {
    let mut set = Set::new(SetPolicy::new());
    let key = insert(&mut set, 0, 30);
    insert(&mut set, 0, 30);
    let taken = calls(&mut set, 15_000);
    set.handle_answer(taken[0].id, Answer::Entries(&[Some(Ok(())); 20]), ms(15_100));
    assert_eq!(set.lease(key).unwrap().end(), ms(45_000));
    let taken = calls(&mut set, 30_000);
    set.handle_answer(taken[0].id, Answer::Entries(&[]), ms(30_100));
    assert_eq!(set.lease(key).unwrap().end(), ms(45_000), "not mentioned: not extended");
    assert_eq!(sizes(&calls(&mut set, 31_100)), [2]);
}

#[test]
fn an_unknown_refusal_of_a_whole_batch_is_denied_for_each_and_told_once() {
    let mut set = Set::new(SetPolicy::new());
    let all: Vec<_> = (0..10).map(|_| insert(&mut set, 0, 120)).collect();
    let taken = calls(&mut set, 60_000);
    set.handle_answer(taken[0].id, Answer::Failed(Failure::Gone), ms(60_100));
    let told = events(&mut set, 60_100);
    let denied: Vec<_> = told.iter().filter(|event| matches!(event, Event::Denied { .. })).collect();
    assert!(matches!(denied[..], [Event::Denied { leases: 10, .. }]), "{told:?}");
    assert!(all.iter().all(|&key| set.lease(key).unwrap().is_held(ms(60_100))));
    // The next attempt comes after 30 s.
    assert_eq!(calls(&mut set, 90_099), []);
    assert_eq!(sizes(&calls(&mut set, 90_100)), [10]);
}

#[test]
fn a_refusal_of_a_call_of_one_is_about_its_delivery() {
    let mut set = Set::new(SetPolicy::new());
    insert(&mut set, 0, 30);
    let taken = calls(&mut set, 15_000);
    set.handle_answer(taken[0].id, Answer::Failed(Failure::Gone), ms(15_100));
    let told = events(&mut set, 15_100);
    let reasons = told.iter().filter_map(|event| match event {
        Event::Stopped { ended, .. } => Some(ended.reason),
        _ => None,
    });
    assert_eq!(reasons.collect::<Vec<_>>(), [StopReason::Refused], "{told:?}");
}

#[test]
fn denials_are_told_at_most_once_in_thirty_seconds() {
    let mut set = Set::new(SetPolicy::new().coalesce(0).unwrap());
    let keys = [0, 1_000, 2_000].map(|received| insert(&mut set, received, 120));
    let mut told = Vec::new();
    for at in [60_000, 61_000, 62_000] {
        let taken = calls(&mut set, at);
        set.handle_answer(taken[0].id, Answer::Failed(Failure::Denied), ms(at + 100));
        told.extend(events(&mut set, at + 100));
    }
    let denied = |events: &[Event]| -> Vec<(LeaseKey, u32)> {
        let denied = |event: &Event| match event {
            Event::Denied { key, leases } => Some((*key, *leases)),
            _ => None,
        };
        events.iter().filter_map(denied).collect()
    };
    assert_eq!(denied(&told), [(keys[0], 1)]);
    // It would try again at that moment.
    set.remove(keys[0]);
    assert_eq!(denied(&events(&mut set, 90_099)), []);
    assert_eq!(set.poll_timeout(), Some(ms(90_100)));
    assert_eq!(denied(&events(&mut set, 90_100)), [(keys[1], 2)], "the two others, by the first of them");
}

#[test]
fn thirty_seconds_are_counted_from_when_a_denial_was_told() {
    let mut set = Set::new(SetPolicy::new().coalesce(0).unwrap());
    let mut denied_at = Vec::new();
    for received in [0, 140_000, 145_000] {
        let key = insert(&mut set, received, 120);
        let middle = received + 60_000;
        let under_way = call(&mut set, middle);
        set.handle_answer(under_way.id, Answer::Failed(Failure::Denied), ms(middle));
        let told = events(&mut set, middle);
        if told.iter().any(|event| matches!(event, Event::Denied { .. })) {
            denied_at.push(middle);
        }
        set.remove(key);
    }
    assert_eq!(denied_at, [60_000, 200_000]);
    assert_eq!(set.poll_timeout(), Some(ms(230_000)));
}

// ---- When a call is made ----------------------------------------------------------------------------------

#[test]
fn a_lone_lease_is_extended_exactly_in_the_middle() {
    let mut set = Set::new(SetPolicy::new());
    insert(&mut set, 0, 31);
    assert_eq!(set.poll_timeout(), Some(ms(15_500)));
    assert_eq!(calls(&mut set, 15_499), []);
    assert_eq!(sizes(&calls(&mut set, 15_500)), [1]);
}

#[test]
fn room_is_filled_with_the_soonest_within_a_tenth_of_their_timeout() {
    let mut set = Set::new(SetPolicy::new());
    let due = insert(&mut set, 0, 30);
    // A tenth of 30 s is 3 s. Twelve others: ten within it, two beyond.
    let later: Vec<_> = [3_001, 3_000, 2_900, 2_800, 2_700, 2_600, 2_500, 2_400, 2_300, 2_200, 2_100, 9_000]
        .into_iter()
        .map(|received| insert(&mut set, received, 30))
        .collect();
    let taken = calls(&mut set, 15_000);
    assert_eq!(sizes(&taken), [10]);
    let mut expected = vec![due];
    expected.extend(later[2..=10].iter().rev());
    assert_eq!(keys(&taken[0]), expected, "the soonest first");
    // The two that found no room go in their own middle.
    assert_eq!(set.poll_timeout().map(|at| at.min(ms(18_000))), Some(ms(18_000)));
    assert_eq!(sizes(&calls(&mut set, 18_000)), [2]);
}

#[test]
fn the_tenth_is_of_each_leases_own_timeout() {
    let mut set = Set::new(SetPolicy::new());
    insert(&mut set, 0, 30);
    let long = insert(&mut set, 0, 40);
    insert(&mut set, 9_000, 16);
    // At 15 s the middle of the long one is 5 s away, a tenth of it 4 s; the short one's 2 s away, a tenth 1.6.
    assert_eq!(sizes(&calls(&mut set, 15_000)), [1]);
    // At 17 s the short one is due, and the long one 3 s away.
    let taken = calls(&mut set, 17_000);
    assert_eq!(sizes(&taken), [2]);
    assert_eq!(taken[0].entries[1].key, long);
}

/// Not of what it asks for.
#[test]
fn the_tenth_is_of_the_timeout_in_force() {
    for (due, is_drawn) in [(39_000, true), (38_900, false)] {
        let mut set = Set::new(SetPolicy::new());
        insert(&mut set, due - 20_000, 40);
        // Sooner than at 30 s it would be shortened; in the middle of the new timeout before its end is 45 s.
        let policy = policy().extension(visibility(30)).unwrap();
        set.insert(&policy, Received::new(ms(0), visibility(60)), 0, ms(0));
        assert_eq!(calls(&mut set, 30_000), []);
        assert_eq!(set.poll_timeout(), Some(ms(due)));
        assert_eq!(call(&mut set, due).entries.len() == 2, is_drawn, "{due}");
    }
}

#[test]
fn past_thirty_two_that_do_not_fit_no_more_are_looked_at() {
    for (passed_over, is_found) in [(31, true), (32, false)] {
        let mut set = Set::new(SetPolicy::new());
        insert(&mut set, 0, 30);
        // Half a second before their middle, of which a tenth of their timeout is 0.4 s.
        for _ in 0..passed_over {
            insert(&mut set, 13_500, 4);
        }
        insert(&mut set, 1_000, 30);
        assert_eq!(call(&mut set, 15_000).entries.len() == 2, is_found, "{passed_over}");
    }
}

#[test]
fn coalesce_zero_sends_each_in_its_own_middle() {
    let mut set = Set::new(SetPolicy::new().coalesce(0).unwrap());
    insert(&mut set, 0, 30);
    insert(&mut set, 10, 30);
    assert_eq!(sizes(&calls(&mut set, 15_000)), [1]);
    assert_eq!(sizes(&calls(&mut set, 15_010)), [1]);
}

#[test]
fn a_retry_is_never_drawn_forward() {
    let mut set = Set::new(SetPolicy::new());
    let failed = insert(&mut set, 0, 30);
    let taken = calls(&mut set, 15_000);
    set.handle_answer(taken[0].id, Answer::Failed(Failure::Throttled), ms(15_100));
    // Again at 17.1 s. Another is due before that.
    let other = insert(&mut set, 2_000, 30);
    let taken = calls(&mut set, 17_000);
    assert_eq!(keys(&taken[0]), [other]);
    assert_eq!(keys(&calls(&mut set, 17_100)[0]), [failed]);
}

#[test]
fn what_is_due_within_the_slack_goes_with_a_wake_even_in_a_call_of_its_own() {
    let mut set = Set::new(SetPolicy::new());
    for _ in 0..10 {
        insert(&mut set, 0, 30);
    }
    for received in [50, 51] {
        insert(&mut set, received, 30);
    }
    let taken = calls(&mut set, 15_000);
    // 50 ms is the slack; the one 51 ms away rides along in the room that is left.
    assert_eq!(sizes(&taken), [10, 2]);
}

#[test]
fn beyond_the_slack_no_call_is_begun() {
    let mut set = Set::new(SetPolicy::new());
    for _ in 0..10 {
        insert(&mut set, 0, 30);
    }
    insert(&mut set, 51, 30);
    assert_eq!(sizes(&calls(&mut set, 15_000)), [10]);
    assert_eq!(sizes(&calls(&mut set, 15_051)), [1]);
}

#[test]
fn the_slack_is_at_most_a_hundredth_of_the_span() {
    let mut set = Set::new(SetPolicy::new());
    for _ in 0..10 {
        insert(&mut set, 0, 2);
    }
    insert(&mut set, 21, 2);
    assert_eq!(sizes(&calls(&mut set, 1_000)), [10], "a hundredth of 2 s is 20 ms");
    assert_eq!(sizes(&calls(&mut set, 1_021)), [1]);
}

#[test]
fn one_that_would_send_nothing_is_skipped() {
    let mut set = Set::new(SetPolicy::new());
    insert(&mut set, 0, 58);
    let short = policy().extension(visibility(10)).unwrap();
    set.insert(&short, Received::new(ms(0), visibility(60)), 0, ms(0));
    let taken = calls(&mut set, 29_000);
    assert_eq!(sizes(&taken), [1]);
    // Its middle, 30 s, passes without a call; it goes at 60 - 10/2.
    set.handle_answer(taken[0].id, Answer::Done, ms(29_100));
    assert_eq!(calls(&mut set, 30_000), []);
    assert_eq!(set.poll_timeout(), Some(ms(55_000)));
}

#[test]
fn deletes_and_extensions_travel_in_calls_of_their_own() {
    let mut set = Set::new(SetPolicy::new());
    let deleted = insert(&mut set, 0, 30);
    let released = insert(&mut set, 0, 30);
    insert(&mut set, 0, 30);
    set.delete(deleted, ms(15_000)).unwrap();
    set.release(released, visibility(5), ms(15_000)).unwrap();
    let taken = calls(&mut set, 15_000);
    assert_eq!(
        taken.iter().map(|call| call.kind).collect::<Vec<_>>(),
        [CallKind::Delete, CallKind::ChangeVisibility]
    );
    assert_eq!(keys(&taken[0]), [deleted]);
    assert_eq!(sizes(&taken), [1, 2]);
    let release = taken[1].entries.iter().find(|entry| entry.key == released).unwrap();
    assert_eq!(release.ask, Ask::Release { after: visibility(5) });
}

#[test]
fn a_delete_overtakes_an_extension_in_flight() {
    let mut set = Set::new(SetPolicy::new());
    let key = insert(&mut set, 0, 30);
    let extension = calls(&mut set, 15_000)[0];
    set.delete(key, ms(15_100)).unwrap();
    let delete = calls(&mut set, 15_100)[0];
    assert_eq!(delete.kind, CallKind::Delete);
    set.handle_answer(extension.id, Answer::Failed(Failure::Gone), ms(15_200));
    assert_eq!(events(&mut set, 15_200).iter().filter(|it| matches!(it, Event::Stopped { .. })).count(), 0);
    set.handle_answer(delete.id, Answer::Done, ms(15_300));
    let told = events(&mut set, 15_300);
    assert!(
        matches!(told[..], [Event::Stopped { ended, .. }] if ended.reason == StopReason::Deleted),
        "{told:?}"
    );
}

#[test]
fn without_slack_nothing_goes_before_its_middle_in_a_call_of_its_own() {
    for (slack, sizes_of_calls) in [(50, &[10, 1][..]), (0, &[10][..])] {
        let mut set = Set::new(SetPolicy::new().slack(Duration::from_millis(slack)));
        for _ in 0..10 {
            insert(&mut set, 0, 30);
        }
        insert(&mut set, 20, 30);
        assert_eq!(sizes(&calls(&mut set, 15_000)), sizes_of_calls);
    }
}

#[test]
fn a_tenth_of_a_long_timeout_is_drawn_forward() {
    let mut set = Set::new(SetPolicy::new());
    for received in [0, 1_990_000, 2_010_000] {
        insert(&mut set, received, 20_000);
    }
    assert_eq!(sizes(&calls(&mut set, 10_000_000)), [2]);
}

#[test]
fn where_not_all_that_are_due_find_room_those_go_first_that_are_lost_first() {
    let mut set = Set::new(SetPolicy::new().changes_in_flight(1).unwrap());
    // All in their middle at 15 s: the later half is lost at 25 s, the others at 30 s.
    for _ in 0..10 {
        insert(&mut set, 0, 30);
    }
    let lost_first: Vec<_> = (0..10).map(|_| insert(&mut set, 5_000, 20)).collect();
    let taken = calls(&mut set, 15_000);
    assert_eq!(taken.iter().map(keys).collect::<Vec<_>>(), [lost_first]);
}

/// What was due a moment ago had found room.
#[test]
fn whether_all_find_room_is_asked_anew_at_each_instant() {
    let mut set = Set::new(SetPolicy::new().coalesce(1).unwrap().changes_in_flight(1).unwrap());
    insert(&mut set, 0, 29);
    // In their middle half a second later: the later half is lost at 25 s, the others at 30 s.
    for _ in 0..10 {
        insert(&mut set, 0, 30);
    }
    let lost_first: Vec<_> = (0..10).map(|_| insert(&mut set, 5_000, 20)).collect();
    let first = call(&mut set, 14_500);
    set.handle_answer(first.id, Answer::Done, ms(14_501));
    assert_eq!(keys(&call(&mut set, 15_000)), lost_first);
}

/// Five wait for a call already where ten come to their middle: together they are more than the one call takes.
#[test]
fn what_waits_counts_where_not_all_find_room() {
    let mut set = Set::new(SetPolicy::new().coalesce(1).unwrap().changes_in_flight(1).unwrap());
    let failed: Vec<_> = (0..5).map(|_| insert(&mut set, 0, 27)).collect();
    for _ in 0..5 {
        insert(&mut set, 0, 30);
    }
    let lost_first: Vec<_> = (0..5).map(|_| insert(&mut set, 5_000, 20)).collect();
    let first = call(&mut set, 13_500);
    assert_eq!(keys(&first), failed);
    set.handle_answer(first.id, Answer::Failed(Failure::Transient), ms(14_050));
    // Their retry is due 50 ms before the others come to their middle.
    let mut taken = keys(&call(&mut set, 15_000));
    taken.sort_unstable();
    let mut wanted = [failed, lost_first].concat();
    wanted.sort_unstable();
    assert_eq!(taken, wanted);
}

#[test]
fn an_extension_that_took_two_tries_is_told_as_the_second() {
    let mut set = Set::new(SetPolicy::new());
    let key = insert(&mut set, 0, 30);
    let first = calls(&mut set, 15_000);
    set.handle_answer(first[0].id, Answer::Failed(Failure::Transient), ms(15_100));
    events(&mut set, 15_100);
    let second = calls(&mut set, 16_100);
    set.handle_answer(second[0].id, Answer::Done, ms(16_200));
    let told = events(&mut set, 16_200);
    let [Event::Extended { key: whose, held_until, attempt, margin }] = told[..] else { panic!("{told:?}") };
    assert_eq!((whose, held_until, attempt, margin), (key, ms(46_100), 2, Duration::from_millis(13_800)));
}

#[test]
fn a_lease_that_was_denied_once_is_drawn_forward_like_any_other() {
    let mut set = Set::new(SetPolicy::new());
    let denied = insert(&mut set, 0, 30);
    let first = calls(&mut set, 15_000);
    set.handle_answer(first[0].id, Answer::Failed(Failure::Denied), ms(15_100));
    // Its last try, a second before the end.
    let again = calls(&mut set, 29_000);
    set.handle_answer(again[0].id, Answer::Done, ms(29_100));
    let other = insert(&mut set, 28_000, 30);
    let taken = calls(&mut set, 43_000);
    assert_eq!(taken.iter().map(keys).collect::<Vec<_>>(), [[other, denied]]);
}

#[test]
fn each_try_of_a_settle_that_fails_is_told_with_the_next() {
    let mut set = Set::new(SetPolicy::new());
    let [deleted, released] = [0, 0].map(|_| insert(&mut set, 0, 30));
    set.delete(deleted, ms(1_000)).unwrap();
    set.release(released, visibility(9), ms(1_000)).unwrap();
    let kinds = [(CallKind::Delete, deleted), (CallKind::ChangeVisibility, released)];
    // A second after the first failure, two after the next.
    for (attempt, now, retry_at) in [(1, 1_000, 2_100), (2, 2_100, 4_200)] {
        let taken = calls(&mut set, now);
        assert_eq!(taken.iter().map(|call| (call.kind, keys(call)[0])).collect::<Vec<_>>(), kinds);
        for call in &taken {
            set.handle_answer(call.id, Answer::Failed(Failure::Transient), ms(now + 100));
        }
        let told = events(&mut set, now + 100);
        let tries: Vec<_> = told
            .iter()
            .map(|event| match event {
                Event::Failed { key, call, failure, attempt, retry_at, .. } => {
                    (*key, *call, *failure, *attempt, *retry_at)
                }
                other => panic!("{other:?}"),
            })
            .collect();
        let told_of = |key, call| (key, call, Failure::Transient, attempt, Some(ms(retry_at)));
        assert_eq!(tries, [told_of(deleted, FailedCall::Delete), told_of(released, FailedCall::Release)]);
    }
}
