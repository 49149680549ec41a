//! What keeping many leases costs in bytes and allocations.
//!
//! One test: whatever runs beside it in this process would be counted too.

use std::time::Duration;

use sqs_lease_driver::core::{Answer, Failure, LeaseSet, Policy};
use sqs_lease_driver::{
    ChangeVisibility, Keeper, Moment, Queue, Receipt, ReceiptHandle, Received, Reply, SetPolicy, Settings,
    Visibility,
};
use sqs_lease_heap::Heap;
use sqs_lease_suite::virtual_time::World;

#[global_allocator]
static HEAP: Heap = Heap;

/// What a set keeps for itself, however few leases it has.
const FIXED: isize = 32 * 1024;
const HALF: Duration = Duration::from_secs(15);

#[test]
fn many_leases_cost_few_bytes_and_extensions_none() {
    Heap::count();
    for leases in [1_200, 12_000, 120_000] {
        core_alone(leases);
    }
    let [alone, after_others] = [0, 40].map(beside_others_that_are_gone);
    assert!(
        after_others <= alone,
        "{after_others} bytes per lease after those of 40 other policies, {alone} else"
    );
    let [at_the_peak, left] = events_not_taken_out();
    assert!(
        left <= FIXED && at_the_peak > 10 * FIXED,
        "{at_the_peak} bytes for events, {left} when they are taken out"
    );
    let [few, many] = [1_200, 12_000].map(driven);
    // The rest is the loop's, whatever it keeps.
    assert!(many <= few, "{few} bytes per lease of few, {many} of many");
}

/// Of a lease that keeps to the ordinary way, its place in the schedule and its key here included; one that does not takes more
/// than twice as much.
const LEASE: isize = 88;

/// A task for each lease takes 384 bytes.
const TASK: isize = 384;

fn core_alone(leases: u32) {
    let before = Heap::counts().live;
    Heap::forget_peak();
    let (policy, timeout) = (Policy::new(), Visibility::new(30).unwrap());
    let mut set = LeaseSet::new(SetPolicy::new());
    let start = Moment::from_secs(1);
    let mut keys = Vec::with_capacity(leases as usize);
    for number in 0..leases {
        let now = start + HALF * (number / 10) * 10 / leases;
        keys.push(set.insert(&policy, Received::new(now, timeout), number, now));
    }
    let mut now = start + HALF;
    let mut pass = |rounds: u32| {
        let mut extended = 0;
        while extended < rounds * leases {
            while let Some(call) = set.poll_call(now) {
                extended += u32::try_from(call.entries.len()).unwrap();
                set.handle_answer(call.id, Answer::Done, now);
            }
            while set.poll_event(now).is_some() {}
            now = set.poll_timeout().unwrap().max(now);
        }
    };
    // Until all buffers have their size.
    pass(2);
    let settled = Heap::counts();
    pass(3);
    let after = Heap::counts();
    // Its own pages it takes and gives back, of 64 leases each; nothing for a lease.
    let allocations = after.allocations - settled.allocations;
    assert!(
        allocations * 10 <= 3 * leases as usize,
        "{leases}: {allocations} allocations in 3 extensions of each"
    );
    let steady = after.live - before;
    let each = (steady - FIXED) / isize::try_from(leases).unwrap();
    assert!(each <= LEASE, "{leases}: {each} bytes per lease");
    let peak = Heap::peak() - before;
    assert!(peak * 10 <= steady * 11, "{leases}: {peak} bytes at the peak, {steady} when steady");

    for key in keys {
        set.remove(key);
    }
    let left = Heap::counts().live - before;
    assert!(left <= FIXED + steady / 10, "{leases}: {left} of {steady} bytes are left when all are gone");
}

/// Bytes per lease in a set where there was a lease of each of so many other policies before: what leases of one policy share is
/// free again when the last of them is gone, also where calls have failed.
fn beside_others_that_are_gone(others: u64) -> isize {
    let timeout = Visibility::new(30).unwrap();
    let mut set = LeaseSet::new(SetPolicy::new());
    let mut now = Moment::from_secs(1);
    for guard in 1..=others {
        let policy = Policy::new().guard(Duration::from_millis(guard));
        let key = set.insert(&policy, Received::new(now, timeout), 0, now);
        for answer in [Answer::Failed(Failure::Transient), Answer::Done] {
            now = set.poll_timeout().unwrap();
            let call = set.poll_call(now).unwrap();
            set.handle_answer(call.id, answer, now);
            while set.poll_event(now).is_some() {}
        }
        set.remove(key);
    }
    let before = Heap::counts().live;
    for number in 0..1_000 {
        set.insert(&Policy::new(), Received::new(now, timeout), number, now);
    }
    // Less where they take pages that the others left.
    (Heap::counts().live - before) / 1_000
}

/// Bytes for the events of 12 000 extensions, and what is left of them when all are taken out.
fn events_not_taken_out() -> [isize; 2] {
    let (timeout, start) = (Visibility::new(30).unwrap(), Moment::from_secs(1));
    let mut set = LeaseSet::new(SetPolicy::new());
    for number in 0..12_000 {
        set.insert(&Policy::new(), Received::new(start, timeout), number, start);
    }
    let now = start + HALF;
    let before = Heap::counts().live;
    while let Some(call) = set.poll_call(now) {
        set.handle_answer(call.id, Answer::Done, now);
    }
    let all = Heap::counts().live - before;
    while set.poll_event(now).is_some() {}
    [all, Heap::counts().live - before]
}

/// Bytes per lease beyond the handle, with loop and handles of users.
fn driven(leases: u32) -> isize {
    let mut world = World::new();
    let time = world.time();
    let before = Heap::counts().live;
    let keeper = Keeper::new(Done, time.clone(), Settings::new());
    world.spawner().spawn(keeper.run());
    world.run(async move {
        let mut held = Vec::with_capacity(leases as usize);
        Heap::forget_peak();
        let timeout = Visibility::new(30).unwrap();
        for _ in 0..leases / 10 {
            let received = Received::new(keeper.now(), timeout);
            held.extend((0..10).map(|_| keeper.hold(Receipt::new("A".repeat(412), received), ())));
            time.sleep(HALF * 10 / leases).await;
        }
        time.sleep(2 * HALF).await;
        let (settled, extended) = (Heap::counts(), keeper.stats().extensions);
        time.sleep(4 * HALF).await;
        let allocations = (Heap::counts() - settled).allocations as u64;
        let extensions = keeper.stats().extensions - extended;
        assert!(extensions >= 4 * u64::from(leases), "{leases}: {extensions} extensions");
        assert!(
            allocations * 2 < extensions,
            "{leases}: {allocations} allocations for {extensions} extensions"
        );
        let leases = isize::try_from(leases).unwrap();
        let handles = 412 * leases;
        let (steady, peak) = (Heap::counts().live - before - handles, Heap::peak() - before - handles);
        assert!(peak * 10 <= steady * 11, "{leases}: {peak} bytes at the peak, {steady} when steady");
        let each = steady / leases;
        assert!(each * 100 <= TASK * 45, "{leases}: {each} bytes per lease");
        drop(held);
        let left = Heap::counts().live - before;
        assert!(left <= FIXED + steady / 10, "{leases}: {left} of {steady} bytes are left when all are gone");
        each
    })
}

struct Done;

impl Queue for Done {
    async fn change_visibility(&self, _: Vec<ChangeVisibility>) -> Reply {
        Reply::Done
    }

    async fn delete(&self, _: Vec<ReceiptHandle>) -> Reply {
        Reply::Done
    }
}
