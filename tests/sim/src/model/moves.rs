//! Moving messages out of a dead-letter queue, and which queues move theirs into one.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sqs_lease_core::Moment;

use super::error::{Error, ErrorKind};
use super::queue::{Place, Stored};
use super::truth::Event;
use super::{ACCOUNT, Model, arn_of, name_of, name_of_arn};

/// How many tasks of one queue are remembered.
const REMEMBERED: usize = 10;

/// A task that moves the messages of a dead-letter queue, as `ListMessageMoveTasks` shows it.
///
/// ```
/// use sqs_lease_sim::{Model, Moment, MoveStatus, Receive, redrive_policy};
///
/// let at = Moment::from_secs;
/// let mut sqs = Model::default();
/// sqs.create_queue("dead", &[], at(0))?;
/// let dead = sqs.queue_arn("dead")?;
/// let policy = redrive_policy(&dead, 1);
/// sqs.create_queue("jobs", &[("VisibilityTimeout", "30"), ("RedrivePolicy", &policy)], at(0))?;
/// sqs.send("jobs", "work", at(0))?;
/// // Received once and not deleted: the next receive moves it.
/// sqs.receive("jobs", &Receive::new(), at(0))?;
/// assert!(sqs.receive("jobs", &Receive::new(), at(30))?.is_empty());
///
/// // Back to where it came from.
/// sqs.start_move(&dead, None, None, at(40))?;
/// let task = sqs.moves(&dead, None, at(41))?.remove(0);
/// assert_eq!((task.status, task.moved), (MoveStatus::Completed, 1));
/// assert_eq!(sqs.receive("jobs", &Receive::new(), at(41))?.len(), 1);
/// # Ok::<(), sqs_lease_sim::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MoveTask {
    /// What cancels it.
    pub handle: String,
    /// Whether it still moves messages.
    pub status: MoveStatus,
    /// The ARN of the dead-letter queue.
    pub source_arn: String,
    /// The ARN of the queue that its messages go to; without one each goes back to where it came from.
    pub destination_arn: Option<String>,
    /// How many messages it moves in a second; without a number all at once.
    pub per_second: Option<u32>,
    /// How many messages it has moved.
    pub moved: u64,
    /// How many there were to move when it began.
    pub to_move: u64,
    /// When it began.
    pub started: Moment,
    /// Why it failed.
    pub failure: Option<&'static str>,
}

/// How far a [`MoveTask`] is.
///
/// ```
/// use sqs_lease_sim::{Model, Moment, MoveStatus};
///
/// let at = Moment::from_secs;
/// let mut sqs = Model::default();
/// for name in ["dead", "jobs"] {
///     sqs.create_queue(name, &[], at(0))?;
/// }
/// let (dead, jobs) = (sqs.queue_arn("dead")?, sqs.queue_arn("jobs")?);
/// sqs.set_attributes("jobs", &[("RedrivePolicy", &sqs_lease_sim::redrive_policy(&dead, 5))], at(0))?;
/// for _ in 0..10 {
///     sqs.send("dead", "work", at(0))?;
/// }
/// // One a second, until it is told to stop.
/// let handle = sqs.start_move(&dead, Some(&jobs), Some(1), at(1))?;
/// assert_eq!(sqs.moves(&dead, None, at(3))?[0].status, MoveStatus::Running);
/// sqs.cancel_move(&handle, at(4))?;
/// assert_eq!(sqs.moves(&dead, None, at(9))?[0].status, MoveStatus::Cancelled);
/// # Ok::<(), sqs_lease_sim::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MoveStatus {
    /// It moves messages.
    Running,
    /// There was nothing left to move.
    Completed,
    /// It was told to stop.
    Cancelled,
    /// A message had nowhere to go.
    Failed,
}

impl MoveStatus {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Running => "RUNNING",
            Self::Completed => "COMPLETED",
            Self::Cancelled => "CANCELLED",
            Self::Failed => "FAILED",
        }
    }
}

impl MoveTask {
    /// When it moves its next message; none if it is over.
    fn due(&self) -> Option<Moment> {
        let apart = |rate: u32| Duration::from_nanos(1_000_000_000 / u64::from(rate.max(1)));
        let after = self.per_second.map_or(Duration::ZERO, |rate| {
            apart(rate).saturating_mul(u32::try_from(self.moved).unwrap_or(u32::MAX))
        });
        (self.status == MoveStatus::Running).then_some(self.started + after)
    }
}

/// A handle says which task and of which queue, as SQS's do.
fn handle_of(task_id: &str, source_arn: &str) -> String {
    STANDARD.encode(format!(r#"{{"taskId":"{task_id}","sourceArn":"{source_arn}"}}"#))
}

/// The ARN in a handle; none if it is no handle.
fn source_of(handle: &str) -> Option<String> {
    let handle: Value = serde_json::from_slice(&STANDARD.decode(handle).ok()?).ok()?;
    handle["taskId"].as_str()?;
    handle["sourceArn"].as_str().map(Into::into)
}

fn missing(parameter: &str) -> Error {
    let text = format!("The resource that you specified for the {parameter} parameter doesn't exist.");
    Error::new(ErrorKind::ResourceNotFound, text)
}

impl Model {
    /// The URLs of the queues whose dead-letter queue this is, in the order of their names.
    ///
    /// # Errors
    /// No such queue.
    pub fn dead_letter_sources(&self, queue: &str) -> Result<Vec<String>, Error> {
        self.queue(queue)?;
        let arn = arn_of(name_of(queue));
        Ok(self.sources_of(&arn).map(|name| self.url_of(name)).collect())
    }

    /// Moves what is visible in a dead-letter queue to another queue or, without a destination, back to where each message
    /// came from: all at once or, with a number from 1 to 500, so many in a second. The answer is the task's handle.
    ///
    /// A message that was moved is a new one: with an id, a time of sending and a retention of its own, and never received.
    ///
    /// # Errors
    /// No queue of this ARN, one that is no dead-letter queue, a destination of the other kind, a task that runs already,
    /// or a number out of its range.
    pub fn start_move(
        &mut self,
        source_arn: &str,
        destination_arn: Option<&str>,
        per_second: Option<i32>,
        now: Moment,
    ) -> Result<String, Error> {
        let now = self.tick(now);
        let refused = |text: &str| Err(Error::new(ErrorKind::InvalidParameter, text));
        let source = self.queue_of_arn(source_arn).ok_or_else(|| missing("SourceArn"))?;
        if self.sources_of(source_arn).next().is_none() {
            return refused("Source queue must be configured as a Dead Letter Queue.");
        }
        if let Some(arn) = destination_arn {
            let destination = self.queue_of_arn(arn).ok_or_else(|| missing("DestinationArn"))?;
            if self.queue(destination)?.attributes.fifo.is_some()
                != self.queue(source)?.attributes.fifo.is_some()
            {
                return refused("The source queue and destination queue must be of the same queue type.");
            }
        }
        let per_second = match per_second.map(u32::try_from) {
            None => None,
            Some(Ok(rate @ 1..=500)) => Some(rate),
            Some(_) => {
                let value = per_second.unwrap_or_default();
                let reason = "Must be between 1 and 500, if provided.";
                return Err(Error::invalid_value(value, "MaxNumberOfMessagesPerSecond", reason));
            }
        };
        let is_active = |task: &MoveTask| task.source_arn == source_arn && task.status == MoveStatus::Running;
        if self.moves.iter().any(is_active) {
            return refused(
                "There is already a task running. Only one active task is allowed for a source queue arn at a given \
                 time.",
            );
        }
        let (visible, ..) = self.settle(source, now)?.counts();
        let handle = handle_of(&self.new_id(u64::MAX - self.next_move).to_string(), source_arn);
        self.next_move += 1;
        self.moves.push(MoveTask {
            handle: handle.clone(),
            status: MoveStatus::Running,
            source_arn: source_arn.into(),
            destination_arn: destination_arn.map(Into::into),
            per_second,
            moved: 0,
            to_move: visible as u64,
            started: now,
            failure: None,
        });
        let of_source = |task: &MoveTask| task.source_arn == source_arn;
        if self.moves.iter().filter(|task| of_source(task)).count() > REMEMBERED
            && let Some(oldest) = self.moves.iter().position(of_source)
        {
            self.moves.remove(oldest);
        }
        self.run_moves(now);
        Ok(handle)
    }

    /// Stops a task; what it has moved stays where it is. The answer is how many messages that are.
    ///
    /// # Errors
    /// A text that is no handle, no queue of its ARN, no such task, or one that is over.
    pub fn cancel_move(&mut self, handle: &str, now: Moment) -> Result<u64, Error> {
        self.tick(now);
        let source_arn = source_of(handle).ok_or_else(|| {
            Error::new(ErrorKind::InvalidParameter, "Value for parameter TaskHandle is invalid.")
        })?;
        self.queue_of_arn(&source_arn).ok_or_else(|| missing("SourceArn"))?;
        let task = self.moves.iter_mut().find(|task| task.handle == handle);
        let task = task.ok_or_else(|| Error::new(ErrorKind::ResourceNotFound, "Task does not exist."))?;
        if task.status != MoveStatus::Running {
            return Err(Error::new(ErrorKind::UnsupportedOperation, "Only active tasks can be cancelled."));
        }
        task.status = MoveStatus::Cancelled;
        Ok(task.moved)
    }

    /// The latest tasks of a dead-letter queue, the newest first: one, or as many as are asked for up to ten.
    ///
    /// # Errors
    /// No queue of this ARN, or a number out of its range.
    pub fn moves(&mut self, source_arn: &str, max: Option<i32>, now: Moment) -> Result<Vec<MoveTask>, Error> {
        self.tick(now);
        self.queue_of_arn(source_arn).ok_or_else(|| missing("SourceArn"))?;
        let Ok(max @ 1..=10) = max.map_or(Ok(1), usize::try_from) else {
            let reason = "Must be between 1 and 10, if provided.";
            return Err(Error::invalid_value(max.unwrap_or_default(), "MaxResults", reason));
        };
        let newest = self.moves.iter().rev().filter(|task| task.source_arn == source_arn);
        Ok(newest.take(max).cloned().collect())
    }

    /// When a task moves a message next.
    pub(crate) fn next_move(&self) -> Option<Moment> {
        self.moves.iter().filter_map(MoveTask::due).min()
    }

    /// Moves what is due, each message at its moment.
    pub(crate) fn run_moves(&mut self, now: Moment) {
        while let Some((at, i)) = (0..self.moves.len())
            .filter_map(|i| Some((self.moves[i].due()?, i)))
            .min()
            .filter(|(at, _)| *at <= now)
        {
            let status = match self.move_one(i, at) {
                Ok(true) => {
                    self.moves[i].moved += 1;
                    if self.moves[i].moved < self.moves[i].to_move {
                        continue;
                    }
                    MoveStatus::Completed
                }
                Ok(false) => MoveStatus::Completed,
                Err(reason) => {
                    self.moves[i].failure = Some(reason);
                    MoveStatus::Failed
                }
            };
            self.moves[i].status = status;
        }
    }

    /// Whether there was a message to move.
    fn move_one(&mut self, task: usize, at: Moment) -> Result<bool, &'static str> {
        const NOWHERE: &str = "AWS.SimpleQueueService.NonExistentQueue";
        let from = name_of_arn(&self.moves[task].source_arn).to_owned();
        let is_left = self.moves[task].moved < self.moves[task].to_move;
        let found = self.settle(&from, at).map_err(|_| NOWHERE)?;
        // What came in later waits for another task, so that two that move in a circle come to an end.
        let Some(number) = found.available().next().filter(|_| is_left) else { return Ok(false) };
        let origin = found.message(number).and_then(|stored| stored.dead_letter_source.clone());
        let to = match &self.moves[task].destination_arn {
            Some(arn) => self.queue_of_arn(arn).ok_or(NOWHERE)?,
            None => self
                .queue_of_arn(origin.as_deref().unwrap_or_default())
                .ok_or("CouldNotDetermineMessageSource")?,
        }
        .to_owned();
        let moved = self.queue_mut(&from).ok().and_then(|found| found.remove(number)).ok_or(NOWHERE)?;
        let new = self.next_message;
        self.next_message += 1;
        let id = self.new_id(new);
        self.queue_mut(&to).map_err(|_| NOWHERE)?.insert(
            new,
            Stored::new(id, moved.message, at),
            Place::Available(at),
        );
        let (from, to) = (Arc::from(from), Arc::<str>::from(to));
        self.truth.record(number, Event::Redriven { from, to: Arc::clone(&to), anew: id }, at);
        self.truth.begin(new, id);
        self.truth.record(new, Event::Sent { queue: to, visible_at: at }, at);
        Ok(true)
    }

    fn sources_of<'a>(&'a self, arn: &'a str) -> impl Iterator<Item = &'a str> {
        self.queues
            .iter()
            .filter(move |(_, queue)| {
                queue.newest_attributes().redrive.as_ref().is_some_and(|it| it.target_arn == arn)
            })
            .map(|(name, _)| name.as_str())
    }

    /// The URL of a queue of this owner.
    pub(crate) fn queue_url_of(&self, name: &str, owner: Option<&str>) -> Result<String, Error> {
        match owner {
            Some(owner) if owner != ACCOUNT => Err(super::no_such_queue()),
            _ => self.queue_url(name),
        }
    }
}
