use aws_sdk_sqs::types::Message;
use sqs_lease_driver::{Delivery, Keeper, Source};

use crate::error::ReceiveError;
use crate::open::LeaseQueue;

/// Receives for a [`Consumer`](sqs_lease_driver::Consumer).
impl Source for LeaseQueue {
    type Message = Message;
    type Error = ReceiveError;

    fn keeper(&self) -> &Keeper {
        Self::keeper(self)
    }

    async fn receive(&self, max: u8) -> Result<Vec<Delivery<Message>>, ReceiveError> {
        self.receive_up_to(max).await
    }

    fn is_transient(&self, error: &ReceiveError) -> bool {
        error.is_transient()
    }

    /// The last part of the URL.
    fn name(&self) -> &str {
        self.queue_url().rsplit('/').next().unwrap_or_default()
    }
}
