//! Deliveries that nobody settles.

use std::time::Duration;

use sqs_lease_driver::{Policy, StopReason};

use crate::scene::*;

/// Three timeouts, in whole seconds.
fn bounded(timeout: u32) -> Policy {
    Policy::new().max_hold(Duration::from_secs(u64::from(timeout) * 3)).unwrap()
}

#[test]
fn a_hung_handler_is_bounded_by_the_longest_hold() {
    for seed in seeds() {
        let mut scene = Scene::of(seed, "jobs", &[], bounded);
        let delivery = scene.deliver();
        let loss = scene.world.run(async move { delivery.keep(std::future::pending::<()>()).await });
        assert_eq!(loss.unwrap_err().reason, StopReason::Limit, "seed {seed}");
        let held = Duration::from_millis(u64::try_from(scene.time.millis()).unwrap());
        assert!(held <= scene.part(300) && held >= scene.part(280), "seed {seed}: {held:?}");
    }
}

#[test]
fn a_leaked_delivery_goes_to_somebody_else_after_the_longest_hold() {
    for seed in seeds() {
        let mut scene = Scene::of(seed, "jobs", &[], bounded);
        std::mem::forget(scene.deliver());
        let (time, model, timeout) = (scene.time.clone(), scene.model.clone(), scene.timeout);
        let (before, after) = (scene.part(270), scene.part(40));
        scene.world.run(async move {
            time.sleep(before).await;
            assert!(model.receive(timeout).unwrap().is_none(), "seed {seed}: it is held");
            time.sleep(after).await;
            assert!(model.receive(timeout).unwrap().is_some(), "seed {seed}: it is free");
        });
        assert_eq!(scene.keeper.stats().lost_waiting.limit, 1, "seed {seed}");
    }
}

/// Leaks are seen in the numbers.
#[test]
fn leaked_deliveries_are_counted() {
    let mut scene = Scene::new(0);
    for _ in 0..1000 {
        std::mem::forget(scene.deliver());
    }
    let (time, long) = (scene.time.clone(), scene.part(500));
    scene.world.run(async move { time.sleep(long).await });
    let stats = scene.keeper.stats();
    assert_eq!((stats.leases_held, scene.keeper.len(), stats.lost()), (1000, 1000, 0));
    // How long the oldest has been held.
    assert_eq!(stats.time_to_limit.unwrap() + long, Duration::from_secs(43_200 - 5));
}
