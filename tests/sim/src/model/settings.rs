use std::time::Duration;

use super::disputed::{
    ChangeAfterTimeout, EntryWithoutTimeout, FifoChangeAfterTimeout, LimitEdge, LimitEntryCode, LimitFrom,
    OvertakenChange, OvertakenDelete,
};

/// How a [`Model`](crate::Model) differs from SQS: shorter limits for tests, and where its clock begins.
///
/// ```
/// use std::time::Duration;
/// use sqs_lease_sim::{Model, Settings};
///
/// // A message can be held for five seconds after its receive, not for twelve hours.
/// let model = Model::new(Settings::default().limit(Duration::from_secs(5)));
/// # let _ = model;
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    pub(crate) limit: Duration,
    pub(crate) in_flight: usize,
    pub(crate) seed: u64,
    pub(crate) unix_origin: Duration,
    /// How many events are recorded at most.
    pub(crate) record: usize,
    pub(crate) endpoint: String,
    pub(crate) change_after_timeout: ChangeAfterTimeout,
    pub(crate) overtaken_change: OvertakenChange,
    pub(crate) overtaken_delete: OvertakenDelete,
    pub(crate) fifo_change_after_timeout: FifoChangeAfterTimeout,
    pub(crate) limit_from: LimitFrom,
    pub(crate) limit_edge: LimitEdge,
    pub(crate) limit_entry_code: LimitEntryCode,
    pub(crate) entry_without_timeout: EntryWithoutTimeout,
    pub(crate) change_distance: Duration,
    pub(crate) duplicates: u32,
    pub(crate) expires_early: Duration,
    pub(crate) expires_late: Duration,
}

pub(crate) const REGION: &str = "us-east-1";
pub(crate) const ACCOUNT: &str = "000000000000";

impl Default for Settings {
    /// SQS's own: 12 hours, 120 000 in flight. The clock's origin is the 1st of January 2026, UTC.
    fn default() -> Self {
        Self {
            limit: Duration::from_hours(12),
            in_flight: 120_000,
            seed: 0,
            unix_origin: Duration::from_hours(490_896),
            record: usize::MAX,
            endpoint: format!("https://sqs.{REGION}.amazonaws.com"),
            change_after_timeout: ChangeAfterTimeout::default(),
            overtaken_change: OvertakenChange::default(),
            overtaken_delete: OvertakenDelete::default(),
            fifo_change_after_timeout: FifoChangeAfterTimeout::default(),
            limit_from: LimitFrom::default(),
            limit_edge: LimitEdge::default(),
            limit_entry_code: LimitEntryCode::default(),
            entry_without_timeout: EntryWithoutTimeout::default(),
            change_distance: Duration::ZERO,
            duplicates: 0,
            expires_early: Duration::ZERO,
            expires_late: Duration::ZERO,
        }
    }
}

impl Settings {
    /// How long after its receive request a message can be held at most: 12 hours, or less for a test.
    ///
    /// An extension that would reach past it is refused, and from then on the receipt handle is dead. The
    /// range of a visibility timeout stays 0 to 43 200 seconds.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// How many messages of one queue can be in flight: 120 000, or fewer for a test of `OverLimit`.
    #[must_use]
    pub fn in_flight_limit(mut self, messages: usize) -> Self {
        self.in_flight = messages;
        self
    }

    /// What message ids and receipt handles are made from. The same seed and operations give the same ids.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The time since 1970 at the origin of the clock, for the time stamps that messages carry.
    #[must_use]
    pub fn unix_origin(mut self, since_1970: Duration) -> Self {
        self.unix_origin = since_1970;
        self
    }

    /// Whether the model records what happens to each message (it does, unless told not to).
    ///
    /// The record of a message outlives the message and grows with every change. A server that runs for days
    /// wants none.
    #[must_use]
    pub fn record(mut self, record: bool) -> Self {
        self.record = if record { usize::MAX } else { 0 };
        self
    }

    /// Records so many events at most, those of the messages that were sent last. Of a message that was sent earlier
    /// nothing is told any more, not even what happens to it later.
    ///
    /// What is recorded takes some hundred bytes for each event.
    #[must_use]
    pub fn record_at_most(mut self, events: usize) -> Self {
        self.record = events;
        self
    }

    /// What queue URLs begin with. A [`Server`](crate::Server) sets its own.
    #[must_use]
    pub fn endpoint(mut self, url: impl Into<String>) -> Self {
        self.endpoint = url.into();
        self
    }

    // ---- Where sources disagree -------------------------------------------------------------------------

    /// A change after the timeout on a standard queue: without effect, or it hides the message again.
    #[must_use]
    pub fn change_after_timeout(mut self, choice: ChangeAfterTimeout) -> Self {
        self.change_after_timeout = choice;
        self
    }

    /// A change with an old handle while another consumer has the message.
    #[must_use]
    pub fn overtaken_change(mut self, choice: OvertakenChange) -> Self {
        self.overtaken_change = choice;
        self
    }

    /// A delete with an old handle while another consumer has the message.
    #[must_use]
    pub fn overtaken_delete(mut self, choice: OvertakenDelete) -> Self {
        self.overtaken_delete = choice;
        self
    }

    /// A change after the timeout on a FIFO queue.
    #[must_use]
    pub fn fifo_change_after_timeout(mut self, choice: FifoChangeAfterTimeout) -> Self {
        self.fifo_change_after_timeout = choice;
        self
    }

    /// From when the 12 hours count.
    #[must_use]
    pub fn limit_from(mut self, choice: LimitFrom) -> Self {
        self.limit_from = choice;
        self
    }

    /// Whether a change may end exactly at the 12 hours.
    #[must_use]
    pub fn limit_edge(mut self, choice: LimitEdge) -> Self {
        self.limit_edge = choice;
        self
    }

    /// The code of the 12 hours' refusal in a batch.
    #[must_use]
    pub fn limit_entry_code(mut self, choice: LimitEntryCode) -> Self {
        self.limit_entry_code = choice;
        self
    }

    /// What an entry of a batch does that leaves its `VisibilityTimeout` out.
    #[must_use]
    pub fn entry_without_timeout(mut self, choice: EntryWithoutTimeout) -> Self {
        self.entry_without_timeout = choice;
        self
    }

    /// How soon after a change of a message's visibility the next one is refused with `RequestThrottled`, "updated too
    /// recently" (one field report, erlcloud/erlcloud#686, without a number). Zero, the default: never.
    #[must_use]
    pub fn change_distance(mut self, distance: Duration) -> Self {
        self.change_distance = distance;
        self
    }

    // ---- What standard queues do, rarely ----------------------------------------------------------------

    /// Hands a hidden message out a second time, with so many receives in a thousand, as standard queues may (AWS:
    /// at-least-once delivery). Which ones follows from the [seed](Self::seed). Never on a FIFO queue.
    #[must_use]
    pub fn duplicates(mut self, per_mille: u32) -> Self {
        self.duplicates = per_mille;
        self
    }

    /// Lets a standard queue's visibility timeouts end up to so much early or late, each by an amount that follows
    /// from the [seed](Self::seed). [`Delivery::visible_at`](crate::Delivery::visible_at) stays what SQS promises.
    #[must_use]
    pub fn expiry(mut self, early: Duration, late: Duration) -> Self {
        (self.expires_early, self.expires_late) = (early, late);
        self
    }
}
