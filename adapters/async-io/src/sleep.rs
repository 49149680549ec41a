use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use async_io::Timer;
use aws_smithy_async::rt::sleep::{AsyncSleep, Sleep};

use crate::timers::{Alarm, Timers};

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
        Sleep::new(Sleeper::until(Instant::now().checked_add(duration)))
    }
}

/// A sleep among all the others of this process.
pub(crate) struct Sleeper {
    /// `None` is never.
    deadline: Option<Instant>,
    /// While it is waited for.
    number: Option<u64>,
}

impl Sleeper {
    pub(crate) fn until(deadline: Option<Instant>) -> Self {
        Self { deadline, number: None }
    }
}

impl Future for Sleeper {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        match this.deadline {
            Some(deadline) => TIMERS.poll(deadline, &mut this.number, cx.waker()),
            None => Poll::Pending,
        }
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        if let (Some(deadline), Some(number)) = (self.deadline, self.number) {
            TIMERS.remove(deadline, number);
        }
    }
}

static TIMERS: LazyLock<Timers<ReactorAlarm>> =
    LazyLock::new(|| Timers::new(ReactorAlarm { timer: Timer::never(), bell: Waker::from(Arc::new(Bell)) }));

struct ReactorAlarm {
    timer: Timer,
    bell: Waker,
}

impl Alarm for ReactorAlarm {
    type Moment = Instant;

    fn now(&self) -> Instant {
        Instant::now()
    }

    fn set(&mut self, at: Instant) -> Poll<()> {
        self.timer.set_at(at);
        Pin::new(&mut self.timer).poll(&mut Context::from_waker(&self.bell)).map(drop)
    }
}

/// What the reactor wakes when the alarm is due. It holds no lock of its own then.
struct Bell;

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        TIMERS.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleepers_wake_in_their_order_and_the_dropped_do_not() {
        let start = Instant::now();
        let after = |millis| AsyncIoSleep::new().sleep(Duration::from_millis(millis));
        async_io::block_on(async {
            let mut longest = after(10_000);
            let mut cx = Context::from_waker(Waker::noop());
            assert!(Pin::new(&mut longest).poll(&mut cx).is_pending());
            let mut dropped = after(5);
            assert!(Pin::new(&mut dropped).poll(&mut cx).is_pending());
            drop(dropped);
            for millis in [20, 40, 60] {
                after(20).await;
                assert!(start.elapsed() >= Duration::from_millis(millis));
            }
        });
        assert!(start.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn many_threads_sleep_at_a_time() {
        let threads: Vec<_> = (0..8)
            .map(|thread| {
                std::thread::spawn(move || {
                    for round in 0..50 {
                        let duration = Duration::from_micros(100 + (thread * 37 + round * 91) % 700);
                        let start = Instant::now();
                        async_io::block_on(AsyncIoSleep::new().sleep(duration));
                        assert!(start.elapsed() >= duration);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().expect("all wake");
        }
    }

    #[test]
    fn the_longest_sleep_does_not_panic() {
        let mut sleep = std::pin::pin!(AsyncIoSleep::new().sleep(Duration::MAX));
        let mut cx = Context::from_waker(Waker::noop());
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
