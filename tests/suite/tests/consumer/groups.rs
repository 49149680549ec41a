//! The order in a message group.

use std::sync::atomic::{AtomicBool, Ordering};

use sqs_lease_driver::{Failure, OnFailure, Report, Shutdown};
use sqs_lease_suite::scripted::{ScriptedQueue, Then};

use crate::scene::*;

/// A handler that works for a second and fails the first time.
fn fails_once() -> impl Fn(&str) -> (u64, &'static str) + Send + Sync + 'static {
    let has_failed = AtomicBool::new(false);
    move |_| (1, if has_failed.swap(true, Ordering::Relaxed) { "ok" } else { "fails" })
}

#[test]
fn members_follow_one_another_and_groups_run_beside_each_other() {
    let mut scene = scene_of(30, ScriptedQueue::fifo);
    scene.receives(0, &["G/a", "G/b", "H/x", "G/c"]);
    let consumer = scene.consumer(at_a_time(4), |_| (2, "ok"));
    let (ended, _) = scene.run(consumer, 10, Shutdown::Drain, 60);
    ended.unwrap();
    // Each after the delete of the one before was confirmed.
    assert_eq!(scene.notes.take(), ["0 begin a", "0 begin x", "2100 begin b", "4200 begin c"]);
}

#[test]
fn what_stands_behind_a_failed_member_is_released_the_last_first() {
    let mut scene = scene_of(30, ScriptedQueue::fifo);
    scene.receives(0, &["G/a", "G/b", "G/c", "H/x"]);
    let work = |name: &str| (2, if name == "a" { "fails" } else { "ok" });
    let consumer = scene.consumer(at_a_time(4), work);
    let (ended, _) = scene.run(consumer, 10, Shutdown::Drain, 60);
    // The shutdown came later and gave nothing back.
    assert_eq!(ended.unwrap(), Report::default());
    assert_eq!(scene.notes.take(), ["0 begin a", "0 begin x"]);
    assert_eq!(scene.calls(), ["2000 delete x", "2000 hide c 0, b 0"]);
}

#[test]
fn what_stands_behind_a_lost_member_is_released() {
    let mut scene = scene_of(30, ScriptedQueue::fifo);
    scene.receives(0, &["G/a", "G/b", "G/c"]);
    let gone = sqs_lease_driver::Refusal::new(Failure::Gone, "ReceiptHandleIsInvalid");
    scene.queue.then([Then::entries(vec![Some(Err(gone)), Some(Ok(())), Some(Ok(()))])]);
    let consumer = scene.consumer(at_a_time(4), |_| (200, "ok"));
    let (ended, _) = scene.run(consumer, 60, Shutdown::Drain, 60);
    ended.unwrap();
    assert_eq!(scene.notes.take(), ["0 begin a", "15100 dropped a"]);
    // Together from the receive on, and none is extended after the loss.
    assert_eq!(scene.calls(), ["15000 hide a 30, b 30, c 30", "15100 hide c 0, b 0"]);
}

#[test]
fn a_group_goes_on_with_the_next_receive() {
    let mut scene = scene_of(30, ScriptedQueue::fifo);
    scene.receives(0, &["G/a", "G/b"]);
    scene.receives(10, &["G/a#2", "G/b#2"]);
    let consumer = scene.consumer(at_a_time(2).on_failure(OnFailure::Release(secs(0))), fails_once());
    let (ended, _) = scene.run(consumer, 15, Shutdown::Drain, 60);
    ended.unwrap();
    assert_eq!(scene.notes.take(), ["0 begin a", "10000 begin a", "11100 begin b"]);
}

/// It is there again before SQS has confirmed that it went back: no duplicate of something in work.
#[test]
fn what_goes_back_and_comes_again_at_once_is_handled() {
    let mut scene = scene_of(30, ScriptedQueue::fifo);
    scene.receives(0, &["G/a", "G/b"]);
    scene.receives(2, &["G/a#2", "G/b#2"]);
    // The release of `b` is answered after 3 s.
    scene.queue.then([Then::Reply(seconds(3), sqs_lease_driver::Reply::Done)]);
    let consumer = scene.consumer(at_a_time(2), fails_once());
    let (ended, _) = scene.run(consumer, 15, Shutdown::Drain, 60);
    ended.unwrap();
    assert_eq!(scene.notes.take(), ["0 begin a", "2000 begin a", "3100 begin b"]);
}

#[test]
fn what_stands_behind_a_duplicate_is_released() {
    let mut scene = scene_of(30, ScriptedQueue::fifo);
    scene.receives(0, &["G/a"]);
    scene.receives(1, &["G/a", "G/b"]);
    let consumer = scene.consumer(at_a_time(2), |_| (5, "ok"));
    let (ended, _) = scene.run(consumer, 15, Shutdown::Drain, 60);
    ended.unwrap();
    assert_eq!(scene.notes.take(), ["0 begin a"]);
    assert_eq!(scene.calls(), ["1000 hide b 0", "5000 delete a"]);
}
