//! Where public sources on SQS disagree, or are silent: each point a setting, none of them settled by a live queue here.
//!
//! The kinds of source, strongest first: a *recorded* answer of AWS (tests whose authors ran them against it),
//! AWS's *documentation*, an SDK's or emulator's *source*, and a *field report* of one voice.

/// A change of visibility on a standard queue after the timeout ran out, before anybody received the message again.
///
/// SQS answers 200 (recorded, `LocalStack`'s AWS-validated tests, 2024). What it does then is disputed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeAfterTimeout {
    /// It does nothing: the message stays visible (a maintainer's statement, localstack/localstack#9632).
    ///
    /// The default: a lease keeper that takes this 200 for a lease shares the message with the next consumer.
    #[default]
    NoEffect,
    /// It hides the message again (moto's tests, said to be checked on AWS, getmoto/moto#4655; `NServiceBus`'s source).
    Hides,
}

/// A change of visibility with the handle of an earlier delivery, on a standard queue, while another consumer has the
/// message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OvertakenChange {
    /// It acts on the new holder's timeout (recorded, `LocalStack`'s AWS-validated tests and getmoto/moto#4655).
    ///
    /// The default: what a stale holder still sends shortens or ends somebody else's lease.
    #[default]
    Acts,
    /// `InvalidParameterValue`, "does not exist or is not available" (field reports, mapbox/ecs-watchbot#135).
    Refused,
    /// `MessageNotInflight`, which SQS's model names and nobody could provoke (a field report, floci-io/floci#902).
    NotInflight,
}

/// A delete with the handle of an earlier delivery, on a standard queue, while another consumer has the message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OvertakenDelete {
    /// The message is gone, under the new holder's hands (documentation: a delete works even if another
    /// consumer holds the message). The default.
    #[default]
    Deletes,
    /// It succeeds and the message stays (documentation of the same operation: with an old handle "the message
    /// might not be deleted").
    NoEffect,
}

/// A change of visibility on a FIFO queue after the timeout ran out.
///
/// A *delete* is refused then (recorded, 2025). For a change there are only AWS's general words that it "might" fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FifoChangeAfterTimeout {
    /// `InvalidParameterValue`, "The receipt handle has expired" (a field report, aws/aws-sdk-java#1628). The default.
    #[default]
    Expired,
    /// `InvalidParameterValue`, "does not exist or is not available" (the text that standard queues have).
    NotAvailable,
    /// It hides the message again, if nobody has received it since (moto).
    Hides,
}

/// From when the 12 hours of a delivery count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitFrom {
    /// From SQS getting this delivery's receive request: of a long poll, before the message was there (documentation,
    /// 2023). The default.
    #[default]
    Request,
    /// From the answer to the receive request (what a reader of "when the message is received" takes it for).
    Answer,
    /// From the first receive request of the message ever, so that a message that was received before has less
    /// left ("first receipt", a third party's summary of a later documentation). The handle itself lives 12 hours.
    FirstRequest,
}

/// A change that would end exactly 12 hours after the receive request.
///
/// Documentation says that 43 200 s right after a receive "likely fails", and that 43 195 s works; nobody has
/// published the edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitEdge {
    /// Refused, as if time had passed on the way (a field report saw 43 199 s fail, aws/aws-sdk-net#794). The default.
    #[default]
    Refused,
    /// Accepted: it does not go *beyond* the limit, as the error's text has it.
    Accepted,
}

/// The code of a change refused for the 12 hours, in one entry of a batch.
///
/// No source shows it. In a batch the other two refusals of a handle come as `ReceiptHandleIsInvalid` (AWS's own
/// .NET framework compares with it), and this one's text was logged without its frame (a field report,
/// `MassTransit/MassTransit#6179`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitEntryCode {
    /// `InvalidParameterValue`, as in a single call. The default.
    #[default]
    InvalidParameterValue,
    /// `ReceiptHandleIsInvalid`, as its siblings: only the text tells that the delivery is not lost.
    ReceiptHandleIsInvalid,
}

/// An entry of `ChangeMessageVisibilityBatch` without a `VisibilityTimeout`, which SQS's model lets one leave out.
///
/// No source says what it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryWithoutTimeout {
    /// The entry fails with `MissingParameter`. The default.
    #[default]
    Refused,
    /// The queue's own visibility timeout.
    OfQueue,
    /// Zero, as a number that is absent reads in many languages: the message is visible at once.
    Zero,
}
