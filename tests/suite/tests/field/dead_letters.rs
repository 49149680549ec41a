//! Receives that are used up, and messages in the dead-letter queue.

use std::sync::Arc;
use std::time::Duration;

use sqs_lease_driver::{
    BackOff, Consumer, ConsumerOptions, Delivery, OnFailure, Policy, Shutdown, Visibility,
};
use sqs_lease_sim::redrive_policy;

use crate::scene::*;

/// A dependency is down for minutes: with a back-off a message uses up a handful of receives in that time, not hundreds.
#[test]
fn a_back_off_saves_receives() {
    for seed in seeds() {
        let mut scene = Scene::new(seed);
        scene.model.send("a job").unwrap();
        let first = Visibility::new(1).unwrap();
        let back_off = OnFailure::BackOff(BackOff::new(first, Visibility::new(300).unwrap()).unwrap());
        let options = ConsumerOptions::new().on_failure(back_off);
        let mailbox = scene.world.mailbox();
        let fails = |_: Arc<Delivery<String>>| async { Err::<(), ()>(()) };
        let consumer = Consumer::new(scene.source(None), move |task| mailbox.spawn(task), options, fails);
        let (stopper, wait) = (consumer.stopper(), scene.time.sleep(Duration::from_mins(10)));
        scene.world.spawner().spawn(async move {
            wait.await;
            stopper.shutdown(Shutdown::Drain, Duration::from_mins(1));
        });
        scene.world.run(consumer.run()).unwrap();
        let receives = scene.truth()[0].0;
        // 1 + 2 + 4 + … + 256 s is eight and a half minutes; what is asked for late makes it fewer.
        assert!((7..=10).contains(&receives), "seed {seed}: {receives}");
    }
}

/// An ordinary restart with maxReceiveCount 1: nothing is buried that nobody has worked on.
#[test]
fn a_restart_buries_nothing() {
    for seed in seeds() {
        let mut scene = Scene::of(seed, "dead", &[], |_| Policy::new());
        let arn = scene.model.model(|model, _| model.queue_arn("dead")).unwrap();
        let jobs = scene.model.sibling("jobs", &[("RedrivePolicy", &redrive_policy(&arn, 1))]).unwrap();
        let dead = std::mem::replace(&mut scene.model, jobs.clone());
        scene.keep(jobs.clone());
        for _ in 0..30 {
            jobs.send("a job").unwrap();
        }
        let (work, after) = (scene.dice.between(20, 200), scene.dice.between(0, 300));
        let (work, after, time) = (scene.part(work), scene.part(after), scene.time.clone());
        let mailbox = scene.world.mailbox();
        let handler = move |_: Arc<Delivery<String>>| {
            let sleep = time.sleep(work);
            async move {
                sleep.await;
                Ok::<(), ()>(())
            }
        };
        let options = ConsumerOptions::new().concurrency(4).unwrap().prefetch(8);
        let consumer =
            Consumer::new(scene.source(Some(1)), move |task| mailbox.spawn(task), options, handler);
        let (stopper, wait) = (consumer.stopper(), scene.time.sleep(after));
        scene.world.spawner().spawn(async move {
            wait.await;
            stopper.shutdown(Shutdown::ReleaseUnstarted, Duration::from_hours(2));
        });
        let report = scene.world.run(consumer.run()).unwrap();
        assert!(report.last_receives.is_empty(), "seed {seed}: {report}");
        // Moved at the next receive, if at all.
        let mut visible = 0;
        while jobs.receive(43_200).unwrap().is_some() {
            visible += 1;
        }
        assert!(dead.receive(1).unwrap().is_none(), "seed {seed}: a message was buried");
        let deleted = scene.truth().iter().filter(|(_, deleted)| *deleted).count();
        assert_eq!(deleted + visible, 30, "seed {seed}");
    }
}
