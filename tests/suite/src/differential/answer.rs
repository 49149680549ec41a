//! What a server answered, in words that do not depend on the server: messages by what was sent, moments by phase.

use std::collections::BTreeMap;

use serde_json::Value;

use super::operation::{GRID, Operation};
use crate::servers::Refused;

/// What came of one thing that was asked for: a call, or one entry of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Done, with this answer.
    Done(String),
    /// A whole call was refused.
    Refused { status: u16, code: String, text: String },
    /// An entry of a batch was refused.
    Failed { code: String, text: String, senders_fault: bool },
}

/// A message as a receive handed it out.
#[derive(Clone, Debug)]
pub(super) struct Received {
    pub(super) label: String,
    pub(super) message_id: String,
    pub(super) handle: String,
    pub(super) receive_count: String,
    rest: BTreeMap<String, String>,
}

/// What a call came to: an outcome for each thing asked for, and what was received.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    pub(super) outcomes: Vec<Outcome>,
    pub(super) received: Vec<Received>,
}

/// Where a server's time began, and which of its ids and names stand for what.
pub(super) struct Words<'a> {
    /// Milliseconds since 1970 at the beginning of phase 0, by the server's clock.
    pub(super) origin: i64,
    /// What is replaced in texts.
    pub(super) names: Vec<(&'a str, &'static str)>,
}

impl Words<'_> {
    pub(super) fn answer(
        &self,
        operation: &Operation,
        handles: &[&str],
        result: Result<Value, Refused>,
    ) -> Answer {
        let body = match result {
            Ok(body) => body,
            Err(refused) => {
                let Refused { status, code, text } = refused;
                let text = self.text(&text, handles);
                return Answer {
                    outcomes: vec![Outcome::Refused { status, code, text }],
                    received: Vec::new(),
                };
            }
        };
        match operation {
            Operation::Receive { .. } => self.received(&body),
            Operation::SendBatch(entries) => self.batch(entries.iter().map(|it| &*it.0), handles, &body),
            Operation::Change { single: false, entries, .. } => {
                self.batch(entries.iter().map(|it| &*it.0), handles, &body)
            }
            Operation::Delete { single: false, entries, .. } => {
                self.batch(entries.iter().map(|it| &*it.0), handles, &body)
            }
            Operation::Counts(_) => {
                let attributes = &body["Attributes"];
                one(&["", "NotVisible", "Delayed"].map(|it| {
                    attributes[format!("ApproximateNumberOfMessages{it}")].as_str().unwrap_or("?").to_owned()
                }))
            }
            Operation::Send(_) => one(&[of_send(&body)]),
            _ => one(&[String::new()]),
        }
    }

    fn batch<'a>(&self, ids: impl Iterator<Item = &'a str>, handles: &[&str], body: &Value) -> Answer {
        let find = |list: &str, id: &str| {
            body[list].as_array().into_iter().flatten().find(|it| it["Id"] == id).cloned()
        };
        let outcome = |id: &str| match (find("Successful", id), find("Failed", id)) {
            (Some(entry), None) => Outcome::Done(of_send(&entry)),
            (None, Some(entry)) => Outcome::Failed {
                code: entry["Code"].as_str().unwrap_or_default().to_owned(),
                text: self.text(entry["Message"].as_str().unwrap_or_default(), handles),
                senders_fault: entry["SenderFault"] == true,
            },
            (done, failed) => {
                Outcome::Done(format!("{} times done, {} failed", done.iter().len(), failed.iter().len()))
            }
        };
        Answer { outcomes: ids.map(outcome).collect(), received: Vec::new() }
    }

    fn received(&self, body: &Value) -> Answer {
        let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
        let received = body["Messages"].as_array().into_iter().flatten().map(|message| {
            let mut rest = BTreeMap::new();
            for (name, value) in message["Attributes"].as_object().into_iter().flatten() {
                let shown = match &**name {
                    "SentTimestamp" | "ApproximateFirstReceiveTimestamp" => self.phase(&text(value)),
                    "ApproximateReceiveCount" | "MessageGroupId" | "MessageDeduplicationId" => text(value),
                    "DeadLetterQueueSourceArn" => {
                        self.text(text(value).rsplit(':').next().unwrap_or_default(), &[])
                    }
                    // Of the server's own making.
                    _ => "there".to_owned(),
                };
                rest.insert(name.clone(), shown);
            }
            for name in ["MD5OfBody", "MD5OfMessageAttributes", "MessageAttributes"] {
                if let Some(value) = message.get(name) {
                    rest.insert(name.to_owned(), plain(value).to_string());
                }
            }
            Received {
                label: text(&message["Body"]),
                message_id: text(&message["MessageId"]),
                handle: text(&message["ReceiptHandle"]),
                receive_count: text(&message["Attributes"]["ApproximateReceiveCount"]),
                rest,
            }
        });
        Answer { outcomes: vec![Outcome::Done(String::new())], received: received.collect() }
    }

    /// The phase in which a time stamp falls.
    fn phase(&self, stamp: &str) -> String {
        let Ok(millis) = stamp.parse::<i64>() else { return stamp.to_owned() };
        let grid = i64::try_from(GRID).unwrap_or(i64::MAX) * 1_000;
        format!("{} s", (millis - self.origin + grid / 4).div_euclid(grid) * grid / 1_000)
    }

    fn text(&self, text: &str, handles: &[&str]) -> String {
        let names = self.names.iter().copied();
        let replaced = handles.iter().map(|handle| (*handle, "HANDLE")).chain(names);
        let text = replaced.fold(text.to_owned(), |text, (what, by)| text.replace(what, by));
        text.trim_end_matches('.').to_owned()
    }
}

impl Received {
    /// Its message group; empty on a standard queue.
    pub(super) fn group(&self) -> &str {
        self.rest.get("MessageGroupId").map_or("", String::as_str)
    }

    /// Whether it came from another queue.
    pub(super) fn is_moved(&self) -> bool {
        self.rest.contains_key("DeadLetterQueueSourceArn")
    }

    /// All but some of what it carries.
    pub(super) fn shown_without(&self, names: &[&str]) -> String {
        let rest: BTreeMap<_, _> = self.rest.iter().filter(|(name, _)| !names.contains(&&***name)).collect();
        format!("{} {rest:?}", self.label)
    }

    /// Everything that can be compared of it.
    pub(super) fn shown(&self) -> String {
        format!("{} {:?}", self.label, self.rest)
    }
}

/// Members with no value are left out by some, and are null with others.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(_, it)| !it.is_null())
            .map(|(name, it)| (name.clone(), plain(it)))
            .collect(),
        other => other.clone(),
    }
}

fn one<const N: usize>(shown: &[String; N]) -> Answer {
    Answer { outcomes: vec![Outcome::Done(shown.join(" "))], received: Vec::new() }
}

/// What a send answers that can be compared: the sums.
fn of_send(body: &Value) -> String {
    let sums = ["MD5OfMessageBody", "MD5OfMessageAttributes"].map(|name| body[name].as_str().unwrap_or("-"));
    let sequence = if body["SequenceNumber"].is_string() { " numbered" } else { "" };
    format!("{} {}{sequence}", sums[0], sums[1])
}
