//! How late the first extension of each delivery comes.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

/// Notes, for deliveries whose receipt handle begins with their number, how late they are extended.
#[derive(Debug)]
pub struct Lateness {
    /// When the first is due.
    first: Instant,
    /// How much later each ten are due.
    step: Duration,
    micros: Mutex<Vec<u32>>,
}

impl Lateness {
    pub fn new(first: Instant, step: Duration) -> Self {
        Self { first, step, micros: Mutex::default() }
    }

    pub fn note(&self, receipt_handle: &str) {
        let number: u32 = receipt_handle[..8].trim_end_matches(' ').parse().expect("a number");
        let due = self.first + self.step * (number / 10);
        // Early is not late.
        let late = Instant::now().saturating_duration_since(due).as_micros();
        self.micros.lock().expect("no panic").push(u32::try_from(late).unwrap_or(u32::MAX));
    }

    /// A percentile, in milliseconds.
    pub fn percentile(&self, percent: usize) -> f64 {
        let mut micros = self.micros.lock().expect("no panic");
        micros.sort_unstable();
        let last = micros.len().saturating_sub(1);
        micros.get(last * percent / 100).map_or(f64::NAN, |it| f64::from(*it) / 1000.0)
    }
}
