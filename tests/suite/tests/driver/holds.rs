//! What is held, for how long, and how a loss is told.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use sqs_lease_driver::{Failure, LateDelete, Refusal, SettleError, StopReason};
use sqs_lease_suite::scripted::{Then, at};

use crate::scene::*;

#[test]
fn a_slow_handler_keeps_its_message() {
    let mut scene = scene();
    let delivery = scene.hold("a", 30);
    let time = scene.time.clone();
    let settled = scene.world.run(async move {
        let kept = delivery.keep(time.sleep(seconds(95))).await;
        (kept, delivery.delete().await)
    });
    assert_eq!(settled, (Ok(()), Ok(())));
    assert_eq!(
        scene.queue.calls(),
        [
            "15000 hide a 30",
            "30000 hide a 30",
            "45000 hide a 30",
            "60000 hide a 30",
            "75000 hide a 30",
            "90000 hide a 30",
            "95000 delete a",
        ]
    );
    assert_eq!(scene.time.millis(), 95_100);
}

#[test]
fn a_refusal_is_a_loss_and_the_handler_is_dropped() {
    let mut scene = scene();
    scene.queue.then([Then::fails(Failure::Gone, "InvalidParameterValue")]);
    let delivery = scene.hold("a", 30);
    let time = scene.time.clone();
    let dropped = Rc::new(Cell::new(false));
    let on_drop = SetOnDrop(Rc::clone(&dropped));
    let (loss, late) = scene.world.run(async move {
        let handler = async move {
            let _on_drop = on_drop;
            time.sleep(seconds(300)).await;
        };
        (delivery.keep(handler).await.unwrap_err(), delivery.delete().await)
    });
    assert_eq!((loss.reason, loss.at), (StopReason::Refused, at(15) + Duration::from_millis(100)));
    assert!(dropped.get());
    assert_eq!(scene.time.millis(), 15_100, "told at once");
    // SQS said that it is gone: there is nothing to delete.
    let expected =
        SettleError::Lost { reason: StopReason::Refused, ago: Duration::ZERO, late: LateDelete::NotSent };
    assert_eq!(late, Err(expected));
    assert_eq!(scene.queue.calls(), ["15000 hide a 30"]);
}

struct SetOnDrop(Rc<Cell<bool>>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

#[test]
fn a_dead_network_is_a_loss_told_by_the_clock_and_hung_calls_are_ended() {
    let mut scene = scene();
    scene.queue.then(vec![Then::Hang; 9]);
    let delivery = scene.hold("a", 30);
    let loss = scene.world.run(async move { delivery.lost().await });
    assert_eq!((loss.reason, loss.at), (StopReason::Expired, at(30)));
    assert_eq!(scene.time.millis(), 30_000);
    let calls: Vec<(u128, Option<u128>)> =
        scene.queue.noted().iter().map(|call| (call.at, call.ended)).collect();
    // Each ended by our own timer, at the moment by which its answer was wanted.
    assert_eq!(
        calls,
        [(15_000, Some(20_000)), (21_000, Some(24_000)), (26_000, Some(27_333)), (29_000, Some(30_000)),]
    );
}

#[test]
fn each_entry_of_a_batch_has_its_own_outcome() {
    let mut scene = scene();
    let gone = Some(Err(Refusal::new(Failure::Gone, "ReceiptHandleIsInvalid")));
    let failed = Some(Err(Refusal::new(Failure::Transient, "InternalError")));
    scene.queue.then([Then::entries(vec![Some(Ok(())), gone, failed, None])]);
    let held: Vec<_> = ["a", "b", "c", "d"].iter().map(|name| scene.hold(name, 30)).collect();
    let time = scene.time.clone();
    let ended = scene.world.run(async move {
        time.sleep(seconds(17)).await;
        held.iter().map(|it| it.ended().map(|ended| ended.reason)).collect::<Vec<_>>()
    });
    assert_eq!(ended, [None, Some(StopReason::Refused), None, None]);
    assert_eq!(scene.queue.calls(), ["15000 hide a 30, b 30, c 30, d 30", "16100 hide c 30, d 30"]);
}

#[test]
fn after_a_suspension_the_clock_decides_at_once() {
    let mut scene = scene();
    let delivery = scene.hold("a", 30);
    let time = scene.time.clone();
    let (held, settled, loss) = scene.world.run(async move {
        time.sleep(seconds(5)).await;
        time.suspend(seconds(600));
        // Before the loop has woken.
        let held = delivery.is_held();
        (held, delivery.release(secs(0)).await, delivery.lost().await)
    });
    assert!(!held);
    let late = LateDelete::NotSent;
    assert_eq!(settled, Err(SettleError::Lost { reason: StopReason::Expired, ago: seconds(575), late }));
    assert_eq!((loss.reason, loss.at), (StopReason::Expired, at(30)));
    assert!(scene.queue.calls().is_empty(), "nothing is sent with the handle of a delivery that is lost");
}

/// After a resume a handler whose delivery is lost takes no further step, also where its own timer is due first.
#[test]
fn a_handler_does_not_go_on_after_a_suspension_that_lost_its_delivery() {
    let mut scene = scene();
    let delivery = scene.hold("a", 30);
    let time = scene.time.clone();
    let sleeper = time.clone();
    scene.world.spawner().spawn(async move {
        sleeper.sleep(seconds(5)).await;
        sleeper.suspend(seconds(600));
    });
    let went_on = Rc::new(Cell::new(false));
    let flag = Rc::clone(&went_on);
    let (kept, settled) = scene.world.run(async move {
        let handler = async {
            // Due at the very instant at which the machine wakes.
            time.sleep(seconds(605)).await;
            flag.set(true);
        };
        (delivery.keep(handler).await, delivery.leave())
    });
    let loss = kept.unwrap_err();
    assert_eq!((loss.reason, loss.at), (StopReason::Expired, at(30)));
    assert!(!went_on.get());
    let (ago, late) = (seconds(575), LateDelete::NotSent);
    assert_eq!(settled, Err(SettleError::Lost { reason: StopReason::Expired, ago, late }));
}

/// Its last step began while the delivery was held: the work is done, and the loss is told beside the result.
#[test]
fn a_handler_that_ends_in_the_step_that_lost_its_delivery_gives_its_result() {
    let mut scene = scene();
    let delivery = scene.hold("a", 30);
    let time = scene.time.clone();
    let (kept, loss, held, deleted) = scene.world.run(async move {
        let blocks = async {
            time.sleep(seconds(5)).await;
            // It blocks its thread, or the machine is suspended.
            time.suspend(seconds(600));
            "done"
        };
        let kept = delivery.keep(blocks).await;
        (kept, delivery.loss(), delivery.is_held(), delivery.delete().await)
    });
    assert_eq!((kept, held), (Ok("done"), false));
    assert_eq!(loss.map(|loss| (loss.reason, loss.at)), Some((StopReason::Expired, at(30))));
    let (ago, late) = (seconds(575), LateDelete::Accepted);
    assert_eq!(deleted, Err(SettleError::Lost { reason: StopReason::Expired, ago, late }));
}

#[test]
fn extending_by_hand() {
    let mut scene = scene();
    let delivery = scene.hold("a", 30);
    let time = scene.time.clone();
    scene.world.run(async move {
        time.sleep(seconds(5)).await;
        assert_eq!(delivery.deadline(), at(30));
        delivery.extend(secs(3600)).unwrap();
        assert!(delivery.extend(secs(0)).is_err());
        time.sleep(seconds(1)).await;
        assert_eq!(delivery.deadline(), at(3605));
        assert_eq!(delivery.remaining(), seconds(3599));
        drop(delivery);
    });
    assert_eq!(scene.queue.calls(), ["5000 hide a 3600"]);
}

#[test]
fn throttled_calls_come_at_twice_the_distance() {
    let mut scene = scene();
    let throttled = || Then::fails(Failure::Throttled, "RequestThrottled");
    scene.queue.then([throttled(), throttled()]);
    let delivery = scene.hold("a", 30);
    let time = scene.time.clone();
    let kept = scene.world.run(async move { delivery.keep(time.sleep(seconds(25))).await });
    assert_eq!(kept, Ok(()));
    assert_eq!(scene.queue.calls(), ["15000 hide a 30", "17100 hide a 30", "21200 hide a 30"]);
}
