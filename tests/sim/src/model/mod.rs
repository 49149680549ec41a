//! Amazon SQS without a network: what each operation does, as a function of what came before and of the time.

mod attributes;
mod batch;
mod change;
mod configure;
mod disputed;
mod error;
mod fifo;
mod groups;
mod handle;
mod message;
mod moves;
mod names;
mod queue;
mod receive;
mod send;
mod settings;
mod truth;
mod verdict;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use sqs_lease_core::Moment;

pub use attributes::redrive_policy;
pub use batch::{Change, Entry, Outcomes};
pub use disputed::{
    ChangeAfterRetention, ChangeAfterTimeout, EntryWithoutTimeout, FifoChangeAfterTimeout,
    FifoOvertakenChange, FifoThrottling, FractionalTimeout, HandleAge, InvalidHandleStatus, LimitEdge,
    LimitEntryCode, LimitFrom, OutOfRange, OvertakenChange, OvertakenDelete, ZeroTimeout,
};
pub use error::{Error, ErrorKind};
pub(crate) use handle::mix;
pub(crate) use message::Data;
pub use message::{AttributeValue, Delivery, MessageId, NewMessage, Receive, Sent};
pub use moves::{MoveStatus, MoveTask};
pub(crate) use names::name_of;
pub use settings::Settings;
pub use truth::{Asked, Event, Recorded};
pub use verdict::{Hidden, Overlap};

use attributes::Attributes;
use names::{arn_of, check_address, check_queue_name, name_of_arn, no_such_queue};
use queue::Queue;
use settings::ACCOUNT;
use truth::Truth;

const A_MINUTE: Duration = Duration::from_mins(1);

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
    /// The queues that were deleted in the last minute, and when.
    deleted: BTreeMap<String, Moment>,
    next_queue: u32,
    next_message: u64,
    moves: Vec<MoveTask>,
    next_move: u64,
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
            deleted: BTreeMap::new(),
            next_queue: 0,
            next_message: 0,
            moves: Vec::new(),
            next_move: 0,
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
    /// queue that does not exist or is of the other kind, or a queue of this name with other attributes or deleted less
    /// than 60 seconds ago.
    pub fn create_queue(
        &mut self,
        name: &str,
        attributes: &[(&str, &str)],
        now: Moment,
    ) -> Result<String, Error> {
        let now = self.tick(now);
        let is_fifo = check_queue_name(name, attributes)?;
        if let Some(queue) = self.queues.get(name).map(Queue::newest_attributes) {
            for &(attribute, value) in attributes {
                let mut changed = queue.clone();
                changed.set(attribute, value)?;
                if changed != *queue {
                    let text = format!(
                        "A queue already exists with the same name and a different value for attribute \
                         {attribute}"
                    );
                    return Err(Error::new(ErrorKind::QueueNameExists, text));
                }
            }
        } else {
            if self.deleted.get(name).is_some_and(|at| now.since(*at) < A_MINUTE) {
                return Err(Error::new(
                    ErrorKind::QueueDeletedRecently,
                    "You must wait 60 seconds after deleting a queue before you can create another with the same name.",
                ));
            }
            let attributes = self.checked(name, Attributes::new(is_fifo), attributes)?;
            self.queues
                .insert(name.into(), Queue::new(self.next_queue, attributes, self.settings.fifo_window, now));
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

    /// Deletes a queue with all its messages. SQS takes up to a minute for it; this is at once, but for its name, which
    /// is taken for 60 seconds.
    ///
    /// # Errors
    /// No such queue.
    pub fn delete_queue(&mut self, queue: &str, now: Moment) -> Result<(), Error> {
        let now = self.tick(now);
        self.drop_messages(queue, now)?;
        self.queues.remove(name_of(queue));
        self.deleted.retain(|_, at| now.since(*at) < A_MINUTE);
        self.deleted.insert(name_of(queue).into(), now);
        Ok(())
    }

    /// Deletes all messages of a queue, those in flight included. What was sent before counts no more as a duplicate.
    ///
    /// # Errors
    /// No such queue, or purged less than 60 seconds ago.
    pub fn purge(&mut self, queue: &str, now: Moment) -> Result<(), Error> {
        let now = self.tick(now);
        if self.queue(queue)?.purged.is_some_and(|at| now.since(at) < A_MINUTE) {
            let name = name_of(queue);
            let text = format!("Only one PurgeQueue operation on {name} is allowed every 60 seconds.");
            return Err(Error::new(ErrorKind::PurgeInProgress, text));
        }
        self.drop_messages(queue, now)?;
        let found = self.queue_mut(queue)?;
        found.purged = Some(now);
        found.windows.forget_sent();
        Ok(())
    }

    /// When a message of the queue becomes visible by itself next, after `now`; none if all are visible or the
    /// queue does not exist.
    ///
    /// A driver of virtual time jumps here.
    pub fn next_change(&mut self, queue: &str, now: Moment) -> Option<Moment> {
        let now = self.tick(now);
        let next = self.settle(queue, now).ok()?.next_change();
        // Where a task moves its messages to is seen when it does.
        next.into_iter().chain(self.next_move()).min()
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

    pub(crate) fn fractions(&self) -> FractionalTimeout {
        self.settings.choices.fractional_timeout
    }

    pub(crate) fn unix_origin(&self) -> Duration {
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
        self.run_moves(self.latest);
        self.latest
    }

    /// The name of the queue that this is the ARN of, if there is one.
    fn queue_of_arn<'a>(&self, arn: &'a str) -> Option<&'a str> {
        let name = name_of_arn(arn);
        (self.queues.contains_key(name) && arn == arn_of(name)).then_some(name)
    }

    /// Throttles a FIFO queue that is asked too often, where the settings say what that is.
    fn pace(&mut self, queue: &str, operation: &'static str, now: Moment) -> Result<(), Error> {
        let most = self.settings.fifo_calls_per_second;
        let found = self.queue_mut(queue)?;
        if most == u32::MAX || found.attributes.fifo.is_none() {
            return Ok(());
        }
        let second = now.as_nanos() / 1_000_000_000;
        let calls = found.paces.entry(operation).or_default();
        if calls.0 != second {
            *calls = (second, 0);
        }
        calls.1 = calls.1.saturating_add(1);
        match self.settings.choices.fifo_throttling {
            _ if calls.1 <= most => Ok(()),
            FifoThrottling::RequestThrottled => {
                Err(Error::new(ErrorKind::Throttled, "Request is throttled."))
            }
            FifoThrottling::ThrottlingException => {
                Err(Error::injected(400, "ThrottlingException", "Rate exceeded"))
            }
        }
    }

    fn queue(&self, queue: &str) -> Result<&Queue, Error> {
        check_address(queue)?;
        self.queues.get(name_of(queue)).ok_or_else(no_such_queue)
    }

    fn queue_mut(&mut self, queue: &str) -> Result<&mut Queue, Error> {
        check_address(queue)?;
        self.queues.get_mut(name_of(queue)).ok_or_else(no_such_queue)
    }

    fn settle(&mut self, queue: &str, now: Moment) -> Result<&mut Queue, Error> {
        check_address(queue)?;
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
