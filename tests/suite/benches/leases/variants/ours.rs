//! Ours: the driver, as an adapter has it.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use sqs_lease_driver::{BootClock, Delivery, Keeper, Receipt, ReceiptHandle, Received, Settings, Visibility};
use tokio::time::Instant;

use super::{Clock, Variant};
use crate::null::{Null, NullQueue, Tokio};

/// A keeper with the defaults of a program.
pub struct Ours {
    keeper: Keeper,
    runtime: Tokio,
    timeout: Visibility,
    wakes: Arc<AtomicU64>,
}

impl Variant for Ours {
    type Handle = ReceiptHandle;
    type Guard = Delivery<()>;

    fn start(transport: Arc<Null>, timeout: Duration, clock: Clock) -> Self {
        let runtime = match clock {
            Clock::Paused => Tokio::Paused { origin: Instant::now() },
            Clock::Real => Tokio::Boot(BootClock::new()),
        };
        let keeper = Keeper::new(NullQueue(transport), runtime, Settings::new());
        let wakes = Arc::new(AtomicU64::new(0));
        tokio::spawn(counted(keeper.run(), Arc::clone(&wakes)));
        let timeout = Visibility::new(timeout.as_secs().try_into().expect("12 hours at most"))
            .expect("12 hours at most");
        Self { keeper, runtime, timeout, wakes }
    }

    fn keep(
        &self,
        handles: impl Iterator<Item = ReceiptHandle>,
        received: Instant,
        guards: &mut Vec<Delivery<()>>,
    ) {
        let received = Received::new(self.runtime.moment(received), self.timeout);
        guards.extend(handles.map(|handle| self.keeper.hold(Receipt::new(handle, received), ())));
    }

    fn wakes(&self) -> Option<u64> {
        Some(self.wakes.load(Relaxed))
    }
}

/// Counts how often a task is polled.
async fn counted(task: impl Future<Output = ()>, polls: Arc<AtomicU64>) {
    let mut task = pin!(task);
    std::future::poll_fn(|cx| {
        polls.fetch_add(1, Relaxed);
        task.as_mut().poll(cx)
    })
    .await;
}
