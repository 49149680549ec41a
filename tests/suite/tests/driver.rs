//! The driver in virtual time, with a scripted queue.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use futures_util::FutureExt;
use sqs_lease_driver::{
    Delivery, Failure, Keeper, LateDelete, OnDrop, Policy, Receipt, Received, Refusal, Settings, SettleError,
    StopReason, Visibility,
};
use sqs_lease_suite::scripted::{ScriptedQueue, Then, at};
use sqs_lease_suite::virtual_time::{VirtualTime, World};

fn secs(secs: u32) -> Visibility {
    Visibility::new(secs).unwrap()
}

const fn seconds(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// A world with a keeper whose loop runs, and a queue.
struct Scene {
    world: World,
    time: VirtualTime,
    queue: ScriptedQueue,
    keeper: Keeper,
}

fn no_guard() -> Settings {
    Settings::new().policy(Policy::new().guard(Duration::ZERO))
}

fn scene() -> Scene {
    scene_with(no_guard(), |queue| queue)
}

fn scene_with(settings: Settings, queue: impl FnOnce(ScriptedQueue) -> ScriptedQueue) -> Scene {
    let scene = idle_scene(settings, queue);
    scene.world.spawner().spawn(scene.keeper.run());
    scene
}

/// The same without a task that runs the loop.
fn idle_scene(settings: Settings, queue: impl FnOnce(ScriptedQueue) -> ScriptedQueue) -> Scene {
    let world = World::new();
    let time = world.time();
    let queue = queue(ScriptedQueue::new(time.clone()));
    let keeper = Keeper::new(queue.clone(), time.clone(), settings);
    Scene { world, time, queue, keeper }
}

impl Scene {
    fn hold(&self, name: &str, timeout: u32) -> Delivery<()> {
        let received = Received::new(self.keeper.now(), secs(timeout));
        let handle = format!("SECRETSECRETSECRET-{name}");
        let receipt = Receipt::new(handle, received).message_id(format!("id-{name}")).receive_count(1);
        self.keeper.hold(receipt, ())
    }
}

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
        delivery.leave();
        time.sleep(seconds(200)).await;
    });
    assert!(scene.queue.calls().is_empty());
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
fn keep_works_without_a_task_that_runs_the_loop() {
    let mut scene = idle_scene(no_guard(), |queue| queue);
    let delivery = scene.hold("a", 30);
    let time = scene.time.clone();
    let settled = scene.world.run(async move {
        let kept = delivery.keep(time.sleep(seconds(50))).await;
        (kept, delivery.delete().await)
    });
    assert_eq!(settled, (Ok(()), Ok(())));
    let calls = scene.queue.calls();
    assert_eq!(calls, ["15000 hide a 30", "30000 hide a 30", "45000 hide a 30", "50000 delete a"]);
}

#[test]
fn another_keep_takes_over_when_the_first_is_done() {
    let mut scene = idle_scene(no_guard(), |queue| queue);
    let (first, second) = (scene.hold("a", 30), scene.hold("b", 30));
    let (time, spawner) = (scene.time.clone(), scene.world.spawner());
    scene.world.run(async move {
        let sleep = time.sleep(seconds(20));
        spawner.spawn(async move {
            first.keep(sleep).await.unwrap();
            first.delete().await.unwrap();
        });
        second.keep(time.sleep(seconds(50))).await.unwrap();
    });
    assert_eq!(
        scene.queue.calls(),
        ["15000 hide a 30, b 30", "20000 delete a", "30000 hide b 30", "45000 hide b 30"]
    );
}

#[test]
fn a_task_made_to_drive_takes_over_from_whoever_waits() {
    let mut scene = idle_scene(no_guard(), |queue| queue);
    let (first, second) = (scene.hold("a", 30), scene.hold("b", 30));
    let (time, spawner, keeper) = (scene.time.clone(), scene.world.spawner(), scene.keeper.clone());
    scene.world.run(async move {
        // The first drives until there is a task for it; then its handler may block the thread.
        let mut kept = Box::pin(first.keep(std::future::pending::<()>()));
        assert!(futures_util::poll!(&mut kept).is_pending());
        spawner.spawn(keeper.run());
        time.sleep(seconds(1)).await;
        assert!(futures_util::poll!(&mut kept).is_pending());
        second.keep(time.sleep(seconds(40))).await.unwrap();
        assert!(first.is_held());
    });
    assert_eq!(scene.queue.calls(), ["15000 hide a 30, b 30", "30000 hide a 30, b 30"]);
}

#[test]
fn a_handler_that_panics_beside_the_loop_takes_no_other_lease_down() {
    let mut scene = idle_scene(no_guard(), |queue| queue);
    let (first, second) = (scene.hold("a", 30), scene.hold("b", 30));
    let time = scene.time.clone();
    scene.world.run(async move {
        let panics = async {
            time.sleep(seconds(5)).await;
            panic!("the handler is broken");
        };
        let keep = std::panic::AssertUnwindSafe(first.keep(panics)).catch_unwind();
        assert!(keep.await.is_err());
        drop(first);
        second.keep(time.sleep(seconds(40))).await.unwrap();
    });
    assert_eq!(scene.queue.calls(), ["15000 hide b 30", "30000 hide b 30"]);
}

#[test]
fn a_client_that_panics_is_a_failed_call_and_no_more() {
    let mut scene = scene();
    scene.queue.then([Then::Panic]);
    let delivery = scene.hold("a", 30);
    let time = scene.time.clone();
    let kept = scene.world.run(async move { delivery.keep(time.sleep(seconds(20))).await });
    assert_eq!(kept, Ok(()));
    assert_eq!(scene.queue.calls(), ["15000 hide a 30", "16000 hide a 30"]);
}

#[test]
fn a_loop_that_was_dropped_is_driven_by_whoever_waits() {
    let mut scene = idle_scene(no_guard(), |queue| queue);
    let delivery = scene.hold("a", 30);
    let (time, run) = (scene.time.clone(), scene.keeper.run());
    let settled = scene.world.run(async move {
        // The task is cancelled while an extension is on the wire.
        let mut run = Box::pin(run);
        futures_util::future::select(run.as_mut(), Box::pin(time.sleep(Duration::from_millis(15_050)))).await;
        drop(run);
        delivery.keep(time.sleep(seconds(20))).await.unwrap();
        delivery.delete().await
    });
    assert_eq!(settled, Ok(()));
    assert_eq!(
        scene.queue.calls(),
        ["15000 hide a 30", "30000 hide a 30", "35050 delete a"],
        "the answer on the wire is not lost"
    );
}

#[test]
fn the_loop_ends_when_nobody_is_left_and_everything_is_sent() {
    let mut scene = idle_scene(no_guard(), |queue| queue);
    let delivery = scene.hold("a", 30);
    let (keeper, queue) = (scene.keeper, scene.queue.clone());
    scene.world.run(async move {
        let run = keeper.run();
        assert!(delivery.delete().now_or_never().is_none());
        drop((delivery, keeper));
        run.await;
    });
    assert_eq!(queue.calls(), ["0 delete a"]);
    assert_eq!(scene.time.millis(), 100);
}

#[test]
fn a_nearer_deadline_wakes_the_loop_and_nothing_else_does() {
    let mut scene = scene();
    let time = scene.time.clone();
    let far = scene.hold("far", 600);
    let (keeper, queue) = (scene.keeper.clone(), scene.queue.clone());
    scene.world.run(async move {
        time.sleep(seconds(10)).await;
        let sleeps = time.sleeps();
        let later = Receipt::new("handle-later", Received::new(keeper.now(), secs(700)));
        let later = keeper.hold(later, ());
        time.sleep(seconds(1)).await;
        assert_eq!(time.sleeps(), sleeps + 1, "only ours: nothing came nearer");
        let near = Receipt::new("handle-near", Received::new(keeper.now(), secs(20)));
        let near = keeper.hold(near, ());
        time.sleep(seconds(15)).await;
        assert_eq!(queue.calls(), ["21000 hide near 20"]);
        drop((near, later, far));
    });
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
