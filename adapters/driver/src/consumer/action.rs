//! What goes into a plan and what comes out.

use std::sync::Arc;

/// A delivery in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Id(pub(crate) u64);

/// A delivery that was received.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    /// Empty: not known.
    pub(crate) message_id: Arc<str>,
    pub(crate) group: Option<Arc<str>>,
    /// Given back, it goes to the dead-letter queue.
    pub(crate) is_last: bool,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Receive up to that many, 1 to 10.
    Receive(u8),
    /// Give up the receive under way.
    AbandonReceive,
    /// Start its handler, if it is still held.
    Start(Id),
    /// Stop its handler, if it runs, and make it visible at once.
    Release(Id),
    /// Stop its handler, if it runs, and let its timeout run out.
    Leave(Id),
}

/// How a delivery ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    /// Deleted, and SQS has confirmed it.
    Done,
    /// Lost or failed: what stands behind it in its group must not start.
    Broken,
    /// Handled, but SQS has not confirmed the delete; the same for its group.
    Unconfirmed,
}
