//! A queue that takes fewer calls than the leases need.

use std::time::Duration;

use sqs_lease_core::StopReason;

use crate::scene::{Scene, Takes, millis};

/// What is kept for long, in thousandths, where 30 % of the calls go through that would keep all in the middle of their
/// timeouts: of what so many calls can keep for the whole timeout, and less the guard of a second.
fn kept(timeout: u64, a_second: u32, latency: (Duration, Duration), takes: Takes) -> (u64, u64) {
    let timeout = Duration::from_secs(timeout);
    let leases = a_second * 10 * u32::try_from(timeout.as_secs()).unwrap() * 10 / 6;
    let mut scene = Scene::new(timeout, latency.0);
    scene.latency = latency;
    scene.takes(takes);
    scene.receive(leases);
    scene.run(scene.now + timeout * 10);
    let (calls, throttled) = (scene.calls, scene.throttled);
    scene.run(scene.now + timeout * 10);
    let kept = scene.set.len() as u64;
    assert_eq!(kept + scene.stopped.len() as u64, u64::from(leases), "each is kept or told");
    assert!(scene.stopped.iter().all(|(_, reason)| *reason == StopReason::Expired));
    let (calls, throttled) = (scene.calls - calls, scene.throttled - throttled);
    // More than one in fifty is too many, and where a second's calls are counted together it cannot be helped.
    let most = if matches!(takes, Takes::EachSecond(_)) { calls / 2 } else { calls / 50 };
    assert!(throttled <= most, "{throttled} of {calls} calls are throttled: that hammers");
    let of = |timeout: u64| kept * 1_000 / (u64::from(a_second) * 10 * timeout);
    (of(timeout.as_secs()), of(timeout.as_secs() - 1))
}

fn saves(a_second: u32, saves: u32) -> Takes {
    Takes::Calls { a_second, saves }
}

const FAST: (Duration, Duration) = (millis(20), Duration::ZERO);

#[test]
fn at_a_timeout_of_30_seconds_the_guard_is_all_that_is_lost() {
    for (a_second, latency, takes) in [
        (12, FAST, saves(12, 12)),
        (12, FAST, saves(12, 120)),
        (120, FAST, saves(120, 12)),
        (240, (millis(5), Duration::ZERO), saves(240, 240)),
        // From 20 to 40 ms, and from 20 to 100.
        (120, (millis(20), millis(20)), saves(120, 120)),
        (120, (millis(20), millis(80)), saves(120, 120)),
    ] {
        let (of_all, of_held) = kept(30, a_second, latency, takes);
        assert!(of_held >= 980, "{a_second} a second, {latency:?}, {takes:?}: {of_held} ({of_all})");
    }
}

#[test]
fn at_longer_timeouts_it_is_less_than_two_in_a_hundred() {
    for (timeout, a_second) in [(60, 12), (60, 60), (120, 3), (120, 30), (600, 6)] {
        let (of_all, _) = kept(timeout, a_second, FAST, saves(a_second, a_second));
        assert!(of_all >= 980, "{timeout} s, {a_second} a second: {of_all}");
    }
}

/// What a call needs to be tried again is lost as well: twice as long as a call takes.
#[test]
fn slow_calls_cost_what_they_take_twice() {
    let (_, of_held) = kept(30, 60, (millis(200), Duration::ZERO), saves(60, 60));
    assert!(of_held >= 980, "{of_held}");
}

/// Each call that comes a little too soon is throttled, and what is not used in time is lost: looking for that limit costs.
#[test]
fn a_queue_that_saves_nothing_up_costs_a_search() {
    for a_second in [12, 120] {
        let (_, of_held) = kept(60, a_second, FAST, saves(a_second, 1));
        assert!(of_held >= 970, "{a_second} a second: {of_held}");
    }
}

/// Where calls are counted anew in each second, none goes through at the end of one: leases need as much time to spare.
/// With other draws of the call times it is from 0.92 to 0.965.
#[test]
fn a_queue_that_counts_by_the_second_costs_up_to_a_second() {
    let (_, of_held) = kept(30, 120, (millis(20), millis(20)), Takes::EachSecond(120));
    assert!(of_held >= 915, "{of_held}");
}

/// It was 12 calls a second for two minutes, and is as many as one likes again.
#[test]
fn a_limit_that_is_gone_is_forgotten() {
    let mut scene = Scene::new(Duration::from_mins(1), millis(20));
    scene.takes(saves(12, 12));
    scene.receive(12_000);
    scene.run(scene.now + Duration::from_mins(2));
    assert!(scene.set.len() <= 12 * 10 * 60);
    scene.takes(Takes::All);
    // The others come back, and those that were kept stay.
    scene.run(scene.now + Duration::from_mins(1));
    let lost = scene.stopped.len();
    scene.receive(12_000);
    scene.run(scene.now + Duration::from_mins(5));
    assert_eq!(scene.stopped.len() - lost, 0);
}

/// A FIFO queue without high throughput takes 300 calls a second.
#[test]
fn three_hundred_calls_a_second_keep_forty_five_thousand() {
    for (leases, calls) in [(4_500, 30), (45_000, 300)] {
        let mut scene = Scene::new(Duration::from_secs(30), millis(20));
        scene.takes(saves(calls, calls / 10));
        scene.receive(leases);
        scene.run(scene.now + Duration::from_mins(5));
        assert_eq!(scene.stopped, []);
    }
}
