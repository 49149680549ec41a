use std::future::Future;
use std::time::Duration;

use sqs_lease_driver::{BootClock, Moment, NoRuntime, Runtime};
use tokio::runtime::Handle;
use tokio::time::Instant;

/// Tokio's timers, and a clock that counts suspension.
///
/// It belongs to the Tokio runtime in which it was made, and works wherever it is polled: on a thread of another runtime
/// too, or under a bare `block_on`. Made outside of any, it sleeps by a thread of its own where there still is none.
///
/// Twelve hours under Tokio's paused clock, with a queue that says yes to everything:
///
/// ```
/// use std::time::Duration;
/// use sqs_lease_tokio::driver::{ChangeVisibility, Keeper, Queue, Receipt, ReceiptHandle, Received, Reply, Settings};
/// use sqs_lease_tokio::{StopReason, TokioRuntime, Visibility};
///
/// struct Yes;
///
/// impl Queue for Yes {
///     async fn change_visibility(&self, _: Vec<ChangeVisibility>) -> Reply {
///         Reply::Done
///     }
///
///     async fn delete(&self, _: Vec<ReceiptHandle>) -> Reply {
///         Reply::Done
///     }
/// }
///
/// #[tokio::main(flavor = "current_thread", start_paused = true)]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let keeper = Keeper::new(Yes, TokioRuntime::with_tokio_clock(), Settings::new());
///     tokio::spawn(keeper.run());
///     let received = Received::new(keeper.now(), Visibility::new(600)?);
///     let delivery = keeper.hold(Receipt::new("AQEB…", received), ());
///     let loss = delivery.keep(tokio::time::sleep(Duration::from_hours(13))).await.unwrap_err();
///     assert_eq!(loss.reason, StopReason::Limit);
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug)]
pub struct TokioRuntime {
    clock: Clock,
    handle: Option<Handle>,
}

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
        Self::with(Clock::Boot(BootClock::new()))
    }

    /// Tokio's own clock, for tests that pause it (`tokio::time::pause`).
    pub fn with_tokio_clock() -> Self {
        Self::with(Clock::Tokio { origin: Instant::now() })
    }

    fn with(clock: Clock) -> Self {
        Self { clock, handle: Handle::try_current().ok() }
    }
}

impl Default for TokioRuntime {
    fn default() -> Self {
        Self::new()
    }
}

impl Runtime for TokioRuntime {
    fn now(&self) -> Moment {
        match self.clock {
            Clock::Boot(clock) => clock.now(),
            Clock::Tokio { origin } => Moment::ORIGIN + origin.elapsed(),
        }
    }

    fn sleep_until(&self, at: Moment) -> impl Future<Output = ()> + Send + use<> {
        let time = (at - self.now()).min(FOREVER);
        // Tokio's sleep panics where there is neither.
        let _entered = self.handle.as_ref().map(Handle::enter);
        let sleep = Handle::try_current().is_ok().then(|| tokio::time::sleep(time));
        async move {
            match sleep {
                Some(sleep) => sleep.await,
                None => NoRuntime::new().sleep(time).await,
            }
        }
    }

    fn timer_step(&self) -> Duration {
        match self.clock {
            // Tokio rounds up to its millisecond, and so does what wakes it.
            Clock::Boot(_) => Duration::from_millis(2),
            Clock::Tokio { .. } => Duration::ZERO,
        }
    }
}
