//! C: one task over a `DelayQueue`.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_util::time::{DelayQueue, delay_queue};

use super::{Clock, Variant};
use crate::null::Null;

/// One task waits for whatever is due next and extends up to ten of what is due with it.
pub struct C {
    leases: Arc<Mutex<Leases>>,
    timeout: Duration,
    task: AbortHandle,
}

#[derive(Default)]
struct Leases {
    due: DelayQueue<u64>,
    kept: HashMap<u64, (Arc<str>, delay_queue::Key)>,
    next: u64,
}

pub struct Guard {
    leases: Arc<Mutex<Leases>>,
    id: u64,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, key)) = leases.kept.remove(&self.id) {
            leases.due.remove(&key);
        }
    }
}

impl Variant for C {
    type Handle = Arc<str>;
    type Guard = Guard;

    fn start(transport: Arc<Null>, timeout: Duration, _: Clock) -> Self {
        let leases = Arc::new(Mutex::new(Leases::default()));
        let task = tokio::spawn(keep(transport, Arc::clone(&leases), timeout)).abort_handle();
        Self { leases, timeout, task }
    }

    fn keep(&self, handles: impl Iterator<Item = Arc<str>>, received: Instant, guards: &mut Vec<Guard>) {
        let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        guards.extend(handles.map(|handle| {
            let id = leases.next;
            leases.next += 1;
            let key = leases.due.insert_at(id, received + self.timeout / 2);
            leases.kept.insert(id, (handle, key));
            Guard { leases: Arc::clone(&self.leases), id }
        }));
    }
}

impl Drop for C {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn keep(transport: Arc<Null>, leases: Arc<Mutex<Leases>>, timeout: Duration) {
    loop {
        let handles =
            poll_fn(|cx| leases.lock().unwrap_or_else(PoisonError::into_inner).poll_due(cx, timeout)).await;
        let transport = Arc::clone(&transport);
        tokio::spawn(async move {
            if transport.change_batch(&handles, timeout).await.is_err() {
                eprintln!("an extension failed");
            }
        });
    }
}

impl Leases {
    /// Up to ten of what is due, each due again in half of the timeout.
    fn poll_due(&mut self, cx: &mut Context<'_>, timeout: Duration) -> Poll<Vec<Arc<str>>> {
        let mut handles = Vec::with_capacity(10);
        while handles.len() < 10 {
            let Poll::Ready(Some(expired)) = self.due.poll_expired(cx) else { break };
            let id = expired.into_inner();
            let again = self.due.insert(id, timeout / 2);
            if let Some((handle, key)) = self.kept.get_mut(&id) {
                *key = again;
                handles.push(Arc::clone(handle));
            }
        }
        if handles.is_empty() { Poll::Pending } else { Poll::Ready(handles) }
    }
}
