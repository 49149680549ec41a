//! Answers of AWS JSON 1.0.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use sqs_lease_core::Moment;

use super::md5;
use super::operation::{Answer, Wanted};
use crate::model::{AttributeValue, Data, Delivery, Error, MoveStatus, MoveTask, Outcomes, Sent};

/// The body of an answer. Members without a value are left out, as SQS leaves them out.
pub(crate) fn answer(answer: &Answer, wanted: &Wanted) -> String {
    let body = match answer {
        // Operations without an output have an empty body, not an empty object.
        Answer::Done => return String::new(),
        Answer::Url(url) => json!({ "QueueUrl": url }),
        Answer::Urls(urls, next) => object([
            ("QueueUrls", (!urls.is_empty()).then(|| json!(urls))),
            ("NextToken", next.as_ref().map(|next| json!(next))),
        ]),
        // The one list whose name begins in lower case.
        Answer::Sources(urls, next) => {
            object([("queueUrls", Some(json!(urls))), ("NextToken", next.as_ref().map(|next| json!(next)))])
        }
        Answer::MoveStarted(handle) => json!({ "TaskHandle": handle }),
        Answer::MoveCancelled(moved) => json!({ "ApproximateNumberOfMessagesMoved": moved }),
        Answer::Moves(tasks, origin) => {
            let tasks: Vec<_> = tasks.iter().map(|task| move_task(task, *origin)).collect();
            non_empty("Results", json!(tasks), tasks.len())
        }
        Answer::Attributes(attributes) => non_empty("Attributes", json!(attributes), attributes.len()),
        Answer::Tags(tags) => non_empty("Tags", json!(tags), tags.len()),
        Answer::Sent(message) => Value::Object(sent(message)),
        Answer::SentBatch(outcomes) => batch(outcomes, sent),
        Answer::Batch(outcomes) => batch(outcomes, |()| Map::new()),
        Answer::Received(deliveries) => {
            let messages: Vec<_> = deliveries.iter().map(|delivery| message(delivery, wanted)).collect();
            non_empty("Messages", json!(messages), messages.len())
        }
    };
    body.to_string()
}

/// The body of an error.
pub(crate) fn error(error: &Error) -> String {
    json!({ "__type": error.json_type(), "message": error.text() }).to_string()
}

fn non_empty(name: &str, value: Value, len: usize) -> Value {
    object([(name, (len > 0).then_some(value))])
}

fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    let members = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(members.collect())
}

fn sent(sent: &Sent) -> Map<String, Value> {
    let message = &sent.message;
    let mut members = Map::new();
    members.insert("MessageId".into(), sent.message_id.to_string().into());
    members.insert("MD5OfMessageBody".into(), md5::of_body(&message.body).into());
    if !message.attributes.is_empty() {
        members.insert("MD5OfMessageAttributes".into(), md5::of_attributes(&*message.attributes).into());
    }
    if let Some(header) = &message.trace_header {
        let header = BTreeMap::from([("AWSTraceHeader".to_owned(), AttributeValue::string(&**header))]);
        members.insert("MD5OfMessageSystemAttributes".into(), md5::of_attributes(&header).into());
    }
    if let Some(number) = sent.sequence_number {
        members.insert("SequenceNumber".into(), number.to_string().into());
    }
    members
}

/// SQS leaves out a list that is empty.
fn batch<T>(outcomes: &Outcomes<T>, members: impl Fn(&T) -> Map<String, Value>) -> Value {
    let (mut successful, mut failed) = (Vec::new(), Vec::new());
    for (id, outcome) in outcomes {
        match outcome {
            Ok(outcome) => {
                let mut entry = members(outcome);
                entry.insert("Id".into(), id.clone().into());
                successful.push(Value::Object(entry));
            }
            Err(error) => failed.push(json!({
                "Id": id,
                "SenderFault": error.is_senders_fault(),
                "Code": error.entry_code(),
                "Message": error.entry_text(),
            })),
        }
    }
    object([
        ("Successful", (!successful.is_empty()).then_some(successful.into())),
        ("Failed", (!failed.is_empty()).then_some(failed.into())),
    ])
}

fn message(delivery: &Delivery, wanted: &Wanted) -> Value {
    let own: BTreeMap<_, _> = delivery.attributes.iter().filter(|(name, _)| wanted.wants_own(name)).collect();
    let system = system_attributes(delivery, wanted);
    object([
        ("MessageId", Some(delivery.message_id.to_string().into())),
        ("ReceiptHandle", Some((&*delivery.receipt_handle).into())),
        ("Body", Some((&*delivery.body).into())),
        ("MD5OfBody", Some(md5::of_body(&delivery.body).into())),
        ("Attributes", (!system.is_empty()).then_some(Value::Object(system))),
        // The sum covers what is shown, not what was sent.
        (
            "MD5OfMessageAttributes",
            (!own.is_empty()).then(|| md5::of_attributes(own.iter().map(|(n, v)| (*n, *v))).into()),
        ),
        (
            "MessageAttributes",
            (!own.is_empty())
                .then(|| own.iter().map(|(n, v)| ((*n).clone(), attribute(v))).collect::<Map<_, _>>().into()),
        ),
    ])
}

fn system_attributes(delivery: &Delivery, wanted: &Wanted) -> Map<String, Value> {
    let stamp = |at| Some(unix_millis(delivery.unix_origin, at));
    let text = |text: &Option<std::sync::Arc<str>>| text.as_deref().map(str::to_owned);
    [
        ("SenderId", Some("AIDAIENQZJOLO23YVJ4VO".to_owned())),
        ("SentTimestamp", stamp(delivery.sent)),
        ("ApproximateReceiveCount", Some(delivery.receive_count.to_string())),
        ("ApproximateFirstReceiveTimestamp", stamp(delivery.first_received)),
        ("SequenceNumber", delivery.sequence_number.map(|number| number.to_string())),
        ("MessageDeduplicationId", text(&delivery.deduplication_id)),
        ("MessageGroupId", text(&delivery.group)),
        ("AWSTraceHeader", text(&delivery.trace_header)),
        ("DeadLetterQueueSourceArn", text(&delivery.dead_letter_source)),
    ]
    .into_iter()
    .filter(|(name, _)| wanted.wants_system(name))
    .filter_map(|(name, value)| Some((name.to_owned(), value?.into())))
    .collect()
}

fn move_task(task: &MoveTask, origin: Duration) -> Value {
    let started =
        u64::try_from((origin + task.started.since(Moment::ORIGIN)).as_millis()).unwrap_or(u64::MAX);
    object([
        // Only a task that can be cancelled has one.
        ("TaskHandle", (task.status == MoveStatus::Running).then(|| json!(task.handle))),
        ("Status", Some(json!(task.status.name()))),
        ("SourceArn", Some(json!(task.source_arn))),
        ("DestinationArn", task.destination_arn.as_ref().map(|arn| json!(arn))),
        ("MaxNumberOfMessagesPerSecond", task.per_second.map(|rate| json!(rate))),
        ("ApproximateNumberOfMessagesMoved", Some(json!(task.moved))),
        ("ApproximateNumberOfMessagesToMove", Some(json!(task.to_move))),
        ("FailureReason", task.failure.map(|reason| json!(reason))),
        ("StartedTimestamp", Some(json!(started))),
    ])
}

fn unix_millis(origin: Duration, at: Moment) -> String {
    (origin + at.since(Moment::ORIGIN)).as_millis().to_string()
}

fn attribute(value: &AttributeValue) -> Value {
    match &value.data {
        Data::Text(text) => json!({ "DataType": value.data_type, "StringValue": text }),
        Data::Binary(bytes) => json!({ "DataType": value.data_type, "BinaryValue": STANDARD.encode(bytes) }),
    }
}
