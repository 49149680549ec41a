//! The driver against the simulated SQS, through a network that loses, delays and refuses: whole runs from a seed.
//!
//! A [`Scenario`] follows from its seed; [`run`] plays it in virtual time with the very loop that Tokio runs, and
//! judges what the model saw. A seed that fails is replayed alone (`cargo run -p sqs-lease-suite --bin simulate --
//! --seed N`) and [`shrink`] finds the smallest scenario that fails as well.

mod client;
mod consumer;
mod run;
mod saturated;
mod scenario;
mod shrink;
mod verdict;
mod wire;

pub(crate) use consumer::Notes;
pub(crate) use run::play;
pub use run::{Outcome, run};
pub use saturated::{Saturated, saturated};
pub use scenario::{Feature, Scenario};
pub use shrink::shrink;

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// What many seeds came to.
#[derive(Debug, Default)]
pub struct Summary {
    /// How many seeds were run.
    pub seeds: u64,
    /// All their outcomes in one.
    pub outcome: Outcome,
    /// The seeds that failed.
    pub failed: Vec<u64>,
}

/// Runs the scenarios of these seeds on so many threads.
///
/// # Panics
/// A thread died of something else than a scenario.
pub fn run_all(seeds: Range<u64>, threads: usize, of_seed: impl Fn(u64) -> Scenario + Sync) -> Summary {
    let next = AtomicU64::new(seeds.start);
    let summary = Mutex::new(Summary::default());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    let outcome = run(&of_seed(seed));
                    let mut summary = summary.lock().expect("nobody panics with it");
                    summary.seeds += 1;
                    if !outcome.violations.is_empty() {
                        summary.failed.push(seed);
                    }
                    summary.outcome.add(outcome);
                }
            });
        }
    });
    let mut summary = summary.into_inner().expect("nobody panics with it");
    summary.failed.sort_unstable();
    summary
}
