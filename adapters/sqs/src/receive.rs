use std::time::Duration;

use aws_sdk_sqs::Config;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use sqs_lease_driver::{Delivery, Failure, Moment, Receipt, Received, Scope, Visibility};
use tracing::Dispatch;
use tracing::instrument::WithSubscriber;

use crate::error::ReceiveError;
use crate::open::LeaseQueue;
use crate::read::{in_one_line, refusal};

/// How long an answer may take beyond the time that SQS was asked to wait.
const ANSWER: Duration = Duration::from_secs(10);
/// The most that SQS gives at once.
const BATCH: u8 = 10;

impl LeaseQueue {
    /// Receives up to ten messages; they are kept from here on.
    ///
    /// It waits for the first as [set](crate::Options::wait); none is no error. Their leases count from this
    /// receive, so receive only what can start soon. System attributes are asked for: receive count, first
    /// receive, sent time stamp, message group, sequence number, trace header; of the message's own attributes
    /// all.
    ///
    /// The receipt handle is taken out of the SDK's [`Message`], whose `Debug` would print it; the lease has it.
    ///
    /// Dropping this future may lose what SQS was about to answer until its visibility timeout has run out.
    ///
    /// # Errors
    /// No such queue, no permission, or no answer. See [`ReceiveError::is_transient`].
    pub async fn receive(&self) -> Result<Vec<Delivery<Message>>, ReceiveError> {
        self.receive_up_to(BATCH).await
    }

    /// Receives up to `max` messages, 1 to 10; see [`receive`](Self::receive).
    ///
    /// # Errors
    /// `max` out of range, no such queue, no permission, or no answer. See [`ReceiveError::is_transient`].
    pub async fn receive_up_to(&self, max: u8) -> Result<Vec<Delivery<Message>>, ReceiveError> {
        let failed = |failure, error| ReceiveError { queue_url: self.queue_url().to_owned(), failure, error };
        if !(1..=BATCH).contains(&max) {
            return Err(failed(Failure::Denied, format!("{max} messages were asked for: SQS gives 1 to 10")));
        }
        let inner = &*self.inner;
        let timeout = inner.timeout.in_force(&inner.queue, inner.keeper.now()).await;
        let call = self.client().receive_message().queue_url(self.queue_url());
        let call = call
            .max_number_of_messages(i32::from(max))
            .visibility_timeout(i32::try_from(timeout.secs()).unwrap_or(i32::MAX))
            .wait_time_seconds(i32::try_from(inner.wait.as_secs()).unwrap_or(i32::MAX))
            .message_attribute_names("All")
            .set_message_system_attribute_names(Some(SYSTEM_ATTRIBUTES.to_vec()));
        // The SDK by itself would wait for ever on a connection that has died.
        let timeouts = TimeoutConfig::builder().operation_attempt_timeout(inner.wait + ANSWER).build();
        let call = call.customize().config_override(Config::builder().timeout_config(timeouts));
        // SQS counts the 12 hours from the request.
        let requested = inner.keeper.now();
        let result = call.send().with_subscriber(Dispatch::none()).await;
        let at = inner.keeper.now();
        let output =
            result.map_err(|error| failed(refusal(&error, Scope::Batch).failure, in_one_line(&error)))?;
        let messages = output.messages.unwrap_or_default();
        Ok(messages.into_iter().filter_map(|message| self.hold(message, at, requested, timeout)).collect())
    }

    fn hold(
        &self,
        mut message: Message,
        at: Moment,
        requested: Moment,
        timeout: Visibility,
    ) -> Option<Delivery<Message>> {
        let Some(receipt_handle) = message.receipt_handle.take() else {
            // SQS gives one always; without it nothing can be done.
            tracing::warn!(target: "sqs_lease", "a message came without a receipt handle");
            return None;
        };
        let received = Received::new(at, timeout);
        let received = received.requested(requested).unwrap_or(received);
        let count = message.attributes().and_then(|attributes| {
            attributes.get(&MessageSystemAttributeName::ApproximateReceiveCount)?.parse().ok()
        });
        let receipt = Receipt::new(receipt_handle, received)
            .message_id(message.message_id().unwrap_or_default())
            .receive_count(count.unwrap_or(0));
        Some(self.inner.keeper.hold(receipt, message))
    }
}

const SYSTEM_ATTRIBUTES: &[MessageSystemAttributeName] = &[
    MessageSystemAttributeName::ApproximateFirstReceiveTimestamp,
    MessageSystemAttributeName::ApproximateReceiveCount,
    MessageSystemAttributeName::AwsTraceHeader,
    MessageSystemAttributeName::MessageGroupId,
    MessageSystemAttributeName::SentTimestamp,
    MessageSystemAttributeName::SequenceNumber,
];
