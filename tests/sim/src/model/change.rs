use std::time::Duration;

use sqs_lease_core::Moment;

use super::Model;
use super::batch::{self, Change, Entry, Outcomes};
use super::disputed::{
    ChangeAfterRetention, ChangeAfterTimeout, EntryWithoutTimeout, FifoChangeAfterTimeout,
    FifoOvertakenChange, HandleAge, InvalidHandleStatus, LimitEdge, LimitEntryCode, LimitFrom, OutOfRange,
    OvertakenChange, OvertakenDelete,
};
use super::error::{Error, ErrorKind};
use super::handle::Sealed;
use super::queue::{Place, Stored};
use super::receive::MAX_VISIBILITY;
use super::truth::{Asked, Event};

const EXPIRED: &str = "The receipt handle has expired";
const NOT_AVAILABLE: &str = "Message does not exist or is not available for visibility timeout change";

/// What a FIFO queue's pace counts together: an operation and its batches.
const CHANGE: &str = "ChangeMessageVisibility";
const DELETE: &str = "DeleteMessage";

impl Model {
    /// Makes a message visible `secs` seconds after this call: nothing is added to what was left. Zero makes it
    /// visible at once.
    ///
    /// On a standard queue the handle of an earlier delivery still acts, on whoever holds the message now
    /// ([`OvertakenChange`]), and for a message whose timeout has run out it answers well and does nothing
    /// ([`ChangeAfterTimeout`]). On a FIFO queue both are refused ([`FifoChangeAfterTimeout`], [`FifoOvertakenChange`]). A
    /// refusal changes nothing.
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
        self.pace(queue, CHANGE, now)?;
        self.change_one(queue, receipt_handle, secs, now)
    }

    fn change_one(&mut self, queue: &str, receipt_handle: &str, secs: i32, now: Moment) -> Result<(), Error> {
        let now = self.tick(now);
        self.settle(queue, now)?;
        if secs > MAX_VISIBILITY && self.settings.choices.out_of_range == OutOfRange::BeyondLimit {
            return Err(self.beyond_limit(secs));
        }
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
        let of_queue = i32::try_from(self.queue(queue)?.attributes.visibility).unwrap_or(MAX_VISIBILITY);
        batch::check(entries, "ChangeMessageVisibilityBatchRequestEntry")?;
        let now = self.tick(now);
        self.pace(queue, CHANGE, now)?;
        let mut change = |Change { receipt_handle, secs }: &Change| match *secs {
            Some(secs) => self.change_one(queue, receipt_handle, secs, now),
            None => match self.settings.choices.entry_without_timeout {
                EntryWithoutTimeout::Refused => Err(Error::missing("VisibilityTimeout")),
                EntryWithoutTimeout::OfQueue => self.change_one(queue, receipt_handle, of_queue, now),
                EntryWithoutTimeout::Zero => self.change_one(queue, receipt_handle, 0, now),
            },
        };
        Ok(entries.iter().map(|entry| (entry.id.clone(), change(&entry.request))).collect())
    }

    /// Deletes a message. Deleting it again succeeds, too.
    ///
    /// On a standard queue any handle of the message does, whoever holds it now ([`OvertakenDelete`]), also after the
    /// visibility timeout. On a FIFO queue only the latest handle does, and only before the timeout has run out.
    ///
    /// # Errors
    /// No such queue; a handle that was never given out, not for this queue, or 12 hours ago; on a FIFO queue, a handle
    /// whose visibility timeout has run out.
    pub fn delete(&mut self, queue: &str, receipt_handle: &str, now: Moment) -> Result<(), Error> {
        let now = self.tick(now);
        self.pace(queue, DELETE, now)?;
        self.delete_one(queue, receipt_handle, now)
    }

    fn delete_one(&mut self, queue: &str, receipt_handle: &str, now: Moment) -> Result<(), Error> {
        self.settle(queue, now)?;
        let sealed = self.open(queue, receipt_handle)?;
        let result = self.delete_sealed(queue, receipt_handle, sealed, now);
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
        let now = self.tick(now);
        self.pace(queue, DELETE, now)?;
        let mut delete = |entry: &Entry<String>| self.delete_one(queue, &entry.request, now);
        Ok(entries.iter().map(|entry| (entry.id.clone(), delete(entry))).collect())
    }

    pub(crate) fn open(&self, queue: &str, handle: &str) -> Result<Sealed, Error> {
        if handle.is_empty() {
            return Err(Error::missing("ReceiptHandle"));
        }
        let invalid = |why| {
            let error = Error::about_handle(ErrorKind::HandleInvalid, handle, why);
            match self.settings.choices.invalid_handle_status {
                InvalidHandleStatus::NotFound => error,
                InvalidHandleStatus::BadRequest => error.with_status(400),
            }
        };
        let sealed = Sealed::from_handle(handle, self.settings.seed)
            .ok_or_else(|| invalid("not a valid receipt handle"))?;
        if sealed.queue != self.queue(queue)?.id {
            return Err(invalid("not valid for this queue"));
        }
        Ok(sealed)
    }

    /// At the limit a handle dies, on any queue, and the message can no longer be deleted with it.
    fn not_expired(&self, queue: &str, handle: &str, sealed: Sealed, now: Moment) -> Result<(), Error> {
        let found = self.queue(queue)?;
        let may_live = self.settings.choices.handle_age == HandleAge::DiesWhileHidden
            && found.attributes.fifo.is_none()
            && !found
                .message(sealed.message)
                .is_some_and(|stored| stored.is_in_flight() && stored.receive_count == sealed.delivery);
        if now.since(sealed.requested) >= self.settings.limit && !may_live {
            return Err(Error::about_handle(ErrorKind::HandleExpired, handle, EXPIRED));
        }
        Ok(())
    }

    fn delete_sealed(&mut self, queue: &str, handle: &str, sealed: Sealed, now: Moment) -> Result<(), Error> {
        self.not_expired(queue, handle, sealed, now)?;
        let leaves_new_holder = self.settings.choices.overtaken_delete == OvertakenDelete::NoEffect;
        let found = self.queue_mut(queue)?;
        let Some(stored) = found.message(sealed.message) else { return Ok(()) };
        let is_overtaken = stored.receive_count != sealed.delivery;
        if found.attributes.fifo.is_some() {
            // With a timeout of zero there is the rest of the millisecond.
            let is_just_now =
                stored.zero_at.is_some_and(|at| at.as_nanos() / 1_000_000 == now.as_nanos() / 1_000_000);
            if is_overtaken || !(stored.is_in_flight() || is_just_now) {
                return Err(Error::about_handle(ErrorKind::HandleExpired, handle, EXPIRED));
            }
        } else if is_overtaken && stored.is_in_flight() && leaves_new_holder {
            return Ok(());
        }
        let is_forgotten = found.attributes.fifo.is_none() && self.happens(self.settings.lost_deletes);
        let found = self.queue_mut(queue)?;
        if let Some(stored) = found.message_mut(sealed.message).filter(|_| is_forgotten) {
            stored.is_deleted = true;
            let event = Event::Deleted { delivery: sealed.delivery, current: stored.receive_count };
            self.truth.record(sealed.message, event, now);
        } else if let Some(stored) = found.remove(sealed.message) {
            let event = Event::Deleted { delivery: sealed.delivery, current: stored.receive_count };
            self.truth.record(sealed.message, event, now);
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
        self.not_expired(queue, handle, sealed, now)?;
        let found = self.queue(queue)?;
        let is_fifo = found.attributes.fifo.is_some();
        let Some(stored) = found.message(sealed.message).filter(|stored| !stored.is_deleted) else {
            let is_silent = self.settings.choices.change_after_retention == ChangeAfterRetention::NoEffect;
            if is_silent && found.has_outlived(sealed.message) {
                return Ok(());
            }
            return Err(Error::about_handle(ErrorKind::MessageGone, handle, NOT_AVAILABLE));
        };
        self.within_limit(sealed, stored, secs, now)?;
        let acts = self.acts(handle, sealed, stored, is_fifo)?;
        if stored.changed_at.is_some_and(|at| now < at + self.settings.change_distance) {
            let text = "Request throttled because message visibility configuration was updated too recently. Wait a \
                        short while and then retry the operation.";
            return Err(Error::new(ErrorKind::Throttled, text));
        }
        let (from, current) = (stored.promised, stored.receive_count);
        let to = if acts { now + Duration::from_secs(secs.unsigned_abs().into()) } else { from };
        if acts {
            let really = self.really_until(queue, to);
            let found = self.queue_mut(queue)?;
            let place = if to > now { Place::InFlight(really.max(now)) } else { Place::Available(now) };
            found.put(sealed.message, place);
            if let Some(stored) = found.message_mut(sealed.message) {
                stored.promised = to;
                stored.changed_at = Some(now);
                stored.zero_at = None;
                let attempt = stored.attempt.take();
                found.windows.end_attempt(attempt.as_deref());
            }
        }
        let event = Event::Changed { delivery: sealed.delivery, current, from, to };
        self.truth.record(sealed.message, event, now);
        Ok(())
    }

    /// Whether a change with this handle has an effect on the message, or why it is refused.
    fn acts(&self, handle: &str, sealed: Sealed, stored: &Stored, is_fifo: bool) -> Result<bool, Error> {
        let refused = |kind, reason| Err(Error::about_handle(kind, handle, reason));
        let is_overtaken = stored.receive_count != sealed.delivery;
        if is_fifo && is_overtaken {
            match self.settings.choices.fifo_overtaken_change {
                FifoOvertakenChange::Expired => return refused(ErrorKind::HandleExpired, EXPIRED),
                FifoOvertakenChange::NotAvailable => return refused(ErrorKind::MessageGone, NOT_AVAILABLE),
                FifoOvertakenChange::Acts => {}
            }
        }
        if is_fifo {
            return match self.settings.choices.fifo_change_after_timeout {
                _ if stored.is_in_flight() => Ok(true),
                FifoChangeAfterTimeout::Hides => Ok(true),
                FifoChangeAfterTimeout::NotAvailable => refused(ErrorKind::MessageGone, NOT_AVAILABLE),
                FifoChangeAfterTimeout::Expired => refused(ErrorKind::HandleExpired, EXPIRED),
            };
        }
        if !stored.is_in_flight() {
            return Ok(self.settings.choices.change_after_timeout == ChangeAfterTimeout::Hides);
        }
        match self.settings.choices.overtaken_change {
            OvertakenChange::Refused if is_overtaken => refused(ErrorKind::MessageGone, NOT_AVAILABLE),
            OvertakenChange::NotInflight if is_overtaken => {
                Err(Error::new(ErrorKind::NotInflight, "The specified message isn't in flight."))
            }
            _ => Ok(true),
        }
    }

    /// Refuses what would hide a message for longer than 12 hours. Nothing is shortened.
    fn within_limit(&self, sealed: Sealed, stored: &Stored, secs: i32, now: Moment) -> Result<(), Error> {
        let settings = &self.settings;
        let from = match settings.choices.limit_from {
            LimitFrom::Request => sealed.requested,
            LimitFrom::Answer => sealed.received,
            LimitFrom::FirstRequest => stored.first_requested.unwrap_or(sealed.requested),
        };
        let total = now.since(from) + Duration::from_secs(secs.unsigned_abs().into());
        let is_beyond = match settings.choices.limit_edge {
            LimitEdge::Refused => total >= settings.limit,
            LimitEdge::Accepted => total > settings.limit,
        };
        // Making it visible at once hides nothing.
        if !is_beyond || secs == 0 {
            return Ok(());
        }
        Err(self.beyond_limit(secs))
    }

    fn beyond_limit(&self, secs: i32) -> Error {
        let limit = self.settings.limit.as_secs();
        let text = format!(
            "Value {secs} for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for \
             the message is beyond the limit [{limit} seconds]"
        );
        let error = Error::new(ErrorKind::BeyondLimit, text);
        match self.settings.choices.limit_entry_code {
            LimitEntryCode::InvalidParameterValue => error,
            LimitEntryCode::ReceiptHandleIsInvalid => error.coded_in_entry("ReceiptHandleIsInvalid"),
        }
    }

    fn record_refusal(&mut self, sealed: Sealed, asked: Asked, result: &Result<(), Error>, now: Moment) {
        if let Err(error) = result {
            let event = Event::Refused { delivery: sealed.delivery, asked, kind: error.kind() };
            self.truth.record(sealed.message, event, now);
        }
    }
}
