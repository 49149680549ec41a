//! w2: a thousand deliveries a second; most are done before their first middle, and some take long.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::random::Random;
use super::{TIMEOUT, figures, handle, paused};
use crate::null::Null;
use crate::process::Figures;
use crate::variants::{Clock, Variant};

/// Ten deliveries every so often.
const STEP: Duration = Duration::from_millis(10);
const TRANSPORT: Duration = Duration::from_millis(20);
/// Handlers: lognormal, median 2 s, 99th percentile 600 s.
const MEDIAN: f64 = 2.0;
const P99: f64 = 600.0;
/// The 99th percentile of the normal distribution.
const Z99: f64 = 2.326_347_874;

pub fn measure<V: Variant>(seconds: u32) -> Figures {
    let runtime = paused();
    let transport = Null::new(Some(TRANSPORT));
    let end = Duration::from_secs(seconds.into());
    let least = runtime.block_on(async {
        let variant = V::start(Arc::clone(&transport), TIMEOUT, Clock::Paused);
        let mut random = Random::new(1);
        let mut working = BinaryHeap::new();
        let mut guards: Vec<Option<V::Guard>> = Vec::new();
        let mut ten = Vec::with_capacity(10);
        let start = Instant::now();
        let (mut next_receive, mut least) = (Duration::ZERO, 0_u64);
        loop {
            let next_done = working.peek().map_or(end, |&Reverse((at, _))| at);
            let next = next_receive.min(next_done);
            if next >= end {
                sleep_until(start + end).await;
                return least as f64 / 10.0;
            }
            sleep_until(start + next).await;
            while let Some(&Reverse((at, index))) = working.peek() {
                if at > next {
                    break;
                }
                working.pop();
                let index: usize = index;
                guards[index] = None;
            }
            if next_receive <= next {
                let first = u32::try_from(guards.len()).expect("not so many");
                variant.keep((first..first + 10).map(handle::<V>), start + next, &mut ten);
                for guard in ten.drain(..) {
                    let sigma = (P99 / MEDIAN).ln() / Z99;
                    let took = Duration::from_secs_f64(MEDIAN * (sigma * random.normal()).exp());
                    let took = took.min(Duration::from_secs(40_000));
                    working.push(Reverse((next + took, guards.len())));
                    guards.push(Some(guard));
                    let middles = took.min(end.saturating_sub(next)).as_nanos() / (TIMEOUT / 2).as_nanos();
                    least += u64::try_from(middles).expect("not so many");
                }
                next_receive += STEP;
            }
        }
    });
    let (calls, entries) = transport.counts();
    let (calls, entries) = (calls as f64, entries as f64);
    figures([
        ("calls", calls),
        ("extensions", entries),
        ("entries per call", entries / calls),
        ("least", least),
        ("calls to least", calls / least),
    ])
}
