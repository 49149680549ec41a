//! Where calls are kept apart: who goes first, and what does not count as throttling.

use std::time::Duration;

use sqs_lease_core::{Answer, Call, CallKind, Event, FailedCall, Failure, SetPolicy, StopReason};

use super::{Set, drain, insert, ms, visibility};

/// Drives it with a queue that answers each call 20 ms later, until `until`.
fn run(
    set: &mut Set,
    from: u64,
    until: u64,
    mut answer: impl FnMut(&Call, u64) -> Answer<'static>,
) -> Vec<Event> {
    let mut told = Vec::new();
    let mut now = from;
    while now < until {
        let (events, calls) = drain(set, now);
        told.extend(events);
        for call in calls {
            let answer = answer(&call, now);
            set.handle_answer(call.id, answer, ms(now + 1));
        }
        now += 1;
    }
    told
}

/// Forty leases whose calls were all throttled, from the middle at 300 s until then: calls are kept apart, and leases wait.
fn crowded(until: u64) -> Set {
    let mut set = Set::new(SetPolicy::new());
    for _ in 0..40 {
        insert(&mut set, 0, 600);
    }
    run(&mut set, 300_000, until, |_, _| Answer::Failed(Failure::Throttled));
    set
}

/// The first call that goes from then on, and when.
fn next_call(set: &mut Set, from: u64) -> (Call, u64) {
    (from..from + 2_000).find_map(|now| Some((*drain(set, now).1.first()?, now))).unwrap()
}

/// A thousand releases could all wait; fifty extensions could not.
#[test]
fn releases_do_not_starve_extensions_where_calls_are_scarce() {
    let mut set = Set::new(SetPolicy::new());
    let kept: Vec<_> = (0..50).map(|_| insert(&mut set, 0, 120)).collect();
    let released: Vec<_> = (0..1_000).map(|_| insert(&mut set, 20_000, 120)).collect();
    // None for a long while, then ten calls a second, of which one is saved up.
    let mut allowed = 112_000;
    let mut takes = |_: &Call, now: u64| {
        if now < allowed {
            return Answer::Failed(Failure::Throttled);
        }
        allowed = now + 100;
        Answer::Done
    };
    let mut told = run(&mut set, 60_000, 110_000, &mut takes);
    for key in &released {
        set.release(*key, visibility(0), ms(110_000)).unwrap();
    }
    told.extend(run(&mut set, 110_000, 139_000, &mut takes));
    let lost = |keys: &[_]| {
        let is_lost = |event: &&Event| matches!(event, Event::Stopped { key, ended } if keys.contains(key) && ended.reason != StopReason::Released);
        told.iter().filter(is_lost).count()
    };
    assert_eq!(lost(&kept), 0, "extensions wait for releases");
    assert_eq!(lost(&released), 0);
}

/// SQS may throttle one message of a call alone.
#[test]
fn an_entry_that_is_throttled_alone_slows_nobody_down() {
    let mut set = Set::new(SetPolicy::new());
    for _ in 0..400 {
        insert(&mut set, 0, 30);
    }
    let mut gone = 0;
    for round in 0..12 {
        let now = 15_000 + round;
        let calls = drain(&mut set, now).1;
        gone += calls.len();
        for call in calls {
            let outcomes =
                [Some(Ok(())); 9].into_iter().chain([Some(Err(Failure::Throttled))]).collect::<Vec<_>>();
            set.handle_answer(call.id, Answer::Entries(&outcomes), ms(now));
        }
    }
    assert_eq!(gone, 40, "all went at once");
    assert_eq!(set.held_back(CallKind::ChangeVisibility), 0);
    // Each such message waits as it would alone: two seconds.
    assert_eq!(drain(&mut set, 16_999).1, []);
    let again = drain(&mut set, 17_011).1;
    assert_eq!(again.iter().map(|call| call.entries.len()).sum::<usize>(), 40);
    assert_eq!(again.len(), 4, "and all go at once again");
}

/// What had no pause of its own lengthens none.
#[test]
fn a_failure_of_another_kind_waits_as_the_first_of_its_kind() {
    for is_delete in [false, true] {
        let mut set = Set::new(SetPolicy::new());
        for _ in 0..40 {
            let key = insert(&mut set, 0, 600);
            if is_delete {
                set.delete(key, ms(300_000)).unwrap();
            }
        }
        // Everything is throttled for so long that each lease was tried several times.
        let mut tries = 0_u64;
        run(&mut set, 300_000, 420_000, |call, _| {
            tries += u64::from((call.kind == CallKind::Delete) == is_delete);
            Answer::Failed(Failure::Throttled)
        });
        assert!(tries > 40, "{tries}");
        let mut broken = None;
        let told = run(&mut set, 420_000, 430_000, |call, now| {
            if broken.is_some() || (call.kind == CallKind::Delete) != is_delete {
                return Answer::Failed(Failure::Throttled);
            }
            broken = Some((call.entries[0].key, now));
            Answer::Failed(Failure::Transient)
        });
        let (first, at) = broken.unwrap();
        let retry_at = told.iter().find_map(|event| match event {
            Event::Failed { key, failure: Failure::Transient, retry_at, .. } if *key == first => *retry_at,
            _ => None,
        });
        let pause = retry_at.unwrap() - ms(at);
        // Three failures were waited out before calls were kept apart.
        assert!(pause <= Duration::from_millis(8_001), "{pause:?}, deletes: {is_delete}");
    }
}

/// The pace decides when a throttled settle goes again, not a pause of its own: others of its kind wait, too.
#[test]
fn a_throttled_settle_goes_again_when_it_is_its_turn() {
    for is_delete in [true, false] {
        let mut set = Set::new(SetPolicy::new());
        let keys: Vec<_> = (0..40).map(|_| insert(&mut set, 0, 600)).collect();
        for key in keys {
            let asked = if is_delete {
                set.delete(key, ms(1_000))
            } else {
                set.release(key, visibility(0), ms(1_000))
            };
            asked.unwrap();
        }
        let throttled = |_: &Call, _| Answer::Failed(Failure::Throttled);
        run(&mut set, 1_000, 60_000, throttled);
        let mut in_turn = 0;
        for now in 60_000..62_000 {
            for event in run(&mut set, now, now + 1, throttled) {
                let Event::Failed { call, retry_at, .. } = event else { continue };
                assert_eq!(call == FailedCall::Delete, is_delete);
                in_turn += usize::from(retry_at == Some(ms(now)));
            }
        }
        assert!(in_turn >= 10, "delete: {is_delete}, {in_turn}");
    }
}

/// How long leases pause after a call that is throttled while another waits for the gap, where so many are left of forty whose
/// calls were all throttled for long.
fn pauses_of_the_last(left: usize) -> Vec<Duration> {
    let mut set = crowded(400_000);
    let keys: Vec<_> = set.iter().map(|(key, _)| key).collect();
    for key in &keys[left - 1..] {
        set.remove(*key);
    }
    let (call, now) = next_call(&mut set, 400_000);
    // In its middle one millisecond later.
    insert(&mut set, now - 1_999, 4);
    assert_eq!(drain(&mut set, now + 1).1, []);
    assert!(set.held_back(CallKind::ChangeVisibility) > 0, "it waits");
    set.handle_answer(call.id, Answer::Failed(Failure::Throttled), ms(now + 2));
    let pause = |event| match event {
        Event::Failed { retry_at, .. } => Some(retry_at.unwrap() - ms(now + 2)),
        _ => None,
    };
    std::iter::from_fn(|| set.poll_event(ms(now + 2))).filter_map(pause).collect()
}

#[test]
fn in_a_crowd_what_is_throttled_goes_again_in_its_turn() {
    assert_eq!(pauses_of_the_last(40), [Duration::ZERO; 10]);
    assert_eq!(pauses_of_the_last(11), [Duration::ZERO; 10]);
}

#[test]
fn what_is_left_of_a_crowd_waits_as_each_alone_does() {
    let pauses = pauses_of_the_last(10);
    assert_eq!(pauses.len(), 9);
    assert!(pauses.iter().all(|pause| *pause >= Duration::from_secs(2)), "{pauses:?}");
}

/// A lease on its own gives up a second before its end; here the next turn may still come in time.
#[test]
fn what_is_throttled_at_the_last_moment_goes_again_in_its_turn() {
    let mut set = crowded(599_001);
    let (call, now) = next_call(&mut set, 599_001);
    set.handle_answer(call.id, Answer::Failed(Failure::Throttled), ms(now + 1));
    let told = drain(&mut set, now + 1).0;
    assert_eq!(told.len(), 10);
    for event in told {
        assert!(matches!(event, Event::Failed { retry_at: Some(at), .. } if at == ms(now + 1)), "{event:?}");
    }
}

/// Leases that are lost later let a release go first.
#[test]
fn a_release_that_would_be_lost_goes_before_extensions_that_would_not() {
    let mut set = crowded(400_000);
    let released = insert(&mut set, 399_000, 120);
    set.release(released, visibility(0), ms(400_000)).unwrap();
    let (call, _) = next_call(&mut set, 400_000);
    assert_eq!(call.entries[0].key, released);
    assert_eq!(call.entries.len(), 10);
}

/// That one message is throttled says nothing of whose turn it is.
#[test]
fn an_entry_that_is_throttled_alone_has_a_pause_of_its_own_in_a_crowd_too() {
    let mut set = crowded(400_000);
    let (call, now) = next_call(&mut set, 400_000);
    let outcomes = [vec![Some(Err(Failure::Throttled))], vec![Some(Ok(())); 9]].concat();
    set.handle_answer(call.id, Answer::Entries(&outcomes), ms(now + 1));
    let pause = drain(&mut set, now + 1).0.into_iter().find_map(|event| match event {
        Event::Failed { key, retry_at, .. } => {
            assert_eq!(key, call.entries[0].key);
            retry_at.map(|at| at - ms(now + 1))
        }
        _ => None,
    });
    assert!(pause.is_some_and(|pause| pause >= Duration::from_secs(2)), "{pause:?}");
}

/// Its lease has given that try up, and waits for the next one.
#[test]
fn a_throttled_answer_that_comes_too_late_for_a_lease_changes_nothing_of_it() {
    let mut set = crowded(400_000);
    // In its middle at once: it goes with the next call, and wants its answer sooner than the others.
    let short = insert(&mut set, 396_000, 8);
    let (call, now) = next_call(&mut set, 400_000);
    assert_eq!(call.entries[0].key, short);
    let given_up = (now..now + 8_000)
        .find(|now| {
            drain(&mut set, *now).0.iter().any(|it| matches!(it, Event::Failed { key, .. } if *key == short))
        })
        .unwrap();
    assert!(set.awaits(call.id));
    let retry_at = |set: &Set| set.lease(short).unwrap().next().map(|next| next.at);
    let before = retry_at(&set).unwrap();
    assert!(before > ms(given_up + 1));
    set.handle_answer(call.id, Answer::Failed(Failure::Throttled), ms(given_up + 1));
    assert_eq!(retry_at(&set), Some(before));
}

/// The tries without a pause of their own are forgotten with the others once one succeeds.
#[test]
fn after_an_acknowledgement_failures_count_from_none() {
    let mut set = crowded(400_000);
    let (call, now) = next_call(&mut set, 400_000);
    let key = call.entries[0].key;
    set.handle_answer(call.id, Answer::Done, ms(now + 1));
    // All others are out of the way.
    let others: Vec<_> = set.iter().map(|(other, _)| other).filter(|other| *other != key).collect();
    for other in others {
        set.remove(other);
    }
    let mut now = now + 300_000;
    let mut pauses = Vec::new();
    for _ in 0..4 {
        let (call, tried) = next_call(&mut set, now);
        assert_eq!(call.entries[0].key, key);
        set.handle_answer(call.id, Answer::Failed(Failure::Transient), ms(tried));
        let [Event::Failed { retry_at: Some(retry_at), .. }] = drain(&mut set, tried).0[..] else {
            panic!("it failed")
        };
        pauses.push((retry_at - ms(tried)).as_secs());
        now = tried + 1_000 * pauses[pauses.len() - 1];
    }
    assert_eq!(pauses, [1, 2, 4, 8]);
}
