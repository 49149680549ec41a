use std::sync::Arc;
use std::time::Duration;

use sqs_lease_core::Moment;

use super::batch::{self, Change, Entry, Outcomes};
use super::error::{Error, ErrorKind};
use super::handle::Sealed;
use super::message::{Delivery, Receive};
use super::queue::Place;
use super::truth::{Asked, Event};
use super::{Model, arn_of, name_of, name_of_arn};

/// The largest visibility timeout that SQS takes, whatever the limit is.
const MAX_VISIBILITY: i32 = 43_200;

impl Model {
    /// Hands out messages that are visible now, and hides them. It never waits.
    ///
    /// The message that has been visible for longest comes first. Each gets a new receipt handle and a receive
    /// count one higher. A message that has been received as often as its queue's redrive policy allows is moved
    /// to the dead-letter queue instead. In one answer a message comes once, also with a visibility timeout of zero.
    ///
    /// # Errors
    /// No such queue, a number out of its range, or, for a request that does not wait, as many messages in flight as
    /// a queue may have.
    pub fn receive(&mut self, queue: &str, receive: &Receive, now: Moment) -> Result<Vec<Delivery>, Error> {
        let now = self.tick(now);
        let wait = self.check_receive(queue, receive)?;
        let visible = self.settle(queue, now)?;
        let room = {
            let (_, in_flight, _) = visible.counts();
            self.settings.in_flight.saturating_sub(in_flight)
        };
        if room == 0 && wait.is_zero() {
            return Err(Error::new(ErrorKind::OverLimit, "Too many messages in flight."));
        }
        let max = room.min(usize::try_from(receive.max).unwrap_or_default());
        let taken = self.take(queue, max, now)?;
        let found = self.queue(queue)?;
        let secs = receive.visibility.map_or(found.attributes.visibility, i32::unsigned_abs);
        let until = now + Duration::from_secs(secs.into());
        let requested = receive.requested.map_or(now, |at| at.min(now));
        let deliver = |number| self.deliver(queue, number, requested, until, now);
        Ok(taken.into_iter().filter_map(deliver).collect())
    }

    /// How long this request waits for a message if there is none.
    ///
    /// # Errors
    /// Those of [`Model::receive`] that do not depend on the messages.
    pub fn wait_of(&self, queue: &str, receive: &Receive) -> Result<Duration, Error> {
        self.check_receive(queue, receive)
    }

    /// Makes a message visible `secs` seconds after this call: nothing is added to what was left. Zero makes it
    /// visible at once.
    ///
    /// On a standard queue the handle of an earlier delivery still acts, on whoever holds the message now, and
    /// a message whose timeout has run out is hidden again. A refusal changes nothing.
    ///
    /// # Errors
    /// No such queue; seconds beyond 0 to 43 200; a handle that was never given out, not for this queue, or 12
    /// hours ago; a message that is gone; or an end later than 12 hours after this delivery's receive request.
    pub fn change_visibility(
        &mut self,
        queue: &str,
        receipt_handle: &str,
        secs: i32,
        now: Moment,
    ) -> Result<(), Error> {
        let now = self.tick(now);
        self.settle(queue, now)?;
        if !(0..=MAX_VISIBILITY).contains(&secs) {
            let reason = format!("Must be >= 0 and <= {MAX_VISIBILITY}, if provided.");
            return Err(Error::invalid_value(secs, "VisibilityTimeout", &reason));
        }
        let sealed = self.open(queue, receipt_handle)?;
        let result = self.change_sealed(queue, receipt_handle, sealed, secs, now);
        self.record_refusal(sealed, Asked::Change(secs), &result, now);
        result
    }

    /// Changes the visibility of up to ten messages, each for itself.
    ///
    /// # Errors
    /// No such queue, or a batch that SQS refuses as a whole: no entry, more than ten, or ids that are not
    /// distinct or none.
    pub fn change_visibility_batch(
        &mut self,
        queue: &str,
        entries: &[Entry<Change>],
        now: Moment,
    ) -> Result<Outcomes<()>, Error> {
        self.queue(queue)?;
        batch::check(entries, "ChangeMessageVisibilityBatchRequestEntry")?;
        let mut change = |Change { receipt_handle, secs }: &Change| match *secs {
            Some(secs) => self.change_visibility(queue, receipt_handle, secs, now),
            None => Err(Error::missing("VisibilityTimeout")),
        };
        Ok(entries.iter().map(|entry| (entry.id.clone(), change(&entry.request))).collect())
    }

    /// Deletes a message. Deleting it again succeeds, too.
    ///
    /// On a standard queue any handle of the message does, whoever holds it now.
    ///
    /// # Errors
    /// No such queue, or a handle that was never given out, not for this queue, or 12 hours ago.
    pub fn delete(&mut self, queue: &str, receipt_handle: &str, now: Moment) -> Result<(), Error> {
        let now = self.tick(now);
        self.settle(queue, now)?;
        let sealed = self.open(queue, receipt_handle)?;
        let result = self.not_expired(receipt_handle, sealed, now);
        if result.is_ok()
            && let Some(stored) = self.queue_mut(queue)?.remove(sealed.message)
        {
            let event = Event::Deleted { delivery: sealed.delivery, current: stored.receive_count };
            self.truth.record(sealed.message, event, now);
        }
        self.record_refusal(sealed, Asked::Delete, &result, now);
        result
    }

    /// Deletes up to ten messages, each for itself.
    ///
    /// # Errors
    /// No such queue, or a batch that SQS refuses as a whole: no entry, more than ten, or ids that are not
    /// distinct or none.
    pub fn delete_batch(
        &mut self,
        queue: &str,
        entries: &[Entry<String>],
        now: Moment,
    ) -> Result<Outcomes<()>, Error> {
        self.queue(queue)?;
        batch::check(entries, "DeleteMessageBatchRequestEntry")?;
        let mut delete = |entry: &Entry<String>| self.delete(queue, &entry.request, now);
        Ok(entries.iter().map(|entry| (entry.id.clone(), delete(entry))).collect())
    }

    fn check_receive(&self, queue: &str, receive: &Receive) -> Result<Duration, Error> {
        let found = self.queue(queue)?;
        if !(1..=10).contains(&receive.max) {
            let reason = "Must be between 1 and 10, if provided.";
            return Err(Error::invalid_value(receive.max, "MaxNumberOfMessages", reason));
        }
        if let Some(secs) = receive.wait.filter(|secs| !(0..=20).contains(secs)) {
            let reason = "Must be >= 0 and <= 20, if provided.";
            return Err(Error::invalid_value(secs, "WaitTimeSeconds", reason));
        }
        if let Some(secs) = receive.visibility.filter(|secs| !(0..=MAX_VISIBILITY).contains(secs)) {
            let reason = format!("Must be >= 0 and <= {MAX_VISIBILITY}, if provided.");
            return Err(Error::invalid_value(secs, "VisibilityTimeout", &reason));
        }
        if let Some(id) = &receive.attempt_id {
            let reason = "The request include parameter that is not valid for this queue type";
            return Err(Error::invalid_value(id, "ReceiveRequestAttemptId", reason));
        }
        Ok(Duration::from_secs(receive.wait.map_or(found.attributes.wait, i32::unsigned_abs).into()))
    }

    /// Picks up to `max` messages, and moves those met on the way that have been received often enough.
    fn take(&mut self, queue: &str, max: usize, now: Moment) -> Result<Vec<u64>, Error> {
        let found = self.queue(queue)?;
        let redrive = found.attributes.redrive.as_ref().filter(|redrive| {
            let target = name_of_arn(&redrive.target_arn);
            // Without its dead-letter queue a message has nowhere to go, and goes on being delivered.
            target != name_of(queue) && self.queues.contains_key(target)
        });
        let Some(redrive) = redrive else { return Ok(found.available().take(max).collect()) };
        let (mut taken, mut dead) = (Vec::new(), Vec::new());
        for number in found.available() {
            if taken.len() == max {
                break;
            }
            let received = found.message(number).map_or(0, |stored| stored.receive_count);
            if received >= redrive.max_receive_count { dead.push(number) } else { taken.push(number) }
        }
        let target = name_of_arn(&redrive.target_arn).to_owned();
        for number in dead {
            self.move_dead(queue, &target, number, now)?;
        }
        Ok(taken)
    }

    fn move_dead(&mut self, queue: &str, target: &str, number: u64, now: Moment) -> Result<(), Error> {
        let from = name_of(queue);
        let Some(mut stored) = self.queue_mut(queue)?.remove(number) else { return Ok(()) };
        stored.dead_letter_source = Some(arn_of(from).into());
        self.queue_mut(target)?.insert(number, stored, Place::Available(now));
        self.truth.record(number, Event::Moved { from: Arc::from(from), to: Arc::from(target) }, now);
        Ok(())
    }

    fn deliver(
        &mut self,
        queue: &str,
        number: u64,
        requested: Moment,
        until: Moment,
        now: Moment,
    ) -> Option<Delivery> {
        let (key, unix_origin) = (self.settings.seed, self.settings.unix_origin);
        let found = self.queue_mut(queue).ok()?;
        let place = if until > now { Place::InFlight(until) } else { Place::Available(now) };
        found.put(number, place);
        let queue = found.id;
        let stored = found.message_mut(number)?;
        stored.receive_count += 1;
        let delivery = stored.receive_count;
        let sealed = Sealed { queue, message: number, delivery, requested };
        let answer = Delivery {
            message_id: stored.id,
            receipt_handle: sealed.to_handle(key),
            body: stored.message.body.clone(),
            receive_count: delivery,
            sent: stored.sent,
            first_received: *stored.first_received.get_or_insert(now),
            visible_at: until,
            group: stored.message.group.clone(),
            dead_letter_source: stored.dead_letter_source.clone(),
            attributes: stored.message.attributes.clone(),
            trace_header: stored.message.trace_header.clone(),
            deduplication_id: stored.message.deduplication_id.clone(),
            sequence_number: None,
            unix_origin,
        };
        self.truth.record(number, Event::Received { delivery, requested, until }, now);
        Some(answer)
    }

    fn open(&self, queue: &str, handle: &str) -> Result<Sealed, Error> {
        if handle.is_empty() {
            return Err(Error::missing("ReceiptHandle"));
        }
        let invalid = |why| Error::about_handle(ErrorKind::HandleInvalid, handle, why);
        let sealed = Sealed::from_handle(handle, self.settings.seed)
            .ok_or_else(|| invalid("not a valid receipt handle"))?;
        if sealed.queue != self.queue(queue)?.id {
            return Err(invalid("not valid for this queue"));
        }
        Ok(sealed)
    }

    /// At the limit a handle dies, on any queue, and the message can no longer be deleted with it.
    fn not_expired(&self, handle: &str, sealed: Sealed, now: Moment) -> Result<(), Error> {
        if now.since(sealed.requested) >= self.settings.limit {
            let reason = "The receipt handle has expired";
            return Err(Error::about_handle(ErrorKind::HandleExpired, handle, reason));
        }
        Ok(())
    }

    fn change_sealed(
        &mut self,
        queue: &str,
        handle: &str,
        sealed: Sealed,
        secs: i32,
        now: Moment,
    ) -> Result<(), Error> {
        self.not_expired(handle, sealed, now)?;
        let limit = self.settings.limit;
        let found = self.queue_mut(queue)?;
        let Some(stored) = found.message(sealed.message) else {
            let reason = "Message does not exist or is not available for visibility timeout change";
            return Err(Error::about_handle(ErrorKind::MessageGone, handle, reason));
        };
        let hidden = Duration::from_secs(secs.unsigned_abs().into());
        if now.since(sealed.requested) + hidden > limit {
            let limit = limit.as_secs();
            let text = format!(
                "Value {secs} for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for \
                 the message is beyond the limit [{limit} seconds]"
            );
            return Err(Error::new(ErrorKind::BeyondLimit, text));
        }
        let (from, to) = (stored.visible_at(), now + hidden);
        let current = stored.receive_count;
        found.put(sealed.message, if to > now { Place::InFlight(to) } else { Place::Available(now) });
        let event = Event::Changed { delivery: sealed.delivery, current, from, to };
        self.truth.record(sealed.message, event, now);
        Ok(())
    }

    fn record_refusal(&mut self, sealed: Sealed, asked: Asked, result: &Result<(), Error>, now: Moment) {
        if let Err(error) = result {
            let event = Event::Refused { delivery: sealed.delivery, asked, kind: error.kind() };
            self.truth.record(sealed.message, event, now);
        }
    }
}
