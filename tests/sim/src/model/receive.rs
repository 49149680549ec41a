use std::sync::Arc;
use std::time::Duration;

use sqs_lease_core::Moment;

use super::attributes::Redrive;
use super::disputed::ZeroTimeout;
use super::error::{Error, ErrorKind};
use super::fifo::Attempt;
use super::handle::{Sealed, mix};
use super::message::{Delivery, Receive};
use super::queue::Place;
use super::truth::Event;
use super::{Model, arn_of, name_of, name_of_arn};

/// The largest visibility timeout that SQS takes, whatever the limit is.
pub(crate) const MAX_VISIBILITY: i32 = 43_200;

/// What one receive request gives to every message it hands out.
#[derive(Clone, Copy)]
struct Terms {
    requested: Moment,
    until: Moment,
    now: Moment,
}

impl Model {
    /// Hands out messages that are visible now, and hides them. It never waits.
    ///
    /// The message that was sent first comes first, also after a delivery that ran out. Each gets a new receipt handle and a receive
    /// count one higher. A message that has been received as often as its queue's redrive policy allows is moved
    /// to the dead-letter queue instead. In one answer a message comes once, also with a visibility timeout of zero
    /// ([`ZeroTimeout`]).
    ///
    /// On a FIFO queue the messages of a group come in the order in which they were sent, as many of one group as
    /// there are; a hidden message holds back what is behind it in its group, and never what is before it.
    ///
    /// # Errors
    /// No such queue, a number out of its range or, for a request that does not wait, as many messages in flight as
    /// a standard queue may have. A FIFO queue has nothing to give then.
    pub fn receive(&mut self, queue: &str, receive: &Receive, now: Moment) -> Result<Vec<Delivery>, Error> {
        let now = self.tick(now);
        let wait = self.check_receive(queue, receive)?;
        self.pace(queue, "ReceiveMessage", now)?;
        let found = self.settle(queue, now)?;
        let is_fifo = found.attributes.fifo.is_some();
        let secs = receive.visibility.map_or(found.attributes.visibility, i32::unsigned_abs);
        let (_, in_flight, _) = found.counts();
        let room = self.settings.in_flight.saturating_sub(in_flight);
        if room == 0 && wait.is_zero() && !is_fifo {
            return Err(Error::new(ErrorKind::OverLimit, "Too many messages in flight."));
        }
        let until = now + Duration::from_secs(secs.into());
        let terms = Terms { requested: receive.requested.map_or(now, |at| at.min(now)), until, now };
        let attempt_id: Option<Arc<str>> = receive.attempt_id.as_deref().map(Arc::from);
        if let Some(again) = attempt_id.as_deref().and_then(|id| self.repeat(queue, id, terms)) {
            return Ok(again);
        }
        if wait.is_zero() && !is_fifo && self.happens(self.settings.missed_polls) {
            return Ok(Vec::new());
        }
        let max = room.min(usize::try_from(receive.max).unwrap_or_default());
        let mut taken = self.take(queue, max, now)?;
        if let Some(number) = self.duplicate(queue, &taken, now).filter(|_| taken.len() < max) {
            taken.push(number);
        }
        if secs == 0 && self.settings.choices.zero_timeout == ZeroTimeout::Repeated {
            taken = self.repeated(queue, &taken, max);
        }
        let deliver = |&number: &u64| self.deliver(queue, number, attempt_id.clone(), terms);
        let deliveries: Vec<_> = taken.iter().filter_map(deliver).collect();
        if let Some(id) = attempt_id.filter(|_| !deliveries.is_empty()) {
            let attempt = Attempt { began: now, numbers: taken, deliveries: deliveries.clone() };
            self.queue_mut(queue)?.windows.note_attempt(id, attempt);
        }
        Ok(deliveries)
    }

    /// How long this request waits for a message if there is none.
    ///
    /// # Errors
    /// Those of [`Model::receive`] that do not depend on the messages.
    pub fn wait_of(&self, queue: &str, receive: &Receive) -> Result<Duration, Error> {
        self.check_receive(queue, receive)
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
            if found.attributes.fifo.is_none() {
                let reason = "The request include parameter that is not valid for this queue type.";
                return Err(Error::invalid_value(id, "ReceiveRequestAttemptId", reason));
            }
            if !(1..=128).contains(&id.len()) || !id.bytes().all(|byte| byte.is_ascii_graphic()) {
                let reason = "ReceiveRequestAttemptId can only include alphanumeric and punctuation characters. \
                              1 to 128 in length.";
                return Err(Error::invalid_value(id, "ReceiveRequestAttemptId", reason));
            }
        }
        Ok(Duration::from_secs(receive.wait.map_or(found.attributes.wait, i32::unsigned_abs).into()))
    }

    /// A repeated FIFO request: the same messages with the same handles, hidden anew. None if it is none, or if any
    /// of the messages was received by another request since.
    fn repeat(&mut self, queue: &str, id: &str, terms: Terms) -> Option<Vec<Delivery>> {
        let found = self.queue_mut(queue).ok()?;
        let Attempt { numbers, mut deliveries, .. } = found.windows.attempt(id)?.clone();
        let is_current = |(number, delivery): (&u64, &Delivery)| {
            found.message(*number).is_some_and(|stored| stored.receive_count == delivery.receive_count)
        };
        if !numbers.iter().zip(&deliveries).all(is_current) {
            return None;
        }
        for (number, delivery) in numbers.iter().zip(&mut deliveries) {
            if terms.until > terms.now {
                found.put(*number, Place::InFlight(terms.until));
            }
            delivery.visible_at = terms.until;
        }
        for (&number, delivery) in numbers.iter().zip(&deliveries) {
            let event = Event::Repeated { delivery: delivery.receive_count, until: terms.until };
            self.truth.record(number, event, terms.now);
        }
        Some(deliveries)
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
        let target = target_of(redrive);
        for number in dead {
            self.move_dead(queue, &target, number, now)?;
        }
        Ok(taken)
    }

    fn move_dead(&mut self, queue: &str, target: &str, number: u64, now: Moment) -> Result<(), Error> {
        let from = name_of(queue);
        let Some(mut stored) = self.queue_mut(queue)?.remove(number) else { return Ok(()) };
        stored.dead_letter_source = Some(arn_of(from).into());
        stored.attempt = None;
        if self.queue(target)?.attributes.fifo.is_some() {
            stored.message.deduplication_id = Some(stored.id.to_string().into());
            stored.retained_since = now;
        }
        self.queue_mut(target)?.insert(number, stored, Place::Available(now));
        self.truth.record(number, Event::Moved { from: Arc::from(from), to: Arc::from(target) }, now);
        Ok(())
    }

    /// The messages over and over, as often as there is room and a redrive policy lets them be received.
    fn repeated(&self, queue: &str, taken: &[u64], max: usize) -> Vec<u64> {
        let found = self.queue(queue).ok();
        let redrive = found.and_then(|found| found.attributes.redrive.as_ref());
        let most = redrive.map_or(u32::MAX, |redrive| redrive.max_receive_count);
        let left = |number: &u64| {
            let received = found.and_then(|found| found.message(*number)).map_or(0, |it| it.receive_count);
            usize::try_from(most.saturating_sub(received)).unwrap_or(max)
        };
        let rounds = (0..max).flat_map(|round| taken.iter().filter(move |number| left(number) > round));
        rounds.take(max).copied().collect()
    }

    /// A hidden message to hand out once more, where [`Settings::duplicates`](super::Settings::duplicates) says so.
    fn duplicate(&mut self, queue: &str, taken: &[u64], now: Moment) -> Option<u64> {
        if self.settings.duplicates == 0 {
            return None;
        }
        let chance = self.chance();
        let found = self.queue(queue).ok().filter(|found| found.attributes.fifo.is_none())?;
        if chance % 1_000 >= u64::from(self.settings.duplicates) {
            return None;
        }
        let span = found.last_in_flight()?.since(now).as_nanos().max(1);
        let from = now + Duration::from_nanos(u64::try_from(u128::from(mix(chance)) % span).unwrap_or(0));
        let redrive = found.attributes.redrive.as_ref().map_or(u32::MAX, |redrive| redrive.max_receive_count);
        let number = found.in_flight_from(from)?;
        let may_come = found.message(number).is_some_and(|stored| stored.receive_count < redrive);
        (may_come && !taken.contains(&number)).then_some(number)
    }

    fn deliver(
        &mut self,
        queue: &str,
        number: u64,
        attempt: Option<Arc<str>>,
        terms: Terms,
    ) -> Option<Delivery> {
        let Terms { requested, until, now } = terms;
        let (key, unix_origin) = (self.settings.seed, self.settings.unix_origin);
        let until_really = self.really_until(queue, until);
        let found = self.queue_mut(queue).ok()?;
        let place = if until > now { Place::InFlight(until_really.max(now)) } else { Place::Available(now) };
        let is_fifo = found.attributes.fifo.is_some();
        found.put(number, place);
        let previous = found.message(number).and_then(|stored| stored.attempt.clone());
        found.windows.end_attempt(previous.as_deref());
        let queue = found.id;
        let stored = found.message_mut(number)?;
        // A message that SQS promised to hide for longer, or to be rid of: a duplicate, an early end of its timeout, a
        // delete that was forgotten.
        let is_injected = now < stored.promised || std::mem::take(&mut stored.is_deleted);
        stored.receive_count += 1;
        stored.promised = until;
        stored.attempt = attempt;
        stored.zero_at = (until == now).then_some(now);
        stored.first_requested.get_or_insert(requested);
        stored.changed_at = None;
        let delivery = stored.receive_count;
        let sealed = Sealed { queue, message: number, delivery, requested, received: now };
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
            sequence_number: is_fifo.then(|| stored.sequence_number()),
            unix_origin,
        };
        self.truth.record(number, Event::Received { delivery, requested, until, is_injected }, now);
        Some(answer)
    }

    /// When a timeout that SQS promises until `until` ends in fact.
    pub(crate) fn really_until(&mut self, queue: &str, until: Moment) -> Moment {
        let (early, late) = (self.settings.expires_early, self.settings.expires_late);
        let is_fifo = self.queue(queue).is_ok_and(|found| found.attributes.fifo.is_some());
        if is_fifo || (early.is_zero() && late.is_zero()) {
            return until;
        }
        let span = (early + late).as_nanos() + 1;
        let by = u64::try_from(u128::from(self.chance()) % span).unwrap_or(0);
        until - early + Duration::from_nanos(by)
    }

    /// Whether something happens that happens so many times in a thousand.
    pub(crate) fn happens(&mut self, per_mille: u32) -> bool {
        per_mille > 0 && self.chance() % 1_000 < u64::from(per_mille)
    }

    /// The next of the numbers that the seed stands for.
    fn chance(&mut self) -> u64 {
        self.chances += 1;
        mix(self.settings.seed ^ mix(self.chances))
    }
}

fn target_of(redrive: &Redrive) -> String {
    name_of_arn(&redrive.target_arn).to_owned()
}
