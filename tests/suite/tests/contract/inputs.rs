//! Input that is spurious, late, repeated, out of order or unknown changes nothing.

use std::time::Duration;

use sqs_lease_core::{Action, Answer, Ask, Event, Failure, Received, SettleError, StopReason};

use super::{at, delete, extension, lease, policy, secs, set, unknown_attempt};

#[test]
fn spurious_polls_change_nothing() {
    let mut lease = lease();
    let before = lease.clone();
    for millis in [0, 100_000, 100_000, 114_999] {
        assert_eq!(lease.poll(at(millis)), None);
        assert_eq!(lease.poll_timeout(), before.poll_timeout());
    }
    let mut set = set();
    assert_eq!((set.poll_event(at(5)), set.poll_call(at(5)), set.poll_timeout()), (None, None, None));
    let key = set.insert(&policy(), Received::new(at(100_000), secs(30)), "a", at(100_000));
    for _ in 0..3 {
        assert_eq!((set.poll_event(at(114_999)), set.poll_call(at(114_999))), (None, None));
        assert_eq!(set.poll_timeout(), Some(at(115_000)));
    }
    assert_eq!(set.get(key), Some(&"a"));
}

#[test]
fn a_second_poll_of_one_instant_sends_nothing_again() {
    let mut lease = lease();
    extension(&mut lease, at(115_000));
    assert_eq!(lease.poll(at(115_000)), None);
    lease.delete(at(115_000)).unwrap();
    delete(&mut lease, at(115_000));
    assert_eq!(lease.poll(at(115_000)), None);
}

#[test]
fn a_late_answer_is_not_believed_once_the_lease_was_driven() {
    let mut lease = lease();
    let first = extension(&mut lease, at(115_000)).attempt;
    assert_eq!(first.answer_by, at(120_000));
    assert_eq!(lease.poll(at(120_000)), None);
    assert!(!lease.awaits(first.id));
    let before = lease.clone();
    lease.handle_answer(first.id, Ok(()), at(120_000));
    assert_eq!(lease, before);
    assert_eq!(lease.end(), at(130_000));
}

#[test]
fn a_late_answer_counts_as_long_as_the_lease_was_not_driven() {
    let mut lease = lease();
    let first = extension(&mut lease, at(115_000)).attempt;
    lease.handle_answer(first.id, Ok(()), at(129_999));
    assert_eq!(lease.end(), at(145_000));
}

#[test]
fn an_answer_after_the_end_is_not_believed() {
    for millis in [130_001, 140_000] {
        let mut lease = lease();
        let first = extension(&mut lease, at(115_000)).attempt;
        lease.handle_answer(first.id, Ok(()), at(millis));
        assert_eq!(lease.poll(at(millis)), Some(Action::Stop(StopReason::Expired)));
        assert_eq!(lease.ended().unwrap().at, at(130_000));
    }
}

#[test]
fn a_repeated_answer_changes_nothing() {
    let mut lease = lease();
    let first = extension(&mut lease, at(115_000)).attempt;
    lease.handle_answer(first.id, Ok(()), at(115_100));
    let before = lease.clone();
    for answer in [Ok(()), Err(Failure::Gone), Err(Failure::Limit), Err(Failure::Transient)] {
        lease.handle_answer(first.id, answer, at(115_100));
        assert_eq!(lease, before);
    }
}

#[test]
fn answers_out_of_order_go_to_their_own_calls() {
    let mut lease = lease();
    let first = extension(&mut lease, at(115_000)).attempt;
    assert_eq!(lease.poll(at(120_000)), None);
    let second = extension(&mut lease, at(121_000)).attempt;
    assert_ne!(first.id, second.id);
    // The first one's comes after the second was sent, and says something else.
    lease.handle_answer(first.id, Err(Failure::Gone), at(121_500));
    assert!(lease.awaits(second.id));
    lease.handle_answer(second.id, Ok(()), at(121_600));
    assert_eq!(lease.end(), at(151_000));
}

#[test]
fn an_extension_and_a_delete_are_answered_in_any_order() {
    for delete_first in [false, true] {
        let mut lease = lease();
        let extend = extension(&mut lease, at(115_000)).attempt;
        lease.delete(at(115_100)).unwrap();
        let delete = delete(&mut lease, at(115_100));
        let answers = if delete_first { [delete, extend] } else { [extend, delete] };
        for attempt in answers {
            lease.handle_answer(attempt.id, Ok(()), at(115_200));
        }
        assert_eq!(lease.poll(at(115_200)), Some(Action::Stop(StopReason::Deleted)));
        assert_eq!(lease.poll(at(115_200)), None);
    }
}

#[test]
fn an_unknown_attempt_changes_nothing() {
    let unknown = unknown_attempt();
    let mut lease = lease();
    extension(&mut lease, at(115_000));
    let before = lease.clone();
    for answer in [Ok(()), Err(Failure::Gone)] {
        lease.handle_answer(unknown, answer, at(115_000));
        assert_eq!(lease, before);
    }
}

#[test]
fn an_unknown_call_or_key_changes_nothing() {
    let mut other = set();
    let mut set = set();
    let received = Received::new(at(100_000), secs(30));
    let gone = set.insert(&policy(), received, "gone", at(100_000));
    assert_eq!(set.remove(gone), Some("gone"));
    let key = set.insert(&policy(), received, "a", at(100_000));
    let call = set.poll_call(at(115_000)).unwrap();
    assert!(set.awaits(call.id));
    for _ in 0..3 {
        other.insert(&policy(), received, "b", at(100_000));
    }
    let unknown = [100_000, 115_000].map(|millis| other.poll_call(at(millis)))[1].unwrap();
    let unknown_key = unknown.entries.last().unwrap().key;
    set.handle_answer(call.id, Answer::Done, at(115_100));
    let timeout = set.poll_timeout();
    set.handle_answer(call.id, Answer::Failed(Failure::Gone), at(115_100));
    for key in [gone, unknown_key] {
        assert_eq!(set.delete(key, at(115_100)), Err(SettleError::Unknown));
        assert_eq!(set.release(key, secs(0), at(115_100)), Err(SettleError::Unknown));
        assert_eq!(set.leave(key, at(115_100)), Err(SettleError::Unknown));
        set.extend(key, secs(5), at(115_100)).unwrap();
        assert_eq!(set.get(key), None);
        assert_eq!(set.get_mut(key), None);
        assert!(set.lease(key).is_none());
        assert_eq!(set.remove(key), None);
    }
    assert!(!set.awaits(call.id));
    assert_eq!(set.poll_timeout(), timeout);
    assert_eq!(set.lease(key).unwrap().end(), at(145_000));
}

#[test]
fn a_second_settle_changes_nothing_whatever_it_is() {
    let mut lease = lease();
    lease.release(secs(3), at(101_000)).unwrap();
    let before = lease.clone();
    assert_eq!(lease.delete(at(101_000)), Err(SettleError::AlreadySettling));
    assert_eq!(lease.release(secs(0), at(101_000)), Err(SettleError::AlreadySettling));
    assert_eq!(lease.leave(at(101_000)), Err(SettleError::AlreadySettling));
    lease.extend(secs(60), at(101_000)).unwrap();
    assert_eq!(lease, before);
}

#[test]
fn input_after_the_stop_changes_nothing_and_says_how_it_ended() {
    let mut lease = lease();
    lease.leave(at(101_000)).unwrap();
    assert_eq!(lease.poll(at(101_000)), Some(Action::Stop(StopReason::Left)));
    let ended = lease.ended().unwrap();
    assert_eq!((ended.reason, ended.at), (StopReason::Left, at(101_000)));
    for settle in [lease.delete(at(102_000)), lease.release(secs(0), at(102_000)), lease.leave(at(102_000))] {
        assert_eq!(settle, Err(SettleError::Ended(ended)));
    }
    lease.extend(secs(60), at(102_000)).unwrap();
    lease.handle_gap(Duration::ZERO, at(103_000));
    assert_eq!((lease.poll(at(104_000)), lease.poll_timeout(), lease.next()), (None, None, None));
}

#[test]
fn what_is_late_is_done_once() {
    let mut lease = lease();
    // Two middles would have passed by then.
    let extend = extension(&mut lease, at(129_000));
    assert_eq!(extend.attempt.answer_by, at(130_000));
    assert_eq!(lease.poll(at(129_000)), None);
    lease.handle_answer(extend.attempt.id, Ok(()), at(129_500));
    assert_eq!((lease.end(), lease.poll_timeout()), (at(159_000), Some(at(144_000))));
}

#[test]
fn an_answer_of_a_batch_goes_to_each_entry_by_its_place() {
    let mut set = set();
    for name in ["a", "b", "c"] {
        set.insert(&policy(), Received::new(at(100_000), secs(30)), name, at(100_000));
    }
    let call = set.poll_call(at(115_000)).unwrap();
    assert_eq!(call.entries.len(), 3);
    let asked = call.entries.iter().all(|entry| entry.visibility() == Some(secs(30)));
    assert!(asked && matches!(call.entries[0].ask, Ask::Extend { is_final: false, warns: false, .. }));
    // The third is not mentioned: that counts as transient.
    set.handle_answer(call.id, Answer::Entries(&[Some(Ok(())), Some(Err(Failure::Gone))]), at(115_100));
    let ends = call.entries.iter().map(|entry| set.lease(entry.key).unwrap().end());
    assert_eq!(ends.collect::<Vec<_>>(), [at(145_000), at(130_000), at(130_000)]);
    let events: Vec<_> = std::iter::from_fn(|| set.poll_event(at(115_100))).collect();
    assert!(
        matches!(
            events[..],
            [
                Event::Extended { .. },
                Event::Failed { failure: Failure::Gone, retry_at: None, .. },
                Event::Failed { failure: Failure::Transient, retry_at: Some(_), .. },
                Event::Stopped { .. },
            ]
        ),
        "{events:?}"
    );
}

/// Only where a delete of ours was on the wire can it be the reason.
#[test]
fn gone_before_the_delete_was_sent_is_a_loss() {
    let mut lease = lease();
    let extend = extension(&mut lease, at(115_000));
    lease.delete(at(115_100)).unwrap();
    lease.handle_answer(extend.attempt.id, Err(Failure::Gone), at(115_100));
    assert_eq!(lease.poll(at(115_100)), Some(Action::Stop(StopReason::Refused)));
}
