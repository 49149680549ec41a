//! Receives that fail.

use std::time::Duration;

use sqs_lease_driver::Shutdown;
use sqs_lease_suite::capture::Captured;
use sqs_lease_suite::source::Brings;

use crate::scene::*;

#[test]
fn that_fail_back_off_and_are_told() {
    let (captured, _guard) = Captured::here();
    let mut scene = scene(30);
    scene.source.then((0..7).map(|_| (Duration::ZERO, Brings::Transient)));
    let consumer = scene.consumer(at_a_time(1), |_| (1, "ok"));
    let (ended, _) = scene.run(consumer, 100, Shutdown::Drain, 60);
    ended.unwrap();
    let begun = scene.source.receives();
    let at: Vec<&str> = begun.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(at[..7], ["0", "1000", "3000", "7000", "15000", "31000", "61000"]);
    let told = captured.ours();
    assert!(told[0].contains("retry_in=1s") && told[0].contains("the network is down"), "{told:#?}");
}

#[test]
fn that_are_denied_end_it_at_once() {
    let mut scene = scene(30);
    scene.source.then([(Duration::ZERO, Brings::Denied)]);
    let consumer = scene.consumer(at_a_time(1), |_| (1, "ok"));
    let (ended, until) = scene.run(consumer, 100, Shutdown::Drain, 60);
    assert_eq!(ended.unwrap_err().to_string(), "the consumer cannot receive: no such queue");
    assert_eq!(until, 0);
}

#[test]
fn that_are_denied_let_running_handlers_end() {
    let mut scene = scene(30);
    scene.receives(0, &["a"]);
    scene.source.then([(Duration::ZERO, Brings::Denied)]);
    let consumer = scene.consumer(at_a_time(2), |_| (5, "ok"));
    let (ended, until) = scene.run(consumer, 100, Shutdown::Drain, 60);
    ended.unwrap_err();
    assert_eq!((until, scene.calls()), (5100, vec!["5000 delete a".to_owned()]));
}

/// A queue that answers at once although it is empty is not asked a thousand times a second.
#[test]
fn that_bring_nothing_at_once_are_a_second_apart() {
    let mut scene = scene(30);
    scene.source.then((0..4).map(|_| (Duration::ZERO, Brings::Messages(vec![]))));
    scene.receives(0, &["a"]);
    let consumer = scene.consumer(at_a_time(2), |_| (50, "ok"));
    let (ended, _) = scene.run(consumer, 100, Shutdown::Drain, 60);
    ended.unwrap();
    let begun = scene.source.receives();
    assert_eq!(
        begun[..6],
        ["0 up to 2", "1000 up to 2", "2000 up to 2", "3000 up to 2", "4000 up to 2", "4000 up to 1"]
    );
}

/// Only a duplicate of what is in work is nothing, too.
#[test]
fn that_bring_only_duplicates_are_a_second_apart() {
    let mut scene = scene(30);
    scene.receives(0, &["a"]);
    scene.receives(0, &["a"]);
    scene.receives(0, &["a"]);
    let consumer = scene.consumer(at_a_time(2), |_| (10, "ok"));
    let (ended, _) = scene.run(consumer, 20, Shutdown::Drain, 60);
    ended.unwrap();
    assert_eq!(scene.source.receives()[..3], ["0 up to 2", "0 up to 1", "1000 up to 1"]);
}

#[test]
fn with_a_timeout_of_zero_end_it_with_an_error() {
    let mut scene = scene(0);
    scene.receives(0, &["a"]);
    let consumer = scene.consumer(at_a_time(2), |_| (10, "ok"));
    let (ended, until) = scene.run(consumer, 20, Shutdown::Drain, 60);
    let error = ended.unwrap_err().to_string();
    assert!(error.starts_with("the visibility timeout is zero"), "{error}");
    assert_eq!((until, scene.notes.take()), (0, vec![]));
}

#[test]
fn any_number_of_handlers_and_any_grace_time_are_numbers() {
    let mut scene = scene(30);
    scene.receives(0, &["a"]);
    let consumer = scene.consumer(at_a_time(120_000).prefetch(usize::MAX), |_| (1, "ok"));
    let (ended, _) = scene.run_with(consumer, |time, stopper| async move {
        time.sleep(seconds(5)).await;
        stopper.shutdown(Shutdown::Drain, Duration::MAX);
    });
    ended.unwrap();
    assert_eq!(scene.calls(), ["1000 delete a"]);
}
