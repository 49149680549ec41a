use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sqs_lease_core::Moment;

/// A message to be sent: its body, and what goes with it.
///
/// ```
/// use sqs_lease_sim::{AttributeValue, NewMessage};
///
/// let message = NewMessage::new("a body").delay(5).attribute("kind", AttributeValue::string("report"));
/// # let _ = message;
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct NewMessage {
    pub(crate) body: Arc<str>,
    pub(crate) delay: Option<i32>,
    pub(crate) attributes: Arc<BTreeMap<String, AttributeValue>>,
    pub(crate) trace_header: Option<Arc<str>>,
    pub(crate) group: Option<Arc<str>>,
    pub(crate) deduplication_id: Option<Arc<str>>,
}

impl NewMessage {
    /// A message with this body, no attributes and the queue's delay.
    pub fn new(body: impl Into<Arc<str>>) -> Self {
        Self {
            body: body.into(),
            delay: None,
            attributes: Arc::default(),
            trace_header: None,
            group: None,
            deduplication_id: None,
        }
    }

    /// Seconds before the message can be received, instead of the queue's `DelaySeconds`: 0 to 900.
    #[must_use]
    pub fn delay(mut self, secs: i32) -> Self {
        self.delay = Some(secs);
        self
    }

    /// A message attribute of the sender's own.
    #[must_use]
    pub fn attribute(mut self, name: impl Into<String>, value: AttributeValue) -> Self {
        Arc::make_mut(&mut self.attributes).insert(name.into(), value);
        self
    }

    /// The system attribute `AWSTraceHeader`.
    #[must_use]
    pub fn trace_header(mut self, header: impl Into<Arc<str>>) -> Self {
        self.trace_header = Some(header.into());
        self
    }

    /// The message's group. On a standard queue it is carried along and orders nothing.
    #[must_use]
    pub fn group(mut self, group: impl Into<Arc<str>>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// The deduplication id, on a FIFO queue.
    #[must_use]
    pub fn deduplication_id(mut self, id: impl Into<Arc<str>>) -> Self {
        self.deduplication_id = Some(id.into());
        self
    }
}

impl From<&str> for NewMessage {
    fn from(body: &str) -> Self {
        Self::new(body)
    }
}

impl From<String> for NewMessage {
    fn from(body: String) -> Self {
        Self::new(body)
    }
}

/// A body may hold what nobody should read in a log, so only its length is shown.
impl fmt::Debug for NewMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewMessage")
            .field("body_len", &self.body.len())
            .field("delay", &self.delay)
            .field("attributes", &self.attributes.len())
            .finish_non_exhaustive()
    }
}

/// The value of a message attribute, with its data type as the sender named it (`String`, `Number.int`, …).
///
/// ```
/// use sqs_lease_sim::{AttributeValue, Model, Moment, NewMessage, Receive};
///
/// let mut sqs = Model::default();
/// sqs.create_queue("jobs", &[], Moment::ORIGIN)?;
/// let message = NewMessage::new("work").attribute("pages", AttributeValue::number(12));
/// sqs.send("jobs", message, Moment::ORIGIN)?;
/// let job = sqs.receive("jobs", &Receive::new(), Moment::ORIGIN)?.remove(0);
/// assert_eq!(job.attribute("pages"), Some(&AttributeValue::number("12")));
/// # Ok::<(), sqs_lease_sim::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct AttributeValue {
    pub(crate) data_type: String,
    pub(crate) data: Data,
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Data {
    Text(String),
    Binary(Vec<u8>),
}

impl AttributeValue {
    /// An attribute of type `String`.
    pub fn string(value: impl Into<String>) -> Self {
        Self { data_type: "String".into(), data: Data::Text(value.into()) }
    }

    /// An attribute of type `Number`. SQS keeps numbers as text.
    pub fn number(value: impl fmt::Display) -> Self {
        Self { data_type: "Number".into(), data: Data::Text(value.to_string()) }
    }

    /// An attribute of type `Binary`.
    pub fn binary(value: impl Into<Vec<u8>>) -> Self {
        Self { data_type: "Binary".into(), data: Data::Binary(value.into()) }
    }

    pub(crate) fn size(&self) -> usize {
        let data = match &self.data {
            Data::Text(text) => text.len(),
            Data::Binary(bytes) => bytes.len(),
        };
        self.data_type.len() + data
    }
}

impl fmt::Debug for AttributeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({} bytes)", self.data_type, self.size() - self.data_type.len())
    }
}

/// A message's id: the same through all its deliveries, in its queue and in its dead-letter queue.
///
/// It displays as SQS writes it, a UUID.
///
/// ```
/// use sqs_lease_sim::{MessageId, Model, Moment, Receive};
///
/// let mut sqs = Model::default();
/// sqs.create_queue("jobs", &[], Moment::ORIGIN)?;
/// let sent = sqs.send("jobs", "work", Moment::ORIGIN)?;
/// let job = sqs.receive("jobs", &Receive::new(), Moment::ORIGIN)?.remove(0);
/// assert_eq!(job.message_id, sent.message_id);
/// assert_eq!(MessageId::parse(&sent.message_id.to_string()), Some(sent.message_id));
/// # Ok::<(), sqs_lease_sim::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub(crate) u128);

impl MessageId {
    /// The id that SQS's text stands for; none if it is no message id.
    ///
    /// ```
    /// use sqs_lease_sim::MessageId;
    ///
    /// let text = "4ee58dd2-9ac4-4a1c-8f42-4b8f5e3f4f54";
    /// assert_eq!(MessageId::parse(text).unwrap().to_string(), text);
    /// assert_eq!(MessageId::parse("message 1"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let id = Self(u128::from_str_radix(&text.replace('-', ""), 16).ok()?);
        (id.to_string() == text).then_some(id)
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = format!("{:032x}", self.0);
        write!(f, "{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// What SQS answers to a send.
///
/// ```
/// use sqs_lease_sim::{Model, Moment, NewMessage};
///
/// let mut sqs = Model::default();
/// sqs.create_queue("jobs.fifo", &[("FifoQueue", "true")], Moment::ORIGIN)?;
/// let message = |id: &str| NewMessage::new("work").group("a").deduplication_id(id);
/// let first = sqs.send("jobs.fifo", message("1"), Moment::ORIGIN)?;
/// let second = sqs.send("jobs.fifo", message("2"), Moment::ORIGIN)?;
/// assert!(first.sequence_number < second.sequence_number);
/// // The same deduplication id within five minutes: no third message.
/// let again = sqs.send("jobs.fifo", message("2"), Moment::from_secs(299))?;
/// assert_eq!(again.message_id, second.message_id);
/// # Ok::<(), sqs_lease_sim::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sent {
    /// The id that the message has from now on.
    pub message_id: MessageId,
    /// The place of the message in its FIFO queue; none on a standard queue.
    pub sequence_number: Option<u128>,
    pub(crate) message: NewMessage,
}

/// A receive request: how many messages, hidden for how long, waited for how long.
///
/// ```
/// use sqs_lease_sim::Receive;
///
/// let receive = Receive::new().max(10).visibility(30);
/// # let _ = receive;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receive {
    pub(crate) max: i32,
    pub(crate) visibility: Option<i32>,
    pub(crate) wait: Option<i32>,
    pub(crate) requested: Option<Moment>,
    pub(crate) attempt_id: Option<String>,
}

impl Default for Receive {
    fn default() -> Self {
        Self::new()
    }
}

impl Receive {
    /// One message, hidden for the queue's visibility timeout, waited for as long as the queue says.
    pub fn new() -> Self {
        Self { max: 1, visibility: None, wait: None, requested: None, attempt_id: None }
    }

    /// At most this many messages: 1 to 10.
    #[must_use]
    pub fn max(mut self, messages: i32) -> Self {
        self.max = messages;
        self
    }

    /// Seconds that each message stays hidden, instead of the queue's `VisibilityTimeout`: 0 to 43 200.
    #[must_use]
    pub fn visibility(mut self, secs: i32) -> Self {
        self.visibility = Some(secs);
        self
    }

    /// Seconds to wait for a message, instead of the queue's `ReceiveMessageWaitTimeSeconds`: 0 to 20.
    ///
    /// [`Model::receive`](crate::Model::receive) answers at once whatever this is;
    /// [`LongPolls`](crate::LongPolls) does the waiting.
    #[must_use]
    pub fn wait(mut self, secs: i32) -> Self {
        self.wait = Some(secs);
        self
    }

    /// When SQS got the request, where that is earlier than the answer (a long poll that waited).
    ///
    /// The 12 hours count from here; the visibility timeout counts from the answer.
    #[must_use]
    pub fn requested(mut self, at: Moment) -> Self {
        self.requested = Some(at);
        self
    }

    /// The id of this request, on a FIFO queue (`ReceiveRequestAttemptId`): the same id within five minutes gets the
    /// same messages with the same handles, hidden anew, until one of them is deleted or its visibility changed.
    #[must_use]
    pub fn attempt_id(mut self, id: impl Into<String>) -> Self {
        self.attempt_id = Some(id.into());
        self
    }
}

/// One delivery of a message: what a receive hands out.
///
/// ```
/// use sqs_lease_sim::{Model, Moment, Receive};
///
/// let at = Moment::from_secs;
/// let mut sqs = Model::default();
/// sqs.create_queue("jobs", &[("VisibilityTimeout", "30")], at(0))?;
/// sqs.send("jobs", "work", at(0))?;
/// let first = sqs.receive("jobs", &Receive::new(), at(5))?.remove(0);
/// assert_eq!((&*first.body, first.visible_at), ("work", at(35)));
///
/// // The next delivery of the message has a handle of its own.
/// let second = sqs.receive("jobs", &Receive::new(), at(35))?.remove(0);
/// assert_eq!((second.receive_count, second.first_received), (2, at(5)));
/// assert_ne!(first.receipt_handle, second.receipt_handle);
/// # Ok::<(), sqs_lease_sim::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delivery {
    /// The message's id.
    pub message_id: MessageId,
    /// The handle of this delivery, for changing its visibility timeout and for deleting the message.
    pub receipt_handle: String,
    /// The message's body.
    pub body: Arc<str>,
    /// How often the message has been received, this time included (`ApproximateReceiveCount`).
    pub receive_count: u32,
    /// When the message was sent (`SentTimestamp`).
    pub sent: Moment,
    /// When the message was received for the first time ever (`ApproximateFirstReceiveTimestamp`).
    pub first_received: Moment,
    /// When the message becomes visible again, if nothing is done.
    pub visible_at: Moment,
    /// The message's group (`MessageGroupId`).
    pub group: Option<Arc<str>>,
    /// The ARN of the queue it was moved from (`DeadLetterQueueSourceArn`).
    pub dead_letter_source: Option<Arc<str>>,
    pub(crate) attributes: Arc<BTreeMap<String, AttributeValue>>,
    pub(crate) trace_header: Option<Arc<str>>,
    pub(crate) deduplication_id: Option<Arc<str>>,
    /// The place of the message in its FIFO queue (`SequenceNumber`).
    pub sequence_number: Option<u128>,
    pub(crate) unix_origin: Duration,
}

impl Delivery {
    /// A message attribute of the sender's own.
    pub fn attribute(&self, name: &str) -> Option<&AttributeValue> {
        self.attributes.get(name)
    }
}

/// Without the receipt handle and the body, which do not belong in a log.
impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery")
            .field("message_id", &self.message_id)
            .field("receive_count", &self.receive_count)
            .field("visible_at", &self.visible_at)
            .finish_non_exhaustive()
    }
}
