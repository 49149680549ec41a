//! A: one task for each delivery.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

use super::{Clock, Variant};
use crate::null::Null;

/// Each delivery has a task that sleeps for half of the timeout, extends, and sleeps again.
pub struct A {
    transport: Arc<Null>,
    timeout: Duration,
}

pub struct Guard(AbortHandle);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Variant for A {
    type Handle = String;
    type Guard = Guard;

    fn start(transport: Arc<Null>, timeout: Duration, _: Clock) -> Self {
        Self { transport, timeout }
    }

    fn keep(&self, handles: impl Iterator<Item = String>, received: Instant, guards: &mut Vec<Guard>) {
        guards.extend(handles.map(|handle| {
            let task = keep(Arc::clone(&self.transport), handle, received, self.timeout);
            Guard(tokio::spawn(task).abort_handle())
        }));
    }
}

async fn keep(transport: Arc<Null>, handle: String, received: Instant, timeout: Duration) {
    let mut middle = received + timeout / 2;
    loop {
        sleep_until(middle).await;
        if transport.change(&handle, timeout).await.is_err() {
            eprintln!("an extension failed");
            return;
        }
        middle = Instant::now() + timeout / 2;
    }
}
