use core::fmt;
use core::time::Duration;

/// How a [`LeaseSet`](super::LeaseSet) shares calls between its leases.
///
/// ```
/// use sqs_lease_core::SetPolicy;
///
/// // Each extension exactly in the middle of its timeout, at the price of more calls.
/// let exact = SetPolicy::new().coalesce(0)?;
/// let error = exact.coalesce(50).unwrap_err();
/// assert_eq!(error.to_string(), "coalesce of 50 % is out of range: 0 to 25 % of the timeout");
/// # Ok::<(), sqs_lease_core::SetPolicyError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetPolicy {
    pub(crate) coalesce: u8,
    pub(crate) slack: Duration,
    pub(crate) lead: Duration,
    pub(crate) linger: Duration,
    pub(crate) changes: u16,
    pub(crate) deletes: u16,
    pub(crate) same_receive: bool,
}

const LONGEST_LINGER: Duration = Duration::from_secs(10);

impl SetPolicy {
    /// A tenth of the timeout, 50 ms, no lead, no lingering, 128 and 64 calls, receives mixed freely.
    pub const fn new() -> Self {
        Self {
            coalesce: 10,
            slack: Duration::from_millis(50),
            lead: Duration::ZERO,
            linger: Duration::ZERO,
            changes: 128,
            deletes: 64,
            same_receive: false,
        }
    }

    /// How much before its middle an extension may go to fill a call that another lease needs, in percent of
    /// its timeout, 0 to 25; by default 10.
    ///
    /// 0 sends each extension exactly in the middle (and so switches [`slack`](Self::slack) off as well). An
    /// extension is never later than the middle for being shared.
    ///
    /// # Errors
    /// More than 25.
    pub const fn coalesce(self, percent: u8) -> Result<Self, SetPolicyError> {
        if percent > 25 {
            return Err(SetPolicyError::Coalesce(percent));
        }
        Ok(Self { coalesce: percent, ..self })
    }

    /// What is due so soon after a wake goes with it, so that wakes are few; by default 50 ms, and never more
    /// than a hundredth of a lease's span.
    #[must_use]
    pub const fn slack(self, slack: Duration) -> Self {
        Self { slack, ..self }
    }

    /// How much before a middle to wake; by default 0. For timers that tend to be late: with the step of the timer as
    /// lead, an extension goes a little before its middle rather than a little after.
    ///
    /// It is no more than the [`slack`](Self::slack), and does nothing for a lease of which it is more than a hundredth of
    /// the span, nor where extensions are to be exact. Zero leaves it to the adapter: Tokio's takes 2 ms.
    #[must_use]
    pub const fn lead(self, lead: Duration) -> Self {
        Self { lead, ..self }
    }

    /// This lead where none is set: for an adapter that knows how late its timers are.
    #[must_use]
    pub const fn or_lead(self, lead: Duration) -> Self {
        if self.lead.is_zero() { self.lead(lead) } else { self }
    }

    /// How long a delete or a release may wait for others to share its call, 0 to 10 s; by default 0.
    ///
    /// Without it settles that are asked for at the same time share a call all the same. Lingering ends early where ten
    /// are there, where a call of the kind is made anyway, and after a tenth of what is left of the lease. Leases are
    /// kept meanwhile.
    ///
    /// # Errors
    /// More than 10 s.
    pub const fn linger(self, linger: Duration) -> Result<Self, SetPolicyError> {
        if linger.as_nanos() > LONGEST_LINGER.as_nanos() {
            return Err(SetPolicyError::Linger(linger));
        }
        Ok(Self { linger, ..self })
    }

    /// How many `ChangeMessageVisibilityBatch` calls may be under way at once, at least 1; by default 128.
    ///
    /// # Errors
    /// 0: nothing could ever be extended.
    pub const fn changes_in_flight(self, calls: u16) -> Result<Self, SetPolicyError> {
        if calls == 0 {
            return Err(SetPolicyError::NoCalls);
        }
        Ok(Self { changes: calls, ..self })
    }

    /// How many `DeleteMessageBatch` calls may be under way at once, at least 1; by default 64.
    ///
    /// # Errors
    /// 0: nothing could ever be deleted.
    pub const fn deletes_in_flight(self, calls: u16) -> Result<Self, SetPolicyError> {
        if calls == 0 {
            return Err(SetPolicyError::NoCalls);
        }
        Ok(Self { deletes: calls, ..self })
    }

    /// Whether all entries of a call are to be of one receive; by default they need not be.
    ///
    /// Switch it on for a FIFO queue in high-throughput mode: SQS keeps its messages in partitions there, and AWS asks
    /// for batch calls with receipt handles of one `ReceiveMessage` call. It costs calls: those of a receive that
    /// is half done are half full.
    ///
    /// Deliveries count as of one receive where their [`Received`](crate::Received) names the same instant of the
    /// request and they are kept by one [`Policy`](crate::Policy).
    #[must_use]
    pub const fn same_receive(self, same_receive: bool) -> Self {
        Self { same_receive, ..self }
    }
}

impl Default for SetPolicy {
    fn default() -> Self {
        Self::new()
    }
}

/// A setting of a [`SetPolicy`] out of range. The text names the value and the range.
///
/// ```
/// use sqs_lease_core::{SetPolicy};
///
/// let error = SetPolicy::new().coalesce(26).unwrap_err();
/// println!("{error}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetPolicyError {
    /// More than a quarter of the timeout.
    Coalesce(u8),
    /// Longer than a settle may wait.
    Linger(Duration),
    /// No call at all allowed in flight.
    NoCalls,
}

impl fmt::Display for SetPolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Coalesce(given) => {
                write!(f, "coalesce of {given} % is out of range: 0 to 25 % of the timeout")
            }
            Self::Linger(given) => write!(f, "a linger of {given:?} is out of range: 0 to 10 s"),
            Self::NoCalls => f.write_str("0 calls in flight is out of range: at least 1"),
        }
    }
}

impl core::error::Error for SetPolicyError {}
