use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// What a shutdown did with the messages that were not handled to their end, by message id.
///
/// ```
/// use sqs_lease_driver::Report;
///
/// fn stopped(report: &Report) {
///     println!("{report}");
///     for id in &report.last_receives {
///         eprintln!("{id} goes to the dead-letter queue, and was not handled");
///     }
/// }
/// # let mut report = Report::default();
/// # report.released.push("4ee58dd2-9ac4-4a1c-8f42-4b8f5e3f4f54".into());
/// # stopped(&report);
/// # assert_eq!(report.to_string(), "1 messages released, 0 left, 0 handlers interrupted");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Given back: visible to other consumers at once.
    pub released: Vec<Arc<str>>,
    /// Left: visible when their visibility timeout has run out. Either that was asked for, or SQS did not confirm
    /// the release.
    pub left: Vec<Arc<str>>,
    /// Those of both whose handler was running.
    pub interrupted: Vec<Arc<str>>,
    /// Those of both that were on their last receive: SQS moves them to the dead-letter queue.
    pub last_receives: Vec<Arc<str>>,
    /// The grace time was over while a receive was still under way: what it would have brought is hidden until its
    /// visibility timeout has run out.
    pub abandoned_receive: bool,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { released, left, interrupted, .. } = self;
        let (released, left, interrupted) = (released.len(), left.len(), interrupted.len());
        write!(f, "{released} messages released, {left} left, {interrupted} handlers interrupted")?;
        if !self.last_receives.is_empty() {
            write!(f, ", {} on their last receive", self.last_receives.len())?;
        }
        if self.abandoned_receive {
            f.write_str(", a receive given up")?;
        }
        Ok(())
    }
}

/// Why a consumer ended by itself.
///
/// ```
/// use sqs_lease_driver::ConsumerError;
///
/// /// Whether it makes sense to start the program again without mending anything.
/// fn is_worth_a_restart<E: std::error::Error>(error: &ConsumerError<E>) -> bool {
///     match error {
///         ConsumerError::Receive(_) | ConsumerError::ZeroTimeout => false,
///         // The loop has panicked, and said so at error.
///         _ => true,
///     }
/// }
/// # assert!(!is_worth_a_restart::<std::io::Error>(&ConsumerError::ZeroTimeout));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConsumerError<E: Error + 'static> {
    /// It may not receive: no such queue, no permission, bad credentials. A person has to mend it.
    #[error("the consumer cannot receive: {0}")]
    Receive(#[source] E),
    /// Messages come with a visibility timeout of zero: everybody has them at once, and nothing can be held.
    #[error("the visibility timeout is zero, so nothing can be held: set one on the queue, or name one")]
    ZeroTimeout,
    /// The loop that keeps the deliveries has died.
    #[error("nothing keeps the deliveries any more: the keeper's loop ended or panicked")]
    Abandoned,
}
