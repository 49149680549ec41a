use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::sleep::Sleeper;

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

/// A moment that may be never.
pub(crate) struct Timeout(Sleeper);

impl Timeout {
    pub(crate) fn at(deadline: Option<Instant>) -> Self {
        Self(Sleeper::until(deadline))
    }

    pub(crate) fn after(duration: Option<Duration>) -> Self {
        Self::at(deadline(Instant::now(), duration))
    }

    /// Costs nothing before it is first called, so poll what it bounds first.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx)
    }
}

/// `start + timeout`; `None`, which is "never", where the clock cannot hold the sum.
pub(crate) fn deadline(start: Instant, timeout: Option<Duration>) -> Option<Instant> {
    start.checked_add(timeout?)
}
