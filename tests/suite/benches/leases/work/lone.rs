//! w3: ten leases, each received alone at a random time, for an hour.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::random::Random;
use super::{TIMEOUT, figures, handle, paused};
use crate::null::Null;
use crate::process::Figures;
use crate::variants::{Clock, Variant};

const LEASES: u32 = 10;
const HOUR: Duration = Duration::from_hours(1);

/// The mean of so many arrivals.
pub fn measure<V: Variant>(seeds: u32) -> Figures {
    let mut sum = 0;
    for seed in 0..seeds {
        let transport = Null::new(Some(Duration::from_millis(20)));
        sum += paused().block_on(async {
            let variant = V::start(Arc::clone(&transport), TIMEOUT, Clock::Paused);
            let mut random = Random::new(seed.into());
            let mut times: Vec<_> =
                (0..LEASES).map(|_| Duration::from_mins(1).mul_f64(random.uniform())).collect();
            times.sort_unstable();
            let mut guards = Vec::new();
            let start = Instant::now();
            for (number, time) in (0..).zip(times) {
                sleep_until(start + time).await;
                variant.keep([handle::<V>(number)].into_iter(), Instant::now(), &mut guards);
            }
            // By then all have met whom they will meet.
            sleep(2 * TIMEOUT).await;
            let (calls, _) = transport.counts();
            sleep(HOUR).await;
            drop(guards);
            transport.counts().0 - calls
        });
    }
    figures([("calls per lease-hour", sum as f64 / f64::from(LEASES) / f64::from(seeds))])
}
