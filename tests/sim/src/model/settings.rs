use std::time::Duration;

use super::disputed::Choices;

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
    pub(crate) choices: Choices,
    pub(crate) change_distance: Duration,
    pub(crate) fifo_calls_per_second: u32,
    pub(crate) fifo_window: usize,
    pub(crate) attributes_spread: Duration,
    pub(crate) duplicates: u32,
    pub(crate) lost_deletes: u32,
    pub(crate) missed_polls: u32,
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
            choices: Choices::default(),
            change_distance: Duration::ZERO,
            fifo_calls_per_second: u32::MAX,
            fifo_window: 120_000,
            attributes_spread: Duration::ZERO,
            duplicates: 0,
            lost_deletes: 0,
            missed_polls: 0,
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

    // ---- What SQS does at a pace or a size that sources name only roughly -----------------------------------

    /// How soon after a change of a message's visibility the next one is refused with `RequestThrottled`, "updated too
    /// recently" (one field report, erlcloud/erlcloud#686, without a number). Zero, the default: never.
    #[must_use]
    pub fn change_distance(mut self, distance: Duration) -> Self {
        self.change_distance = distance;
        self
    }

    /// How many calls of one operation a FIFO queue takes in a second of the clock, a batch being one; what comes beyond is
    /// throttled ([`FifoThrottling`](crate::FifoThrottling)). AWS's documentation has 300 without high throughput. Without
    /// this none is throttled: in virtual time a test's calls may all fall into one second.
    #[must_use]
    pub fn fifo_calls_per_second(mut self, calls: u32) -> Self {
        self.fifo_calls_per_second = calls;
        self
    }

    /// How many messages at its front a FIFO queue looks at for groups that are free: 120 000 (AWS's documentation; older
    /// pages say 20 000). A backlog of one group hides the groups behind it.
    #[must_use]
    pub fn fifo_window(mut self, messages: usize) -> Self {
        self.fifo_window = messages;
        self
    }

    /// How long `SetQueueAttributes` takes until the queue behaves by it, though it shows the new values at once. AWS's
    /// service model says up to a minute, and up to 15 for the retention period. At once, unless told otherwise.
    #[must_use]
    pub fn attributes_spread(mut self, spread: Duration) -> Self {
        self.attributes_spread = spread;
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

    /// Forgets so many deletes in a thousand, which SQS has answered well: the message comes back at the end of its
    /// timeout, as standard queues may do it where a server with a copy was unreachable (AWS's service model). Which ones
    /// follows from the [seed](Self::seed). Never on a FIFO queue.
    #[must_use]
    pub fn lost_deletes(mut self, per_mille: u32) -> Self {
        self.lost_deletes = per_mille;
        self
    }

    /// Lets so many short polls in a thousand find nothing on a standard queue, though there is something: a short poll
    /// asks some of SQS's servers (AWS's documentation). Which ones follows from the [seed](Self::seed).
    #[must_use]
    pub fn missed_polls(mut self, per_mille: u32) -> Self {
        self.missed_polls = per_mille;
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
