use core::fmt;
use core::time::Duration;

/// An instant on the caller's clock: nanoseconds since an origin that the caller chooses.
///
/// The core reads no clock; every function that needs the time takes a `Moment` as its last argument.
/// Choose a clock that goes on counting while the machine is suspended (`CLOCK_BOOTTIME` on Linux):
/// SQS counts a visibility timeout through your suspension. With a clock that stands still, report the
/// suspension by [`Lease::handle_gap`](crate::Lease::handle_gap).
///
/// Arithmetic saturates: a sum past the last moment is the last moment (584 years after the origin), a
/// difference before the origin is the origin.
///
/// ```
/// use core::time::Duration;
/// use sqs_lease_core::Moment;
///
/// let received = Moment::from_secs(100);
/// let middle = received + Duration::from_secs(15);
/// assert_eq!(middle, Moment::from_millis(115_000));
/// assert_eq!(middle - received, Duration::from_secs(15));
/// assert_eq!(received - middle, Duration::ZERO);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(u64);

impl Moment {
    /// The origin of the caller's clock.
    pub const ORIGIN: Self = Self(0);
    /// The last moment there is; as a wake-up it means "never".
    pub const MAX: Self = Self(u64::MAX);

    /// The moment `nanos` nanoseconds after the origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The moment `millis` milliseconds after the origin (saturating).
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// The moment `secs` seconds after the origin (saturating).
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(NANOS_PER_SEC))
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to this moment; zero where `earlier` is not earlier.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    pub(crate) const fn plus_nanos(self, nanos: u64) -> Self {
        Self(self.0.saturating_add(nanos))
    }

    pub(crate) const fn minus_nanos(self, nanos: u64) -> Self {
        Self(self.0.saturating_sub(nanos))
    }

    pub(crate) const fn nanos_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

pub(crate) const NANOS_PER_SEC: u64 = 1_000_000_000;

/// A duration in nanoseconds, saturating: `Duration::MAX` means "no end", not a panic.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl core::ops::Add<Duration> for Moment {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        self.plus_nanos(nanos(duration))
    }
}

impl core::ops::AddAssign<Duration> for Moment {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl core::ops::Sub<Duration> for Moment {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        self.minus_nanos(nanos(duration))
    }
}

impl core::ops::Sub for Moment {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Seconds since the origin, without trailing zeros: `15.2s`.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", Seconds(self.0))
    }
}

struct Seconds(u64);

impl fmt::Debug for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, mut part) = (self.0 / NANOS_PER_SEC, self.0 % NANOS_PER_SEC);
        if part == 0 {
            return write!(f, "{whole}s");
        }
        let mut digits = 9;
        while part % 10 == 0 {
            part /= 10;
            digits -= 1;
        }
        write!(f, "{whole}.{part:0digits$}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(Moment::MAX + Duration::from_nanos(1), Moment::MAX);
        assert_eq!(Moment::from_secs(1) + Duration::MAX, Moment::MAX);
        assert_eq!(Moment::from_secs(1) - Duration::MAX, Moment::ORIGIN);
        assert_eq!(Moment::ORIGIN - Moment::MAX, Duration::ZERO);
        assert_eq!(Moment::from_secs(u64::MAX), Moment::MAX);
        assert_eq!(Moment::from_millis(u64::MAX), Moment::MAX);
    }

    #[test]
    fn displays_seconds_without_trailing_zeros() {
        assert_eq!(Moment::from_secs(15).to_string(), "15s");
        assert_eq!(Moment::from_millis(15_200).to_string(), "15.2s");
        assert_eq!(Moment::from_nanos(1).to_string(), "0.000000001s");
    }
}
