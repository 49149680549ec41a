//! w1 in real time.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::time::{Instant, sleep, sleep_until};

use super::{TIMEOUT, figures, handle, step};
use crate::lateness::Lateness;
use crate::null::Null;
use crate::process::{Figures, context_switches, cpu_nanos};
use crate::variants::{Clock, Variant};

/// As long for the CPU time as for the lateness afterwards. No workers: all on one thread.
///
/// The leases were received in the half timeout before, so that it need not be waited for.
pub fn measure<V: Variant>(leases: u32, millis: u32, workers: u32) -> Figures {
    let runtime = match workers {
        0 => Builder::new_current_thread().enable_time().build(),
        _ => Builder::new_multi_thread().worker_threads(workers as usize).enable_time().build(),
    };
    let time = Duration::from_millis(millis.into());
    runtime.expect("a runtime").block_on(async {
        let transport = Null::new(None);
        let variant = V::start(Arc::clone(&transport), TIMEOUT, Clock::Real);
        let mut guards = Vec::with_capacity(leases as usize);
        // Kept is kept by the time that the first is due.
        let first = Instant::now() + Duration::from_micros((leases * 10).into()) + Duration::from_millis(100);
        for ten in 0..leases / 10 {
            let received = first + step(TIMEOUT / 2, leases) * ten - TIMEOUT / 2;
            variant.keep((10 * ten..10 * ten + 10).map(handle::<V>), received, &mut guards);
            if ten % 100 == 0 {
                tokio::task::yield_now().await;
            }
        }
        if Instant::now() > first {
            eprintln!("it took too long to keep them all: the machine is too busy to measure");
        }
        sleep_until(first + Duration::from_millis(200)).await;

        let (calls, entries) = transport.counts();
        let (wakes, switches, began) = (variant.wakes(), context_switches(), Instant::now());
        let cpu = cpu_nanos();
        sleep(time).await;
        let cpu = cpu_nanos() - cpu;
        let took = began.elapsed().as_secs_f64();
        let switches = context_switches().zip(switches).map(|(after, before)| after - before);
        let wakes = variant.wakes().zip(wakes).map(|(after, before)| after - before);
        let (calls, entries) = (transport.counts().0 - calls, transport.counts().1 - entries);

        // Afterwards, so that its cost is not in the CPU time.
        transport.lateness.set(Lateness::new(first, step(TIMEOUT / 2, leases))).expect("set once");
        sleep(time).await;
        let lateness = transport.lateness.get().expect("just set");
        let mut all = figures([
            ("calls", calls as f64),
            ("extensions", entries as f64),
            ("cpu ns per extension", cpu / entries as f64),
            ("lateness p50 ms", lateness.percentile(50)),
            ("lateness p99 ms", lateness.percentile(99)),
        ]);
        all.extend(wakes.map(|wakes| ("wakes per s".to_owned(), wakes as f64 / took)));
        all.extend(switches.map(|it| ("context switches per s".to_owned(), it as f64 / took)));
        drop(guards);
        all
    })
}
