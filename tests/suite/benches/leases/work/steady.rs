//! w1: leases received in tens, spread over half of their timeout, and handlers that go on.

use std::sync::Arc;
use std::time::Duration;

use sqs_lease_heap::Heap;
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep, sleep_until};

use super::{HANDLE, TIMEOUT, figures, handle, paused, step};
use crate::null::Null;
use crate::process::{Figures, cpu_nanos};
use crate::variants::{Clock, Variant};

/// The function whose instructions are counted, as a pattern of callgrind's.
pub const STEADY: &str = "*work::steady::pass*";

/// What is looked at while it runs. One at a time: looking costs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum What {
    Cpu,
    Heap,
    /// By valgrind, from outside.
    Instructions,
}

/// Virtual seconds after all were extended once.
pub fn measure<V: Variant>(leases: u32, seconds: u32, what: What) -> Figures {
    let runtime = paused();
    if what == What::Heap {
        Heap::count();
    }
    let transport = Null::new(None);
    let (variant, guards) = runtime.block_on(async {
        let variant = V::start(Arc::clone(&transport), TIMEOUT, Clock::Paused);
        let mut guards = Vec::with_capacity(leases as usize);
        let start = Instant::now();
        for ten in 0..leases / 10 {
            sleep_until(start + step(TIMEOUT / 2, leases) * ten).await;
            variant.keep((10 * ten..10 * ten + 10).map(handle::<V>), Instant::now(), &mut guards);
        }
        sleep_until(start + TIMEOUT).await;
        (variant, guards)
    });
    let (calls, entries) = transport.counts();
    let (wakes, counted) = (variant.wakes(), Heap::counts());
    // Not under valgrind, which does not know every system call.
    let cpu = || if what == What::Cpu { cpu_nanos() } else { 0.0 };
    let began = cpu();
    pass(&runtime, seconds);
    let cpu = cpu() - began;
    let counted = (Heap::counts(), (Heap::counts() - counted).allocations as f64);
    let (calls, entries) = (transport.counts().0 - calls, transport.counts().1 - entries);
    let (calls, entries) = (calls as f64, entries as f64);

    let (leases, seconds) = (f64::from(leases), f64::from(seconds));
    let least = leases * seconds / (TIMEOUT / 2).as_secs_f64() / 10.0;
    let mut all = figures([
        ("calls", calls),
        ("extensions", entries),
        ("calls to least", calls / least),
        ("calls per lease-hour", calls / leases / seconds * 3600.0),
    ]);
    let wakes = variant.wakes().zip(wakes).map(|(after, before)| (after - before) as f64 / seconds);
    all.extend(wakes.map(|wakes| ("wakes per s".to_owned(), wakes)));
    if what == What::Heap {
        let handles = leases * HANDLE as f64;
        let (live, peak) = (counted.0.live as f64 - handles, Heap::peak() as f64 - handles);
        drop(guards);
        runtime.block_on(async { sleep(Duration::from_secs(1)).await });
        all.extend(figures([
            ("heap per lease", live / leases),
            ("peak to steady", peak / live),
            ("left per lease", Heap::counts().live as f64 / leases),
            ("allocations per extension", counted.1 / entries),
        ]));
    } else if what == What::Cpu {
        all.extend(figures([("cpu ns per extension", cpu / entries)]));
    }
    all
}

#[inline(never)]
fn pass(runtime: &Runtime, seconds: u32) {
    runtime.block_on(async { sleep(Duration::from_secs(seconds.into())).await });
}
