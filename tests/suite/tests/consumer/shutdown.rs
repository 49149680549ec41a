//! What becomes of the messages at a shutdown.

use std::sync::Arc;

use sqs_lease_driver::{Consumer, Delivery, Failure, Report, Runtime, Shutdown};
use sqs_lease_suite::scripted::{Then, at};
use sqs_lease_suite::source::ScriptedSource;

use crate::scene::*;

/// One in work, two that wait, all with an hour of visibility timeout.
fn busy() -> (Scene, Consumer<ScriptedSource>) {
    let scene = scene(3600);
    scene.receives(0, &["a", "b", "c"]);
    let consumer = scene.consumer(at_a_time(1).prefetch(2), |_| (200, "ok"));
    (scene, consumer)
}

#[test]
fn releases_what_has_not_started_at_once() {
    let (mut scene, consumer) = busy();
    let (ended, until) = scene.run(consumer, 100, Shutdown::ReleaseUnstarted, 120);
    assert_eq!(ended.unwrap().released, names(&["c", "b"]));
    assert_eq!(scene.calls(), ["100000 hide c 0, b 0", "200000 delete a"]);
    assert_eq!(until, 200_100);
}

#[test]
fn drains() {
    let (mut scene, consumer) = busy();
    let (ended, _) = scene.run(consumer, 100, Shutdown::Drain, 1000);
    assert_eq!(ended.unwrap(), Report::default());
    assert_eq!(scene.calls(), ["200000 delete a", "400100 delete b", "600200 delete c"]);
}

#[test]
fn releases_all() {
    let (mut scene, consumer) = busy();
    let (ended, until) = scene.run(consumer, 100, Shutdown::ReleaseAll, 120);
    let report = ended.unwrap();
    assert_eq!((report.released, report.interrupted), (names(&["c", "b", "a"]), names(&["a"])));
    // What runs goes back when its handler is gone.
    assert_eq!(scene.calls(), ["100000 hide c 0, b 0", "100000 hide a 0"]);
    assert_eq!(scene.notes.take(), ["0 begin a", "100000 dropped a"]);
    assert_eq!(until, 100_100);
}

#[test]
fn leaves() {
    let (mut scene, consumer) = busy();
    let (ended, until) = scene.run(consumer, 100, Shutdown::Leave, 120);
    assert_eq!(ended.unwrap().left, names(&["c", "b", "a"]));
    assert_eq!((scene.calls(), until), (vec![], 100_000));
}

#[test]
fn releases_what_still_runs_after_the_grace_time() {
    let (mut scene, consumer) = busy();
    let (ended, until) = scene.run(consumer, 100, Shutdown::ReleaseUnstarted, 20);
    let report = ended.unwrap();
    assert_eq!((report.released, report.interrupted), (names(&["c", "b", "a"]), names(&["a"])));
    assert_eq!(scene.calls(), ["100000 hide c 0, b 0", "120000 hide a 0"]);
    assert_eq!(until, 120_100);
}

/// Renewals outlive the signal.
#[test]
fn keeps_what_runs() {
    let mut scene = scene(30);
    scene.receives(0, &["a"]);
    let consumer = scene.consumer(at_a_time(1), |_| (100, "ok"));
    let (ended, until) = scene.run(consumer, 20, Shutdown::ReleaseUnstarted, 120);
    assert_eq!(ended.unwrap(), Report::default());
    let hides: Vec<String> = [15, 30, 45, 60, 75, 90].map(|at| format!("{at}000 hide a 30")).into();
    assert_eq!(scene.calls()[..6], hides);
    assert_eq!((scene.calls()[6].as_str(), until), ("100000 delete a", 100_100));
}

/// The last long poll is let finish, and what it brings is released.
#[test]
fn releases_what_the_last_long_poll_brings() {
    for how in [Shutdown::Drain, Shutdown::ReleaseUnstarted, Shutdown::ReleaseAll] {
        let mut scene = scene(30);
        scene.receives(15, &["a", "b"]);
        let consumer = scene.consumer(at_a_time(2), |_| (1, "ok"));
        let (ended, until) = scene.run(consumer, 10, how, 60);
        assert_eq!(ended.unwrap().released, names(&["b", "a"]), "{how:?}");
        assert_eq!((scene.calls(), until), (vec!["15000 hide b 0, a 0".to_owned()], 15_100), "{how:?}");
        assert_eq!(scene.notes.take(), Vec::<String>::new(), "{how:?}");
    }
}

#[test]
fn gives_up_a_receive_that_outlasts_the_grace_time() {
    let mut scene = scene(30);
    scene.receives(15, &["a"]);
    let consumer = scene.consumer(at_a_time(2), |_| (1, "ok"));
    let (ended, until) = scene.run(consumer, 10, Shutdown::Drain, 3);
    assert!(ended.unwrap().abandoned_receive);
    assert_eq!(until, 13_000);
}

#[test]
fn a_second_one_takes_the_place_of_the_first() {
    let (mut scene, consumer) = busy();
    let (ended, until) = scene.run_with(consumer, |time, stopper| async move {
        time.sleep_until(at(50)).await;
        stopper.shutdown(Shutdown::Drain, seconds(3600));
        time.sleep_until(at(60)).await;
        stopper.shutdown(Shutdown::ReleaseAll, seconds(5));
    });
    assert_eq!(ended.unwrap().released, names(&["c", "b", "a"]));
    assert_eq!(until, 60_100);
}

/// SQS takes no release: the end comes all the same, and names the messages.
#[test]
fn ends_although_sqs_does_not_confirm() {
    let (mut scene, consumer) = busy();
    scene.queue.then((0..100).map(|_| Then::fails(Failure::Throttled, "RequestThrottled")));
    let (ended, until) = scene.run(consumer, 100, Shutdown::ReleaseAll, 20);
    let mut left = ended.unwrap().left;
    left.sort();
    // 10 s more than the grace time.
    assert_eq!((left, until), (names(&["a", "b", "c"]), 130_000));
}

/// A handler that blocks its thread cannot be dropped: its message is not given to somebody else beside it.
#[test]
fn gives_nothing_back_whose_handler_is_still_there() {
    let mut scene = scene(60);
    scene.receives(0, &["a", "b"]);
    let (time, mailbox) = (scene.time.clone(), scene.world.mailbox());
    let source = scene.source.clone();
    let handler = move |delivery: Arc<Delivery<&'static str>>| {
        let blocks = *delivery.message() == "a";
        async move {
            if !blocks {
                std::future::pending::<()>().await;
            }
            Ok::<(), ()>(())
        }
    };
    let blocked = scene.time.clone();
    // The thread of the first handler gets to nothing else for ten minutes.
    let mut tasks = 0;
    let spawn = std::sync::Mutex::new(move |task: sqs_lease_driver::Task| {
        tasks += 1;
        let is_first_handler = tasks == 2;
        let sleep = blocked.sleep(seconds(600));
        mailbox.spawn(Box::pin(async move {
            if is_first_handler {
                sleep.await;
            }
            task.await;
        }));
    });
    let consumer = Consumer::new(source, move |task| spawn.lock().unwrap()(task), at_a_time(2), handler);
    let (ended, until) = scene.run(consumer, 10, Shutdown::ReleaseAll, 20);
    let report = ended.unwrap();
    assert_eq!((&report.released, &report.left), (&names(&["b"]), &names(&["a"])));
    assert_eq!(report.interrupted, names(&["b", "a"]));
    // The grace time, and 10 s more in which it might have gone.
    assert_eq!(
        (until, scene.calls()),
        (40_000, vec!["10000 hide b 0".to_owned(), "30000 hide a 60".to_owned()])
    );
    assert!(time.millis() < 600_000);
}

/// An unanswered release may have happened: the delivery is not held any more.
#[test]
fn ends_although_nothing_answers() {
    let (mut scene, consumer) = busy();
    scene.queue.then((0..100).map(|_| Then::Hang));
    let (ended, until) = scene.run(consumer, 100, Shutdown::ReleaseAll, 20);
    assert_eq!((ended.unwrap().left.len(), until), (3, 110_000));
}

/// Whatever handlers do, every message is accounted for, and `run` ends.
#[test]
fn accounts_for_a_thousand_handlers() {
    let mut scene = scene(30);
    let all: Vec<&'static str> = (0..1000).map(|i| &*format!("m{i}").leak()).collect();
    for ten in all.chunks(10) {
        scene.receives(0, ten);
    }
    let consumer = scene.consumer(at_a_time(1000), |name| match name.len() + name.as_bytes()[1] as usize {
        n if n % 5 == 0 => (2, "ok"),
        n if n % 5 == 1 => (3, "fails"),
        n if n % 5 == 2 => (4, "leaks"),
        n if n % 5 == 3 => (5, "panics"),
        _ => (100_000, "ok"),
    });
    let (ended, until) = scene.run(consumer, 60, Shutdown::ReleaseUnstarted, 30);
    let report = ended.unwrap();
    let begun = scene.notes.take().iter().filter(|it| it.contains("begin")).count();
    let dropped = scene.notes.take().iter().filter(|it| it.contains("dropped")).count();
    assert_eq!((begun, report.released.len() + report.left.len()), (1000, report.interrupted.len()));
    assert!(dropped >= report.interrupted.len() && dropped > 100, "{dropped} {report}");
    assert!(until <= 100_000, "{until}");
}
