//! B: one task for each receive.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::{Clock, Variant};
use crate::null::Null;

/// Each receive has a task that extends, every half of the timeout, what is left of it in one call.
pub struct B {
    transport: Arc<Null>,
    timeout: Duration,
}

/// What is left of one receive.
type Batch = Arc<Mutex<Vec<Option<Arc<str>>>>>;

pub struct Guard {
    batch: Batch,
    index: usize,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Ok(mut batch) = self.batch.lock() {
            batch[self.index] = None;
        }
    }
}

impl Variant for B {
    type Handle = Arc<str>;
    type Guard = Guard;

    fn start(transport: Arc<Null>, timeout: Duration, _: Clock) -> Self {
        Self { transport, timeout }
    }

    fn keep(&self, handles: impl Iterator<Item = Arc<str>>, received: Instant, guards: &mut Vec<Guard>) {
        let batch: Batch = Arc::new(Mutex::new(handles.map(Some).collect()));
        let count = batch.lock().map_or(0, |batch| batch.len());
        tokio::spawn(keep(Arc::clone(&self.transport), Arc::clone(&batch), received, self.timeout));
        guards.extend((0..count).map(|index| Guard { batch: Arc::clone(&batch), index }));
    }
}

async fn keep(transport: Arc<Null>, batch: Batch, received: Instant, timeout: Duration) {
    let mut middles = interval_at(received + timeout / 2, timeout / 2);
    middles.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        middles.tick().await;
        let left: Vec<Arc<str>> = match batch.lock() {
            Ok(batch) => batch.iter().flatten().cloned().collect(),
            Err(_) => return,
        };
        if left.is_empty() {
            return;
        }
        if transport.change_batch(&left, timeout).await.is_err() {
            eprintln!("an extension failed");
        }
    }
}
