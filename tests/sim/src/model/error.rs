use std::fmt;

/// A refusal, as SQS words it: a code, an HTTP status and a text.
///
/// The text that goes over the wire ([`Error::text`]) names the receipt handle wherever SQS's own does.
/// `Display` and `Debug` do not, so that an error may be logged.
///
/// ```
/// use sqs_lease_sim::{ErrorKind, Model, Moment};
///
/// let mut model = Model::default();
/// model.create_queue("jobs", &[], Moment::ORIGIN)?;
/// let error = model.delete("jobs", "no handle", Moment::ORIGIN).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::HandleInvalid);
/// assert_eq!(error.code(), "ReceiptHandleIsInvalid");
/// assert_eq!(error.text(), r#"The input receipt handle "no handle" is not a valid receipt handle."#);
/// assert!(!error.to_string().contains("no handle"));
/// # Ok::<(), sqs_lease_sim::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    /// For a change or delete refused for its handle: the handle, and SQS's reason.
    handle: Option<String>,
    /// Of an error that a fault made up: its code and HTTP status.
    injected: Option<(String, u16)>,
    /// Its code in an entry of a batch, and its HTTP status, where a setting chose another.
    in_entry: Option<&'static str>,
    status: Option<u16>,
    text: String,
}

/// What SQS refused, and why: one value for each cause that SQS tells apart.
///
/// ```
/// use sqs_lease_sim::{ErrorKind, Model, Moment, Receive};
///
/// let at = Moment::from_secs;
/// let mut sqs = Model::default();
/// sqs.create_queue("jobs", &[], at(0))?;
/// sqs.send("jobs", "work", at(0))?;
/// let job = sqs.receive("jobs", &Receive::new(), at(0))?.remove(0);
/// sqs.delete("jobs", &job.receipt_handle, at(1))?;
/// // SQS has one code for both; here they are told apart.
/// let gone = sqs.change_visibility("jobs", &job.receipt_handle, 30, at(2)).unwrap_err();
/// let out_of_range = sqs.change_visibility("jobs", &job.receipt_handle, 50_000, at(2)).unwrap_err();
/// assert_eq!((gone.code(), out_of_range.code()), ("InvalidParameterValue", "InvalidParameterValue"));
/// assert_eq!((gone.kind(), out_of_range.kind()), (ErrorKind::MessageGone, ErrorKind::InvalidParameter));
/// # Ok::<(), sqs_lease_sim::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No queue of this name.
    QueueDoesNotExist,
    /// A queue of this name exists with other attributes.
    QueueNameExists,
    /// A queue of this name was deleted less than 60 seconds ago.
    QueueDeletedRecently,
    /// A second purge within 60 seconds.
    PurgeInProgress,
    /// An attribute that SQS does not know, or does not let one set.
    InvalidAttributeName,
    /// An attribute's value out of its range or form.
    InvalidAttributeValue,
    /// A parameter out of its range or form.
    InvalidParameter,
    /// A required parameter is absent.
    MissingParameter,
    /// A parameter of the wrong JSON type.
    Serialization,
    /// A body with characters that XML does not know.
    InvalidMessageContents,
    /// The extension would hide the message for longer than 12 hours after its receive.
    BeyondLimit,
    /// The message was deleted, purged, moved or outlived its retention.
    MessageGone,
    /// The handle is older than 12 hours or, on a FIFO queue, than its visibility timeout.
    HandleExpired,
    /// Another consumer has the message: `MessageNotInflight`, where
    /// [`OvertakenChange::NotInflight`](crate::OvertakenChange::NotInflight) is set.
    NotInflight,
    /// SQS never gave out this handle, or gave it out for another queue.
    HandleInvalid,
    /// As many messages in flight as a queue may have.
    OverLimit,
    /// A batch of no entries.
    EmptyBatch,
    /// A batch of more than ten entries.
    TooManyEntries,
    /// Two entries of one batch have the same id.
    IdsNotDistinct,
    /// An entry's id is empty, too long, or has other characters than letters, digits, `-` and `_`.
    InvalidEntryId,
    /// The messages of a batch are larger together than one message may be.
    BatchTooLong,
    /// The queue cannot do this.
    UnsupportedOperation,
    /// No operation of this name.
    InvalidAction,
    /// The request carries no signature.
    InvalidSecurity,
    /// A queue URL with another account's number.
    InvalidAddress,
    /// No queue of this ARN, or no such task.
    ResourceNotFound,
    /// Too many requests.
    Throttled,
    /// SQS failed (500).
    InternalFailure,
    /// SQS is not available (503).
    ServiceUnavailable,
    /// Whatever a [`Fault`](crate::Fault) said.
    Injected,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        Self { kind, handle: None, injected: None, in_entry: None, status: None, text: text.into() }
    }

    pub(crate) fn about_handle(kind: ErrorKind, handle: &str, reason: impl Into<String>) -> Self {
        Self {
            kind,
            handle: Some(handle.into()),
            injected: None,
            in_entry: None,
            status: None,
            text: reason.into(),
        }
    }

    pub(crate) fn injected(status: u16, code: &str, text: &str) -> Self {
        let injected = Some((code.into(), status));
        Self {
            kind: ErrorKind::Injected,
            handle: None,
            injected,
            in_entry: None,
            status: None,
            text: text.into(),
        }
    }

    pub(crate) fn coded_in_entry(self, code: &'static str) -> Self {
        Self { in_entry: Some(code), ..self }
    }

    pub(crate) fn with_status(self, status: u16) -> Self {
        Self { status: Some(status), ..self }
    }

    pub(crate) fn missing(parameter: &str) -> Self {
        Self::new(ErrorKind::MissingParameter, format!("The request must contain the parameter {parameter}."))
    }

    pub(crate) fn invalid_value(value: impl fmt::Display, parameter: &str, reason: &str) -> Self {
        Self::new(
            ErrorKind::InvalidParameter,
            format!("Value {value} for parameter {parameter} is invalid. Reason: {reason}"),
        )
    }

    /// Which cause.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The code that SDKs report: the part before `;` in the header `x-amzn-query-error`.
    pub fn code(&self) -> &str {
        use ErrorKind as K;
        match self.kind {
            K::Injected => self.injected.as_ref().map_or("", |(code, _)| code),
            K::QueueDoesNotExist => "AWS.SimpleQueueService.NonExistentQueue",
            K::QueueNameExists => "QueueAlreadyExists",
            K::QueueDeletedRecently => "AWS.SimpleQueueService.QueueDeletedRecently",
            K::PurgeInProgress => "AWS.SimpleQueueService.PurgeQueueInProgress",
            K::InvalidAttributeName => "InvalidAttributeName",
            K::InvalidAttributeValue => "InvalidAttributeValue",
            K::InvalidParameter | K::BeyondLimit | K::MessageGone | K::HandleExpired => {
                "InvalidParameterValue"
            }
            K::MissingParameter => "MissingParameter",
            K::Serialization => "SerializationException",
            K::InvalidMessageContents => "InvalidMessageContents",
            K::NotInflight => "AWS.SimpleQueueService.MessageNotInflight",
            K::HandleInvalid => "ReceiptHandleIsInvalid",
            K::OverLimit => "OverLimit",
            K::EmptyBatch => "AWS.SimpleQueueService.EmptyBatchRequest",
            K::TooManyEntries => "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
            K::IdsNotDistinct => "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
            K::InvalidEntryId => "AWS.SimpleQueueService.InvalidBatchEntryId",
            K::BatchTooLong => "AWS.SimpleQueueService.BatchRequestTooLong",
            K::UnsupportedOperation => "AWS.SimpleQueueService.UnsupportedOperation",
            K::InvalidAction => "InvalidAction",
            K::InvalidSecurity => "InvalidSecurity",
            K::InvalidAddress => "InvalidAddress",
            K::ResourceNotFound => "ResourceNotFoundException",
            K::Throttled => "RequestThrottled",
            K::InternalFailure => "InternalFailure",
            K::ServiceUnavailable => "ServiceUnavailable",
        }
    }

    /// The name in the body's `__type`, with its namespace.
    pub fn json_type(&self) -> &str {
        use ErrorKind as K;
        match self.kind {
            K::Injected => self.code(),
            K::QueueDoesNotExist => "com.amazonaws.sqs#QueueDoesNotExist",
            K::QueueNameExists => "com.amazonaws.sqs#QueueNameExists",
            K::QueueDeletedRecently => "com.amazonaws.sqs#QueueDeletedRecently",
            K::PurgeInProgress => "com.amazonaws.sqs#PurgeQueueInProgress",
            K::InvalidAttributeName => "com.amazonaws.sqs#InvalidAttributeName",
            K::InvalidAttributeValue => "com.amazonaws.sqs#InvalidAttributeValue",
            K::InvalidParameter | K::BeyondLimit | K::MessageGone | K::HandleExpired => {
                "com.amazon.coral.service#InvalidParameterValueException"
            }
            K::MissingParameter => "com.amazon.coral.service#MissingRequiredParameterException",
            K::Serialization => "com.amazon.coral.service#SerializationException",
            K::InvalidMessageContents => "com.amazonaws.sqs#InvalidMessageContents",
            K::NotInflight => "com.amazonaws.sqs#MessageNotInflight",
            K::HandleInvalid => "com.amazonaws.sqs#ReceiptHandleIsInvalid",
            K::OverLimit => "com.amazonaws.sqs#OverLimit",
            K::EmptyBatch => "com.amazonaws.sqs#EmptyBatchRequest",
            K::TooManyEntries => "com.amazonaws.sqs#TooManyEntriesInBatchRequest",
            K::IdsNotDistinct => "com.amazonaws.sqs#BatchEntryIdsNotDistinct",
            K::InvalidEntryId => "com.amazonaws.sqs#InvalidBatchEntryId",
            K::BatchTooLong => "com.amazonaws.sqs#BatchRequestTooLong",
            K::UnsupportedOperation => "com.amazonaws.sqs#UnsupportedOperation",
            K::InvalidAction => "com.amazon.coral.service#UnknownOperationException",
            K::InvalidSecurity => "com.amazonaws.sqs#InvalidSecurity",
            K::InvalidAddress => "com.amazonaws.sqs#InvalidAddress",
            K::ResourceNotFound => "com.amazonaws.sqs#ResourceNotFoundException",
            K::Throttled => "com.amazonaws.sqs#RequestThrottled",
            K::InternalFailure => "com.amazon.coral.service#InternalFailure",
            K::ServiceUnavailable => "com.amazon.coral.service#ServiceUnavailableException",
        }
    }

    /// The HTTP status of the service model.
    pub fn status(&self) -> u16 {
        use ErrorKind as K;
        match self.kind {
            _ if self.status.is_some() => self.status.unwrap_or(400),
            K::Injected => self.injected.as_ref().map_or(400, |(_, status)| *status),
            K::Throttled | K::OverLimit | K::PurgeInProgress | K::InvalidSecurity => 403,
            K::HandleInvalid | K::InvalidAddress | K::ResourceNotFound => 404,
            K::InternalFailure => 500,
            K::ServiceUnavailable => 503,
            _ => 400,
        }
    }

    /// Whether SQS says that the sender is at fault; else the receiver is.
    pub fn is_senders_fault(&self) -> bool {
        self.status() < 500
    }

    /// SQS's text, as it goes over the wire. It names the receipt handle where SQS's does: do not log it.
    pub fn text(&self) -> String {
        match (&self.handle, self.kind) {
            (None, _) => self.text.clone(),
            (Some(handle), ErrorKind::HandleInvalid) => {
                format!("The input receipt handle \"{handle}\" is {}.", self.text)
            }
            (Some(handle), _) => {
                format!("Value {handle} for parameter ReceiptHandle is invalid. Reason: {}.", self.text)
            }
        }
    }

    /// The code of this error in one entry of a batch.
    ///
    /// A handle that a single call refuses with `InvalidParameterValue` fails its entry with
    /// `ReceiptHandleIsInvalid`: AWS's own .NET framework compares with exactly this pair of strings.
    pub fn entry_code(&self) -> &str {
        match self.kind {
            ErrorKind::MessageGone | ErrorKind::HandleExpired => "ReceiptHandleIsInvalid",
            _ => self.in_entry.unwrap_or(self.code()),
        }
    }

    /// The text of this error in one entry of a batch: the bare reason, where a single call frames it.
    pub fn entry_text(&self) -> String {
        match self.kind {
            ErrorKind::MessageGone | ErrorKind::HandleExpired => self.text.clone(),
            ErrorKind::BeyondLimit => {
                self.text.split_once("Reason: ").map_or(&*self.text, |(_, reason)| reason).into()
            }
            _ => self.text(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.handle, self.kind) {
            (None, _) => f.write_str(&self.text)?,
            (Some(_), ErrorKind::HandleInvalid) => write!(f, "The input receipt handle is {}.", self.text)?,
            (Some(_), _) => write!(f, "{}.", self.text)?,
        }
        write!(f, " ({})", self.code())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.kind)
    }
}

impl std::error::Error for Error {}
