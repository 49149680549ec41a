//! What the values are: their size, and where they may go.

use sqs_lease_core::{
    Action, Answer, Attempt, AttemptId, Call, CallId, Ended, Entries, Event, FailedCall, Failure, Lease,
    LeaseKey, LeaseSet, LeaseView, Moment, Policy, Received, SetPolicy, SettleError, StopReason, Visibility,
};

fn anywhere<T: Send + Sync + Unpin + 'static>() {}

#[test]
fn all_values_are_send_sync_and_unpin() {
    anywhere::<Lease>();
    anywhere::<LeaseSet<String>>();
    anywhere::<(Moment, Visibility, Policy, Received, SetPolicy)>();
    anywhere::<(Action, Attempt, AttemptId, Ended, SettleError)>();
    anywhere::<(Call, CallId, Entries, Event, LeaseKey, Failure)>();
    anywhere::<Answer<'static>>();
    anywhere::<LeaseView<'static>>();
}

#[test]
fn all_values_are_as_small_as_they_are_said_to_be() {
    assert_eq!((size_of::<Moment>(), size_of::<LeaseKey>(), size_of::<CallId>()), (8, 8, 8));
    assert_eq!(size_of::<Visibility>(), 2);
    // 96 without its guard and its wall, which follow from the settings (a set shares those, and `heap.rs` counts), and
    // the tries that had no pause of their own.
    assert!(size_of::<Lease>() <= 96 + 16 + 8, "{}", size_of::<Lease>());
    assert!(size_of::<Action>() <= 32, "{}", size_of::<Action>());
    assert!(size_of::<Event>() <= 48, "{}", size_of::<Event>());
    assert!(size_of::<Call>() <= 192, "{}", size_of::<Call>());
}

#[test]
fn words_for_logs_and_metrics_are_what_they_are() {
    let calls = [FailedCall::Extension, FailedCall::Release, FailedCall::Delete].map(FailedCall::as_str);
    assert_eq!(calls, ["extension", "release", "delete"]);
    let reasons = [
        StopReason::ZeroTimeout,
        StopReason::Left,
        StopReason::Deleted,
        StopReason::Released,
        StopReason::Limit,
        StopReason::Expired,
        StopReason::Refused,
    ];
    let words = ["zero-timeout", "left", "deleted", "released", "limit", "expired", "refused"];
    assert_eq!(reasons.map(StopReason::as_str), words);
    assert_eq!(reasons.map(|it| it.to_string()), words);
    assert_eq!(reasons.map(StopReason::is_loss), [false, false, false, false, true, true, true]);
    let failures = [Failure::Transient, Failure::Throttled, Failure::Denied, Failure::Limit, Failure::Gone];
    assert_eq!(failures.map(Failure::as_str), ["transient", "throttled", "denied", "limit", "gone"]);
}
