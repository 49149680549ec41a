//! What can be asked of a lease and a set.

use std::time::Duration;

use sqs_lease_core::{Action, Answer, Received, StopReason};

use super::{at, extension, lease, policy, secs, set};

#[test]
fn a_lease_says_what_is_left_and_what_comes_next() {
    let mut lease = lease();
    assert!(lease.is_held(at(129_999)) && !lease.is_held(at(130_000)));
    assert_eq!(lease.remaining(at(129_999)), Duration::from_millis(1));
    assert_eq!(lease.remaining(at(131_000)), Duration::ZERO);
    let next = lease.next().unwrap();
    assert_eq!((next.at, next.by, next.is_final), (at(115_000), secs(30), false));
    let extend = extension(&mut lease, at(115_000));
    assert_eq!(lease.next(), None, "one is in flight");
    assert!(lease.awaits(extend.attempt.id));
    lease.handle_answer(extend.attempt.id, Ok(()), at(115_100));
    assert!(!lease.awaits(extend.attempt.id) && !lease.is_settling());
    lease.delete(at(116_000)).unwrap();
    assert!(lease.is_settling());
}

/// An input at the very end still counts, but nothing goes any more.
#[test]
fn nothing_comes_next_at_the_end() {
    let mut lease = lease();
    lease.extend(secs(60), at(129_999)).unwrap();
    assert_eq!(lease.next().map(|next| (next.at, next.by)), Some((at(129_999), secs(60))));
    lease.extend(secs(60), at(130_000)).unwrap();
    assert_eq!(lease.ended(), None);
    assert_eq!(lease.next(), None);
    assert_eq!(lease.poll(at(130_000)), Some(Action::Stop(StopReason::Expired)));
}

#[test]
fn a_set_says_what_is_in_it() {
    let mut set = set();
    assert!(set.is_empty());
    assert_eq!(set.len(), 0);
    let received = Received::new(at(100_000), secs(30));
    let keys = ["a", "b", "c"].map(|name| set.insert(&policy(), received, name, at(100_000)));
    assert_eq!((set.len(), set.is_empty()), (3, false));
    let mut all: Vec<_> = set.iter().map(|(key, name)| (key, *name)).collect();
    all.sort_by_key(|(_, name)| *name);
    assert_eq!(all, [(keys[0], "a"), (keys[1], "b"), (keys[2], "c")]);
    *set.get_mut(keys[1]).unwrap() = "changed";
    assert_eq!((set.get(keys[0]), set.get(keys[1])), (Some(&"a"), Some(&"changed")));
    assert_eq!(set.remove(keys[1]), Some("changed"));
    assert_eq!((set.len(), set.get(keys[1])), (2, None));
    // A stopped lease stays until it is removed.
    set.leave(keys[0], at(100_000)).unwrap();
    while set.poll_event(at(100_000)).is_some() {}
    assert_eq!(set.len(), 2);
    let call = set.poll_call(at(115_000)).unwrap();
    assert_eq!(call.entries.iter().map(|entry| entry.key).collect::<Vec<_>>(), [keys[2]]);
    set.handle_answer(call.id, Answer::Done, at(115_000));
}

#[test]
fn names_are_told_apart_in_a_debug_text() {
    let mut set = set();
    let received = Received::new(at(100_000), secs(30));
    let first = set.insert(&policy(), received, "a", at(100_000));
    set.remove(first);
    let second = set.insert(&policy(), received, "a", at(100_000));
    let third = set.insert(&policy(), received, "a", at(100_000));
    let texts = [first, second, third].map(|key| format!("{key:?}"));
    assert!(
        texts[0] != texts[1] && texts[1] != texts[2] && texts.iter().all(|text| text.contains("LeaseKey"))
    );
    let call = set.poll_call(at(115_000)).unwrap();
    assert!(format!("{:?}", call.id).contains("CallId"));
    assert!(format!("{:?}", call.entries).contains(&texts[1]));
}
