//! What a keeper counts, in virtual time.

use std::time::Duration;

use sqs_lease_driver::{Delivery, Failure, Keeper, Margins, Policy, Receipt, Received, Settings, Visibility};
use sqs_lease_suite::scripted::{ScriptedQueue, Then};
use sqs_lease_suite::virtual_time::World;

const fn seconds(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn hold(keeper: &Keeper, name: &str) -> Delivery<()> {
    let received = Received::new(keeper.now(), Visibility::new(30).unwrap());
    keeper.hold(Receipt::new(format!("SECRETSECRETSECRET-{name}"), received).message_id(name), ())
}

#[test]
fn it_counts_what_was_extended_called_and_lost() {
    let mut world = World::new();
    let time = world.time();
    let queue = ScriptedQueue::new(time.clone());
    let settings = Settings::new().policy(Policy::new().guard(Duration::ZERO));
    let keeper = Keeper::new(queue.clone(), time.clone(), settings);
    world.spawner().spawn(keeper.run());
    let (a, b) = (hold(&keeper, "a"), hold(&keeper, "b"));
    // The second call fails and is sent again a second after that; the fourth says that both are gone.
    let gone = || Some(Err(sqs_lease_driver::Refusal::new(Failure::Gone, "ReceiptHandleIsInvalid")));
    let ok = Then::ok;
    queue.then([ok(), Then::fails(Failure::Transient, "503"), ok(), Then::entries(vec![gone(), gone()])]);
    let keeping = keeper.clone();
    let stats = world.run(async move {
        a.keep(time.sleep(seconds(16))).await.unwrap();
        let early = keeping.stats();
        assert_eq!((early.leases_held, early.extensions, early.lost()), (2, 2, 0));
        // 12 hours less the margin of 5 s, 16 s after the receive.
        assert_eq!(early.time_to_limit, Some(seconds(43_200 - 5 - 16)));
        time.sleep(seconds(60)).await;
        assert!(a.loss().is_some() && b.loss().is_some());
        let stats = keeping.stats();
        drop((a, b));
        assert_eq!(keeping.stats().lost(), 2, "counts do not go back");
        stats
    });
    assert_eq!((stats.leases_held, stats.time_to_limit), (0, None));
    assert_eq!((stats.extensions, stats.attempts_per_extension), (4, [2, 2, 0, 0, 0]));
    assert_eq!((stats.change_calls, stats.change_entries, stats.delete_calls), (4, 8, 0));
    assert_eq!((stats.lost_started.refused, stats.lost_waiting.refused, stats.lost()), (1, 1, 2));
    // 14.9 s were left at the first, 13.8 s at the second.
    let buckets: Vec<_> = stats.margin.buckets().filter(|(_, count)| *count > 0).collect();
    assert_eq!(buckets, [(Some(Margins::BOUNDS[5]), 4)]);
    assert!(!format!("{stats:?}").contains("SECRET"));
}
