//! w1: leases received in tens, spread over half of their timeout, and handlers that go on.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use sqs_lease_heap::Heap;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, sleep, sleep_until};

use crate::lateness::Lateness;
use crate::null::Null;
use crate::process::{Figures, context_switches, cpu_nanos};
use crate::variants::{Clock, Variant};

pub const TIMEOUT: Duration = Duration::from_secs(30);
/// How long receipt handles of SQS are.
pub const HANDLE: usize = 412;

/// One that begins with its number.
pub fn handle<V: Variant>(number: usize) -> V::Handle {
    // Of no more capacity than it needs.
    let filling = "A".repeat(HANDLE - 8);
    let mut text = String::with_capacity(HANDLE);
    write!(text, "{number:<8}{filling}").expect("a string takes it");
    V::Handle::from(text)
}

pub fn paused() -> Runtime {
    Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime")
}

/// How far apart two receives of ten are.
fn step(leases: usize) -> Duration {
    TIMEOUT / 2 * 10 / u32::try_from(leases).expect("not so many")
}

/// Virtual seconds after all were extended once; the heap is counted where it is wanted.
pub fn in_virtual_time<V: Variant>(leases: usize, seconds: u64, counts_heap: bool) -> Figures {
    let before = Heap::counts().live;
    let runtime = paused();
    if counts_heap {
        Heap::count();
    }
    runtime.block_on(async {
        let transport = Null::new(None);
        let variant = V::start(Arc::clone(&transport), TIMEOUT, Clock::Paused);
        let mut guards = Vec::with_capacity(leases);
        let start = Instant::now();
        for ten in 0..leases / 10 {
            let at = start + step(leases) * u32::try_from(ten).expect("not so many");
            sleep_until(at).await;
            variant.keep((10 * ten..10 * ten + 10).map(handle::<V>), Instant::now(), &mut guards);
        }
        sleep_until(start + TIMEOUT).await;
        let (calls, entries) = transport.counts();
        let cpu = cpu_nanos();
        let counted = Heap::counts();
        let wakes = variant.wakes();
        sleep(Duration::from_secs(seconds)).await;
        let cpu = cpu_nanos() - cpu;
        let (calls, entries) = (transport.counts().0 - calls, transport.counts().1 - entries);
        let allocations = (Heap::counts() - counted).allocations;
        let live = Heap::counts().live - before;
        let wakes =
            variant.wakes().zip(wakes).map(|(after, before)| (after - before) as f64 / seconds as f64);
        let least = leases as f64 * seconds as f64 / TIMEOUT.as_secs_f64() * 2.0 / 10.0;
        let handles = (leases * HANDLE) as f64;
        let mut figures = Figures::from([
            ("calls".to_owned(), calls as f64),
            ("entries".to_owned(), entries as f64),
            ("calls to least".to_owned(), calls as f64 / least),
            ("calls per lease-hour".to_owned(), calls as f64 / leases as f64 / seconds as f64 * 3600.0),
        ]);
        figures.extend(wakes.map(|wakes| ("wakes per s".to_owned(), wakes)));
        if counts_heap {
            figures.extend([
                ("heap per lease".to_owned(), (live as f64 - handles) / leases as f64),
                ("peak to steady".to_owned(), Heap::peak() as f64 / live as f64),
                (
                    "peak to steady beyond handles".to_owned(),
                    (Heap::peak() as f64 - handles) / (live as f64 - handles),
                ),
                ("allocations per extension".to_owned(), allocations as f64 / entries as f64),
            ]);
        } else {
            figures.insert("cpu ns per extension".to_owned(), cpu / entries as f64);
        }
        drop(guards);
        figures
    })
}

/// Seconds of real time, of leases that were received in the half timeout before.
pub fn in_real_time<V: Variant>(leases: usize, seconds: f64, workers: usize) -> Figures {
    let runtime = match workers {
        0 => Builder::new_current_thread().enable_time().build(),
        _ => Builder::new_multi_thread().worker_threads(workers).enable_time().build(),
    };
    runtime.expect("a runtime").block_on(async {
        let transport = Null::new(None);
        let variant = V::start(Arc::clone(&transport), TIMEOUT, Clock::Real);
        let mut guards = Vec::with_capacity(leases);
        // By the time that all are kept the first may be due, no sooner.
        let first = Instant::now() + Duration::from_millis(if leases > 50_000 { 1500 } else { 500 });
        for ten in 0..leases / 10 {
            let received = first + step(leases) * u32::try_from(ten).expect("not so many") - TIMEOUT / 2;
            variant.keep((10 * ten..10 * ten + 10).map(handle::<V>), received, &mut guards);
            if ten % 100 == 0 {
                tokio::task::yield_now().await;
            }
        }
        sleep_until(first + Duration::from_millis(500)).await;
        let (calls, entries) = transport.counts();
        let wakes = variant.wakes();
        let (cpu, switches, began) = (cpu_nanos(), context_switches(), Instant::now());
        sleep(Duration::from_secs_f64(seconds)).await;
        let took = began.elapsed().as_secs_f64();
        let cpu = cpu_nanos() - cpu;
        let switches = context_switches().zip(switches).map(|(after, before)| after - before);
        let (calls, entries) = (transport.counts().0 - calls, transport.counts().1 - entries);
        // Afterwards, so that its cost is not in the CPU time.
        transport.lateness.set(Lateness::new(first, step(leases))).expect("set once");
        sleep(Duration::from_secs_f64(seconds)).await;
        let lateness = transport.lateness.get().expect("just set");
        let mut figures = Figures::from([
            ("calls".to_owned(), calls as f64),
            ("entries".to_owned(), entries as f64),
            ("cpu ns per extension".to_owned(), cpu / entries as f64),
            ("lateness p50 ms".to_owned(), lateness.percentile(50)),
            ("lateness p99 ms".to_owned(), lateness.percentile(99)),
        ]);
        let wakes = variant.wakes().zip(wakes).map(|(after, before)| (after - before) as f64 / took);
        figures.extend(wakes.map(|wakes| ("wakes per s".to_owned(), wakes)));
        if let Some(switches) = switches {
            figures.insert("context switches per s".to_owned(), switches as f64 / took);
        }
        drop(guards);
        figures
    })
}
