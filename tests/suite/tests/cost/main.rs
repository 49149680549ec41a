//! What keeping many leases costs, in calls and wakes: asserted, since virtual time makes it the same in every run.
//!
//! The workloads are those of the benchmarks, smaller; what it costs in time is only measured there.

mod scene;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use sqs_lease_driver::Runtime as _;
use sqs_lease_suite::harness::bytes::{Bytes, of_seed};
use sqs_lease_suite::virtual_time::World;

use scene::{HALF, Running, Scene};

const LATENCY: Duration = Duration::from_millis(20);

const fn seconds(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Calls against the fewest in which so many extensions fit, in thousandths.
fn to_least(calls: u64, extensions: u64) -> u64 {
    calls * 10_000 / extensions
}

#[test]
fn w1_full_calls_and_a_wake_for_each_slack_at_every_size() {
    for (leases, halves) in [(1, 20), (10, 20), (120, 20), (1_200, 20), (12_000, 20), (120_000, 4)] {
        let mut world = World::new();
        let scene = Scene::new(&world, 30, Duration::ZERO);
        let (counts, wakes) = world.run(async move {
            let held = scene.hold_spread(leases).await;
            scene.time.sleep(2 * HALF).await;
            let counted = scene.count(halves * HALF).await;
            drop(held);
            counted
        });
        let least = u64::from(leases.div_ceil(10) * halves);
        assert!(counts.calls <= least * 1_005 / 1_000, "{leases}: {} calls for {least}", counts.calls);
        assert_eq!(counts.entries, u64::from(leases * halves), "{leases}: each once in each half");
        assert_eq!(counts.late, Duration::ZERO, "{leases}: none is after its middle");
        assert!(counts.early <= seconds(3), "{leases}: {:?} before its middle", counts.early);
        // One for each 50 ms at most.
        assert!(wakes <= least.min(u64::from(halves) * 15 * 20), "{leases}: {wakes} wakes");
    }
}

#[test]
fn w1_wakes_no_more_often_by_a_clock_that_runs() {
    let mut world = World::new();
    let running = Running(world.time());
    let scene = Scene::on(&world, running, 30, Duration::ZERO);
    let (counts, wakes) = world.run(async move {
        let held = scene.hold_spread(12_000).await;
        scene.time.sleep(2 * HALF).await;
        let counted = scene.count(4 * HALF).await;
        drop(held);
        counted
    });
    assert!(to_least(counts.calls, counts.entries) <= 1_005, "{} calls", counts.calls);
    // Each wake takes a few looks at the clock, which make it come a little sooner.
    assert!(wakes <= 21 * 60, "{wakes} wakes in 60 s");
    assert!(counts.late < Duration::from_millis(2), "{:?} late", counts.late);
}

#[test]
fn w2_full_calls_where_most_handlers_are_done_before_the_first_middle() {
    const RUN: Duration = seconds(240);
    let mut world = World::new();
    let scene = Scene::new(&world, 30, LATENCY);
    let (calls, middles) = world.run(async move {
        let bytes = of_seed(2, 1 << 20);
        let mut bytes = Bytes::new(&bytes);
        let start = scene.time.now();
        let mut working = BinaryHeap::new();
        let (mut held, mut middles) = (Vec::new(), 0);
        for step in 0..24_000 {
            let now = start + Duration::from_millis(10) * step;
            scene.time.sleep(now - scene.time.now()).await;
            while working.peek().is_some_and(|&Reverse((done, _))| done <= now) {
                if let Some(Reverse((_, index))) = working.pop() {
                    let index: usize = index;
                    held[index] = None;
                }
            }
            for _ in 0..5 {
                // From 50 ms to 400 s, each doubling as likely as the next: the median is 4.5 s.
                let took = Duration::from_millis((50 + bytes.below(50)) << bytes.below(13));
                working.push(Reverse((now + took, held.len())));
                held.push(Some(scene.hold()));
                middles += took.min(start + RUN - now).as_millis() / HALF.as_millis();
            }
        }
        (scene.calls(), u64::try_from(middles).unwrap())
    });
    assert!(to_least(calls, middles) <= 1_010, "{calls} calls for {middles} middles");
}

#[test]
fn w3_leases_received_alone_meet_and_stay_together() {
    const ARRIVALS: u64 = 20;
    let mut calls = 0;
    for seed in 0..ARRIVALS {
        let mut world = World::new();
        let scene = Scene::new(&world, 30, LATENCY);
        calls += world.run(async move {
            let bytes = of_seed(seed, 1_000);
            let mut bytes = Bytes::new(&bytes);
            let mut times: Vec<u64> = (0..10).map(|_| bytes.below(60_000)).collect();
            times.sort_unstable();
            let (start, mut held) = (scene.time.now(), Vec::new());
            for time in times {
                scene.time.sleep(start + Duration::from_millis(time) - scene.time.now()).await;
                held.push(scene.hold());
            }
            scene.time.sleep(4 * HALF).await;
            let (counts, _) = scene.count(seconds(3_600)).await;
            assert_eq!(counts.late, Duration::ZERO, "none is after its middle");
            counts.calls
        });
    }
    // Each alone would be 240 an hour.
    assert!(calls * 100 <= 33 * 240 * 10 * ARRIVALS, "{calls} calls");
}

#[test]
fn w4_an_idle_hour_wakes_nobody() {
    let mut world = World::new();
    let scene = Scene::new(&world, 43_200, LATENCY);
    let wakes = world.run(async move {
        let held: Vec<_> = (0..12_000).map(|_| scene.hold()).collect();
        scene.time.sleep(seconds(60)).await;
        let (counts, wakes) = scene.count(seconds(3_600)).await;
        assert_eq!(counts.calls, 0);
        drop(held);
        wakes
    });
    assert_eq!(wakes, 0);
}
