//! A queue whose answers are scripted.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqs_lease_driver::{ChangeVisibility, Failure, Moment, Queue, ReceiptHandle, Refusal, Reply};

use crate::virtual_time::VirtualTime;

/// A queue that notes its calls and answers them by a script. Clones share both.
#[derive(Clone, Debug)]
pub struct ScriptedQueue {
    time: VirtualTime,
    inner: Arc<Mutex<Inner>>,
    is_fifo: bool,
}

#[derive(Debug, Default)]
struct Inner {
    script: VecDeque<Then>,
    calls: Vec<Noted>,
    is_instant: bool,
}

/// What the queue does with a call.
#[derive(Clone, Debug)]
pub enum Then {
    /// Answers that long after the call.
    Reply(Duration, Reply),
    /// Never answers.
    Hang,
    /// Panics, as a broken client may.
    Panic,
}

impl Then {
    /// Does what is asked, a tenth of a second later.
    pub fn ok() -> Self {
        Self::Reply(LATENCY, Reply::Done)
    }

    /// Fails the whole call, a tenth of a second later.
    pub fn fails(failure: Failure, code: &'static str) -> Self {
        Self::Reply(LATENCY, Reply::Failed(Refusal::new(failure, code)))
    }

    /// Answers each entry on its own, a tenth of a second later.
    pub fn entries(entries: Vec<Option<Result<(), Refusal>>>) -> Self {
        Self::Reply(LATENCY, Reply::Entries(entries))
    }
}

const LATENCY: Duration = Duration::from_millis(100);

/// A call that was made.
#[derive(Clone, PartialEq, Eq)]
pub struct Noted {
    /// When it was made, in milliseconds since the start.
    pub at: u128,
    /// `hide a 30, b 30` or `delete a, b`.
    pub what: String,
    /// When its future was dropped, or had answered.
    pub ended: Option<u128>,
}

impl fmt::Debug for Noted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.at, self.what)
    }
}

impl ScriptedQueue {
    /// A standard queue that does what is asked, a tenth of a second later.
    pub fn new(time: VirtualTime) -> Self {
        Self { time, inner: Arc::default(), is_fifo: false }
    }

    /// Answers at once, for where another clock runs.
    #[must_use]
    pub fn instantly(self) -> Self {
        self.with(|inner| inner.is_instant = true);
        self
    }

    /// A FIFO queue.
    #[must_use]
    pub fn fifo(self) -> Self {
        Self { is_fifo: true, ..self }
    }

    /// Scripts the next calls; after them it does what is asked.
    pub fn then(&self, script: impl IntoIterator<Item = Then>) {
        self.with(|inner| inner.script.extend(script));
    }

    /// Forgets the rest of the script.
    pub fn forget(&self) {
        self.with(|inner| inner.script.clear());
    }

    /// The calls made so far: `15000 hide a 30`.
    pub fn calls(&self) -> Vec<String> {
        self.with(|inner| inner.calls.iter().map(|call| format!("{call:?}")).collect())
    }

    /// The calls made so far, with when they ended.
    pub fn noted(&self) -> Vec<Noted> {
        self.with(|inner| inner.calls.clone())
    }

    async fn call(&self, what: String) -> Reply {
        let (index, then, is_instant) = self.with(|inner| {
            inner.calls.push(Noted { at: self.time.millis(), what, ended: None });
            (inner.calls.len() - 1, inner.script.pop_front().unwrap_or_else(Then::ok), inner.is_instant)
        });
        let _ends = Ends { queue: self, index };
        match then {
            Then::Reply(_, reply) if is_instant => reply,
            Then::Reply(after, reply) => {
                self.time.sleep(after).await;
                reply
            }
            Then::Hang => std::future::pending().await,
            Then::Panic => panic!("the script wants it"),
        }
    }

    fn with<R>(&self, work: impl FnOnce(&mut Inner) -> R) -> R {
        work(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Notes when a call's future is gone.
struct Ends<'a> {
    queue: &'a ScriptedQueue,
    index: usize,
}

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        let at = self.queue.time.millis();
        self.queue.with(|inner| inner.calls[self.index].ended = Some(at));
    }
}

impl Queue for ScriptedQueue {
    async fn change_visibility(&self, entries: Vec<ChangeVisibility>) -> Reply {
        let entries: Vec<String> = entries
            .iter()
            .map(|entry| format!("{} {}", name(&entry.receipt_handle), entry.timeout.secs()))
            .collect();
        self.call(format!("hide {}", entries.join(", "))).await
    }

    async fn delete(&self, entries: Vec<ReceiptHandle>) -> Reply {
        let entries: Vec<String> = entries.iter().map(name).collect();
        self.call(format!("delete {}", entries.join(", "))).await
    }

    fn is_fifo(&self) -> bool {
        self.is_fifo
    }
}

/// Handles in scripts are `a`, or `SECRET-a` with a part that must never be seen.
fn name(handle: &ReceiptHandle) -> String {
    handle.expose().rsplit('-').next().unwrap_or_default().to_owned()
}

/// A moment that many seconds after the start.
pub fn at(secs: u64) -> Moment {
    VirtualTime::START + Duration::from_secs(secs)
}
