//! Amazon SQS without a network: what each operation does, as a function of what came before and of the time.

mod attributes;
mod batch;
mod change;
mod disputed;
mod error;
mod fifo;
mod groups;
mod handle;
mod message;
mod queue;
mod receive;
mod send;
mod settings;
mod truth;
mod verdict;

use std::collections::BTreeMap;
use std::fmt;

use sqs_lease_core::Moment;

pub use attributes::redrive_policy;
pub use batch::{Change, Entry, Outcomes};
pub use disputed::{
    ChangeAfterTimeout, EntryWithoutTimeout, FifoChangeAfterTimeout, LimitEdge, LimitEntryCode, LimitFrom,
    OvertakenChange, OvertakenDelete,
};
pub use error::{Error, ErrorKind};
pub(crate) use handle::mix;
pub(crate) use message::Data;
pub use message::{AttributeValue, Delivery, MessageId, NewMessage, Receive, Sent};
pub use settings::Settings;
pub use truth::{Asked, Event, Recorded};
pub use verdict::{Hidden, Overlap};

use attributes::Attributes;
use queue::Queue;
use settings::{ACCOUNT, REGION};
use truth::Truth;

/// The queues of one account in one region, and the truth about every message in them.
///
/// It reads no clock: each operation takes the time as its last argument, on the caller's own clock. The same
/// operations at the same times give the same answers. Nothing runs in between; what a deadline
/// brings is worked out when somebody looks. Time does not go backwards: an earlier `now` counts as the latest one seen.
///
/// A queue is named by its name or by its URL.
///
/// ```
/// use sqs_lease_sim::{Model, Moment, Receive};
///
/// let mut model = Model::default();
/// model.create_queue("jobs", &[("VisibilityTimeout", "30")], Moment::ORIGIN)?;
/// model.send("jobs", "twelve hours of work", Moment::ORIGIN)?;
///
/// // Received: hidden for 30 seconds.
/// let delivery = model.receive("jobs", &Receive::new(), Moment::from_secs(10))?.remove(0);
/// assert_eq!(delivery.visible_at, Moment::from_secs(40));
/// assert!(model.receive("jobs", &Receive::new(), Moment::from_secs(39))?.is_empty());
///
/// // Extended in the middle: 30 seconds from the call, nothing is added to what was left.
/// model.change_visibility("jobs", &delivery.receipt_handle, 30, Moment::from_secs(39))?;
/// assert!(model.receive("jobs", &Receive::new(), Moment::from_secs(68))?.is_empty());
///
/// // Not extended again: the next consumer gets it, with a receive count one higher.
/// let again = model.receive("jobs", &Receive::new(), Moment::from_secs(69))?.remove(0);
/// assert_eq!(again.receive_count, 2);
/// # Ok::<(), sqs_lease_sim::Error>(())
/// ```
pub struct Model {
    settings: Settings,
    queues: BTreeMap<String, Queue>,
    next_queue: u32,
    next_message: u64,
    /// How many chances the seed has decided.
    chances: u64,
    latest: Moment,
    truth: Truth,
}

impl Default for Model {
    /// No queues, and SQS's own limits.
    fn default() -> Self {
        Self::new(Settings::default())
    }
}

impl Model {
    /// A model with these settings and no queues.
    pub fn new(settings: Settings) -> Self {
        Self {
            truth: Truth::new(settings.record),
            settings,
            queues: BTreeMap::new(),
            next_queue: 0,
            next_message: 0,
            chances: 0,
            latest: Moment::ORIGIN,
        }
    }

    /// Creates a queue and returns its URL. Creating it again with the same attributes changes nothing.
    ///
    /// A FIFO queue has a name that ends in `.fifo`, and the attribute `FifoQueue`, `true`.
    ///
    /// # Errors
    /// A name that is none, an attribute that SQS does not know or takes no such value for, a dead-letter
    /// queue that does not exist or is of the other kind, or a queue of this name with other attributes.
    pub fn create_queue(
        &mut self,
        name: &str,
        attributes: &[(&str, &str)],
        now: Moment,
    ) -> Result<String, Error> {
        let now = self.tick(now);
        let is_fifo = check_queue_name(name, attributes)?;
        if let Some(queue) = self.queues.get(name) {
            for &(attribute, value) in attributes {
                let mut changed = queue.attributes.clone();
                changed.set(attribute, value)?;
                if changed != queue.attributes {
                    let text = format!(
                        "A queue already exists with the same name and a different value for attribute \
                         {attribute}"
                    );
                    return Err(Error::new(ErrorKind::QueueNameExists, text));
                }
            }
        } else {
            let attributes = self.checked(name, Attributes::new(is_fifo), attributes)?;
            self.queues.insert(name.into(), Queue::new(self.next_queue, attributes, now));
            self.next_queue += 1;
        }
        Ok(self.url_of(name))
    }

    /// The URL of a queue.
    ///
    /// # Errors
    /// No such queue.
    pub fn queue_url(&self, name: &str) -> Result<String, Error> {
        self.queue(name)?;
        Ok(self.url_of(name_of(name)))
    }

    /// The ARN of a queue, as a redrive policy names it.
    ///
    /// # Errors
    /// No such queue.
    pub fn queue_arn(&self, queue: &str) -> Result<String, Error> {
        self.queue(queue)?;
        Ok(arn_of(name_of(queue)))
    }

    /// The URLs of all queues whose name begins so, in the order of their names.
    pub fn queue_urls(&self, prefix: &str) -> Vec<String> {
        self.queues.keys().filter(|name| name.starts_with(prefix)).map(|name| self.url_of(name)).collect()
    }

    /// Deletes a queue with all its messages. SQS takes up to a minute for it; this is at once.
    ///
    /// # Errors
    /// No such queue.
    pub fn delete_queue(&mut self, queue: &str, now: Moment) -> Result<(), Error> {
        let now = self.tick(now);
        self.drop_messages(queue, now)?;
        self.queues.remove(name_of(queue));
        Ok(())
    }

    /// All attributes of a queue. The counts are exact, where SQS's are approximate.
    ///
    /// # Errors
    /// No such queue.
    pub fn attributes(&mut self, queue: &str, now: Moment) -> Result<BTreeMap<String, String>, Error> {
        let now = self.tick(now);
        self.settle(queue, now)?;
        let found = self.queue(queue)?;
        let mut shown = found.attributes.show();
        let (available, in_flight, delayed) = found.counts();
        let unix = |at: Moment| (self.settings.unix_origin + at.since(Moment::ORIGIN)).as_secs();
        for (name, value) in [
            ("ApproximateNumberOfMessages", available.to_string()),
            ("ApproximateNumberOfMessagesNotVisible", in_flight.to_string()),
            ("ApproximateNumberOfMessagesDelayed", delayed.to_string()),
            ("CreatedTimestamp", unix(found.created).to_string()),
            ("LastModifiedTimestamp", unix(found.modified).to_string()),
            ("QueueArn", arn_of(name_of(queue))),
        ] {
            shown.insert(name.into(), value);
        }
        Ok(shown)
    }

    /// The attributes of these names, `All` for all. Without a name there is none, as with SQS.
    pub(crate) fn named_attributes(
        &mut self,
        queue: &str,
        names: &[String],
        now: Moment,
    ) -> Result<BTreeMap<String, String>, Error> {
        let mut all = self.attributes(queue, now)?;
        if let Some(name) = names.iter().find(|name| !attributes::is_known(name)) {
            return Err(attributes::unknown(name));
        }
        all.retain(|name, _| names.iter().any(|wanted| wanted == "All" || wanted == name));
        Ok(all)
    }

    /// Sets attributes of a queue: all of them or, if one is refused, none. SQS takes up to a minute to spread
    /// them; this is at once.
    ///
    /// # Errors
    /// No such queue, an attribute that SQS does not know or takes no such value for, or a dead-letter queue
    /// that does not exist.
    pub fn set_attributes(
        &mut self,
        queue: &str,
        attributes: &[(&str, &str)],
        now: Moment,
    ) -> Result<(), Error> {
        let now = self.tick(now);
        let changed = self.checked(name_of(queue), self.queue(queue)?.attributes.clone(), attributes)?;
        // What ran out under the old retention period is gone; the new one does not bring it back.
        let found = self.settle(queue, now)?;
        found.attributes = changed;
        found.modified = now;
        Ok(())
    }

    /// Deletes all messages of a queue, those in flight included.
    ///
    /// # Errors
    /// No such queue, or purged less than 60 seconds ago.
    pub fn purge(&mut self, queue: &str, now: Moment) -> Result<(), Error> {
        let now = self.tick(now);
        if self.queue(queue)?.purged.is_some_and(|at| now.since(at).as_secs() < 60) {
            let name = name_of(queue);
            let text = format!("Only one PurgeQueue operation on {name} is allowed every 60 seconds.");
            return Err(Error::new(ErrorKind::PurgeInProgress, text));
        }
        self.drop_messages(queue, now)?;
        self.queue_mut(queue)?.purged = Some(now);
        Ok(())
    }

    /// When a message of the queue becomes visible by itself next, after `now`; none if all are visible or the
    /// queue does not exist.
    ///
    /// A driver of virtual time jumps here.
    pub fn next_change(&mut self, queue: &str, now: Moment) -> Option<Moment> {
        let now = self.tick(now);
        self.settle(queue, now).ok()?.next_change()
    }

    /// The messages that were ever sent, in that order, with what happened to each. Looking changes nothing.
    ///
    /// Empty where [`Settings::record`] is off.
    pub fn histories(&self) -> impl Iterator<Item = (MessageId, &[Recorded])> {
        self.truth.all()
    }

    /// What happened to a message, in order, whether it still exists or not. Looking changes nothing.
    ///
    /// Empty for a message that never was, and for every message where [`Settings::record`] is off.
    pub fn history(&self, message: MessageId) -> &[Recorded] {
        self.truth.history(message)
    }

    /// Begins the record anew: what has been sent so far is not told of any more. Messages and deliveries stay as they are.
    pub fn forget(&mut self) {
        self.truth.forget();
    }

    /// Of how many messages nothing is told any more, by [`Model::forget`] or [`Settings::record_at_most`].
    pub fn forgotten(&self) -> u64 {
        self.truth.forgotten()
    }

    pub(crate) fn is_recording(&self) -> bool {
        self.truth.is_recording()
    }

    pub(crate) fn unix_origin(&self) -> std::time::Duration {
        self.settings.unix_origin
    }

    /// The latest moment that the model has been told of.
    pub fn latest(&self) -> Moment {
        self.latest
    }

    pub(crate) fn tags(&mut self, queue: &str) -> Result<&mut BTreeMap<String, String>, Error> {
        Ok(&mut self.queue_mut(queue)?.tags)
    }

    fn tick(&mut self, now: Moment) -> Moment {
        self.latest = self.latest.max(now);
        self.latest
    }

    /// These attributes with the changes, if SQS takes them for the queue of this name.
    fn checked(
        &self,
        name: &str,
        mut attributes: Attributes,
        changes: &[(&str, &str)],
    ) -> Result<Attributes, Error> {
        for &(attribute, value) in changes {
            attributes.set(attribute, value)?;
            if attribute == "RedrivePolicy"
                && let Some(redrive) = &attributes.redrive
            {
                let refused = |reason| Err(Error::invalid_value(value, attribute, reason));
                let Some(target) = self.queues.get(name_of_arn(&redrive.target_arn)) else {
                    return refused("Dead letter target does not exist.");
                };
                if target.attributes.fifo.is_some() != attributes.fifo.is_some() {
                    return refused("Dead-letter queue must be same type of queue as the source.");
                }
                if !target.attributes.allows_redrive_from(&arn_of(name)) {
                    return refused(
                        "Dead letter target does not allow this queue by its RedriveAllowPolicy.",
                    );
                }
            }
        }
        attributes.check_together()?;
        Ok(attributes)
    }

    fn queue(&self, queue: &str) -> Result<&Queue, Error> {
        self.queues.get(name_of(queue)).ok_or_else(no_such_queue)
    }

    fn queue_mut(&mut self, queue: &str) -> Result<&mut Queue, Error> {
        self.queues.get_mut(name_of(queue)).ok_or_else(no_such_queue)
    }

    fn settle(&mut self, queue: &str, now: Moment) -> Result<&mut Queue, Error> {
        let found = self.queues.get_mut(name_of(queue)).ok_or_else(no_such_queue)?;
        for (number, at) in found.settle(now) {
            self.truth.record(number, Event::Expired, at);
        }
        Ok(found)
    }

    fn drop_messages(&mut self, queue: &str, now: Moment) -> Result<(), Error> {
        for number in self.settle(queue, now)?.numbers() {
            self.queue_mut(queue)?.remove(number);
            self.truth.record(number, Event::Purged, now);
        }
        Ok(())
    }

    fn url_of(&self, name: &str) -> String {
        format!("{}/{ACCOUNT}/{name}", self.settings.endpoint)
    }
}

/// Only how much there is: bodies and handles do not belong in a log.
impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("queues", &self.queues.len())
            .field("latest", &self.latest)
            .finish_non_exhaustive()
    }
}

pub(crate) fn name_of(queue: &str) -> &str {
    queue.rsplit('/').next().unwrap_or(queue)
}

fn name_of_arn(arn: &str) -> &str {
    arn.rsplit(':').next().unwrap_or(arn)
}

fn arn_of(name: &str) -> String {
    format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{name}")
}

/// Refuses a name that is none for the kind of queue that is asked for; whether that is FIFO.
fn check_queue_name(name: &str, attributes: &[(&str, &str)]) -> Result<bool, Error> {
    let fifo = attributes.iter().find(|(attribute, _)| *attribute == "FifoQueue");
    let is_plain = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    let refused = |text: &str| Err(Error::new(ErrorKind::InvalidParameter, text));
    match fifo {
        _ if name.len() > 80 => {}
        None if is_plain(name) => return Ok(false),
        None => {}
        Some((attribute, value)) if *value != "true" => return Err(attributes::unknown(attribute)),
        Some(_) if name.strip_suffix(".fifo").is_some_and(is_plain) => return Ok(true),
        Some(_) => {
            return refused(
                "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, \
                 must end with .fifo suffix and be 1 to 80 in length.",
            );
        }
    }
    refused("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
}

fn no_such_queue() -> Error {
    Error::new(ErrorKind::QueueDoesNotExist, "The specified queue does not exist.")
}
