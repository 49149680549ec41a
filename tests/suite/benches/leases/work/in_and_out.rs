//! What a lease costs to begin and to end while nothing is due.

use std::time::Duration;

use tokio::runtime::Builder;
use tokio::task::yield_now;
use tokio::time::Instant;

use super::random::Random;
use super::{figures, handle, step};
use crate::null::Null;
use crate::process::{Figures, cpu_nanos};
use crate::variants::{Clock, Variant};

const TIMEOUT: Duration = Duration::from_mins(10);

/// In real time, on one thread. Receipt handles are moved in; ends come in no order.
pub fn measure<V: Variant>(leases: u32) -> Figures {
    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let variant = V::start(Null::new(None), TIMEOUT, Clock::Real);
        let mut guards = Vec::with_capacity(leases as usize);
        let mut handles: Vec<V::Handle> = (0..leases).map(handle::<V>).collect();
        handles.reverse();
        yield_now().await;
        let (first, each) = (Instant::now() - TIMEOUT / 3, step(TIMEOUT / 3, leases));
        let cpu = cpu_nanos();
        for ten in 0..leases / 10 {
            let left = handles.len();
            variant.keep(handles.drain(left - 10..), first + each * ten, &mut guards);
            // What a task does first belongs to it.
            yield_now().await;
        }
        let inserted = cpu_nanos() - cpu;
        Random::new(1).shuffle(&mut guards);
        let cpu = cpu_nanos();
        while !guards.is_empty() {
            let left = guards.len();
            guards.truncate(left.saturating_sub(10));
            yield_now().await;
        }
        let cancelled = cpu_nanos() - cpu;
        let leases = f64::from(leases);
        figures([("insert ns", inserted / leases), ("cancel ns", cancelled / leases)])
    })
}
