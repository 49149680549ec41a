use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// What a shutdown did with the messages that were not handled to their end, by message id.
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
    /// The grace time was over while a receive was still under way: what it would have brought is hidden until its
    /// visibility timeout has run out.
    pub abandoned_receive: bool,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { released, left, interrupted, .. } = self;
        let (released, left, interrupted) = (released.len(), left.len(), interrupted.len());
        write!(f, "{released} messages released, {left} left, {interrupted} handlers interrupted")?;
        if self.abandoned_receive {
            f.write_str(", a receive given up")?;
        }
        Ok(())
    }
}

/// Why a consumer ended by itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConsumerError<E: Error + 'static> {
    /// It may not receive: no such queue, no permission, bad credentials. A person has to mend it.
    #[error("the consumer cannot receive: {0}")]
    Receive(#[source] E),
    /// The loop that keeps the deliveries has died.
    #[error("nothing keeps the deliveries any more: the keeper's loop ended or panicked")]
    Abandoned,
}
