//! Calls whose entries are all of one receive, for FIFO queues in high-throughput mode.

use std::time::Duration;

use sqs_lease_core::{CallKind, LeaseKey, SetPolicy};

use super::{Set, call, calls, insert, keys, ms, visibility};

/// Two receives of three messages each, half a second apart, their messages put in by turns.
fn two_receives(policy: SetPolicy) -> (Set, [Vec<LeaseKey>; 2]) {
    let mut set = Set::new(policy);
    let mut receives = [Vec::new(), Vec::new()];
    for _ in 0..3 {
        receives[0].push(insert(&mut set, 0, 30));
        receives[1].push(insert(&mut set, 500, 30));
    }
    (set, receives)
}

#[test]
fn by_default_receives_share_calls() {
    let (mut set, receives) = two_receives(SetPolicy::new());
    assert_eq!(keys(&call(&mut set, 15_000)), receives.concat());
}

#[test]
fn an_extension_takes_along_only_its_own_receive() {
    let (mut set, [first, second]) = two_receives(SetPolicy::new().same_receive(true));
    assert_eq!(keys(&call(&mut set, 15_000)), first);
    assert_eq!(keys(&call(&mut set, 15_500)), second);
}

#[test]
fn what_is_due_together_goes_in_a_call_for_each_receive() {
    let (mut set, [first, second]) = two_receives(SetPolicy::new().same_receive(true));
    // Driven late, all six are due.
    let taken: Vec<_> = calls(&mut set, 16_000).iter().map(keys).collect();
    assert_eq!(taken, [first, second]);
}

#[test]
fn settles_too_go_in_a_call_for_each_receive() {
    let (mut set, [first, second]) = two_receives(SetPolicy::new().same_receive(true));
    for key in [second[0], first[0], first[1], second[1]] {
        set.delete(key, ms(1_000)).unwrap();
    }
    for key in [first[2], second[2]] {
        set.release(key, visibility(0), ms(1_000)).unwrap();
    }
    let taken = calls(&mut set, 1_000);
    let of = |kind| -> Vec<Vec<LeaseKey>> {
        let mut of: Vec<_> = taken.iter().filter(|call| call.kind == kind).map(keys).collect();
        // In which order is another rule's.
        of.sort_by_key(|keys| second.contains(&keys[0]));
        of
    };
    assert_eq!(of(CallKind::Delete), [vec![first[0], first[1]], vec![second[0], second[1]]]);
    assert_eq!(of(CallKind::ChangeVisibility), [vec![first[2]], vec![second[2]]]);
}

#[test]
fn a_settle_that_waits_goes_along_with_its_own_receive_alone() {
    let policy = SetPolicy::new().same_receive(true).linger(Duration::from_secs(5)).unwrap();
    for which in [0, 1] {
        let (mut set, receives) = two_receives(policy);
        let released = receives[which][0];
        set.release(released, visibility(0), ms(14_000)).unwrap();
        let taken = call(&mut set, 15_000);
        assert_eq!(keys(&taken).contains(&released), which == 0, "{which}");
        assert!(taken.entries.iter().all(|entry| receives[0].contains(&entry.key)));
    }
}

#[test]
fn many_small_receives_are_each_extended_in_time() {
    let mut set = Set::new(SetPolicy::new().same_receive(true));
    let all: Vec<LeaseKey> = (0..100).map(|receive| insert(&mut set, receive, 30)).collect();
    // All are due at once, and no two fit into one call.
    let taken = calls(&mut set, 15_100);
    assert_eq!(taken.iter().flat_map(keys).collect::<Vec<_>>(), all);
    assert!(taken.iter().all(|call| call.entries.len() == 1));
}
