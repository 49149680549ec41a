use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use async_io::Timer;
use aws_smithy_async::rt::sleep::{AsyncSleep, Sleep};

/// The SDK's timer on async-io: what its retries, timeouts and stalled-stream protection wait with.
///
/// smol's and async-std's own timers are the same one. It needs no executor: outside of both, the first
/// sleep starts async-io's background thread.
///
/// A duration too long for the clock never ends, instead of panicking.
///
/// ```
/// use std::time::{Duration, Instant};
/// use aws_async_io::AsyncIoSleep;
/// use aws_smithy_async::rt::sleep::AsyncSleep;
///
/// let start = Instant::now();
/// async_io::block_on(AsyncIoSleep::new().sleep(Duration::from_millis(20)));
/// assert!(start.elapsed() >= Duration::from_millis(20));
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct AsyncIoSleep;

impl AsyncIoSleep {
    /// The one there is; it holds nothing.
    pub const fn new() -> Self {
        Self
    }
}

impl AsyncSleep for AsyncIoSleep {
    fn sleep(&self, duration: Duration) -> Sleep {
        Sleep::new(Elapsed(Timer::after(duration)))
    }
}

struct Elapsed(Timer);

impl Future for Elapsed {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn the_longest_sleep_does_not_panic() {
        let mut sleep = std::pin::pin!(AsyncIoSleep::new().sleep(Duration::MAX));
        let mut cx = Context::from_waker(std::task::Waker::noop());
        assert!(sleep.as_mut().poll(&mut cx).is_pending());
    }

    #[test]
    fn a_sleep_counts_from_the_call_not_from_the_first_poll() {
        let sleep = AsyncIoSleep::new().sleep(Duration::from_millis(60));
        std::thread::sleep(Duration::from_millis(60));
        let polled = Instant::now();
        async_io::block_on(sleep);
        assert!(polled.elapsed() < Duration::from_millis(50), "{:?}", polled.elapsed());
    }
}
