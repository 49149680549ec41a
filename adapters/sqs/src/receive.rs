use std::time::Duration;

use aws_sdk_sqs::Config;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use futures_util::future::join;
use sqs_lease_driver::{Delivery, Failure, Queue, Receipt, Received, Scope};
use tracing::Dispatch;
use tracing::instrument::WithSubscriber;

use crate::error::ReceiveError;
use crate::open::LeaseQueue;
use crate::read::{in_one_line, refusal, unpanicked};

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
        let queue_url = || self.queue_url().to_owned();
        let failed = |failure, error| ReceiveError { queue_url: queue_url(), failure, action: None, error };
        if !(1..=BATCH).contains(&max) {
            return Err(failed(Failure::Denied, format!("{max} messages were asked for: SQS gives 1 to 10")));
        }
        let inner = &*self.inner;
        let timeout = inner.timeout.in_force(&inner.queue, &inner.redrive, inner.keeper.now()).await;
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
        let call = unpanicked(call.send().with_subscriber(Dispatch::none()));
        let requested = inner.keeper.now();
        let call = inner.keeper.receiving(timeout, call);
        let ((result, mut received), ()) = join(call, inner.redrive.ask_once(&inner.queue)).await;
        if inner.wait.is_zero() {
            // A short poll is answered at once: from the request on is on the safe side, and costs a round trip.
            received = Received::new(requested, timeout);
        }
        let result = result.map_err(|panic| {
            let advice = "the SDK's own HTTP client and sleep need a Tokio runtime";
            failed(Failure::Denied, format!("the SDK client panicked: {panic}; {advice}"))
        })?;
        let output = result.map_err(|error| ReceiveError {
            queue_url: queue_url(),
            failure: refusal(&error, Scope::Batch).failure,
            action: error.code().and_then(missing_action),
            error: in_one_line(&error),
        })?;
        let messages = output.messages.unwrap_or_default();
        Ok(messages.into_iter().filter_map(|message| self.hold(message, received)).collect())
    }

    fn hold(&self, mut message: Message, received: Received) -> Option<Delivery<Message>> {
        let Some(receipt_handle) = message.receipt_handle.take() else {
            // SQS gives one always; without it nothing can be done.
            tracing::warn!(target: "sqs_lease", "a message came without a receipt handle");
            return None;
        };
        let count = message.attributes().and_then(|attributes| {
            attributes.get(&MessageSystemAttributeName::ApproximateReceiveCount)?.parse().ok()
        });
        let mut receipt = Receipt::new(receipt_handle, received)
            .message_id(message.message_id().unwrap_or_default())
            .receive_count(count.unwrap_or(0));
        if let Some(most) = self.inner.redrive.max_receive_count() {
            receipt = receipt.max_receive_count(most);
        }
        let attribute = |name| message.attributes().and_then(|it| it.get(&name)).map(String::as_str);
        // On a standard queue a group is for fairness and has no order.
        if let Some(group) = attribute(MessageSystemAttributeName::MessageGroupId)
            && self.inner.queue.is_fifo()
        {
            receipt = receipt.group(group);
        }
        if let Some(trace_header) = attribute(MessageSystemAttributeName::AwsTraceHeader) {
            receipt = receipt.trace_header(trace_header);
        }
        Some(self.inner.keeper.hold(receipt, message))
    }
}

/// The IAM action that a code of SQS's asks for. Messages of an encrypted queue need the key as well.
fn missing_action(code: &str) -> Option<&'static str> {
    let code = code.rsplit(['#', ':']).next().unwrap_or(code);
    if code.starts_with("KMS") || code.starts_with("Kms") {
        return code.contains("AccessDenied").then_some("kms:Decrypt on the key of the queue");
    }
    code.contains("AccessDenied").then_some("sqs:ReceiveMessage on the queue")
}

const SYSTEM_ATTRIBUTES: &[MessageSystemAttributeName] = &[
    MessageSystemAttributeName::ApproximateFirstReceiveTimestamp,
    MessageSystemAttributeName::ApproximateReceiveCount,
    MessageSystemAttributeName::AwsTraceHeader,
    MessageSystemAttributeName::MessageGroupId,
    MessageSystemAttributeName::SentTimestamp,
    MessageSystemAttributeName::SequenceNumber,
];
