use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aws_sdk_sqs::Config;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::operation::get_queue_attributes::GetQueueAttributesOutput;
use aws_sdk_sqs::types::QueueAttributeName;
use tracing::Dispatch;
use tracing::instrument::WithSubscriber;

use crate::calls::SqsQueue;
use crate::read::{in_one_line, unpanicked};

/// What is known of the queue's redrive policy.
#[derive(Debug)]
pub(crate) struct Redrive {
    queue_url: String,
    is_named: bool,
    known: Mutex<Known>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// The queue was asked, or need not be.
    is_asked: bool,
    max_receive_count: Option<u32>,
}

/// It is asked beside a receive, which must not wait for it for long.
const ANSWER: Duration = Duration::from_secs(2);

impl Redrive {
    pub(crate) fn new(named: Option<u32>, queue_url: &str) -> Self {
        let known = Known { is_asked: named.is_some(), max_receive_count: None };
        let it =
            Self { queue_url: queue_url.to_owned(), is_named: named.is_some(), known: Mutex::new(known) };
        it.set(named);
        it
    }

    pub(crate) fn max_receive_count(&self) -> Option<u32> {
        self.with(|known| known.max_receive_count)
    }

    /// Takes it out of the queue's attributes.
    pub(crate) fn note(&self, output: &GetQueueAttributesOutput) {
        if !self.is_named {
            let policy = output.attributes().and_then(|it| it.get(&QueueAttributeName::RedrivePolicy));
            self.with(|known| known.is_asked = true);
            self.set(policy.and_then(|policy| max_receive_count(policy)));
        }
    }

    /// Asks the queue, once, where nobody has. Without the permission it is not known, and nothing else is lost.
    pub(crate) async fn ask_once(&self, queue: &SqsQueue) {
        let was_asked = self.with(|known| std::mem::replace(&mut known.is_asked, true));
        if was_asked {
            return;
        }
        let call = queue.client().get_queue_attributes().queue_url(queue.queue_url());
        let call = call.attribute_names(QueueAttributeName::RedrivePolicy);
        let timeouts = TimeoutConfig::builder().operation_timeout(ANSWER).build();
        let config = Config::builder().timeout_config(timeouts).retry_config(RetryConfig::disabled());
        let call = call.customize().config_override(config);
        match unpanicked(call.send().with_subscriber(Dispatch::none())).await {
            Ok(Ok(output)) => self.note(&output),
            Ok(Err(error)) => {
                let error = in_one_line(&error);
                tracing::debug!(target: "sqs_lease", %error, "the queue's redrive policy could not be read");
            }
            // The receive beside it says so.
            Err(_panic) => {}
        }
    }

    fn set(&self, max_receive_count: Option<u32>) {
        let before = self.with(|known| {
            known.is_asked |= max_receive_count.is_some();
            std::mem::replace(&mut known.max_receive_count, max_receive_count)
        });
        if max_receive_count == Some(1) && before != Some(1) {
            tracing::warn!(
                target: "sqs_lease",
                queue_url = self.queue_url,
                "the redrive policy has maxReceiveCount 1: one lost answer or one restart sends a message to the \
                 dead-letter queue unhandled; set it to 3 or more"
            );
        }
    }

    fn with<R>(&self, work: impl FnOnce(&mut Known) -> R) -> R {
        work(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// `maxReceiveCount` in a redrive policy, which is JSON; SQS takes it as a number and as a string.
fn max_receive_count(policy: &str) -> Option<u32> {
    let (_, rest) = policy.split_once("\"maxReceiveCount\"")?;
    let digits = rest.trim_start_matches(|it: char| it == ':' || it == '"' || it.is_whitespace());
    digits.split(|it: char| !it.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::max_receive_count;

    #[test]
    fn max_receive_count_is_read_as_number_and_as_string() {
        assert_eq!(max_receive_count(r#"{"deadLetterTargetArn":"arn:x:1","maxReceiveCount":1}"#), Some(1));
        assert_eq!(
            max_receive_count(r#"{"maxReceiveCount" : "12","deadLetterTargetArn":"arn:x"}"#),
            Some(12)
        );
        assert_eq!(max_receive_count("{}"), None);
        assert_eq!(max_receive_count(r#"{"maxReceiveCount":null}"#), None);
    }
}
