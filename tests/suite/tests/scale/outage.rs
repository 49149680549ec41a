//! A queue that takes nothing for a while.

use std::time::Duration;

use sqs_lease_core::CallKind;

use crate::scene::{Scene, Takes, millis};

const T: Duration = Duration::from_secs(30);

/// Keeps so many through a third of their timeout in which the queue does this.
fn outage(leases: u32, does: Takes) {
    let mut scene = Scene::new(T, millis(20));
    scene.receive(leases);
    scene.run(scene.now + T);
    let from = scene.now;
    scene.takes(does);
    scene.run(from + T / 3);
    scene.takes(Takes::All);
    scene.run(from + T * 4);
    assert_eq!(scene.stopped, [], "{leases} {does:?}");
    assert!(scene.most_in_flight <= 128, "{leases} {does:?}: {} calls in flight", scene.most_in_flight);
    // Caught up: none is late any more.
    assert_eq!(scene.set.held_back(CallKind::ChangeVisibility), 0, "{leases} {does:?}");
    let soon = scene.now + millis(50);
    assert!(scene.set.iter().all(|(key, ())| {
        scene.set.lease(key).is_some_and(|lease| lease.remaining(soon) >= millis(13_800))
    }));
}

#[test]
fn a_third_of_the_timeout_without_an_answer_loses_none() {
    for leases in [1_200, 12_000, 120_000] {
        outage(leases, Takes::Nothing);
    }
}

/// Calls are kept apart by then, and few tries tell that all is well again.
#[test]
fn a_third_of_the_timeout_in_which_all_is_throttled_loses_none() {
    for leases in [1_200, 12_000, 120_000] {
        outage(leases, Takes::Calls { a_second: 0, saves: 0 });
    }
}
