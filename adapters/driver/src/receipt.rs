use std::fmt;
use std::num::NonZero;
use std::sync::Arc;

use sqs_lease_core::Received;

/// A receipt handle: names one delivery of a message, and lets whoever has permission on the queue hide,
/// release or delete it.
///
/// It shows four characters of itself at most, in `Debug` and everywhere else in these crates.
///
/// ```
/// use sqs_lease_driver::ReceiptHandle;
///
/// let handle = ReceiptHandle::from("AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a");
/// assert_eq!(format!("{handle:?}"), "ReceiptHandle(…Ly0a)");
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ReceiptHandle(Arc<str>);

impl ReceiptHandle {
    /// The whole handle, for the call to SQS.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl<S: Into<Arc<str>>> From<S> for ReceiptHandle {
    fn from(handle: S) -> Self {
        Self(handle.into())
    }
}

impl fmt::Debug for ReceiptHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Of a short handle, and real ones are long, four characters could be nearly all.
        let tail = self.0.char_indices().rev().nth(3).filter(|(at, _)| *at >= 12);
        write!(f, "ReceiptHandle(…{})", tail.map_or("", |(at, _)| &self.0[at..]))
    }
}

/// What the driver has to know of a delivery to keep it.
///
/// ```
/// use sqs_lease_driver::{Moment, Receipt, Received, Visibility};
///
/// let received = Received::new(Moment::from_secs(3), Visibility::new(30)?);
/// let receipt = Receipt::new("AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a", received)
///     .message_id("0bf2fd30-8e20-4f6e-9a5d-4a3b7b1f0d55")
///     .receive_count(1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[expect(clippy::struct_field_names, reason = "a receipt handle is what the field calls it")]
pub struct Receipt {
    pub(crate) receipt_handle: ReceiptHandle,
    pub(crate) received: Received,
    pub(crate) about: About,
}

/// What is told of a delivery besides its lease. The handle and the set share it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) message_id: Option<Arc<str>>,
    pub(crate) receive_count: u32,
    pub(crate) max_receive_count: Option<NonZero<u32>>,
    /// What few messages have.
    pub(crate) more: Option<Box<More>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct More {
    pub(crate) group: Option<Arc<str>>,
    pub(crate) trace_header: Option<Arc<str>>,
}

impl About {
    /// To be shared, where anything is told.
    pub(crate) fn shared(self) -> Option<Arc<Self>> {
        (self != Self::default()).then(|| Arc::new(self))
    }

    /// Whether SQS would rather bury it than deliver it again.
    pub(crate) fn is_last_receive(&self) -> bool {
        self.max_receive_count.is_some_and(|most| self.receive_count >= most.get())
    }
}

impl Receipt {
    /// A delivery by its receipt handle.
    pub fn new(receipt_handle: impl Into<ReceiptHandle>, received: Received) -> Self {
        Self { receipt_handle: receipt_handle.into(), received, about: About::default() }
    }

    /// The message's id, for events. It never names the lease: one message may be delivered twice.
    #[must_use]
    pub fn message_id(mut self, message_id: impl Into<Arc<str>>) -> Self {
        self.about.message_id = Some(message_id.into());
        self
    }

    /// `ApproximateReceiveCount`: how often the message was received, this time included. 0: not known.
    #[must_use]
    pub fn receive_count(mut self, receive_count: u32) -> Self {
        self.about.receive_count = receive_count;
        self
    }

    /// `maxReceiveCount` of the queue's redrive policy, so that a loss or a shutdown can say that the message goes to the
    /// dead-letter queue.
    #[must_use]
    pub fn max_receive_count(mut self, max_receive_count: u32) -> Self {
        self.about.max_receive_count = NonZero::new(max_receive_count);
        self
    }

    /// `MessageGroupId`, of a FIFO queue: what a [`Consumer`](crate::Consumer) keeps in order. On a standard queue
    /// a group is for fairness, and has no order: leave it out there.
    #[must_use]
    pub fn group(mut self, group: impl Into<Arc<str>>) -> Self {
        self.about.more.get_or_insert_default().group = Some(group.into());
        self
    }

    /// `AWSTraceHeader`: the trace in which the message was sent.
    #[must_use]
    pub fn trace_header(mut self, trace_header: impl Into<Arc<str>>) -> Self {
        self.about.more.get_or_insert_default().trace_header = Some(trace_header.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_four_characters_of_a_long_handle_and_none_of_a_short_one() {
        assert_eq!(format!("{:?}", ReceiptHandle::from("0123456789abcdef")), "ReceiptHandle(…cdef)");
        assert_eq!(format!("{:?}", ReceiptHandle::from("0123456789abcde")), "ReceiptHandle(…)");
        assert_eq!(format!("{:?}", ReceiptHandle::from("éééééééééééééééé")), "ReceiptHandle(…éééé)");
        assert_eq!(format!("{:?}", ReceiptHandle::from("")), "ReceiptHandle(…)");
    }
}
