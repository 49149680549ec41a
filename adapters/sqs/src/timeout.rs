use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aws_sdk_sqs::Config;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::types::QueueAttributeName;
use sqs_lease_driver::{Moment, Visibility};
use tracing::Dispatch;
use tracing::instrument::WithSubscriber;

use crate::calls::SqsQueue;
use crate::error::OpenError;
use crate::read::{in_one_line, unpanicked};
use crate::redrive::Redrive;

/// The visibility timeout that receives ask for.
#[derive(Debug)]
pub(crate) enum Timeout {
    /// The user named it.
    Named(Visibility),
    /// The queue's own, as it was read last.
    Queues(Mutex<Read>),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    timeout: Visibility,
    at: Moment,
}

const ANSWER: Duration = Duration::from_secs(10);
/// A change of the queue's attribute takes up to a minute to spread; it need not be seen at once.
const READ_AGAIN_AFTER: Duration = Duration::from_mins(5);

impl Timeout {
    pub(crate) async fn open(
        named: Option<Visibility>,
        queue: &SqsQueue,
        redrive: &Redrive,
        now: Moment,
    ) -> Result<Self, OpenError> {
        Ok(match named {
            Some(timeout) => Self::Named(timeout),
            None => Self::Queues(Mutex::new(Read { timeout: read(queue, redrive).await?, at: now })),
        })
    }

    /// The timeout in force, read again where that was long ago.
    pub(crate) async fn in_force(&self, queue: &SqsQueue, redrive: &Redrive, now: Moment) -> Visibility {
        let last = match self {
            Self::Named(timeout) => return *timeout,
            Self::Queues(last) => last,
        };
        let get = || *last.lock().unwrap_or_else(PoisonError::into_inner);
        let set = |read| *last.lock().unwrap_or_else(PoisonError::into_inner) = read;
        let before = get();
        if now - before.at < READ_AGAIN_AFTER {
            return before.timeout;
        }
        // Whoever comes meanwhile goes on with what was read last.
        set(Read { at: now, ..before });
        match read(queue, redrive).await {
            Ok(timeout) => {
                if timeout != before.timeout {
                    let (before, now) = (before.timeout.secs(), timeout.secs());
                    tracing::info!(target: "sqs_lease", before, now, "the queue's visibility timeout has changed");
                }
                set(Read { timeout, at: now });
                timeout
            }
            Err(error) => {
                tracing::warn!(target: "sqs_lease", %error, "the queue's visibility timeout could not be read again");
                before.timeout
            }
        }
    }
}

async fn read(queue: &SqsQueue, redrive: &Redrive) -> Result<Visibility, OpenError> {
    let unknown =
        |error: String| OpenError::TimeoutUnknown { queue_url: queue.queue_url().to_owned(), error };
    let name = QueueAttributeName::VisibilityTimeout;
    let call = queue.client().get_queue_attributes().queue_url(queue.queue_url());
    let call = call.attribute_names(name.clone()).attribute_names(QueueAttributeName::RedrivePolicy);
    // The SDK by itself would wait for ever on a connection that has died.
    let timeouts = TimeoutConfig::builder().operation_attempt_timeout(ANSWER).build();
    let call = call.customize().config_override(Config::builder().timeout_config(timeouts));
    let sent = unpanicked(call.send().with_subscriber(Dispatch::none())).await;
    let output = sent.map_err(OpenError::ClientPanicked)?.map_err(|error| {
        if error.code().is_some_and(|code| code.ends_with("NonExistentQueue") || code == "QueueDoesNotExist")
        {
            let queue_url = queue.queue_url().to_owned();
            return OpenError::NoSuchQueue { queue_url, error: in_one_line(&error) };
        }
        unknown(in_one_line(&error))
    })?;
    redrive.note(&output);
    let value = output.attributes().and_then(|attributes| attributes.get(&name));
    let value = value.ok_or_else(|| unknown("SQS answered without it".to_owned()))?;
    let secs = value.parse().map_err(|_| unknown(format!("SQS answered {value:?}")))?;
    Visibility::new(secs).map_err(|error| unknown(error.to_string()))
}
