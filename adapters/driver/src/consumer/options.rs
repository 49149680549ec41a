use std::time::Duration;

use sqs_lease_core::Visibility;

/// How a [`Consumer`](super::Consumer) receives, and what it does with failures.
///
/// ```
/// use sqs_lease_driver::{BackOff, ConsumerOptions, OnFailure};
///
/// let options = ConsumerOptions::new()
///     .concurrency(20)?
///     .on_failure(OnFailure::BackOff(BackOff::default()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsumerOptions {
    pub(crate) concurrency: usize,
    pub(crate) prefetch: usize,
    pub(crate) on_failure: OnFailure,
    pub(crate) last_receive: LastReceive,
}

impl ConsumerOptions {
    /// Ten handlers at a time, no prefetch, failed messages left to their timeout.
    pub const fn new() -> Self {
        Self { concurrency: 10, prefetch: 0, on_failure: OnFailure::Leave, last_receive: LastReceive::Handle }
    }

    /// How many handlers run at a time, 1 to 120 000; by default 10.
    ///
    /// # Errors
    /// Zero, or more than SQS lets be in flight.
    pub const fn concurrency(self, concurrency: usize) -> Result<Self, ConsumerOptionsError> {
        if concurrency == 0 || concurrency > MOST_IN_FLIGHT {
            return Err(ConsumerOptionsError::Concurrency(concurrency));
        }
        Ok(Self { concurrency, ..self })
    }

    /// How many messages are received before a handler is free for them; by default none.
    ///
    /// They are held from the receive on, not from the start of their handler, so they do not age. They are
    /// hidden from other consumers meanwhile: prefetch only where handlers are much faster than a receive.
    #[must_use]
    pub const fn prefetch(self, prefetch: usize) -> Self {
        Self { prefetch, ..self }
    }

    /// What becomes of a message whose handler gives `Err`; by default it is left.
    #[must_use]
    pub const fn on_failure(self, on_failure: OnFailure) -> Self {
        Self { on_failure, ..self }
    }

    /// What a shutdown does with a message that has not started and is on its last receive; by default it is handled.
    #[must_use]
    pub const fn last_receive(self, last_receive: LastReceive) -> Self {
        Self { last_receive, ..self }
    }
}

impl Default for ConsumerOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// An option out of range. The text names the value and the range.
///
/// ```
/// use sqs_lease_driver::{ConsumerOptions, ConsumerOptionsError};
///
/// let error = ConsumerOptions::new().concurrency(0).unwrap_err();
/// assert_eq!(error, ConsumerOptionsError::Concurrency(0));
/// assert!(error.to_string().contains("1 to 120 000"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConsumerOptionsError {
    /// No handler could ever start, or more than SQS gives out at a time.
    #[error("a concurrency of {0} is out of range: 1 to 120 000, the messages that SQS lets be in flight")]
    Concurrency(usize),
    /// A back-off that begins with nothing, or beyond its cap.
    #[error(
        "a back-off from {first} s to {cap} s is out of range: it begins with 1 s or more and ends with as much or more"
    )]
    BackOff {
        /// The first delay, in seconds.
        first: u32,
        /// The longest, in seconds.
        cap: u32,
    },
}

/// What becomes of a message whose handler gives `Err`.
///
/// Each further delivery counts in the redrive policy's `maxReceiveCount`, however the message comes back. On a FIFO
/// queue the message's group waits for it.
///
/// ```
/// use sqs_lease_driver::{ConsumerOptions, OnFailure, Visibility};
///
/// // What fails is tried again half a minute later, by whoever is free.
/// let options = ConsumerOptions::new().on_failure(OnFailure::Release(Visibility::new(30)?));
/// # let _ = options;
/// # Ok::<(), sqs_lease_driver::VisibilityError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnFailure {
    /// Its visibility timeout runs out by itself.
    #[default]
    Leave,
    /// It is given back, visible again in this many seconds. Zero seconds brings it back at once, dozens of times a
    /// second where the handler fails fast, until it is in the dead-letter queue.
    Release(Visibility),
    /// It is given back, visible again the later the more often it was received.
    BackOff(BackOff),
}

impl OnFailure {
    /// After how long the message is to be visible again; `None`: when its timeout has run out.
    pub(crate) fn release_after(self, receive_count: u32) -> Option<Visibility> {
        match self {
            Self::Leave => None,
            Self::Release(after) => Some(after),
            Self::BackOff(back_off) => Some(back_off.delay(receive_count)),
        }
    }
}

/// Delays that double with each receive of a message, up to a cap.
///
/// ```
/// use sqs_lease_driver::{BackOff, Visibility};
///
/// let back_off = BackOff::new(Visibility::new(60)?, Visibility::new(900)?)?;
/// let delays: Vec<u32> = (1..=6).map(|count| back_off.delay(count).secs()).collect();
/// assert_eq!(delays, [60, 120, 240, 480, 900, 900]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackOff {
    first: Visibility,
    cap: Visibility,
}

impl BackOff {
    /// From a delay after the first receive to the longest one.
    ///
    /// # Errors
    /// The first is zero, or longer than the cap.
    pub const fn new(first: Visibility, cap: Visibility) -> Result<Self, ConsumerOptionsError> {
        if first.secs() == 0 || first.secs() > cap.secs() {
            return Err(ConsumerOptionsError::BackOff { first: first.secs(), cap: cap.secs() });
        }
        Ok(Self { first, cap })
    }

    /// The delay after this many receives, the present one included. A count that is not known, 0, is taken for the
    /// first.
    pub fn delay(self, receive_count: u32) -> Visibility {
        let doublings = receive_count.saturating_sub(1).min(31);
        let secs = (u64::from(self.first.secs()) << doublings).min(u64::from(self.cap.secs()));
        u32::try_from(secs).ok().and_then(|secs| Visibility::new(secs).ok()).unwrap_or(self.cap)
    }
}

impl Default for BackOff {
    /// 1, 2, 4 … minutes, at most an hour.
    fn default() -> Self {
        const MINUTE: u32 = 60;
        let secs = |secs| Visibility::new(secs).unwrap_or(Visibility::MAX);
        Self { first: secs(MINUTE), cap: secs(60 * MINUTE) }
    }
}

/// What a shutdown does with the messages that are there.
///
/// Nothing is received any more in any of them; the long poll under way is let finish. Leases are kept as long as
/// their handlers run.
///
/// ```
/// use std::time::Duration;
/// use sqs_lease_driver::{Shutdown, Stopper};
///
/// /// The first Ctrl-C lets handlers end, the second does not.
/// fn interrupted(stopper: &Stopper, times: u32) {
///     if times == 1 {
///         stopper.shutdown(Shutdown::ReleaseUnstarted, Duration::from_secs(30));
///     } else {
///         stopper.shutdown(Shutdown::ReleaseAll, Duration::ZERO);
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shutdown {
    /// Works on everything that was received before, started or not. What the last long poll brings is released.
    Drain,
    /// Lets running handlers end; releases what has not started.
    #[default]
    ReleaseUnstarted,
    /// Drops the handlers' futures and releases everything at once.
    ReleaseAll,
    /// Drops the handlers' futures and makes no call any more: each message comes back when its timeout has run out.
    Leave,
}

/// What a shutdown does with a message that has not started and was received for the last time: given back, SQS moves it
/// to the dead-letter queue instead of delivering it again, and nobody has worked on it.
///
/// Known where the receipt [says so](crate::Receipt::max_receive_count). It applies where the shutdown releases
/// unstarted messages and lets handlers end, and to what the last long poll brings.
///
/// ```
/// use sqs_lease_driver::{ConsumerOptions, LastReceive};
///
/// // Gone at once at a shutdown, at the price of a message in the dead-letter queue that nobody has worked on.
/// let options = ConsumerOptions::new().last_receive(LastReceive::Release);
/// # let _ = options;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LastReceive {
    /// It is handled, within the grace time.
    #[default]
    Handle,
    /// It is released like the others.
    Release,
}

/// The messages of a queue that SQS lets be in flight.
const MOST_IN_FLIGHT: usize = 120_000;

/// The grace time of a consumer that ends because it may not receive.
pub(crate) const GRACE: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(secs: u32) -> Visibility {
        Visibility::new(secs).unwrap()
    }

    #[test]
    fn a_back_off_doubles_up_to_its_cap() {
        let back_off = BackOff::new(secs(1), secs(300)).unwrap();
        let delays: Vec<_> = (1..=12).map(|count| back_off.delay(count).secs()).collect();
        assert_eq!(delays, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
        assert_eq!(back_off.delay(0).secs(), 1);
        assert_eq!(back_off.delay(u32::MAX).secs(), 300);
        assert_eq!(BackOff::default().delay(2).secs(), 120);
    }

    #[test]
    fn values_out_of_range_are_refused_by_name() {
        let error = ConsumerOptions::new().concurrency(0).unwrap_err();
        assert!(error.to_string().contains("concurrency of 0"), "{error}");
        let error = ConsumerOptions::new().concurrency(120_001).unwrap_err();
        assert!(
            error.to_string().contains("120001") && error.to_string().contains("1 to 120 000"),
            "{error}"
        );
        let error = BackOff::new(secs(10), secs(5)).unwrap_err();
        assert!(error.to_string().contains("from 10 s to 5 s"), "{error}");
        assert!(BackOff::new(secs(0), secs(5)).is_err());
    }
}
