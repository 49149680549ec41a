//! Leases that share a moment and a call, and differ in one thing: what is worked out for one is not taken for another.

use std::time::Duration;

use sqs_lease_core::{Answer, Ask, Event, Policy, Received, SetPolicy};

use super::{Set, call, drain, events, ms, visibility};

/// How a lease is kept, and then: what is asked for, until when it is held, and what was left (milliseconds).
type Kept = (Policy, Received, u32, u64, u64);

/// All end at 10 s, and go in a call at 5 s that is answered at 5.2 s.
fn kept() -> Vec<Kept> {
    let default = Policy::new();
    let asking = |secs| default.extension(visibility(secs)).unwrap();
    let guarding = |secs| default.guard(Duration::from_secs(secs));
    let received = Received::new(ms(0), visibility(10));
    let later = Received::new(ms(1_000), visibility(9)).requested(ms(0)).unwrap();
    vec![
        (default, received, 10, 14_500, 4_300),
        (asking(20), received, 20, 24_000, 4_300),
        (asking(21), received, 21, 25_000, 4_300),
        (guarding(1), received, 10, 14_000, 3_800),
        (guarding(2), received, 10, 13_000, 2_800),
        (asking(20), later, 20, 24_000, 4_350),
    ]
}

#[test]
fn of_two_leases_in_one_call_each_gets_what_is_its_own() {
    let kept = kept();
    // The one received later goes along with another.
    let pairs = kept.iter().flat_map(|first| kept[..5].iter().flat_map(move |it| [[first, it], [it, first]]));
    for pair in pairs {
        let mut set = Set::new(SetPolicy::new());
        let keys = pair.map(|(policy, received, ..)| set.insert(policy, *received, 0, ms(1_000)));
        let call = call(&mut set, 5_000);
        set.handle_answer(call.id, Answer::Done, ms(5_200));
        let told = events(&mut set, 5_200);
        assert_eq!((call.entries.len(), told.len()), (2, 2), "{pair:?}");
        for (key, (_, _, asked, held_until, left)) in keys.into_iter().zip(pair) {
            let entry = call.entries.iter().find(|entry| entry.key == key).unwrap();
            assert!(
                matches!(entry.ask, Ask::Extend { by, .. } if by == visibility(*asked)),
                "{pair:?}: {entry:?}"
            );
            let (held_until, margin) = (ms(*held_until), Duration::from_millis(*left));
            assert!(
                told.contains(&Event::Extended { key, held_until, attempt: 1, margin }),
                "{pair:?}: {told:?}"
            );
            assert_eq!(set.lease(key).unwrap().held_until(), held_until, "{pair:?}");
        }
    }
}

/// Both end at 30 s and go in one call. One was raised by hand from 10 s to 20 s just before: its extension is that of one that
/// asks for 20 s always, and its span still that of one that asks for 10 s.
#[test]
fn a_lease_that_was_raised_by_hand_is_like_neither() {
    let asking = |secs| Policy::new().extension(visibility(secs)).unwrap();
    for (at, raised, secs, other) in
        [(15_000, (34_000, 14_300), 20, (34_000, 13_800)), (25_000, (44_000, 4_300), 10, (34_500, 4_300))]
    {
        for is_first in [true, false] {
            let mut set = Set::new(SetPolicy::new());
            let received = Received::new(ms(0), visibility(30));
            let mut insert = |secs| set.insert(&asking(secs), received, 0, ms(0));
            let [key, its] = if is_first {
                [insert(10), insert(secs)]
            } else {
                let its = insert(secs);
                [insert(10), its]
            };
            // The one that asks for 10 s alone would shorten what it has, before 20 s, and waits until 25 s.
            assert_eq!(drain(&mut set, at - 5_000), (vec![], vec![]));
            set.extend(key, visibility(20), ms(at)).unwrap();
            let call = call(&mut set, at);
            assert_eq!(call.entries.len(), 2);
            set.handle_answer(call.id, Answer::Done, ms(at + 200));
            let told = events(&mut set, at + 200);
            for (key, (held_until, left)) in [(key, raised), (its, other)] {
                let (held_until, margin) = (ms(held_until), Duration::from_millis(left));
                assert!(told.contains(&Event::Extended { key, held_until, attempt: 1, margin }), "{told:?}");
            }
        }
    }
}
