//! Extensions that are told at once and together are the same as those told by events.

use sqs_lease_core::{Acknowledged, Answer, Event, Failure, LeaseKey, Moment};

use super::{Set, call, insert, ms, visibility};

#[test]
fn those_of_a_call_are_told_together_as_far_as_they_are_alike() {
    let mut set = Set::new(sqs_lease_core::SetPolicy::new());
    // Of two receives: the first three have one limit, the other two another.
    for received in [0, 0, 0, 1, 1] {
        insert(&mut set, received, 30);
    }
    let call = call(&mut set, 15_000);
    let mut told = Vec::new();
    let tell = |those: Acknowledged<'_>| {
        told.push((those.entries.len(), those.held_until, those.margin));
    };
    set.handle_answer_with(call.id, Answer::Done, tell, ms(16_000));
    assert_eq!(
        told,
        [
            (3, ms(45_000), ms(30_000) - ms(16_000)),
            // These were received, and so would have been lost, a millisecond later.
            (2, ms(45_000), ms(30_001) - ms(16_000)),
        ]
    );
    assert_eq!(set.poll_event(ms(16_000)), None);
    assert_eq!(set.poll_timeout(), Some(ms(30_000)));
}

#[test]
fn of_a_call_that_failed_in_part_the_others_are_told_together() {
    let mut set = Set::new(sqs_lease_core::SetPolicy::new());
    let keys: Vec<_> = (0..5).map(|_| insert(&mut set, 0, 30)).collect();
    let call = call(&mut set, 15_000);
    let mut outcomes = [Some(Ok(())); 5];
    outcomes[2] = Some(Err(Failure::Transient));
    let mut told = Vec::new();
    set.handle_answer_with(
        call.id,
        Answer::Entries(&outcomes),
        |those| told.push(those.entries.len()),
        ms(16_000),
    );
    assert_eq!(told, [2, 2]);
    let event = set.poll_event(ms(16_000));
    assert!(matches!(event, Some(Event::Failed { key, .. }) if key == keys[2]), "{event:?}");
    assert_eq!(set.poll_event(ms(16_000)), None);
}

#[test]
fn leases_due_at_one_moment_are_extended_each_by_its_own() {
    let mut set = Set::new(sqs_lease_core::SetPolicy::new());
    for (received, timeout) in [(0, 30), (5_000, 20), (0, 30), (9_000, 12)] {
        insert(&mut set, received, timeout);
    }
    let call = call(&mut set, 15_000);
    let asked: Vec<u32> = call.entries.iter().map(|entry| entry.visibility().unwrap().secs()).collect();
    assert_eq!(asked, [30, 20, 30, 12]);
    // A third of what each has left, ten seconds at most; the first of them is given up first.
    assert_eq!(set.poll_timeout(), Some(ms(17_000)));
}

#[test]
fn after_a_failed_try_it_is_an_event() {
    let mut set = Set::new(sqs_lease_core::SetPolicy::new());
    let key = insert(&mut set, 0, 30);
    let first = call(&mut set, 15_000);
    set.handle_answer_with(first.id, Answer::Failed(Failure::Transient), |_| panic!("it failed"), ms(15_000));
    assert!(matches!(set.poll_event(ms(15_000)), Some(Event::Failed { .. })));
    let second = call(&mut set, 16_000);
    set.handle_answer_with(second.id, Answer::Done, |_| panic!("not at the first try"), ms(16_000));
    let event = set.poll_event(ms(16_000));
    assert!(matches!(event, Some(Event::Extended { key: its, attempt: 2, .. }) if its == key), "{event:?}");
}

/// Two sets go the same way, one by events and one without, whatever SQS answers.
#[test]
fn nothing_else_differs() {
    let mut state = 7_u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut by_events = Set::new(sqs_lease_core::SetPolicy::new());
    let mut keys = Vec::new();
    for index in 0..300 {
        let at = index / 7 * 40;
        let timeout = if index % 5 == 0 { 20 } else { 30 };
        keys.push(insert(&mut by_events, at, timeout));
    }
    let mut at_once = by_events.clone();
    let (mut told, mut expected): (Vec<Extension>, Vec<Extension>) = Default::default();
    let mut now = ms(5_000);
    let mut answered = 0;
    while now < ms(400_000) {
        now = by_events.poll_timeout().unwrap().max(now);
        if random(20) == 0 {
            let key = keys[random(keys.len())];
            for set in [&mut by_events, &mut at_once] {
                set.extend(key, visibility(40), now).unwrap();
            }
        }
        let mut calls = Vec::new();
        loop {
            // Extensions beside what else happens: the others are the same, in the same order.
            let all: Vec<Event> = std::iter::from_fn(|| by_events.poll_event(now)).collect();
            let others: Vec<Event> = std::iter::from_fn(|| at_once.poll_event(now)).collect();
            expected.extend(all.iter().filter_map(extension));
            told.extend(others.iter().filter_map(extension));
            let rest = |events: &[Event]| -> Vec<Event> {
                events.iter().filter(|event| extension(event).is_none()).copied().collect()
            };
            assert_eq!(rest(&others), rest(&all));
            let call = by_events.poll_call(now);
            assert_eq!(at_once.poll_call(now), call);
            let Some(call) = call else { break };
            calls.push(call);
        }
        let sorted = |extensions: &mut Vec<Extension>| {
            extensions.sort_unstable();
            std::mem::take(extensions)
        };
        assert_eq!(sorted(&mut told), sorted(&mut expected), "at {now}");
        assert_eq!(at_once.poll_timeout(), by_events.poll_timeout());
        for call in calls {
            let outcomes: Vec<_> = call
                .entries
                .iter()
                .map(|_| match random(12) {
                    0 => None,
                    1 => Some(Err(Failure::Throttled)),
                    2 => Some(Err(Failure::Gone)).filter(|_| random(8) == 0),
                    _ => Some(Ok(())),
                })
                .collect();
            let answer = match random(8) {
                0 => Answer::Failed(Failure::Transient),
                1..=3 => Answer::Done,
                _ => Answer::Entries(&outcomes),
            };
            by_events.handle_answer(call.id, answer, now);
            let tell = |Acknowledged { entries, held_until, margin, .. }: Acknowledged<'_>| {
                told.extend(entries.iter().map(|entry| (entry.key, held_until, 1, margin)));
            };
            at_once.handle_answer_with(call.id, answer, tell, now);
            answered += 1;
        }
    }
    assert!(answered > 500, "{answered} answers");
}

type Extension = (LeaseKey, Moment, u32, std::time::Duration);

fn extension(event: &Event) -> Option<Extension> {
    match *event {
        Event::Extended { key, held_until, attempt, margin } => Some((key, held_until, attempt, margin)),
        _ => None,
    }
}
