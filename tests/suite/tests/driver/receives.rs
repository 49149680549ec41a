//! From when on a lease counts.

use std::time::Duration;

use sqs_lease_driver::{Keeper, Moment, Policy, Receipt, Runtime, Settings, StopReason};
use sqs_lease_sim::{Delivery, ModelQueue, Receive};
use sqs_lease_suite::scripted::at;
use sqs_lease_suite::virtual_time::{VirtualTime, World};

use crate::scene::{seconds, secs};

/// Receives a message as SQS gave it out at this moment: its answer was on the way since.
fn receive_at(queue: &ModelQueue<VirtualTime>, at: Moment) -> Delivery {
    let receive = Receive::new().visibility(30);
    queue.model(|model, _| model.receive("jobs", &receive, at)).unwrap().remove(0)
}

/// SQS answers a long poll at 5 s; the machine stands still from 4 s on, for so long.
fn remaining_after(standing_still: Duration) -> (Duration, Duration, Option<StopReason>) {
    let mut world = World::new();
    let time = world.time();
    let queue = ModelQueue::new(time.clone(), "jobs", Duration::from_millis(10), &[]).unwrap();
    let keeper = Keeper::new(queue.clone(), time.clone(), Settings::new());
    world.spawner().spawn(keeper.run());
    queue.send("a job").unwrap();
    let sleeper = time.clone();
    world.spawner().spawn(async move {
        sleeper.sleep(seconds(4)).await;
        sleeper.suspend(standing_still);
    });
    world.run(async move {
        let call = async {
            // It was on its way when the machine stopped, and is seen when it goes on.
            time.sleep(seconds(5)).await;
            receive_at(&queue, at(5))
        };
        let (message, received) = keeper.receiving(secs(30), call).await;
        let receipt = Receipt::new(message.receipt_handle.as_str(), received).message_id("a");
        let delivery = keeper.hold(receipt, ());
        let truth = at(35) - time.now();
        (delivery.remaining(), truth, delivery.ended().map(|ended| ended.reason))
    })
}

#[test]
fn an_answer_counts_from_when_it_came() {
    let (remaining, truth, ended) = remaining_after(Duration::ZERO);
    assert_eq!((remaining, truth, ended), (seconds(29), seconds(30), None));
}

#[test]
fn an_answer_that_waited_for_the_machine_to_wake_counts_from_before() {
    for still in [2, 10, 20, 25] {
        let (remaining, truth, ended) = remaining_after(seconds(still));
        assert!(remaining <= truth, "{still}: {remaining:?} of {truth:?}");
        // From the last look before: no more than a quarter of a second too early, and the guard.
        assert!(truth < remaining + Duration::from_millis(2300) && ended.is_none(), "{still}: {remaining:?}");
    }
}

#[test]
fn an_answer_that_waited_for_longer_than_its_timeout_is_lost_from_the_start() {
    let (remaining, truth, ended) = remaining_after(seconds(60));
    assert_eq!((remaining, truth, ended), (Duration::ZERO, Duration::ZERO, Some(StopReason::Expired)));
}

/// An extension of 5 s leaves a guard of a quarter of a second; an answer that is late by more must be seen.
#[test]
fn a_small_guard_is_watched_more_closely() {
    let mut world = World::new();
    let time = world.time();
    let queue = ModelQueue::new(time.clone(), "jobs", Duration::from_millis(10), &[]).unwrap();
    let settings = Settings::new().policy(Policy::new().extension(secs(5)).unwrap());
    let keeper = Keeper::new(queue.clone(), time.clone(), settings);
    queue.send("a job").unwrap();
    let sleeper = time.clone();
    world.spawner().spawn(async move {
        sleeper.sleep(Duration::from_millis(5_005)).await;
        sleeper.suspend(Duration::from_millis(450));
    });
    world.run(async move {
        let answered = at(5) + Duration::from_millis(10);
        let call = async {
            time.sleep_until(answered).await;
            receive_at(&queue, answered)
        };
        let (message, received) = keeper.receiving(secs(30), call).await;
        let delivery = keeper.hold(Receipt::new(message.receipt_handle.as_str(), received), ());
        let truth = answered + seconds(30) - time.now();
        assert!(delivery.remaining() <= truth, "{:?} of {truth:?}", delivery.remaining());
    });
}
