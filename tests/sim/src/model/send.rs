use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use sqs_lease_core::Moment;

use super::attributes::Fifo;
use super::batch::{self, Entry, Outcomes};
use super::error::{Error, ErrorKind};
use super::fifo::Key;
use super::handle::mix;
use super::message::{Data, MessageId, NewMessage, Sent};
use super::queue::{Place, Stored};
use super::truth::Event;
use super::{Model, name_of};

const MAX_SIZE: usize = 1_048_576;
const SEND: &str = "SendMessage";

impl Model {
    /// Sends a message. It can be received after its delay.
    ///
    /// On a FIFO queue a message with the deduplication id of one that was sent less than five minutes ago is
    /// accepted and not delivered: the answer is that of the first. Without an id of its own the body makes one, where
    /// the queue has `ContentBasedDeduplication`.
    ///
    /// # Errors
    /// No such queue, or a message that SQS does not take: an empty body, one too large or with characters that
    /// XML does not know, a delay beyond 900 seconds, a deduplication id on a standard queue; no group, no
    /// deduplication id, or a delay of its own on a FIFO queue.
    pub fn send(&mut self, queue: &str, message: impl Into<NewMessage>, now: Moment) -> Result<Sent, Error> {
        let now = self.tick(now);
        self.pace(queue, SEND, now)?;
        self.send_one(queue, message.into(), now)
    }

    fn send_one(&mut self, queue: &str, mut message: NewMessage, now: Moment) -> Result<Sent, Error> {
        let attributes = &self.settle(queue, now)?.attributes;
        check(&message, attributes.max_size)?;
        let key = if let Some(fifo) = &attributes.fifo {
            Some(fifo_key(&mut message, *fifo)?)
        } else {
            check_standard(&message)?;
            None
        };
        let secs = match message.delay {
            None => attributes.delay,
            Some(secs) => u32::try_from(secs).ok().filter(|secs| *secs <= 900).ok_or_else(|| {
                Error::invalid_value(secs, "DelaySeconds", "DelaySeconds must be >= 0 and <= 900.")
            })?,
        };
        if let Some((message_id, sequence)) =
            key.as_ref().and_then(|key| self.queue(queue).ok()?.windows.sent(key))
        {
            return Ok(Sent { message_id, sequence_number: Some(sequence), message });
        }
        let number = self.next_message;
        self.next_message += 1;
        let id = self.new_id(number);
        let visible_at = now + Duration::from_secs(secs.into());
        let place = if visible_at > now { Place::Delayed(visible_at) } else { Place::Available(now) };
        let found = self.queue_mut(queue)?;
        let stored = found.insert(number, Stored::new(id, message.clone(), now), place);
        let sequence_number = key.is_some().then(|| stored.sequence_number());
        if let (Some(key), Some(sequence)) = (key, sequence_number) {
            found.windows.note_sent(key, id, sequence, now);
        }
        self.truth.begin(number, id);
        self.truth.record(number, Event::Sent { queue: Arc::from(name_of(queue)), visible_at }, now);
        Ok(Sent { message_id: id, sequence_number, message })
    }

    /// Sends up to ten messages, each for itself.
    ///
    /// # Errors
    /// No such queue, or a batch that SQS refuses as a whole: no entry, more than ten, ids that are not
    /// distinct or none, messages that are together larger than 1 MiB or, on a FIFO queue, one without a group or a
    /// deduplication id.
    pub fn send_batch(
        &mut self,
        queue: &str,
        entries: &[Entry<NewMessage>],
        now: Moment,
    ) -> Result<Outcomes<Sent>, Error> {
        let fifo = self.queue(queue)?.attributes.fifo;
        batch::check(entries, "SendMessageBatchRequestEntry")?;
        if let Some(fifo) = fifo {
            check_fifo_batch(entries, fifo)?;
        }
        let size: usize = entries.iter().map(|entry| size(&entry.request)).sum();
        if size > MAX_SIZE {
            let text =
                format!("Batch requests cannot be longer than {MAX_SIZE} bytes. You have sent {size} bytes.");
            return Err(Error::new(ErrorKind::BatchTooLong, text));
        }
        let now = self.tick(now);
        self.pace(queue, SEND, now)?;
        let mut send = |entry: &Entry<NewMessage>| self.send_one(queue, entry.request.clone(), now);
        Ok(entries.iter().map(|entry| (entry.id.clone(), send(entry))).collect())
    }

    /// A version 4 UUID, as SQS's ids are.
    pub(crate) fn new_id(&self, number: u64) -> MessageId {
        let high = mix(self.settings.seed ^ mix(number));
        let low = mix(high ^ number);
        let bits = u128::from(high) << 64 | u128::from(low);
        MessageId(bits & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62)
    }
}

fn check(message: &NewMessage, max_size: usize) -> Result<(), Error> {
    if message.body.is_empty() {
        return Err(Error::missing("MessageBody"));
    }
    if size(message) > max_size {
        let text = format!(
            "One or more parameters are invalid. Reason: Message must be shorter than {max_size} bytes."
        );
        return Err(Error::new(ErrorKind::InvalidParameter, text));
    }
    if !message.body.chars().all(is_allowed) {
        return Err(Error::new(ErrorKind::InvalidMessageContents, WRONG_CHARACTERS));
    }
    check_attributes(message)
}

const WRONG_CHARACTERS: &str = "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to \
                                #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF";

const WRONG_KIND: &str = "The request include parameter that is not valid for this queue type.";

fn check_standard(message: &NewMessage) -> Result<(), Error> {
    if let Some(group) = &message.group {
        check_token("MessageGroupId", group)?;
    }
    match &message.deduplication_id {
        Some(id) => Err(Error::invalid_value(id, "MessageDeduplicationId", WRONG_KIND)),
        None => Ok(()),
    }
}

/// What a FIFO queue knows the message by for five minutes. Gives the message its id where the queue makes one.
fn fifo_key(message: &mut NewMessage, fifo: Fifo) -> Result<Key, Error> {
    let Some(group) = message.group.clone() else { return Err(Error::missing("MessageGroupId")) };
    check_token("MessageGroupId", &group)?;
    // The queue's delay holds for all; saying zero is allowed.
    if let Some(secs) = message.delay.filter(|secs| *secs != 0) {
        return Err(Error::invalid_value(secs, "DelaySeconds", WRONG_KIND));
    }
    message.delay = None;
    let id = match &message.deduplication_id {
        Some(id) => {
            check_token("MessageDeduplicationId", id)?;
            Arc::clone(id)
        }
        None if fifo.content_based => hex(&Sha256::digest(message.body.as_bytes())).into(),
        None => return Err(no_deduplication_id()),
    };
    message.deduplication_id = Some(Arc::clone(&id));
    Ok((fifo.by_group.then_some(group), id))
}

/// One entry without a group or a deduplication id fails the batch as a whole, the group with another code than in a
/// single call (recorded).
fn check_fifo_batch(entries: &[Entry<NewMessage>], fifo: Fifo) -> Result<(), Error> {
    if !fifo.content_based && entries.iter().any(|entry| entry.request.deduplication_id.is_none()) {
        return Err(no_deduplication_id());
    }
    if entries.iter().any(|entry| entry.request.group.is_none()) {
        let text = Error::missing("MessageGroupId").text();
        return Err(Error::new(ErrorKind::InvalidParameter, text));
    }
    Ok(())
}

fn no_deduplication_id() -> Error {
    Error::new(
        ErrorKind::InvalidParameter,
        "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly",
    )
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn check_token(parameter: &str, token: &str) -> Result<(), Error> {
    if (1..=128).contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    let reason =
        format!("{parameter} can only include alphanumeric and punctuation characters. 1 to 128 in length.");
    Err(Error::invalid_value(token, parameter, &reason))
}

fn check_attributes(message: &NewMessage) -> Result<(), Error> {
    if message.attributes.len() > 10 {
        let text = format!("Number of message attributes [{}] exceeds the allowed maximum [10].", {
            message.attributes.len()
        });
        return Err(Error::new(ErrorKind::InvalidParameter, text));
    }
    for (name, value) in &*message.attributes {
        check_attribute_name(name)?;
        if value.data_type.len() > LONGEST_NAME {
            let text = format!("The type of message (user) attribute '{name}' is invalid. It is too long.");
            return Err(Error::new(ErrorKind::InvalidParameter, text));
        }
        let kind = value.data_type.split('.').next().unwrap_or_default();
        if !["String", "Number", "Binary"].contains(&kind) {
            let text = format!(
                "The type of message (user) attribute '{name}' is invalid. You must use only the following \
                 supported type prefixes: Binary, Number, String."
            );
            return Err(Error::new(ErrorKind::InvalidParameter, text));
        }
        if value.size() == value.data_type.len() {
            return Err(Error::empty_value(name, kind));
        }
        if let Data::Text(text) = &value.data
            && !text.chars().all(is_allowed)
        {
            return Err(Error::new(ErrorKind::InvalidParameter, WRONG_CHARACTERS));
        }
    }
    Ok(())
}

const LONGEST_NAME: usize = 256;

/// Letters of any script, digits, `_`, `-` and `.`, the last neither first nor last nor twice in a row.
fn check_attribute_name(name: &str) -> Result<(), Error> {
    let lower = name.to_lowercase();
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let reason = if name.is_empty() || name.len() > LONGEST_NAME {
        "It has to be 1 to 256 in length."
    } else if !name.chars().all(is_plain) {
        "It can only include letters, digits, underscores, hyphens and periods."
    } else if lower.starts_with("aws.") || lower.starts_with("amazon.") {
        "Names that begin with AWS. or Amazon. are reserved."
    } else if name.starts_with('.') || name.ends_with('.') || name.contains("..") {
        "It cannot begin or end with a period, or have two in a row."
    } else {
        return Ok(());
    };
    let text = format!("The name of message (user) attribute '{name}' is invalid. {reason}");
    Err(Error::new(ErrorKind::InvalidParameter, text))
}

impl Error {
    /// The refusal of a message attribute without a value, in SQS's words.
    pub(crate) fn empty_value(name: &str, kind: &str) -> Self {
        let text =
            format!("Message (user) attribute '{name}' must contain a non-empty value of type '{kind}'.");
        Self::new(ErrorKind::InvalidParameter, text)
    }
}

/// What SQS counts: the body, and the names, types and values of the attributes.
fn size(message: &NewMessage) -> usize {
    let attributes: usize = message.attributes.iter().map(|(name, value)| name.len() + value.size()).sum();
    message.body.len() + attributes
}

fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}
