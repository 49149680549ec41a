//! A shutdown in the middle of the work.

use std::sync::Arc;
use std::time::Duration;

use sqs_lease_driver::{Consumer, ConsumerOptions, Delivery, Policy, Runtime, Shutdown};

use crate::scene::*;

/// Handlers that work for several timeouts, some prefetched, a shutdown at some moment: what runs is kept and deleted,
/// what waits is there for others at once, and nothing is received twice by us.
#[test]
fn a_shutdown_keeps_what_runs_and_frees_what_waits() {
    for seed in seeds() {
        let mut scene = Scene::of(seed, "jobs", &[], |_| Policy::new());
        let sent = usize::try_from(scene.dice.between(1, 40)).unwrap();
        for _ in 0..sent {
            scene.model.send("a job").unwrap();
        }
        let (work, prefetch) = (scene.dice.between(20, 400), scene.dice.between(0, 12));
        let (work, stop_after) = (scene.part(work), scene.dice.between(0, 500));
        let stop_after = scene.part(stop_after);
        let options = ConsumerOptions::new().concurrency(5).unwrap();
        let options = options.prefetch(usize::try_from(prefetch).unwrap());
        let (time, mailbox) = (scene.time.clone(), scene.world.mailbox());
        let consumer = Consumer::new(
            scene.source(None),
            move |task| mailbox.spawn(task),
            options,
            move |_: Arc<Delivery<String>>| {
                let sleep = time.sleep(work);
                async move {
                    sleep.await;
                    Ok::<(), ()>(())
                }
            },
        );
        let (stopper, time) = (consumer.stopper(), scene.time.clone());
        let wait = time.sleep(stop_after);
        scene.world.spawner().spawn(async move {
            wait.await;
            stopper.shutdown(Shutdown::ReleaseUnstarted, Duration::from_hours(2));
        });
        let report = scene.world.run(consumer.run()).unwrap();
        assert!(report.left.is_empty() && report.interrupted.is_empty(), "seed {seed}: {report:?}");
        let truth = scene.truth();
        // What is released may come once more by the last long poll, and goes back again.
        assert!(truth.iter().all(|(receives, _)| *receives <= 2), "seed {seed}: {truth:?}");
        let deleted = truth.iter().filter(|(_, deleted)| *deleted).count();
        let received = truth.iter().filter(|(receives, _)| *receives > 0).count();
        assert_eq!(received, deleted + report.released.len(), "seed {seed}: {report}");
        // Everything else can be had at once.
        let mut visible = 0;
        while scene.model.receive(43_200).unwrap().is_some() {
            visible += 1;
        }
        assert_eq!(deleted + visible, sent, "seed {seed} at {}", scene.time.now());
    }
}
