use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::error::{BuildError, ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::{
    BatchResultErrorEntry, ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry,
};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use sqs_lease_driver::{ChangeVisibility, Failure, Queue, ReceiptHandle, Refusal, Reply, Scope};
use tracing::Dispatch;
use tracing::instrument::WithSubscriber;

use crate::read::{entry_refusal, refusal};

/// A queue of Amazon SQS, as the driver needs one.
///
/// [`LeaseQueue`](crate::LeaseQueue) has one inside. By itself it is for programs that receive in their own way:
///
/// ```
/// use sqs_lease_sqs::SqsQueue;
/// use sqs_lease_sqs::aws_sdk_sqs::Client;
/// use sqs_lease_sqs::driver::{Keeper, Runtime, Settings};
///
/// /// Give what was received to [`Keeper::hold`].
/// fn keeper(client: Client, queue_url: &str, runtime: impl Runtime) -> Keeper {
///     Keeper::new(SqsQueue::new(client, queue_url), runtime, Settings::new())
/// }
/// ```
#[derive(Clone)]
pub struct SqsQueue {
    client: Client,
    /// The same without the SDK's retries: the lease owns them. Made once, since a setting overridden in a call costs
    /// more than the call.
    once: Client,
    queue_url: Arc<str>,
}

/// The driver wants every answer within ten seconds and ends the call itself. This only catches what it
/// cannot end.
const BACKSTOP: Duration = Duration::from_secs(15);

impl SqsQueue {
    /// The queue at this URL.
    pub fn new(client: Client, queue_url: impl Into<Arc<str>>) -> Self {
        let mut config = client.config().to_builder().retry_config(RetryConfig::disabled());
        // Without a sleep the SDK panics at a timeout, and the one it may have by default is not to be seen here.
        if client.config().sleep_impl().is_some() {
            let timeouts = TimeoutConfig::builder()
                .operation_timeout(BACKSTOP)
                .operation_attempt_timeout(BACKSTOP)
                .build();
            config = config.timeout_config(timeouts);
        }
        Self { once: Client::from_conf(config.build()), client, queue_url: queue_url.into() }
    }

    /// Its URL.
    pub fn queue_url(&self) -> &str {
        &self.queue_url
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }
}

impl Queue for SqsQueue {
    async fn change_visibility(&self, entries: Vec<ChangeVisibility>) -> Reply {
        let count = entries.len();
        let entries: Result<Vec<_>, BuildError> = entries
            .iter()
            .enumerate()
            .map(|(index, entry)| {
                ChangeMessageVisibilityBatchRequestEntry::builder()
                    .id(index.to_string())
                    .receipt_handle(entry.receipt_handle.expose())
                    .visibility_timeout(i32::try_from(entry.timeout.secs()).unwrap_or(i32::MAX))
                    .build()
            })
            .collect();
        let Ok(entries) = entries else { return malformed() };
        let call = self.once.change_message_visibility_batch().queue_url(&*self.queue_url);
        let call = call.set_entries(Some(entries));
        let result = call.send().with_subscriber(Dispatch::none()).await;
        reply(count, result, |output| {
            (output.successful().iter().map(|entry| entry.id().to_owned()).collect(), output.failed)
        })
    }

    async fn delete(&self, entries: Vec<ReceiptHandle>) -> Reply {
        let count = entries.len();
        let entries: Result<Vec<_>, BuildError> = entries
            .iter()
            .enumerate()
            .map(|(index, receipt_handle)| {
                DeleteMessageBatchRequestEntry::builder()
                    .id(index.to_string())
                    .receipt_handle(receipt_handle.expose())
                    .build()
            })
            .collect();
        let Ok(entries) = entries else { return malformed() };
        let call = self.once.delete_message_batch().queue_url(&*self.queue_url);
        let call = call.set_entries(Some(entries));
        let result = call.send().with_subscriber(Dispatch::none()).await;
        reply(count, result, |output| {
            (output.successful().iter().map(|entry| entry.id().to_owned()).collect(), output.failed)
        })
    }

    fn is_fifo(&self) -> bool {
        // SQS wants the suffix in the name of a FIFO queue and takes it in no other's.
        self.queue_url.ends_with(".fifo")
    }
}

/// An entry lacks what it must have; every entry made above has it.
fn malformed() -> Reply {
    Reply::Failed(Refusal::new(Failure::Denied, "malformed"))
}

/// The outcome of each entry. HTTP 200 is not success: an entry may have failed, or be in neither list.
fn reply<O, E: ProvideErrorMetadata + Error + 'static>(
    count: usize,
    result: Result<O, SdkError<E, HttpResponse>>,
    lists: impl FnOnce(O) -> (Vec<String>, Vec<BatchResultErrorEntry>),
) -> Reply {
    let output = match result {
        Ok(output) => output,
        Err(error) => {
            let scope = if count == 1 { Scope::Single } else { Scope::Batch };
            return Reply::Failed(refusal(&error, scope));
        }
    };
    let (successful, failed) = lists(output);
    let mut outcomes = vec![None; count];
    let mut note = |id: &str, outcome| {
        if let Some(place) = id.parse().ok().and_then(|index: usize| outcomes.get_mut(index)) {
            *place = Some(outcome);
        }
    };
    for id in &successful {
        note(id, Ok(()));
    }
    for entry in &failed {
        note(entry.id(), Err(entry_refusal(entry)));
    }
    Reply::Entries(outcomes)
}

impl fmt::Debug for SqsQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqsQueue").field("queue_url", &self.queue_url).finish_non_exhaustive()
    }
}
