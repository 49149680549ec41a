//! One sequence on the model and on one server, operation by operation.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sqs_lease_sim::{Event, MessageId, Moment};

use super::answer::{Answer, Outcome, Words};
use super::differences::{self, Case, Difference};
use super::operation::{Handle, Message, Operation, Sequence, Which};
use crate::servers::{Client, Kind, Refused, unique};

/// A handle's message and delivery, on either side.
struct Delivery {
    message_id: MessageId,
    count: u32,
    at: Moment,
    ours: String,
    theirs: String,
}

/// What is the matter with a handle, as the model knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It hides the message.
    Holds,
    /// Its timeout has run out, and nobody has received the message since.
    RanOut,
    /// The message was received again; whether that delivery hides it still.
    Overtaken { is_held: bool },
    /// The message was deleted, purged, or its retention period is over; whether by a consumer's delete.
    Gone { is_deleted: bool },
    /// The message is in the dead-letter queue.
    Moved,
    /// Its twelve hours are over.
    TooOld,
    /// It never was one, or not of this queue.
    None,
}

/// One side.
pub(super) struct Side {
    pub(super) client: Client,
    pub(super) origin: i64,
    main: (String, String),
    dead: (String, String),
}

pub(super) struct Duel<'a> {
    pub(super) kind: Kind,
    pub(super) sequence: &'a Sequence,
    model: &'a sqs_lease_sim::Server,
    ours: Side,
    theirs: Side,
    deliveries: Vec<Delivery>,
    purged: bool,
    released: bool,
    /// What was done, for whoever has to understand a difference.
    log: String,
    /// How many operations both sides agreed on.
    pub(super) agreed: u64,
    pub(super) known: BTreeMap<&'static str, u64>,
    /// Nothing more can be compared: a known difference has changed what is in the queues, or an unknown one was found.
    pub(super) over: bool,
    pub(super) unknown: Option<String>,
}

impl<'a> Duel<'a> {
    pub(super) async fn new(
        kind: Kind,
        sequence: &'a Sequence,
        model: &'a sqs_lease_sim::Server,
        theirs: Client,
        origins: (i64, i64),
    ) -> Result<Self, Refused> {
        let name = unique("duel");
        let ours = Side::new(Client::new(model.endpoint_url()), origins.0, &name, sequence).await?;
        let theirs = Side::new(theirs, origins.1, &name, sequence).await?;
        Ok(Self {
            kind,
            sequence,
            model,
            ours,
            theirs,
            deliveries: Vec::new(),
            purged: false,
            released: false,
            log: String::new(),
            agreed: 0,
            known: BTreeMap::new(),
            over: false,
            unknown: None,
        })
    }

    /// Plays the operations of a phase; whether it had to be given up for want of time.
    pub(super) async fn play(&mut self, phase: usize, end: Instant) -> bool {
        for operation in self.sequence.phases.get(phase).into_iter().flatten() {
            if self.over {
                return false;
            }
            if Instant::now() > end {
                self.over = true;
                return true;
            }
            self.step(phase, operation).await;
        }
        false
    }

    async fn step(&mut self, phase: usize, operation: &Operation) {
        // Before the model changes by it.
        let standings = self.standings(operation);
        let handles: Vec<_> = handles(operation).into_iter().map(|handle| self.handle(handle)).collect();
        let (ours, theirs) = handles.iter().cloned().unzip::<_, _, Vec<_>, Vec<_>>();
        let our_answer = self.ours.ask(operation, &ours).await;
        let their_answer = self.theirs.ask(operation, &theirs).await;
        let _ = writeln!(
            self.log,
            "phase {phase} {operation:?} {standings:?}\n    model: {}\n    {}: {}",
            shown(&our_answer),
            self.kind.name(),
            shown(&their_answer)
        );
        let case = Case {
            kind: self.kind,
            shape: self.sequence.shape,
            operation,
            standings: &standings,
            purged: self.purged,
            released: self.released,
            deduplicates: self.sequence.deduplicates(),
            ours: &our_answer,
            theirs: &their_answer,
        };
        match differences::explain(&case) {
            Ok(differences) => {
                for Difference { name, ends, .. } in differences.iter().copied() {
                    *self.known.entry(name).or_default() += 1;
                    self.over |= ends;
                }
                self.agreed += u64::from(differences.is_empty());
            }
            Err(what) => {
                self.over = true;
                self.unknown = Some(format!("{what}\n{}", self.log));
            }
        }
        self.purged |= *operation == Operation::Purge;
        if let Operation::Change { entries, .. } = operation {
            self.released |= entries.iter().any(|(.., secs)| *secs == 0);
        }
        self.note(operation, &our_answer, &their_answer);
        // With a timeout of zero a FIFO queue takes a delete in the same millisecond, and no other server is that fast.
        self.model.advance(Duration::from_millis(1));
    }

    fn note(&mut self, operation: &Operation, ours: &Answer, theirs: &Answer) {
        let Operation::Receive { .. } = operation else { return };
        let at = self.model.now();
        for message in &ours.received {
            let same = theirs.received.iter().find(|it| it.label == message.label);
            let (Some(same), Some(message_id)) = (same, MessageId::parse(&message.message_id)) else {
                continue;
            };
            self.deliveries.push(Delivery {
                message_id,
                count: message.receive_count.parse().unwrap_or(0),
                at,
                ours: message.handle.clone(),
                theirs: same.handle.clone(),
            });
        }
    }

    fn delivery(&self, handle: Handle) -> Option<&Delivery> {
        match handle {
            Handle::Of(index) => self.deliveries.get(index.checked_rem(self.deliveries.len())?),
            Handle::Garbage => None,
        }
    }

    fn handle(&self, handle: Handle) -> (String, String) {
        let garbage = || ("garbage".to_owned(), "garbage".to_owned());
        self.delivery(handle).map_or_else(garbage, |it| (it.ours.clone(), it.theirs.clone()))
    }

    fn standings(&self, operation: &Operation) -> Vec<Standing> {
        let queue = match operation {
            Operation::Change { queue, .. } | Operation::Delete { queue, .. } => *queue,
            _ => return Vec::new(),
        };
        let queue = match queue {
            Which::Main => &self.ours.main.0,
            Which::Dead => &self.ours.dead.0,
            Which::Nowhere => return Vec::new(),
        };
        // What earlier entries of the same batch have deleted, and made visible.
        let (mut deleted, mut released) = (Vec::new(), Vec::new());
        let mut standings = Vec::new();
        for handle in handles(operation) {
            let Some(delivery) = self.delivery(handle) else {
                standings.push(Standing::None);
                continue;
            };
            let standing = self.standing(delivery, queue);
            let is_deleted = standing != Standing::None && deleted.contains(&delivery.message_id);
            let is_released = released.contains(&delivery.message_id);
            standings.push(match standing {
                _ if is_deleted => Standing::Gone { is_deleted },
                Standing::Holds if is_released => Standing::RanOut,
                Standing::Overtaken { .. } if is_released => Standing::Overtaken { is_held: false },
                standing => standing,
            });
            match operation {
                Operation::Delete { .. } => deleted.push(delivery.message_id),
                Operation::Change { entries, .. } if entries[standings.len() - 1].2 == 0 => {
                    released.push(delivery.message_id);
                }
                _ => {}
            }
        }
        standings
    }

    /// Read out of the model's record of the message.
    fn standing(&self, delivery: &Delivery, queue: &str) -> Standing {
        let (history, now) = self.model.model(|model, now| {
            // Looked at, a queue drops what is beyond its retention period.
            let _ = (model.attributes(&self.ours.main.0, now), model.attributes(&self.ours.dead.0, now));
            (model.history(delivery.message_id).to_vec(), now)
        });
        let (mut current, mut until, mut place, mut came_from) =
            (0, Moment::ORIGIN, String::new(), String::new());
        let mut gone = None;
        for recorded in &history {
            match &recorded.event {
                Event::Sent { queue, .. } => place = queue.to_string(),
                Event::Received { delivery: count, until: end, .. } => {
                    (current, until) = (*count, *end);
                    if *count == delivery.count {
                        came_from.clone_from(&place);
                    }
                }
                Event::Changed { to, .. } => until = *to,
                Event::Moved { to, .. } => place = to.to_string(),
                Event::Deleted { .. } => gone = Some(true),
                Event::Expired | Event::Purged => gone = Some(false),
                _ => {}
            }
        }
        match gone {
            _ if came_from != queue => Standing::None,
            _ if now.since(delivery.at).as_secs() >= 43_200 => Standing::TooOld,
            Some(is_deleted) => Standing::Gone { is_deleted },
            None if place != came_from => Standing::Moved,
            None if current != delivery.count => Standing::Overtaken { is_held: until > now },
            None if until > now => Standing::Holds,
            None => Standing::RanOut,
        }
    }
}

fn handles(operation: &Operation) -> Vec<Handle> {
    match operation {
        Operation::Change { entries, .. } => entries.iter().map(|(_, handle, _)| *handle).collect(),
        Operation::Delete { entries, .. } => entries.iter().map(|(_, handle)| *handle).collect(),
        _ => Vec::new(),
    }
}

fn shown(answer: &Answer) -> String {
    let outcomes: Vec<_> = answer.outcomes.iter().map(|it| format!("{it:?}")).collect();
    let received: Vec<_> = answer.received.iter().map(super::answer::Received::shown).collect();
    format!("{} {}", outcomes.join(", "), received.join("; "))
}

impl Side {
    async fn new(client: Client, origin: i64, name: &str, sequence: &Sequence) -> Result<Self, Refused> {
        let shape = sequence.shape;
        let suffix = if shape.is_fifo { ".fifo" } else { "" };
        let mut attributes = if shape.is_fifo {
            json!({"FifoQueue": "true", "ContentBasedDeduplication": "true"})
        } else {
            json!({})
        };
        let create = async |name: &str, attributes: &Value| {
            let created =
                client.call("CreateQueue", &json!({"QueueName": name, "Attributes": attributes})).await?;
            Ok((name.to_owned(), created["QueueUrl"].as_str().unwrap_or_default().to_owned()))
        };
        let dead = create(&format!("{name}-dead{suffix}"), &attributes).await?;
        attributes["VisibilityTimeout"] = json!(shape.visibility.to_string());
        attributes["DelaySeconds"] = json!(shape.delay.to_string());
        attributes["MessageRetentionPeriod"] = json!(shape.retention.to_string());
        if let Some(most) = shape.max_receive_count {
            let asked = json!({"QueueUrl": dead.1, "AttributeNames": ["QueueArn"]});
            let arn = client.call("GetQueueAttributes", &asked).await?["Attributes"]["QueueArn"].clone();
            attributes["RedrivePolicy"] =
                json!(json!({"deadLetterTargetArn": arn, "maxReceiveCount": most.to_string()}).to_string());
        }
        let main = create(&format!("{name}{suffix}"), &attributes).await?;
        Ok(Self { client, origin, main, dead })
    }

    fn url(&self, queue: Which) -> String {
        match queue {
            Which::Main => self.main.1.clone(),
            Which::Dead => self.dead.1.clone(),
            Which::Nowhere => format!("{}-nowhere", self.main.1),
        }
    }

    async fn ask(&self, operation: &Operation, handles: &[String]) -> Answer {
        let (action, mut body, queue) = request(operation, handles);
        body["QueueUrl"] = json!(self.url(queue));
        let result = self.client.call(action, &body).await;
        let shown: Vec<_> = handles.iter().map(String::as_str).collect();
        let names = vec![(&*self.dead.0, "DEAD"), (&*self.main.0, "MAIN")];
        Words { origin: self.origin, names }.answer(operation, &shown, result)
    }
}

fn request(operation: &Operation, handles: &[String]) -> (&'static str, Value, Which) {
    match operation {
        Operation::Send(sent) => ("SendMessage", message(sent), Which::Main),
        Operation::SendBatch(entries) => {
            let entries = entries.iter().map(|(id, sent)| {
                let mut entry = message(sent);
                entry["Id"] = json!(id);
                entry
            });
            ("SendMessageBatch", json!({"Entries": entries.collect::<Vec<_>>()}), Which::Main)
        }
        Operation::Receive { queue, max, timeout } => {
            let mut body = json!({
                "MaxNumberOfMessages": max,
                "WaitTimeSeconds": 0,
                "AttributeNames": ["All"],
                "MessageAttributeNames": ["All"],
            });
            if let Some(timeout) = timeout {
                body["VisibilityTimeout"] = json!(timeout);
            }
            ("ReceiveMessage", body, *queue)
        }
        Operation::Change { single: true, queue, entries } => {
            let body = json!({"ReceiptHandle": handles[0], "VisibilityTimeout": entries[0].2});
            ("ChangeMessageVisibility", body, *queue)
        }
        Operation::Change { queue, entries, .. } => {
            let entries = entries.iter().zip(handles).map(
                |((id, _, secs), handle)| json!({"Id": id, "ReceiptHandle": handle, "VisibilityTimeout": secs}),
            );
            ("ChangeMessageVisibilityBatch", json!({"Entries": entries.collect::<Vec<_>>()}), *queue)
        }
        Operation::Delete { single: true, queue, .. } => {
            ("DeleteMessage", json!({"ReceiptHandle": handles[0]}), *queue)
        }
        Operation::Delete { queue, entries, .. } => {
            let entries = entries
                .iter()
                .zip(handles)
                .map(|((id, _), handle)| json!({"Id": id, "ReceiptHandle": handle}));
            ("DeleteMessageBatch", json!({"Entries": entries.collect::<Vec<_>>()}), *queue)
        }
        Operation::Counts(queue) => ("GetQueueAttributes", json!({"AttributeNames": ["All"]}), *queue),
        Operation::SetTimeout(secs) => {
            ("SetQueueAttributes", json!({"Attributes": {"VisibilityTimeout": secs}}), Which::Main)
        }
        Operation::Purge => ("PurgeQueue", json!({}), Which::Main),
    }
}

fn message(message: &Message) -> Value {
    let mut body = json!({"MessageBody": message.body});
    if let Some(delay) = message.delay {
        body["DelaySeconds"] = json!(delay);
    }
    if let Some(group) = message.group {
        body["MessageGroupId"] = json!(group);
    }
    if let Some(id) = message.deduplication_id {
        body["MessageDeduplicationId"] = json!(id);
    }
    if let Some(value) = message.attribute {
        body["MessageAttributes"] = json!({"kind": {"DataType": "String", "StringValue": value}});
    }
    body
}

impl Outcome {
    pub(super) fn is_done(&self) -> bool {
        matches!(self, Self::Done(_))
    }
}
