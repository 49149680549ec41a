//! Deletes, releases, and deliveries that are let go.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use futures_util::FutureExt;
use sqs_lease_driver::{Failure, LateDelete, OnDrop, Refusal, SetPolicy, SettleError, StopReason};
use sqs_lease_suite::scripted::{ScriptedQueue, Then};

use crate::scene::*;

#[test]
fn a_lost_delivery_is_deleted_once_late_on_a_standard_queue() {
    let mut scene = scene();
    scene.queue.then(vec![Then::Hang; 4]);
    let delivery = scene.hold("a", 30);
    let time = scene.time.clone();
    let settled = scene.world.run(async move {
        time.sleep(seconds(40)).await;
        [delivery.delete().await, delivery.delete().await]
    });
    let lost = |ago| Err(SettleError::Lost { reason: StopReason::Expired, ago, late: LateDelete::Accepted });
    assert_eq!(settled, [lost(seconds(10)), lost(Duration::from_millis(10_100))]);
    assert_eq!(scene.queue.calls()[4..], ["40000 delete a"], "sent once");
    assert!(settled[0].unwrap_err().to_string().contains("proves nothing"));
}

#[test]
fn no_late_delete_on_a_fifo_queue() {
    let mut scene = scene_with(no_guard(), ScriptedQueue::fifo);
    scene.queue.then(vec![Then::Hang; 4]);
    let delivery = scene.hold("a", 30);
    let time = scene.time.clone();
    let settled = scene.world.run(async move {
        time.sleep(seconds(40)).await;
        delivery.delete().await
    });
    let late = LateDelete::NotSent;
    assert_eq!(settled, Err(SettleError::Lost { reason: StopReason::Expired, ago: seconds(10), late }));
    assert_eq!(scene.queue.calls().len(), 4);
}

#[test]
fn a_delivery_without_a_lease_is_not_extended_but_deleted() {
    let mut scene = scene();
    let delivery = scene.hold("a", 0);
    let time = scene.time.clone();
    let (held, kept, settled) = scene.world.run(async move {
        let kept = delivery.keep(time.sleep(seconds(5))).await;
        (delivery.is_held(), kept, delivery.delete().await)
    });
    assert_eq!((held, kept, settled), (false, Ok(()), Ok(())));
    assert_eq!(scene.queue.calls(), ["5000 delete a"]);
}

#[test]
fn a_release_waits_for_the_extension_in_flight() {
    let mut scene = scene();
    let delivery = scene.hold("a", 30);
    let time = scene.time.clone();
    let settled = scene.world.run(async move {
        time.sleep(Duration::from_millis(15_050)).await;
        (delivery.release(secs(60)).await, delivery.delete().await)
    });
    let how = StopReason::Released;
    assert_eq!(settled, (Ok(()), Err(SettleError::AlreadySettled { how })));
    assert_eq!(scene.queue.calls(), ["15000 hide a 30", "15100 hide a 60"]);
}

#[test]
fn dropping_the_delivery_ends_the_renewal() {
    let mut scene = scene();
    let delivery = scene.hold("a", 30);
    let time = scene.time.clone();
    scene.world.run(async move {
        time.sleep(seconds(20)).await;
        drop(delivery);
        time.sleep(seconds(200)).await;
    });
    assert_eq!(scene.queue.calls(), ["15000 hide a 30"]);
    assert!(scene.keeper.is_empty());
}

#[test]
fn dropping_the_delivery_releases_it_where_asked() {
    let mut scene = scene_with(no_guard().on_drop(OnDrop::Release(secs(7))), |queue| queue);
    let delivery = scene.hold("a", 30);
    let time = scene.time.clone();
    scene.world.run(async move {
        time.sleep(seconds(3)).await;
        drop(delivery);
        time.sleep(seconds(20)).await;
    });
    assert_eq!(scene.queue.calls(), ["3000 hide a 7"]);
    assert!(scene.keeper.is_empty());
}

#[test]
fn leaving_sends_nothing_even_where_dropping_would_release() {
    let mut scene = scene_with(no_guard().on_drop(OnDrop::Release(secs(7))), |queue| queue);
    let delivery = scene.hold("a", 30);
    let time = scene.time.clone();
    scene.world.run(async move {
        assert_eq!(delivery.leave(), Ok(()));
        assert!(!delivery.is_held());
        assert_eq!(delivery.leave(), Ok(()), "a second one changes nothing");
        let how = StopReason::Left;
        assert_eq!(delivery.delete().await, Err(SettleError::AlreadySettled { how }));
        drop(delivery);
        time.sleep(seconds(200)).await;
    });
    assert!(scene.queue.calls().is_empty());
}

#[test]
fn leaving_says_what_it_found() {
    let mut scene = scene();
    let [deleting, releasing, lost] = ["a", "b", "c"].map(|name| scene.hold(name, 30));
    let time = scene.time.clone();
    scene.world.run(async move {
        assert!(deleting.delete().now_or_never().is_none());
        assert!(releasing.release(secs(9)).now_or_never().is_none());
        let settled = |how| Err(SettleError::AlreadySettled { how });
        assert_eq!(deleting.leave(), settled(StopReason::Deleted));
        assert_eq!(releasing.leave(), settled(StopReason::Released));
        time.suspend(seconds(40));
        let late = LateDelete::NotSent;
        let gone = SettleError::Lost { reason: StopReason::Expired, ago: seconds(10), late };
        assert_eq!(lost.leave(), Err(gone));
    });
}

#[test]
fn a_delete_counts_from_its_first_poll_and_outlives_its_future() {
    let mut scene = scene();
    scene.queue.then([Then::fails(Failure::Transient, "InternalError")]);
    let delivery = scene.hold("a", 30);
    let unpolled = scene.hold("b", 30);
    let time = scene.time.clone();
    scene.world.run(async move {
        assert!(delivery.delete().now_or_never().is_none());
        drop(delivery);
        drop(unpolled.delete());
        drop(unpolled);
        time.sleep(seconds(20)).await;
    });
    // The failed delete is tried again although nobody is there any more.
    assert_eq!(scene.queue.calls(), ["0 delete a", "1100 delete a"]);
    assert!(scene.keeper.is_empty());
}

#[test]
fn a_delete_that_nobody_confirms_is_told_as_such() {
    let mut scene = scene();
    scene.queue.then(vec![Then::Hang; 20]);
    let delivery = scene.hold("a", 30);
    let time = scene.time.clone();
    let settled = scene.world.run(async move {
        time.sleep(seconds(14)).await;
        delivery.delete().await
    });
    assert_eq!(settled, Err(SettleError::NotConfirmed { reason: StopReason::Expired }));
    assert_eq!(scene.time.millis(), 30_000);
}

/// One call for those that were asked for within the linger, and each caller learns of its own.
#[test]
fn settles_that_linger_share_a_call_and_each_has_its_own_result() {
    let calls = SetPolicy::new().linger(Duration::from_millis(200)).unwrap();
    let mut scene = scene_with(no_guard().calls(calls), |queue| queue);
    let gone = Some(Err(Refusal::new(Failure::Gone, "ReceiptHandleIsInvalid")));
    let later = Some(Err(Refusal::new(Failure::Transient, "InternalError")));
    scene.queue.then([Then::entries(vec![Some(Ok(())), gone, later])]);
    let held = ["a", "b", "c"].map(|name| scene.hold(name, 30));
    let (time, spawner) = (scene.time.clone(), scene.world.spawner());
    let results = Rc::new(RefCell::new(Vec::new()));
    let noted = Rc::clone(&results);
    scene.world.run(async move {
        for (delivery, at) in held.into_iter().zip([1000, 1100, 1150]) {
            let (time, noted) = (time.clone(), Rc::clone(&noted));
            let asked = time.sleep(Duration::from_millis(at));
            spawner.spawn(async move {
                asked.await;
                let result = delivery.delete().await;
                noted.borrow_mut().push((time.millis(), result));
            });
        }
        time.sleep(seconds(10)).await;
    });
    let refused = Err(SettleError::NotConfirmed { reason: StopReason::Refused });
    assert_eq!(*results.borrow(), [(1300, Ok(())), (1300, refused), (2400, Ok(()))]);
    assert_eq!(scene.queue.calls(), ["1200 delete a, b, c", "2300 delete c"]);
}
