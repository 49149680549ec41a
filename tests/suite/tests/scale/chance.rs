//! A queue that throttles by chance, however few calls there are.

use std::time::Duration;

use crate::scene::{Scene, Takes, millis};

/// Keeps so many leases for so long where so many calls of a thousand are throttled; none may be lost.
fn keeps_all(leases: u32, of_thousand: u64, minutes: u64) {
    let mut scene = Scene::new(Duration::from_secs(30), millis(20));
    scene.by_chance = of_thousand;
    scene.receive(leases);
    scene.run(scene.now + Duration::from_mins(minutes / 2));
    let (calls, from) = (scene.calls, scene.now);
    scene.run(from + Duration::from_mins(minutes / 2));
    assert_eq!(scene.stopped, [], "{leases} leases, {of_thousand} of a thousand");
    // In the middle of each timeout, and again what was throttled.
    let least = u64::from(leases) / 10 * scene.now.since(from).as_secs() / 15;
    let calls = (scene.calls - calls) * (1_000 - of_thousand) / 1_000;
    assert!(calls < least * 11 / 10, "{leases} leases, {of_thousand} of a thousand: {calls} for {least}");
}

/// Calls that are further apart are throttled as often: that they are throttled says nothing of their distance.
#[test]
fn one_call_of_twenty_or_one_of_three_throttled_by_chance_loses_none() {
    for leases in [1_200, 12_000] {
        for of_thousand in [50, 100, 300] {
            keeps_all(leases, of_thousand, 10);
        }
    }
}

/// Halving the calls in flight for one of a hundred would leave too few of them.
#[test]
fn one_call_of_a_hundred_does_not_hold_back_the_many_that_120_000_leases_need() {
    keeps_all(120_000, 20, 4);
}

/// A limit is found and kept to although some calls are throttled for nothing.
#[test]
fn a_few_that_are_throttled_by_chance_hide_no_limit() {
    let mut scene = Scene::new(Duration::from_secs(30), millis(20));
    scene.takes(Takes::Calls { a_second: 24, saves: 24 });
    scene.by_chance = 5;
    scene.receive(12_000);
    scene.run(scene.now + Duration::from_mins(10));
    let kept = scene.set.len() * 1_000 / (24 * 10 * 29);
    assert!(kept >= 970, "{kept}");
}

/// Chance that is gone is forgotten, and a limit found: none hammers.
#[test]
fn a_limit_after_chance_is_found() {
    let mut scene = Scene::new(Duration::from_secs(30), millis(20));
    scene.by_chance = 300;
    scene.receive(12_000);
    scene.run(scene.now + Duration::from_mins(2));
    assert_eq!(scene.stopped, []);
    scene.by_chance = 0;
    scene.takes(Takes::Calls { a_second: 60, saves: 60 });
    scene.run(scene.now + Duration::from_mins(2));
    let (calls, throttled) = (scene.calls, scene.throttled);
    scene.run(scene.now + Duration::from_mins(2));
    assert_eq!(scene.stopped, []);
    let (calls, throttled) = (scene.calls - calls, scene.throttled - throttled);
    assert!(throttled <= calls / 50, "{throttled} of {calls} calls are throttled: that hammers");
}
