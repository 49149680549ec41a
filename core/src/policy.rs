use core::fmt;
use core::time::Duration;

use crate::time::{Moment, NANOS_PER_SEC, nanos};
use crate::visibility::Visibility;

/// How leases are kept: what an extension asks for, and how early a lease counts as over.
///
/// One policy serves any number of leases. The defaults suit most handlers; each setter says what it
/// changes. Values are checked here, once.
///
/// ```
/// use core::time::Duration;
/// use sqs_lease_core::{Policy, Visibility};
///
/// let policy = Policy::new()
///     .extension(Visibility::new(120)?)?
///     .max_hold(Duration::from_secs(3600))?;
///
/// let error = policy.limit_margin(Duration::from_secs(90)).unwrap_err();
/// assert_eq!(error.to_string(), "limit margin of 90s is out of range: 0ns to 60s");
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    extension: Option<Visibility>,
    guard: Guard,
    limit_margin: Duration,
    max_hold: Option<Duration>,
}

const DEFAULT_LIMIT_MARGIN: Duration = Duration::from_secs(5);
const LARGEST_LIMIT_MARGIN: Duration = Duration::from_secs(60);
const SHORTEST_MAX_HOLD: Duration = Duration::from_secs(1);

impl Policy {
    /// Extends by the delivery's own timeout, up to 5 s before the 12 hours.
    pub const fn new() -> Self {
        Self { extension: None, guard: Guard::DEFAULT, limit_margin: DEFAULT_LIMIT_MARGIN, max_hold: None }
    }

    /// What each extension asks for, 1 to 43 200 s. By default the delivery's own visibility timeout.
    ///
    /// SQS hides the message for this long *from the call*; it is not added to what is left.
    ///
    /// # Errors
    /// Zero: it would make the message visible at once.
    pub fn extension(self, extension: Visibility) -> Result<Self, PolicyError> {
        checked_extension(extension)?;
        Ok(Self { extension: Some(extension), ..self })
    }

    /// How long before SQS may hand the message on the lease counts as over. By default a twentieth of the
    /// timeout, at most 1 s; of a larger guard than a quarter of the timeout, a quarter is used.
    ///
    /// The handler must learn of a loss before another consumer can start. It also covers the way back of the
    /// receive's answer, during which SQS was already counting, and what the clock runs slow: 200 ppm are 1 s in
    /// 5 000 s, so set more for longer timeouts on a clock that NTP does not discipline.
    #[must_use]
    pub fn guard(self, guard: Duration) -> Self {
        Self { guard: Guard::of(guard), ..self }
    }

    /// How far from the 12 hours after the receive request to stay, 0 to 60 s; 5 s by default.
    ///
    /// SQS refuses an extension that would end too near the 12 hours, and does not shorten it.
    ///
    /// # Errors
    /// More than 60 s.
    pub fn limit_margin(self, limit_margin: Duration) -> Result<Self, PolicyError> {
        if limit_margin > LARGEST_LIMIT_MARGIN {
            return Err(PolicyError::LimitMargin(limit_margin));
        }
        Ok(Self { limit_margin, ..self })
    }

    /// The longest that a delivery may be held, 1 s to 12 h, counted from the receive request; by default
    /// only the 12 hours of SQS.
    ///
    /// A handler that hangs keeps its message hidden for this long and no longer. What the receive itself
    /// granted is never shortened.
    ///
    /// # Errors
    /// Less than 1 s or more than 12 h.
    pub fn max_hold(self, max_hold: Duration) -> Result<Self, PolicyError> {
        if max_hold < SHORTEST_MAX_HOLD || max_hold > Visibility::MAX.as_duration() {
            return Err(PolicyError::MaxHold(max_hold));
        }
        Ok(Self { max_hold: Some(max_hold), ..self })
    }

    pub(crate) fn extension_for(&self, timeout: Visibility) -> Visibility {
        self.extension.unwrap_or(timeout)
    }

    pub(crate) const fn guard_setting(&self) -> Guard {
        self.guard
    }

    /// The instant past which nothing is hidden, whatever the settings.
    pub(crate) fn wall(&self, requested: Moment) -> Moment {
        requested.plus_nanos(Visibility::MAX.nanos()).minus_nanos(nanos(self.limit_margin))
    }

    /// The instant past which no extension goes: the wall, or the user's own where that is sooner.
    pub(crate) fn limit(&self, received: &Received) -> Moment {
        let wall = self.wall(received.requested);
        self.max_hold.map_or(wall, |hold| {
            let granted = received.at.plus_nanos(received.timeout.nanos());
            wall.min(received.requested.plus_nanos(nanos(hold)).max(granted))
        })
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::new()
    }
}

pub(crate) fn checked_extension(extension: Visibility) -> Result<(), PolicyError> {
    if extension.is_zero() { Err(PolicyError::Extension(extension)) } else { Ok(()) }
}

/// The guard as it was set: nanoseconds, or the default that follows the span.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Guard(u64);

impl Guard {
    const DEFAULT: Self = Self(u64::MAX);
    const LONGEST_DEFAULT: u64 = NANOS_PER_SEC;

    fn of(guard: Duration) -> Self {
        // One less is still more than a quarter of any span, and not mistaken for the default.
        Self(nanos(guard).min(Self::DEFAULT.0 - 1))
    }

    /// The guard in force where extensions and timeout make this span (nanoseconds).
    #[inline]
    pub(crate) fn within(self, span: u64) -> u64 {
        if self == Self::DEFAULT { (span / 20).min(Self::LONGEST_DEFAULT) } else { self.0.min(span / 4) }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::DEFAULT { f.write_str("default") } else { Duration::from_nanos(self.0).fmt(f) }
    }
}

/// A setting out of range. The text names the value and the range.
///
/// ```
/// use sqs_lease_core::{Policy, Visibility};
///
/// let error = Policy::new().extension(Visibility::ZERO).unwrap_err();
/// assert_eq!(error.to_string(), "extension of 0 s is out of range: 1 s to 43200 s");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyError {
    /// An extension of zero seconds.
    Extension(Visibility),
    /// A limit margin above 60 s.
    LimitMargin(Duration),
    /// A longest hold outside 1 s to 12 h.
    MaxHold(Duration),
    /// A receive request that was sent after the receive, by this much.
    RequestedAfterReceive(Duration),
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let max = Visibility::MAX;
        match self {
            Self::Extension(given) => write!(f, "extension of {given} is out of range: 1 s to {max}"),
            Self::LimitMargin(given) => {
                write!(f, "limit margin of {given:?} is out of range: 0ns to {LARGEST_LIMIT_MARGIN:?}")
            }
            Self::MaxHold(given) => {
                write!(f, "max hold of {given:?} is out of range: {SHORTEST_MAX_HOLD:?} to {max}")
            }
            Self::RequestedAfterReceive(by) => {
                write!(f, "the receive request cannot have been sent {by:?} after the receive")
            }
        }
    }
}

impl core::error::Error for PolicyError {}

/// What a lease must know of the receive: when, and for how long SQS hides the message.
///
/// ```
/// use sqs_lease_core::{Moment, Received, Visibility};
///
/// let at = Moment::from_secs;
/// // A long poll: the request was sent at 100, the answer came at 118.
/// let received = Received::new(at(118), Visibility::new(30)?).requested(at(100))?;
/// assert!(received.requested(at(119)).is_err());
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    pub(crate) at: Moment,
    pub(crate) requested: Moment,
    pub(crate) timeout: Visibility,
}

impl Received {
    /// A delivery received at `at` and hidden for `timeout`.
    ///
    /// `at` is the instant of the answer. SQS was counting a little before; the [guard](Policy::guard) covers
    /// that. There is no default timeout: send `VisibilityTimeout` with each `ReceiveMessage`, then you know
    /// it.
    pub const fn new(at: Moment, timeout: Visibility) -> Self {
        Self { at, requested: at, timeout }
    }

    /// The instant before the receive request was sent.
    ///
    /// SQS counts the 12 hours from the request: with long polling that is up to 20 s before the receive.
    ///
    /// # Errors
    /// Later than the receive.
    pub fn requested(self, requested: Moment) -> Result<Self, PolicyError> {
        if requested > self.at {
            return Err(PolicyError::RequestedAfterReceive(requested.since(self.at)));
        }
        Ok(Self { requested, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn every_range_is_refused_by_value_and_range() {
        let policy = Policy::new();
        for (error, text) in [
            (policy.extension(Visibility::ZERO), "extension of 0 s is out of range: 1 s to 43200 s"),
            (
                policy.limit_margin(Duration::from_millis(60_001)),
                "limit margin of 60.001s is out of range: 0ns to 60s",
            ),
            (policy.max_hold(Duration::ZERO), "max hold of 0ns is out of range: 1s to 43200 s"),
            (
                policy.max_hold(Duration::from_secs(43_201)),
                "max hold of 43201s is out of range: 1s to 43200 s",
            ),
        ] {
            assert_eq!(error.unwrap_err().to_string(), text);
        }
        let received = Received::new(Moment::from_secs(10), Visibility::MAX);
        assert_eq!(
            received.requested(Moment::from_secs(12)).unwrap_err().to_string(),
            "the receive request cannot have been sent 2s after the receive"
        );
    }

    #[test]
    fn the_largest_guard_is_not_the_default() {
        let policy = Policy::new().guard(Duration::MAX);
        assert_eq!(policy.guard_setting().within(40), 10);
        assert_eq!(Policy::new().guard_setting().within(40), 2);
    }
}
