//! What the values are: their size, and where they may go.

use sqs_lease_core::{
    Action, Answer, Attempt, AttemptId, Call, CallId, Ended, Entries, Event, Failure, Lease, LeaseKey,
    LeaseSet, LeaseView, Moment, Policy, Received, SetPolicy, SettleError, Visibility,
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
    // On its own a lease carries its settings with it; in a set they are shared (`heap.rs` counts those).
    assert!(size_of::<Lease>() <= 168, "{}", size_of::<Lease>());
    assert!(size_of::<Action>() <= 32, "{}", size_of::<Action>());
    assert!(size_of::<Event>() <= 48, "{}", size_of::<Event>());
    assert!(size_of::<Call>() <= 192, "{}", size_of::<Call>());
}
