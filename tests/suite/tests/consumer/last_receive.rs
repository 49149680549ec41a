//! Messages that SQS would move to the dead-letter queue rather than deliver again.

use sqs_lease_driver::{LastReceive, OnFailure, Shutdown};
use sqs_lease_suite::capture::Captured;
use sqs_lease_suite::scripted::ScriptedQueue;

use crate::scene::*;

const BURIED: &str = "WARN message=given back on its last receive";

fn told(captured: &Captured, begin: &str) -> usize {
    captured.ours().iter().filter(|line| line.starts_with(begin)).count()
}

#[test]
fn a_shutdown_handles_what_waits_on_its_last_receive() {
    let (captured, _guard) = Captured::here();
    let mut scene = scene(3600);
    scene.receives(0, &["a#1!3", "b#3!3", "c#2!3"]);
    let consumer = scene.consumer(at_a_time(1).prefetch(2), |_| (200, "ok"));
    let (ended, until) = scene.run(consumer, 100, Shutdown::ReleaseUnstarted, 1000);
    let report = ended.unwrap();
    assert_eq!((report.released, report.last_receives), (names(&["c"]), names(&[])));
    assert_eq!(scene.calls(), ["100000 hide c 0", "200000 delete a", "400100 delete b"]);
    assert_eq!((until, told(&captured, BURIED)), (400_200, 0));
}

#[test]
fn a_shutdown_releases_it_where_that_is_wanted_and_says_so_before() {
    let (captured, _guard) = Captured::here();
    let mut scene = scene(3600);
    scene.receives(0, &["a#1!3", "b#3!3", "c#4!3"]);
    let options = at_a_time(1).prefetch(2).last_receive(LastReceive::Release);
    let consumer = scene.consumer(options, |_| (200, "ok"));
    let (ended, _) = scene.run(consumer, 100, Shutdown::ReleaseUnstarted, 1000);
    let report = ended.unwrap();
    assert_eq!(report.last_receives, names(&["c", "b"]));
    assert_eq!(
        report.to_string(),
        "2 messages released, 0 left, 0 handlers interrupted, 2 on their last receive"
    );
    assert_eq!(told(&captured, BURIED), 2);
}

#[test]
fn what_the_last_long_poll_brings_on_its_last_receive_is_handled() {
    for how in [Shutdown::Drain, Shutdown::ReleaseUnstarted] {
        let mut scene = scene(30);
        scene.receives(15, &["a#3!3", "b#1!3"]);
        let consumer = scene.consumer(at_a_time(2), |_| (1, "ok"));
        let (ended, _) = scene.run(consumer, 10, how, 60);
        assert_eq!(ended.unwrap().released, names(&["b"]), "{how:?}");
        assert_eq!(scene.notes.take(), ["15000 begin a"], "{how:?}");
    }
}

#[test]
fn after_the_grace_time_it_goes_back_all_the_same_and_is_reported() {
    let mut scene = scene(3600);
    scene.receives(0, &["a#1!3", "b#3!3"]);
    let consumer = scene.consumer(at_a_time(1).prefetch(1), |_| (200, "ok"));
    let (ended, _) = scene.run(consumer, 100, Shutdown::ReleaseUnstarted, 150);
    let report = ended.unwrap();
    assert_eq!((&report.released, &report.last_receives), (&names(&["b"]), &names(&["b"])));
    assert_eq!(scene.notes.take(), ["0 begin a", "200100 begin b", "250000 dropped b"]);
}

#[test]
fn in_a_group_it_is_not_handled_before_what_stands_ahead() {
    let mut scene = scene_of(3600, ScriptedQueue::fifo);
    scene.receives(0, &["G/a#1!3", "G/b#3!3", "G/c#1!3", "G/d#3!3"]);
    let consumer = scene.consumer(at_a_time(2), |_| (200, "ok"));
    let (ended, _) = scene.run(consumer, 100, Shutdown::ReleaseUnstarted, 1000);
    let report = ended.unwrap();
    assert_eq!((report.released, report.last_receives), (names(&["d", "c"]), names(&["d"])));
    assert_eq!(scene.notes.take(), ["0 begin a", "200100 begin b"]);
}

#[test]
fn a_failure_on_the_last_receive_says_so() {
    let (captured, _guard) = Captured::here();
    let mut scene = scene(30);
    scene.receives(0, &["a#3!3", "b#2!3", "c#9"]);
    let consumer = scene.consumer(at_a_time(3).on_failure(OnFailure::Release(secs(9))), |_| (1, "fails"));
    let (ended, _) = scene.run(consumer, 10, Shutdown::Drain, 60);
    ended.unwrap();
    let failed: Vec<_> = captured.ours().into_iter().filter(|it| it.contains("the handler failed")).collect();
    let last: Vec<bool> = failed.iter().map(|line| line.contains("last_receive=true")).collect();
    assert_eq!(last, [true, false, false], "{failed:#?}");
}
