use std::fmt;
use std::future::Future;
use std::time::Duration;

use sqs_lease_core::Moment;

/// The two things that the driver needs of an async runtime: the time, and a sleep.
///
/// ```
/// use std::future::Future;
/// use std::pin::Pin;
/// use sqs_lease_driver::{BootClock, Moment, Runtime};
///
/// /// Any runtime, by a function that sleeps.
/// struct Mine {
///     clock: BootClock,
///     sleep: fn(std::time::Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>,
/// }
///
/// impl Runtime for Mine {
///     fn now(&self) -> Moment {
///         self.clock.now()
///     }
///
///     fn sleep_until(&self, at: Moment) -> impl Future<Output = ()> + Send + use<> {
///         (self.sleep)(at - self.clock.now())
///     }
/// }
/// ```
pub trait Runtime: Send + Sync + 'static {
    /// The time. It should count suspension of the machine: SQS does. It should not run backwards; where it
    /// does, it counts as standing still.
    fn now(&self) -> Moment;

    /// Sleeps until a moment. Waking early is harmless but costs a wake; round up to the timer's step.
    fn sleep_until(&self, at: Moment) -> impl Future<Output = ()> + Send + use<Self>;

    /// How late its timers are as a rule; zero where they are exact. The driver wakes so much earlier for extensions
    /// ([`SetPolicy::lead`](crate::SetPolicy::lead)), where the settings name no lead of their own.
    fn timer_step(&self) -> Duration {
        Duration::ZERO
    }
}

/// No runtime at all: sleeps by [`futures_timer`], which has a thread of its own.
///
/// With a [`block_on`](https://docs.rs/futures/latest/futures/executor/fn.block_on.html) of any kind this keeps
/// deliveries in a program that has none of the runtimes: [`Delivery::keep`](crate::Delivery::keep) needs no task
/// beside it. The SQS client must do without a runtime as well.
///
/// ```
/// use std::time::Duration;
/// use sqs_lease_driver::{NoRuntime, Runtime};
///
/// let runtime = NoRuntime::new();
/// let before = runtime.now();
/// futures_executor::block_on(runtime.sleep(Duration::from_millis(10)));
/// assert!(runtime.now() - before >= Duration::from_millis(10));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRuntime(BootClock);

impl NoRuntime {
    /// The runtime that is none.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sleeps for a while.
    pub fn sleep(&self, time: Duration) -> impl Future<Output = ()> + Send + use<> {
        futures_timer::Delay::new(time.min(FOREVER))
    }
}

/// What the timer cannot represent is far enough.
const FOREVER: Duration = Duration::from_hours(365 * 24);

impl Runtime for NoRuntime {
    fn now(&self) -> Moment {
        self.0.now()
    }

    fn sleep_until(&self, at: Moment) -> impl Future<Output = ()> + Send + use<> {
        self.sleep(at - self.now())
    }
}

/// The time since the machine was started, suspension included where the platform has such a clock.
///
/// On Linux and Android `CLOCK_BOOTTIME`. Elsewhere [`std::time::Instant`], which stands still during suspension
/// on some platforms (macOS): a suspended holder then learns of its loss only by SQS's refusal.
///
/// ```
/// use sqs_lease_driver::BootClock;
///
/// let clock = BootClock::new();
/// assert!(clock.now() <= clock.now());
/// ```
#[derive(Clone, Copy)]
pub struct BootClock {
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    origin: std::time::Instant,
}

impl BootClock {
    /// The clock.
    pub fn new() -> Self {
        Self {
            #[cfg(not(any(target_os = "linux", target_os = "android")))]
            origin: std::time::Instant::now(),
        }
    }

    /// The time.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn now(&self) -> Moment {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let secs = u64::try_from(time.tv_sec).unwrap_or(0);
        let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
        Moment::from_nanos(secs.saturating_mul(1_000_000_000).saturating_add(nanos))
    }

    /// The time.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub fn now(&self) -> Moment {
        Moment::ORIGIN + self.origin.elapsed()
    }
}

impl Default for BootClock {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for BootClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BootClock").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boot_clock_runs_forward() {
        let clock = BootClock::new();
        let before = clock.now();
        assert!(before > Moment::ORIGIN);
        assert!(clock.now() >= before);
    }
}
