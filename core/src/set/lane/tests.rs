use super::*;

fn at(millis: u64) -> Moment {
    Moment::from_millis(millis)
}

fn lane(bound: u16) -> Lane {
    Lane::new(bound)
}

/// Of eight calls, all throttled at once.
fn paced() -> Lane {
    let mut lane = lane(8);
    while !lane.is_paced() {
        lane.sent(at(0));
        lane.closed(0, Closed::Throttled, true, at(0));
    }
    lane
}

#[test]
fn only_a_call_that_was_throttled_as_a_whole_says_that_there_are_too_many() {
    let (ok, throttled) = (Some(Ok(())), Some(Err(Failure::Throttled)));
    let (transient, gone) = (Some(Err(Failure::Transient)), Some(Err(Failure::Gone)));
    for (outcomes, how) in [
        ([throttled, throttled], Closed::Throttled),
        ([ok, throttled], Closed::Answered),
        ([throttled, gone], Closed::Answered),
        ([transient, throttled], Closed::Failed),
        ([transient, transient], Closed::Failed),
    ] {
        assert_eq!(Closed::by(&Answer::Entries(&outcomes), 2), how, "{outcomes:?}");
    }
    assert_eq!(Closed::by(&Answer::Failed(Failure::Throttled), 10), Closed::Throttled);
}

#[test]
fn a_call_that_failed_teaches_nothing() {
    let mut lane = lane(8);
    lane.sent(at(0));
    lane.closed(1_000, Closed::Failed, true, at(1));
    assert_eq!((lane.in_flight(), lane.times.median()), (0, None));
    assert_eq!(lane.room(at(1)), 8, "no fewer calls may go");
    for _ in 0..20 {
        lane.sent(at(2));
        lane.closed(0, Closed::Failed, true, at(2));
    }
    assert!(!lane.is_paced());
}

#[test]
fn a_call_that_failed_changes_no_gap() {
    let mut lane = paced();
    lane.enqueue(1, at(60_000));
    let gap = |lane: &Lane| lane.pace.unwrap().gap();
    for (how, changes) in [(Closed::Failed, false), (Closed::Throttled, true)] {
        let before = gap(&lane);
        for now in 1..50 {
            lane.sent(at(now * 1_000));
            lane.closed(1_000_000, how, true, at(now * 1_000 + 1));
        }
        assert_eq!(gap(&lane) != before, changes, "{how:?}");
    }
}

/// Half of what is between two of eight calls of 100 ms each, were they evenly spread, is no gap to wait for.
#[test]
fn calls_are_kept_apart_no_more_where_the_bound_does_that() {
    let mut lane = paced();
    lane.enqueue(1, at(60_000_000));
    let mut last = 0;
    for now in 100..100_000 {
        let Some(pace) = lane.pace else { break };
        last = pace.gap();
        lane.sent(at(now));
        lane.closed(100_000_000, Closed::Answered, true, at(now + 100));
    }
    assert!(!lane.is_paced());
    assert!((6_250_001..7_000_000).contains(&last), "{last}");
}

#[test]
fn leases_that_one_call_takes_keep_no_calls_apart() {
    for (is_crowd, is_paced) in [(false, false), (true, true)] {
        let mut lane = lane(8);
        for _ in 0..20 {
            lane.sent(at(0));
            lane.closed(0, Closed::Throttled, is_crowd, at(0));
        }
        assert_eq!(lane.is_paced(), is_paced);
    }
}

#[test]
fn one_throttled_among_many_that_were_not_keeps_no_calls_apart() {
    for (well, is_paced) in [(RARELY, false), (RARELY / 4, true)] {
        let mut lane = lane(8);
        for _ in 0..40 {
            let answers = (0..well).map(|_| Closed::Answered).chain([Closed::Throttled]);
            for how in answers {
                lane.sent(at(0));
                lane.closed(0, how, true, at(0));
            }
        }
        assert_eq!(lane.is_paced(), is_paced, "one of {well}");
    }
}

#[test]
fn what_few_calls_take_longer_than_follows_many_and_no_single_one() {
    let mut times = CallTimes::default();
    for (took, slow) in [
        (100_000_000, 100_000_000),
        // One that hung: a quarter more, and a millisecond.
        (5_000_000_000, 126_000_000),
        // A little longer than that: a sixteenth more than it took.
        (128_000_000, 136_000_000),
        (136_000_000, 136_000_000),
        // Hardly shorter, and just shorter than that.
        (136_000_000 - 132_812, 136_000_000),
        (136_000_000 - 132_813, 136_000_000 - 66_406),
        (1_000_000, 136_000_000 - 66_406 - 66_373),
    ] {
        times.record(took);
        assert_eq!(times.slow, slow, "after {took}");
    }
    assert_eq!(times.median(), Some(135_867_187));
    times.record(1_000_000);
    times.record(1_000_000);
    assert_eq!(times.median(), Some(128_000_000));
}

#[test]
fn throttling_halves_and_time_brings_calls_back() {
    let mut lane = lane(8);
    for _ in 0..3 {
        lane.sent(at(0));
        lane.closed(100_000_000, Closed::Answered, true, at(100));
    }
    lane.sent(at(100));
    lane.closed(0, Closed::Throttled, true, at(200));
    assert_eq!(lane.room(at(200)), 4);
    lane.sent(at(200));
    lane.closed(0, Closed::Throttled, true, at(200));
    lane.sent(at(200));
    lane.closed(0, Closed::Throttled, true, at(200));
    lane.sent(at(200));
    lane.closed(0, Closed::Throttled, true, at(200));
    assert_eq!(lane.room(at(200)), 1, "never less than one call");
    assert_eq!(lane.room(at(300)), 2);
    assert_eq!(lane.room(at(450)), 3);
    assert_eq!(lane.room(at(60_000)), 8, "never more than the bound");
}

#[test]
fn what_time_brought_back_is_halved_again() {
    let mut lane = lane(8);
    for (now, room) in [(100, 4), (60_000, 4), (60_100, 2)] {
        lane.sent(at(now));
        lane.closed(0, Closed::Throttled, true, at(now));
        assert_eq!(lane.room(at(now)), room, "at {now} ms");
    }
}

#[test]
fn what_was_forgotten_has_to_be_found_again() {
    let mut lane = paced();
    for (now, is_paced) in [(60_000, true), (60_001, false)] {
        lane.sent(at(now));
        lane.closed(0, Closed::Answered, true, at(now));
        assert_eq!(lane.is_paced(), is_paced, "at {now} ms");
    }
    lane.sent(at(60_002));
    lane.closed(0, Closed::Throttled, true, at(60_002));
    assert!(!lane.is_paced(), "one that is throttled is no reason");
}

#[test]
fn says_when_a_throttled_call_will_be_allowed() {
    let mut lane = lane(2);
    lane.enqueue(1, at(5_000));
    lane.sent(at(0));
    lane.sent(at(0));
    assert_eq!(lane.sendable_at(at(10)), None, "only an answer helps at the bound");
    lane.closed(0, Closed::Throttled, true, at(20));
    assert_eq!(lane.sendable_at(at(20)), Some(at(120)));
    assert!(!lane.can_send(at(119)));
    assert!(lane.can_send(at(120)));
}

#[test]
fn while_held_back_the_lost_are_passed_over() {
    let mut lane = lane(1);
    lane.sent(at(0));
    lane.closed(1_000_000_000, Closed::Answered, true, at(1_000));
    let lost_at = |slot| at(if slot < 2 { 1_500 } else { 4_000 });
    for slot in 0..12 {
        lane.enqueue(slot, lost_at(slot));
    }
    let order: [Option<u32>; 12] = core::array::from_fn(|_| lane.pop(at(1_000), lost_at).map(|it| it.slot));
    assert_eq!(order[..2], [Some(2), Some(3)]);
}
