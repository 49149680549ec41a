//! The attributes of queues: shown, set, and checked against other queues.

use std::collections::BTreeMap;

use sqs_lease_core::Moment;

use super::Model;
use super::attributes::{self, Attributes};
use super::error::Error;
use super::names::{arn_of, name_of};
use super::queue::Queue;

impl Model {
    /// All attributes of a queue. The counts are exact, where SQS's are approximate.
    ///
    /// # Errors
    /// No such queue.
    pub fn attributes(&mut self, queue: &str, now: Moment) -> Result<BTreeMap<String, String>, Error> {
        let now = self.tick(now);
        self.settle(queue, now)?;
        let found = self.queue(queue)?;
        let mut shown = found.newest_attributes().show();
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
        let changed =
            self.checked(name_of(queue), self.queue(queue)?.newest_attributes().clone(), attributes)?;
        // What ran out under the old retention period is gone; the new one does not bring it back.
        let at = now + self.settings.attributes_spread;
        self.settle(queue, now)?.set_attributes(changed, at, now);
        Ok(())
    }

    /// These attributes with the changes, if SQS takes them for the queue of this name.
    pub(super) fn checked(
        &self,
        name: &str,
        mut attributes: Attributes,
        changes: &[(&str, &str)],
    ) -> Result<Attributes, Error> {
        attributes::check_encryption(changes)?;
        for &(attribute, value) in changes {
            attributes.set(attribute, value)?;
            if attribute == "RedrivePolicy"
                && let Some(redrive) = &attributes.redrive
            {
                let refused = |reason| Err(Error::invalid_value(value, attribute, reason));
                let target = self.queue_of_arn(&redrive.target_arn).and_then(|name| self.queues.get(name));
                let Some(target) = target.map(Queue::newest_attributes) else {
                    return refused("Dead letter target does not exist.");
                };
                if target.fifo.is_some() != attributes.fifo.is_some() {
                    return refused("Dead-letter queue must be same type of queue as the source.");
                }
                if !target.allows_redrive_from(&arn_of(name)) {
                    return refused(
                        "Dead letter target does not allow this queue by its RedriveAllowPolicy.",
                    );
                }
            }
        }
        attributes.check_together()?;
        Ok(attributes)
    }
}
