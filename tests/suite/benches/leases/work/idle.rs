//! w4: a timeout of 12 hours, and nothing due for an hour.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{figures, handle, paused};
use crate::null::Null;
use crate::process::{Figures, cpu_nanos};
use crate::variants::{Clock, Variant};

pub fn measure<V: Variant>(leases: u32) -> Figures {
    let transport = Null::new(None);
    paused().block_on(async {
        let variant = V::start(Arc::clone(&transport), Duration::from_hours(12), Clock::Paused);
        let mut guards = Vec::with_capacity(leases as usize);
        for ten in 0..leases / 10 {
            variant.keep((10 * ten..10 * ten + 10).map(handle::<V>), Instant::now(), &mut guards);
        }
        sleep(Duration::from_mins(1)).await;
        let (wakes, cpu) = (variant.wakes(), cpu_nanos());
        sleep(Duration::from_hours(1)).await;
        let cpu = cpu_nanos() - cpu;
        let wakes = variant.wakes().zip(wakes).map(|(after, before)| after - before);
        drop(guards);
        let mut all = figures([("cpu ms", cpu / 1e6), ("calls", transport.counts().0 as f64)]);
        all.extend(wakes.map(|wakes| ("wakes".to_owned(), wakes as f64)));
        all
    })
}
