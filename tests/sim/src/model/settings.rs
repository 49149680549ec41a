use std::time::Duration;

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
    pub(crate) record: bool,
    pub(crate) endpoint: String,
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
            record: true,
            endpoint: format!("https://sqs.{REGION}.amazonaws.com"),
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
        self.record = record;
        self
    }

    /// What queue URLs begin with. A [`Server`](crate::Server) sets its own.
    #[must_use]
    pub fn endpoint(mut self, url: impl Into<String>) -> Self {
        self.endpoint = url.into();
        self
    }
}
