//! A lease allocates nothing, whatever happens to it.
//!
//! One test: whatever runs beside it in this process would be counted too.

use std::time::Duration;

use sqs_lease_core::{Action, Extend, Failure, Lease, Moment, Policy, Received, Visibility};
use sqs_lease_heap::Heap;

#[global_allocator]
static HEAP: Heap = Heap;

#[test]
fn a_lease_allocates_nothing() {
    Heap::count();
    // That it counts at all.
    let before = Heap::counts().allocations;
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(Heap::counts().allocations - before, 1);

    let before = Heap::counts().allocations;
    let mut calls = 0;
    let answers = [
        Ok(()),
        Err(Failure::Transient),
        Err(Failure::Throttled),
        Err(Failure::Denied),
        Err(Failure::Limit),
        Ok(()),
    ];
    for end in 0..4 {
        let policy = Policy::new().max_hold(Duration::from_mins(5)).unwrap();
        let received = Received::new(Moment::from_secs(100), Visibility::new(30).unwrap());
        let mut lease = Lease::new(&policy, received);
        while let Some(wake_up) = lease.poll_timeout() {
            while let Some(action) = lease.poll(wake_up) {
                if let Action::Extend(Extend { attempt, .. })
                | Action::Delete(attempt)
                | Action::Release { attempt, .. } = action
                {
                    calls += 1;
                    lease.handle_answer(attempt.id, answers[calls % answers.len()], wake_up);
                }
            }
            lease.handle_gap(Duration::from_millis(3), wake_up);
            let copy = lease.clone();
            assert!(copy == lease && lease.next().is_none_or(|next| next.at >= Moment::ORIGIN));
            if wake_up > Moment::from_secs(250) {
                let _ = match end {
                    0 => lease.delete(wake_up),
                    1 => lease.release(Visibility::ZERO, wake_up),
                    2 => lease.leave(wake_up),
                    _ => lease.extend(Visibility::new(60).unwrap(), wake_up).map_err(|_| unreachable!()),
                };
            }
        }
    }
    let allocations = Heap::counts().allocations - before;
    assert_eq!(allocations, 0);
    assert!(calls > 20, "only {calls} calls were made");
}
