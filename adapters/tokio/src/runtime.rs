use std::future::Future;
use std::time::Duration;

use sqs_lease_driver::{BootClock, Moment, Runtime};
use tokio::time::Instant;

/// Tokio's timers, and a clock that counts suspension.
#[derive(Clone, Copy, Debug)]
pub struct TokioRuntime(Clock);

#[derive(Clone, Copy, Debug)]
enum Clock {
    Boot(BootClock),
    /// Tokio's own, which tests can pause.
    Tokio {
        origin: Instant,
    },
}

/// Tokio's timers count whole milliseconds and round up by themselves; what they cannot represent is far enough.
const FOREVER: Duration = Duration::from_hours(365 * 24);

impl TokioRuntime {
    /// The clock that counts suspension of the machine, as SQS does.
    pub fn new() -> Self {
        Self(Clock::Boot(BootClock::new()))
    }

    /// Tokio's own clock, for tests that pause it (`tokio::time::pause`).
    pub fn with_tokio_clock() -> Self {
        Self(Clock::Tokio { origin: Instant::now() })
    }
}

impl Default for TokioRuntime {
    fn default() -> Self {
        Self::new()
    }
}

impl Runtime for TokioRuntime {
    fn now(&self) -> Moment {
        match self.0 {
            Clock::Boot(clock) => clock.now(),
            Clock::Tokio { origin } => Moment::ORIGIN + origin.elapsed(),
        }
    }

    fn sleep_until(&self, at: Moment) -> impl Future<Output = ()> + Send + use<> {
        tokio::time::sleep((at - self.now()).min(FOREVER))
    }
}
