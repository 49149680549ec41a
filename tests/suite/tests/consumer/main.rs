//! The consumer in virtual time: what it receives, starts, settles and gives back.

mod groups;
mod last_receive;
mod receives;
mod scene;
mod shutdown;

use std::sync::Arc;

use sqs_lease_driver::{BackOff, Consumer, Delivery, Failure, OnFailure, Report, Shutdown};
use sqs_lease_suite::capture::Captured;
use sqs_lease_suite::scripted::Then;

use crate::scene::*;

#[test]
fn it_receives_what_can_start_and_deletes_what_was_handled() {
    let mut scene = scene(30);
    scene.receives(1, &["a", "b"]);
    scene.receives(1, &["c"]);
    let consumer = scene.consumer(at_a_time(3), |_| (5, "ok"));
    let (ended, until) = scene.run(consumer, 40, Shutdown::Drain, 60);
    assert_eq!(ended.unwrap(), Report::default());
    // The long poll that was under way at 40 s is let finish: it began at 26 s.
    assert_eq!(scene.source.receives()[..3], ["0 up to 3", "1000 up to 1", "6100 up to 2"]);
    assert_eq!(scene.notes.take(), ["1000 begin a", "1000 begin b", "2000 begin c"]);
    assert_eq!(scene.calls(), ["6000 delete a, b", "7000 delete c"]);
    assert_eq!(until, 46_100);
}

#[test]
fn what_is_prefetched_is_held_from_the_receive() {
    let mut scene = scene(30);
    scene.receives(0, &["a", "b", "c"]);
    let consumer = scene.consumer(at_a_time(1).prefetch(2), |_| (50, "ok"));
    let (ended, _) = scene.run(consumer, 140, Shutdown::Drain, 60);
    ended.unwrap();
    assert_eq!(scene.source.receives()[0], "0 up to 3");
    assert_eq!(scene.notes.take(), ["0 begin a", "50100 begin b", "100200 begin c"]);
    // One schedule for all, from the receive on.
    assert_eq!(
        scene.calls()[..4],
        [
            "15000 hide a 30, b 30, c 30",
            "30000 hide a 30, b 30, c 30",
            "45000 hide a 30, b 30, c 30",
            "50000 delete a"
        ]
    );
    assert_eq!(scene.calls().last().unwrap(), "150200 delete c");
}

#[test]
fn what_is_lost_while_it_waits_is_not_started() {
    let mut scene = scene(30);
    scene.receives(0, &["a", "b"]);
    scene.queue.then([Then::entries(vec![
        Some(Ok(())),
        Some(Err(sqs_lease_driver::Refusal::new(Failure::Gone, "ReceiptHandleIsInvalid"))),
    ])]);
    let consumer = scene.consumer(at_a_time(1).prefetch(1), |_| (20, "ok"));
    let (ended, _) = scene.run(consumer, 30, Shutdown::Drain, 60);
    ended.unwrap();
    assert_eq!(scene.notes.take(), ["0 begin a"]);
    assert_eq!(scene.calls(), ["15000 hide a 30, b 30", "20000 delete a"]);
}

#[test]
fn a_lost_delivery_drops_its_handler() {
    let mut scene = scene(30);
    scene.receives(0, &["a"]);
    scene.queue.then([Then::fails(Failure::Gone, "ReceiptHandleIsInvalid")]);
    let consumer = scene.consumer(at_a_time(1), |_| (300, "ok"));
    let (ended, _) = scene.run(consumer, 30, Shutdown::Drain, 60);
    assert_eq!(ended.unwrap(), Report::default());
    assert_eq!(scene.notes.take(), ["0 begin a", "15100 dropped a"]);
}

#[test]
fn a_failure_backs_off_by_the_receive_count() {
    let mut scene = scene(30);
    scene.receives(0, &["a#1", "b#3", "c#9"]);
    let options = at_a_time(3).on_failure(OnFailure::BackOff(BackOff::new(secs(60), secs(900)).unwrap()));
    let consumer = scene.consumer(options, |_| (1, "fails"));
    let (ended, _) = scene.run(consumer, 2, Shutdown::Drain, 60);
    ended.unwrap();
    assert_eq!(scene.calls(), ["1000 hide a 60, b 240, c 900"]);
}

#[test]
fn a_failure_is_left_by_default_and_a_leaked_handle_too() {
    let mut scene = scene(30);
    scene.receives(0, &["a", "b", "c"]);
    let work = |name: &str| {
        (
            1,
            if name == "a" {
                "fails"
            } else if name == "b" {
                "leaks"
            } else {
                "panics"
            },
        )
    };
    let consumer = scene.consumer(at_a_time(3), work);
    let (ended, _) = scene.run(consumer, 100, Shutdown::Drain, 60);
    ended.unwrap();
    assert_eq!(scene.calls(), Vec::<String>::new());
}

#[test]
fn a_handler_may_release_by_itself() {
    let mut scene = scene(30);
    scene.receives(0, &["a"]);
    let consumer = scene.consumer(at_a_time(1).on_failure(OnFailure::Release(secs(99))), |_| (1, "releases"));
    let (ended, _) = scene.run(consumer, 10, Shutdown::Drain, 60);
    ended.unwrap();
    assert_eq!(scene.calls(), ["1000 hide a 7"]);
}

#[test]
fn a_duplicate_in_work_is_left_and_a_later_one_is_handled() {
    let (captured, _guard) = Captured::here();
    let mut scene = scene(30);
    scene.receives(0, &["a"]);
    scene.receives(1, &["a"]);
    scene.receives(9, &["a"]);
    let consumer = scene.consumer(at_a_time(4), |_| (5, "ok"));
    let (ended, _) = scene.run(consumer, 20, Shutdown::Drain, 60);
    ended.unwrap();
    assert_eq!(scene.notes.take(), ["0 begin a", "10000 begin a"]);
    assert_eq!(scene.calls(), ["5000 delete a", "15000 delete a"]);
    let told = captured.ours();
    assert!(told.iter().any(|line| line.starts_with("INFO message=a duplicate")), "{told:#?}");
}

/// The work was done, and SQS never confirmed the delete: the next delivery says so.
#[test]
fn what_was_handled_and_comes_again_says_so() {
    let (captured, _guard) = Captured::here();
    let mut scene = scene(30);
    scene.receives(0, &["a#1"]);
    scene.receives(40, &["a#2", "b#1"]);
    scene.queue.then((0..50).map(|_| Then::fails(Failure::Transient, "InternalError")));
    let queue = scene.queue.clone();
    let (time, notes, mailbox) = (scene.time.clone(), scene.notes.clone(), scene.world.mailbox());
    let handler = move |delivery: Arc<Delivery<&'static str>>| {
        notes.push(&time, &format!("{} handled before: {}", delivery.message(), delivery.was_handled()));
        if delivery.receive_count() == 2 {
            // From here on SQS is well again.
            queue.forget();
        }
        std::future::ready(Ok::<(), ()>(()))
    };
    let spawn = move |task| mailbox.spawn(task);
    let consumer = Consumer::new(scene.source.clone(), spawn, at_a_time(4), handler);
    let (ended, _) = scene.run(consumer, 50, Shutdown::Drain, 60);
    ended.unwrap();
    let notes = scene.notes.take();
    assert_eq!(
        notes,
        ["0 a handled before: false", "40000 a handled before: true", "40000 b handled before: false"]
    );
    assert_eq!(scene.calls().last().unwrap(), "40000 delete a, b");
    assert_eq!(captured.ours().iter().filter(|line| line.contains("it comes again")).count(), 1);
}

#[test]
fn a_handler_runs_in_a_span_and_nothing_secret_is_told() {
    let (captured, _guard) = Captured::here();
    let mut scene = scene(30);
    scene.receives(0, &["G/a#2", "b", "c"]);
    scene.receives(0, &["b"]);
    let consumer = scene.consumer(at_a_time(4), |name| (1, if name == "b" { "fails" } else { "panics" }));
    let (ended, _) = scene.run(consumer, 5, Shutdown::ReleaseAll, 60);
    ended.unwrap();
    let lines = captured.lines();
    let span = lines.iter().find(|line| line.text.contains("messaging.system")).expect("a span");
    for field in [
        "otel.name=process jobs",
        "otel.kind=\"consumer\"",
        "messaging.system=\"aws_sqs\"",
        "messaging.operation.name=\"process\"",
        "messaging.operation.type=\"process\"",
        "messaging.destination.name=\"jobs\"",
        "messaging.message.id=\"a\"",
        "receive_count=2",
    ] {
        assert!(span.text.contains(field), "{field} is not in {}", span.text);
    }
    assert!(lines.iter().all(|line| !line.text.contains("SECRET")), "{lines:#?}");
}

/// The hook for what `tracing` has no word for.
#[test]
fn a_span_can_be_linked_before_its_handler_begins() {
    let (captured, _guard) = Captured::here();
    let mut scene = scene(30);
    scene.receives(0, &["a", "b"]);
    let (time, notes) = (scene.time.clone(), scene.notes.clone());
    let consumer = scene.consumer(at_a_time(2), |_| (1, "ok")).on_span(move |span, delivery| {
        assert_eq!(span.metadata().map(tracing::Metadata::name), Some("process"));
        notes.push(&time, &format!("span of {}", delivery.message_id()));
        assert_ne!(delivery.message_id(), "b", "the test wants it");
    });
    let (ended, _) = scene.run(consumer, 5, Shutdown::Drain, 60);
    ended.unwrap();
    let mut notes = scene.notes.take();
    notes.sort();
    assert_eq!(notes, ["0 begin a", "0 begin b", "0 span of a", "0 span of b"]);
    assert_eq!(scene.calls(), ["1000 delete a, b"]);
    assert!(captured.ours().iter().any(|line| line.contains("`on_span` panicked")));
}
