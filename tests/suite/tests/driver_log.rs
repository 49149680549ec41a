//! What the driver logs, and what it never logs.

use std::time::Duration;

use sqs_lease_driver::{Failure, Keeper, Policy, Receipt, Received, Settings, Visibility};
use sqs_lease_suite::capture::Captured;
use sqs_lease_suite::scripted::{ScriptedQueue, Then};
use sqs_lease_suite::virtual_time::World;

const HANDLE: &str = "AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0aSECRETSECRETSECRET-a";

/// Keeps a delivery for that long and gives the events of `sqs_lease`.
fn log_of(script: Vec<Then>, max_hold: u64, timeout: u32, handler: u64) -> Vec<String> {
    log_of_one(script, max_hold, timeout, handler, |receipt| receipt)
}

fn log_of_one(
    script: Vec<Then>,
    max_hold: u64,
    timeout: u32,
    handler: u64,
    is: impl FnOnce(Receipt) -> Receipt,
) -> Vec<String> {
    let (captured, _guard) = Captured::here();
    let mut world = World::new();
    let time = world.time();
    let queue = ScriptedQueue::new(time.clone());
    queue.then(script);
    let policy = Policy::new().guard(Duration::ZERO).max_hold(Duration::from_secs(max_hold)).unwrap();
    let keeper = Keeper::new(queue, time.clone(), Settings::new().policy(policy));
    world.spawner().spawn(keeper.run());
    let received = Received::new(keeper.now(), Visibility::new(timeout).unwrap());
    let receipt = Receipt::new(HANDLE, received).message_id("m1").receive_count(3);
    let delivery = keeper.hold(is(receipt), "the body");
    world.run(async move {
        tracing::trace!(?delivery, ?keeper, "how they look");
        match delivery.keep(time.sleep(Duration::from_secs(handler))).await {
            Ok(()) => tracing::trace!(settled = ?delivery.delete().await, "done"),
            Err(loss) => tracing::trace!(%loss, late = ?delivery.delete().await, "lost"),
        }
    });
    for line in captured.lines() {
        assert!(!line.text.contains("SECRET"), "a receipt handle is seen in {line:?}");
        assert!(!line.text.contains("AQEB"), "a receipt handle is seen in {line:?}");
        assert!(!line.text.contains("the body"), "a body is seen in {line:?}");
    }
    assert!(captured.lines().iter().any(|line| line.text.contains("how they look")), "trace is captured");
    captured.ours()
}

#[test]
fn extended_at_debug_and_the_end_at_debug() {
    assert_eq!(
        log_of(vec![], 3600, 30, 20),
        [
            "DEBUG message=extended message_id=\"m1\" receive_count=3 remaining=29.9s attempt=1",
            "DEBUG message=ended message_id=\"m1\" receive_count=3 remaining=0ns reason=\"deleted\"",
        ]
    );
}

#[test]
fn a_retry_at_info_with_attempt_reason_and_code() {
    let log = log_of(vec![Then::fails(Failure::Throttled, "RequestThrottled")], 3600, 30, 20);
    assert_eq!(
        log[0],
        "INFO message=call failed, will be tried again message_id=\"m1\" receive_count=3 remaining=14.9s \
         attempt=1 reason=\"throttled\" code=\"RequestThrottled\" call=\"extension\" retry_in=2s"
    );
    assert!(log[1].starts_with("DEBUG message=extended") && log[1].ends_with("attempt=2"), "{}", log[1]);
}

/// Also where the answers of several calls come at once.
#[test]
fn each_failure_is_logged_with_its_own_code() {
    let (captured, _guard) = Captured::here();
    let mut world = World::new();
    let time = world.time();
    let queue = ScriptedQueue::new(time.clone());
    queue.then(["InternalError", "ServiceUnavailable"].map(|code| Then::fails(Failure::Transient, code)));
    let keeper = Keeper::new(queue, time.clone(), Settings::new());
    world.spawner().spawn(keeper.run());
    let received = Received::new(keeper.now(), Visibility::new(30).unwrap());
    let deliveries: Vec<_> = (0..13).map(|_| keeper.hold(Receipt::new(HANDLE, received), ())).collect();
    world.run(async move { time.sleep(Duration::from_secs(20)).await });
    drop(deliveries);
    let with = |code: &str| captured.ours().iter().filter(|line| line.contains(code)).count();
    assert_eq!((with("InternalError"), with("ServiceUnavailable")), (10, 3), "{:#?}", captured.ours());
}

#[test]
fn an_unanswered_call_says_so() {
    let log = log_of(vec![Then::Hang], 3600, 30, 22);
    assert!(log[0].contains("reason=\"transient\" code=\"no answer in time\""), "{}", log[0]);
}

#[test]
fn the_final_extension_at_warn_and_the_loss_at_warn() {
    let log = log_of(vec![], 50, 30, 200);
    let warnings: Vec<_> = log.iter().filter(|line| line.starts_with("WARN")).collect();
    assert_eq!(warnings.len(), 2, "{log:#?}");
    assert_eq!(
        *warnings[0],
        "WARN message=final extension: the limit is near, then the queue gives the message away \
         message_id=\"m1\" receive_count=3 remaining=15s by=20"
    );
    assert_eq!(
        *warnings[1],
        "WARN message=lost: the message may be handed to somebody else message_id=\"m1\" receive_count=3 \
         remaining=0ns reason=\"limit\""
    );
}

#[test]
fn the_limit_without_a_final_extension_at_warn() {
    let log = log_of(vec![], 30, 30, 200);
    assert!(log[0].starts_with("WARN message=the limit is near and nothing is left to extend"), "{log:#?}");
}

#[test]
fn denied_at_error_names_the_permission() {
    let log = log_of(vec![Then::fails(Failure::Denied, "AccessDeniedException")], 3600, 120, 62);
    let errors: Vec<_> = log.iter().filter(|line| line.starts_with("ERROR")).collect();
    assert_eq!(errors.len(), 1, "{log:#?}");
    assert!(
        errors[0].contains("leases=1 action=\"sqs:ChangeMessageVisibility\" code=\"AccessDeniedException\""),
        "{}",
        errors[0]
    );
}

#[test]
fn a_denied_delete_names_its_own_permission() {
    let log = log_of(vec![Then::fails(Failure::Denied, "AccessDeniedException")], 3600, 120, 5);
    let errors: Vec<_> = log.iter().filter(|line| line.starts_with("ERROR")).collect();
    assert_eq!(errors.len(), 1, "{log:#?}");
    assert!(errors[0].contains("action=\"sqs:DeleteMessage\""), "{}", errors[0]);
}

/// With the redrive policy known, a loss says where the message goes.
#[test]
fn a_loss_on_the_last_receive_says_so() {
    for (most, says) in [(3, "lost on its last receive"), (4, "lost: the message may be handed")] {
        let log = log_of_one(vec![Then::Hang; 9], 3600, 30, 60, |receipt| receipt.max_receive_count(most));
        let lost: Vec<_> = log.iter().filter(|line| line.starts_with("WARN")).collect();
        assert_eq!(lost.len(), 1, "{log:#?}");
        assert!(lost[0].contains(says) && lost[0].contains("reason=\"expired\""), "{}", lost[0]);
    }
}
