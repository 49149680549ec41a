//! Requests of AWS JSON 1.0: read strictly, refused with SQS's codes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::fields::Fields;
use super::operation::{Action, Page, Request, Wanted, What};
use crate::model::{
    AttributeValue, Change, Data, Entry, Error, ErrorKind, FractionalTimeout, NewMessage, Receive,
};

/// Reads a request: `target` is the header `x-amz-target`.
pub(crate) fn request(
    target: &str,
    body: &[u8],
    fractions: FractionalTimeout,
) -> Result<(Request, Wanted), Error> {
    let action = target.strip_prefix("AmazonSQS.").and_then(Action::parse).ok_or_else(|| {
        let name = target.strip_prefix("AmazonSQS.").unwrap_or(target);
        Error::new(ErrorKind::InvalidAction, format!("The action {name} is not valid for this endpoint."))
    })?;
    let body: Value = if body.is_empty() {
        Value::Object(serde_json::Map::new())
    } else {
        serde_json::from_slice(body)
            .map_err(|_| Error::new(ErrorKind::Serialization, "The request body is not valid JSON."))?
    };
    let fields = Fields::of(&body, fractions)?;
    let mut wanted = Wanted::default();
    let what = match action {
        Action::CreateQueue => What::Create {
            attributes: fields.map_of_strings("Attributes")?,
            // The one member of the whole service whose name begins in lower case.
            tags: fields.map_of_strings("tags")?.into_iter().collect(),
        },
        Action::GetQueueUrl => What::Url { owner: fields.string("QueueOwnerAWSAccountId")?.map(Into::into) },
        Action::ListQueues => What::List {
            prefix: fields.string("QueueNamePrefix")?.unwrap_or_default().into(),
            page: page(&fields)?,
        },
        Action::ListDeadLetterSourceQueues => What::Sources(page(&fields)?),
        Action::StartMessageMoveTask => What::StartMove {
            source: fields.required("SourceArn")?.into(),
            destination: fields.string("DestinationArn")?.map(Into::into),
            per_second: fields.integer("MaxNumberOfMessagesPerSecond")?,
        },
        Action::CancelMessageMoveTask => What::CancelMove(fields.required("TaskHandle")?.into()),
        Action::ListMessageMoveTasks => {
            What::Moves(fields.required("SourceArn")?.into(), fields.integer("MaxResults")?)
        }
        Action::DeleteQueue => What::DeleteQueue,
        Action::GetQueueAttributes => What::Attributes { names: fields.strings("AttributeNames")? },
        Action::SetQueueAttributes => What::SetAttributes(fields.map_of_strings("Attributes")?),
        Action::TagQueue => What::Tag(fields.map_of_strings("Tags")?.into_iter().collect()),
        Action::UntagQueue => What::Untag(fields.strings("TagKeys")?),
        Action::ListQueueTags => What::Tags,
        Action::PurgeQueue => What::Purge,
        Action::SendMessage => What::Send(message(&fields)?),
        Action::SendMessageBatch => What::SendBatch(entries(&fields, message)?),
        Action::ReceiveMessage => {
            wanted.system = fields.strings("AttributeNames")?;
            wanted.system.extend(fields.strings("MessageSystemAttributeNames")?);
            wanted.own = fields.strings("MessageAttributeNames")?;
            What::Receive(receive(&fields)?)
        }
        Action::DeleteMessage => What::Delete(fields.required("ReceiptHandle")?.into()),
        Action::DeleteMessageBatch => {
            What::DeleteBatch(entries(&fields, |entry| Ok(entry.required("ReceiptHandle")?.into()))?)
        }
        Action::ChangeMessageVisibility => {
            let handle = fields.required("ReceiptHandle")?.into();
            let secs = fields.timeout("VisibilityTimeout")?;
            What::Change(handle, secs.ok_or_else(|| Error::missing("VisibilityTimeout"))?)
        }
        Action::ChangeMessageVisibilityBatch => What::ChangeBatch(entries(&fields, |entry| {
            let receipt_handle = entry.required("ReceiptHandle")?.into();
            Ok(Change { receipt_handle, secs: entry.timeout("VisibilityTimeout")? })
        })?),
    };
    let queue = match action {
        Action::CreateQueue | Action::GetQueueUrl => fields.required("QueueName")?,
        Action::ListQueues
        | Action::StartMessageMoveTask
        | Action::CancelMessageMoveTask
        | Action::ListMessageMoveTasks => "",
        _ => fields.required("QueueUrl")?,
    };
    Ok((Request { action, queue: queue.into(), what }, wanted))
}

fn page(fields: &Fields<'_>) -> Result<Page, Error> {
    let read = |max: i32| {
        let reason = "MaxResults must be an integer between 1 and 1000.";
        let in_range = usize::try_from(max).ok().filter(|max| (1..=1_000).contains(max));
        in_range.ok_or_else(|| Error::invalid_value(max, "MaxResults", reason))
    };
    let max = fields.integer("MaxResults")?.map(read).transpose()?;
    Ok(Page { max, after: fields.string("NextToken")?.map(Into::into) })
}

fn entries<T>(
    fields: &Fields<'_>,
    read: impl Fn(&Fields<'_>) -> Result<T, Error>,
) -> Result<Vec<Entry<T>>, Error> {
    let read = |value: &Value| {
        let entry = fields.inside(value)?;
        Ok(Entry::new(entry.required("Id")?, read(&entry)?))
    };
    fields.list("Entries")?.unwrap_or_default().iter().map(read).collect()
}

fn receive(fields: &Fields<'_>) -> Result<Receive, Error> {
    Ok(Receive {
        max: fields.integer("MaxNumberOfMessages")?.unwrap_or(1),
        visibility: fields.timeout("VisibilityTimeout")?,
        wait: fields.integer("WaitTimeSeconds")?,
        requested: None,
        attempt_id: fields.string("ReceiveRequestAttemptId")?.map(Into::into),
    })
}

fn message(fields: &Fields<'_>) -> Result<NewMessage, Error> {
    let mut message = NewMessage::new(fields.required("MessageBody")?);
    message.delay = fields.integer("DelaySeconds")?;
    message.group = fields.string("MessageGroupId")?.map(Into::into);
    message.deduplication_id = fields.string("MessageDeduplicationId")?.map(Into::into);
    for (name, value) in fields.map("MessageAttributes")? {
        message = message.attribute(name, attribute(name, &fields.inside(value)?)?);
    }
    for (name, value) in fields.map("MessageSystemAttributes")? {
        if name != "AWSTraceHeader" {
            let text = format!("Message system attribute name '{name}' is invalid.");
            return Err(Error::new(ErrorKind::InvalidParameter, text));
        }
        message.trace_header = fields.inside(value)?.string("StringValue")?.map(Into::into);
    }
    Ok(message)
}

fn attribute(name: &str, fields: &Fields<'_>) -> Result<AttributeValue, Error> {
    let data_type = fields.required("DataType")?.to_owned();
    let data = match (fields.string("StringValue")?, fields.string("BinaryValue")?) {
        (Some(text), _) => Data::Text(text.into()),
        (None, Some(bytes)) => Data::Binary(STANDARD.decode(bytes).map_err(|_| {
            Error::new(ErrorKind::Serialization, "BinaryValue can not be converted to a Blob")
        })?),
        (None, None) => {
            let kind = data_type.split('.').next().unwrap_or_default();
            return Err(Error::empty_value(name, kind));
        }
    };
    Ok(AttributeValue { data_type, data })
}
