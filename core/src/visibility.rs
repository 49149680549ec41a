use core::fmt;
use core::time::Duration;

use crate::time::{Moment, NANOS_PER_SEC};

/// A visibility timeout: whole seconds, from 0 to 43 200 (12 hours).
///
/// SQS knows no fractions and no larger value. Half a second would round to 0, and 0 makes a message
/// visible at once, so nothing here rounds: [`Visibility::from_duration`] refuses what is not whole.
///
/// ```
/// use sqs_lease_core::Visibility;
///
/// assert_eq!(Visibility::new(30)?.secs(), 30);
/// let error = Visibility::new(50_000).unwrap_err();
/// assert_eq!(error.to_string(), "visibility timeout of 50000 s is out of range: SQS takes 0 to 43200 s");
/// # Ok::<(), sqs_lease_core::VisibilityError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Visibility(u16);

impl Visibility {
    /// Visible at once.
    pub const ZERO: Self = Self(0);
    /// The longest visibility timeout that SQS takes: 12 hours.
    pub const MAX: Self = Self(43_200);

    /// A visibility timeout of `secs` seconds.
    ///
    /// # Errors
    /// More than 43 200.
    pub const fn new(secs: u32) -> Result<Self, VisibilityError> {
        if secs > Self::MAX.secs() {
            return Err(VisibilityError { given: Given::Secs(secs) });
        }
        #[expect(clippy::cast_possible_truncation, reason = "43 200 at most")]
        Ok(Self(secs as u16))
    }

    /// A visibility timeout of this duration.
    ///
    /// # Errors
    /// More than 43 200 s, or not a whole number of seconds.
    pub fn from_duration(duration: Duration) -> Result<Self, VisibilityError> {
        match u16::try_from(duration.as_secs()) {
            Ok(secs) if secs <= Self::MAX.0 && duration.subsec_nanos() == 0 => Ok(Self(secs)),
            _ => Err(VisibilityError { given: Given::Duration(duration) }),
        }
    }

    /// Seconds.
    pub const fn secs(self) -> u32 {
        self.0 as u32
    }

    /// The same as a [`Duration`].
    pub const fn as_duration(self) -> Duration {
        Duration::from_secs(self.0 as u64)
    }

    /// Whether it hides nothing.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    pub(crate) const fn nanos(self) -> u64 {
        (self.0 as u64).saturating_mul(NANOS_PER_SEC)
    }

    /// The whole seconds between two moments, at most 12 hours.
    pub(crate) fn whole_between(from: Moment, to: Moment) -> Self {
        let secs = to.nanos_since(from) / NANOS_PER_SEC;
        Self(u16::try_from(secs).map_or(Self::MAX.0, |secs| secs.min(Self::MAX.0)))
    }

    pub(crate) const fn less(self, secs: u16) -> Self {
        Self(self.0.saturating_sub(secs))
    }
}

impl fmt::Debug for Visibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Visibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0)
    }
}

/// A value that is no visibility timeout. It says which, and what SQS takes.
///
/// ```
/// use sqs_lease_core::{Visibility};
///
/// let error = Visibility::new(43_201).unwrap_err();
/// println!("{error}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VisibilityError {
    given: Given,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    Secs(u32),
    Duration(Duration),
}

impl fmt::Display for VisibilityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let max = Visibility::MAX.0;
        match self.given {
            Given::Secs(secs) => {
                write!(f, "visibility timeout of {secs} s is out of range: SQS takes 0 to {max} s")
            }
            Given::Duration(duration) if duration.subsec_nanos() != 0 => {
                write!(f, "visibility timeout of {duration:?} is not a whole number of seconds")
            }
            Given::Duration(duration) => {
                write!(f, "visibility timeout of {duration:?} is out of range: SQS takes 0 to {max} s")
            }
        }
    }
}

impl core::error::Error for VisibilityError {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn takes_whole_seconds_up_to_twelve_hours() {
        assert_eq!(Visibility::new(43_200), Ok(Visibility::MAX));
        assert!(Visibility::new(43_201).is_err());
        assert_eq!(Visibility::from_duration(Duration::from_secs(30)), Visibility::new(30));
        assert!(Visibility::from_duration(Duration::MAX).is_err());
    }

    #[test]
    fn half_a_second_never_becomes_zero() {
        let error = Visibility::from_duration(Duration::from_millis(500)).unwrap_err();
        assert_eq!(error.to_string(), "visibility timeout of 500ms is not a whole number of seconds");
    }
}
