use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use async_io::Timer;

/// Runs `future` until `deadline`; `None` when the deadline came first.
pub(crate) async fn until<F: Future>(deadline: Option<Instant>, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut timeout = Timeout::at(deadline);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => timeout.poll(cx).map(|()| None),
    })
    .await
}

/// A timer that may be absent, which then never fires.
pub(crate) struct Timeout(Option<Timer>);

impl Timeout {
    pub(crate) fn at(deadline: Option<Instant>) -> Self {
        Self(deadline.map(Timer::at))
    }

    pub(crate) fn after(duration: Option<Duration>) -> Self {
        Self(duration.map(Timer::after))
    }

    /// An unpolled timer costs nothing: the reactor learns of it here, so poll what it bounds first.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.0 {
            Some(timer) => Pin::new(timer).poll(cx).map(drop),
            None => Poll::Pending,
        }
    }
}

/// `start + timeout`; `None`, which is "never", where the clock cannot hold the sum.
pub(crate) fn deadline(start: Instant, timeout: Option<Duration>) -> Option<Instant> {
    start.checked_add(timeout?)
}
