//! Who drives the loop, and when it wakes.

use std::time::Duration;

use futures_util::FutureExt;
use sqs_lease_driver::{Receipt, Received};
use sqs_lease_suite::scripted::Then;

use crate::scene::*;

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
