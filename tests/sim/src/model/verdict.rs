use std::time::Duration;

use sqs_lease_core::Moment;

use super::Model;
use super::error::Error;
use super::message::MessageId;
use super::truth::{Event, Recorded};

/// Two handlers worked on one message at once, and neither had been told that it lost it.
///
/// What [`Model::overlaps`] finds. It is what a lease keeper is there to prevent.
///
/// ```
/// use sqs_lease_sim::{Model, Overlap};
///
/// /// For the end of a test: no two handlers on one message, but where SQS itself was told to break its word.
/// fn assert_none_ran_twice(sqs: &Model) {
///     let ours: Vec<Overlap> = sqs.overlaps().into_iter().filter(|it| !it.is_injected).collect();
///     assert_eq!(ours, []);
/// }
/// # assert_none_ran_twice(&Model::default());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overlap {
    /// The message.
    pub message_id: MessageId,
    /// The delivery that was still held, by its receive count.
    pub held: u32,
    /// The delivery that began meanwhile.
    pub began: u32,
    /// When it began.
    pub from: Moment,
    /// When one of the two let go; none if neither has.
    pub until: Option<Moment>,
    /// Whether SQS itself broke its promise, as the [settings](super::Settings) asked: a duplicate, or a timeout that
    /// ended early. No lease keeper can prevent that.
    pub is_injected: bool,
}

/// How long a message stayed hidden after its holder died.
///
/// What [`Model::hidden_since_crash`] finds: the price of a visibility timeout.
///
/// ```
/// use std::time::Duration;
/// use sqs_lease_sim::{Model, Moment, Receive};
///
/// let at = Moment::from_secs;
/// let mut sqs = Model::default();
/// sqs.create_queue("jobs", &[("VisibilityTimeout", "120")], at(0))?;
/// sqs.send("jobs", "work", at(0))?;
/// let job = sqs.receive("jobs", &Receive::new(), at(0))?.remove(0);
/// sqs.crash("jobs", &job.receipt_handle, at(5))?;
/// // A longer timeout bridges longer outages, and hides what a dead consumer held for longer.
/// assert_eq!(sqs.hidden_since_crash()[0].hidden, Duration::from_secs(115));
/// # Ok::<(), sqs_lease_sim::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hidden {
    /// The message.
    pub message_id: MessageId,
    /// The delivery whose holder died.
    pub delivery: u32,
    /// When it died.
    pub crashed: Moment,
    /// How long nobody else could have the message after that. Zero if its timeout had run out before.
    pub hidden: Duration,
}

impl Model {
    /// Notes that the handler of this delivery works on the message no longer: it has finished, or was told that the
    /// delivery is lost. SQS learns nothing of this; it is for [`Model::overlaps`] alone.
    ///
    /// # Errors
    /// A handle that was never given out for this queue.
    pub fn let_go(&mut self, queue: &str, receipt_handle: &str, now: Moment) -> Result<(), Error> {
        let now = self.tick(now);
        let sealed = self.open(queue, receipt_handle)?;
        self.truth.record(sealed.message, Event::LetGo { delivery: sealed.delivery }, now);
        Ok(())
    }

    /// Notes that the holder of this delivery has died, and its handler with it. SQS learns nothing of this; it is for
    /// [`Model::hidden_since_crash`].
    ///
    /// # Errors
    /// A handle that was never given out for this queue.
    pub fn crash(&mut self, queue: &str, receipt_handle: &str, now: Moment) -> Result<(), Error> {
        let now = self.tick(now);
        let sealed = self.open(queue, receipt_handle)?;
        self.truth.record(sealed.message, Event::Crashed { delivery: sealed.delivery }, now);
        Ok(())
    }

    /// Where two deliveries of one message were both held by a handler that had not been told of the loss.
    ///
    /// A delivery is held from its receive until it was deleted with its own handle, [let go](Self::let_go) or
    /// [crashed](Self::crash). One that is received at the very moment at which the other lets go is no overlap. In the
    /// order of the messages' sending.
    ///
    /// ```
    /// use sqs_lease_sim::{Model, Moment, Receive};
    ///
    /// let mut model = Model::default();
    /// let at = Moment::from_secs;
    /// model.create_queue("jobs", &[("VisibilityTimeout", "30")], at(0))?;
    /// model.send("jobs", "work", at(0))?;
    ///
    /// // A handler of 40 seconds that nobody keeps the message for.
    /// let slow = model.receive("jobs", &Receive::new(), at(0))?.remove(0);
    /// let second = model.receive("jobs", &Receive::new(), at(30))?.remove(0);
    /// model.delete("jobs", &slow.receipt_handle, at(40))?;
    ///
    /// let overlap = model.overlaps().remove(0);
    /// assert_eq!((overlap.held, overlap.began), (1, 2));
    /// assert_eq!((overlap.from, overlap.until), (at(30), Some(at(40))));
    /// # Ok::<(), sqs_lease_sim::Error>(())
    /// ```
    pub fn overlaps(&self) -> Vec<Overlap> {
        self.truth.all().flat_map(|(message_id, events)| overlaps_of(message_id, events)).collect()
    }

    /// How long each message stayed hidden whose holder died. In the order of the messages' sending.
    ///
    /// A message that is still hidden counts up to its deadline as it stands.
    ///
    /// ```
    /// use std::time::Duration;
    /// use sqs_lease_sim::{Model, Moment, Receive};
    ///
    /// let mut model = Model::default();
    /// let at = Moment::from_secs;
    /// model.create_queue("jobs", &[("VisibilityTimeout", "30")], at(0))?;
    /// model.send("jobs", "work", at(0))?;
    /// let delivery = model.receive("jobs", &Receive::new(), at(0))?.remove(0);
    /// model.change_visibility("jobs", &delivery.receipt_handle, 30, at(15))?;
    /// model.crash("jobs", &delivery.receipt_handle, at(25))?;
    ///
    /// assert_eq!(model.hidden_since_crash()[0].hidden, Duration::from_secs(20));
    /// # Ok::<(), sqs_lease_sim::Error>(())
    /// ```
    pub fn hidden_since_crash(&self) -> Vec<Hidden> {
        self.truth.all().flat_map(|(message_id, events)| hidden_of(message_id, events)).collect()
    }
}

struct Held {
    delivery: u32,
    until: Option<Moment>,
}

fn overlaps_of(message_id: MessageId, events: &[Recorded]) -> Vec<Overlap> {
    let mut held: Vec<Held> = Vec::new();
    let mut found: Vec<Overlap> = Vec::new();
    for Recorded { at, event } in events {
        match *event {
            Event::Received { delivery, is_injected, .. } => {
                for other in held.iter().filter(|held| held.until.is_none()) {
                    let (held, began) = (other.delivery, delivery);
                    found.push(Overlap { message_id, held, began, from: *at, until: None, is_injected });
                }
                held.push(Held { delivery, until: None });
            }
            Event::LetGo { delivery } | Event::Crashed { delivery } | Event::Deleted { delivery, .. } => {
                let ended = held.iter_mut().find(|held| held.delivery == delivery && held.until.is_none());
                if let Some(ended) = ended {
                    ended.until = Some(*at);
                }
                let of_it = |overlap: &&mut Overlap| overlap.held == delivery || overlap.began == delivery;
                for overlap in found.iter_mut().filter(of_it) {
                    overlap.until.get_or_insert(*at);
                }
            }
            _ => {}
        }
    }
    // Both at one moment, in whatever order they were recorded.
    found.retain(|overlap| overlap.until != Some(overlap.from));
    found
}

fn hidden_of(message_id: MessageId, events: &[Recorded]) -> Vec<Hidden> {
    let mut found = Vec::new();
    let (mut deadline, mut current) = (Moment::ORIGIN, 0);
    // The crashes of the latest delivery, whose message nobody has had since.
    let mut open: Vec<(u32, Moment)> = Vec::new();
    let mut close = |open: &mut Vec<(u32, Moment)>, end: Moment| {
        for (delivery, crashed) in open.drain(..) {
            found.push(Hidden { message_id, delivery, crashed, hidden: end.since(crashed) });
        }
    };
    for Recorded { at, event } in events {
        match *event {
            Event::Received { delivery, until, .. } => {
                close(&mut open, deadline.min(*at));
                (deadline, current) = (until, delivery);
            }
            Event::Repeated { until, .. } => deadline = until,
            Event::Changed { to, .. } => {
                // What has become visible before stays so until here.
                if deadline <= *at {
                    close(&mut open, deadline);
                }
                deadline = to;
            }
            Event::Crashed { delivery } => {
                if delivery == current {
                    open.push((delivery, *at));
                } else {
                    // Somebody else has had it since: nothing waits for this one, and others wait as before.
                    close(&mut vec![(delivery, *at)], *at);
                }
            }
            Event::Deleted { .. }
            | Event::Moved { .. }
            | Event::Redriven { .. }
            | Event::Expired
            | Event::Purged => {
                close(&mut open, deadline.min(*at));
            }
            _ => {}
        }
    }
    close(&mut open, deadline);
    found
}
