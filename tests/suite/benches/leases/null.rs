//! Where the calls go: nowhere. And the driver's time, from Tokio.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use sqs_lease_driver::{
    BootClock, ChangeVisibility, Failure, Moment, Queue, ReceiptHandle, Refusal, Reply, Runtime,
};
use tokio::time::Instant;

use crate::lateness::Lateness;

/// Counts calls and entries, and completes at once or after a while.
#[derive(Debug, Default)]
pub struct Null {
    pub calls: AtomicU64,
    pub entries: AtomicU64,
    delay: Option<Duration>,
    pub lateness: OnceLock<Lateness>,
}

impl Null {
    pub fn new(delay: Option<Duration>) -> Arc<Self> {
        Arc::new(Self { delay, ..Self::default() })
    }

    /// `ChangeMessageVisibility`.
    pub fn change(
        &self,
        receipt_handle: &str,
        _: Duration,
    ) -> impl Future<Output = Result<(), Refused>> + use<> {
        self.count([receipt_handle]);
        self.answer()
    }

    /// `ChangeMessageVisibilityBatch`.
    pub fn change_batch(
        &self,
        receipt_handles: &[Arc<str>],
        _: Duration,
    ) -> impl Future<Output = Result<(), Refused>> + use<> {
        self.count(receipt_handles.iter().map(|it| &**it));
        self.answer()
    }

    pub fn counts(&self) -> (u64, u64) {
        (self.calls.load(Relaxed), self.entries.load(Relaxed))
    }

    fn count<'a>(&self, receipt_handles: impl IntoIterator<Item = &'a str>) {
        let mut entries = 0;
        for receipt_handle in receipt_handles {
            entries += 1;
            if let Some(lateness) = self.lateness.get() {
                lateness.note(receipt_handle);
            }
        }
        self.calls.fetch_add(1, Relaxed);
        self.entries.fetch_add(entries, Relaxed);
    }

    /// Borrows nothing, so that the tasks that are compared are as small as they can be.
    fn answer(&self) -> impl Future<Output = Result<(), Refused>> + use<> {
        let delay = self.delay;
        async move {
            if let Some(delay) = delay {
                tokio::time::sleep(delay).await;
            }
            Ok(())
        }
    }
}

/// What an SDK would answer to a call that failed. Here none does.
#[derive(Debug)]
pub struct Refused;

/// The same for the driver.
#[derive(Debug)]
pub struct NullQueue(pub Arc<Null>);

impl Queue for NullQueue {
    async fn change_visibility(&self, entries: Vec<ChangeVisibility>) -> Reply {
        self.0.count(entries.iter().map(|it| it.receipt_handle.expose()));
        match self.0.answer().await {
            Ok(()) => Reply::Done,
            Err(Refused) => Reply::Failed(Refusal::new(Failure::Transient, "Refused")),
        }
    }

    async fn delete(&self, _: Vec<ReceiptHandle>) -> Reply {
        Reply::Done
    }
}

/// Tokio's timers, as `sqs-lease-tokio` gives them to the driver; that one would bring the AWS SDK along.
#[derive(Clone, Copy, Debug)]
pub enum Tokio {
    /// With the clock that counts suspension, as in a program.
    Boot(BootClock),
    /// With Tokio's own, which can be paused.
    Paused { origin: Instant },
}

impl Tokio {
    pub fn moment(&self, at: Instant) -> Moment {
        self.now() + at.saturating_duration_since(Instant::now()) - at.elapsed()
    }
}

impl Runtime for Tokio {
    fn now(&self) -> Moment {
        match self {
            Self::Boot(clock) => clock.now(),
            // Received before the origin is possible.
            Self::Paused { origin } => Moment::from_secs(100_000) + origin.elapsed(),
        }
    }

    fn sleep_until(&self, at: Moment) -> impl Future<Output = ()> + Send + use<> {
        tokio::time::sleep(at - self.now())
    }

    fn timer_step(&self) -> Duration {
        match self {
            Self::Boot(_) => Duration::from_millis(2),
            Self::Paused { .. } => Duration::ZERO,
        }
    }
}
