//! Ours, and one task for each delivery as people write it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use sqs_lease_tokio::aws_sdk_sqs::Client;
use sqs_lease_tokio::aws_sdk_sqs::types::Message;
use sqs_lease_tokio::{Delivery, LeaseQueue, Options, Visibility, open};
use tokio::task::AbortHandle;
use tokio::time::sleep;

pub(crate) trait Variant {
    /// Dropped, the delivery is kept no longer.
    type Guard;

    async fn open(client: Client, queue_url: &str, timeout: u32) -> Self;

    /// Receives ten and keeps them.
    async fn receive(&self) -> Vec<Self::Guard>;

    fn extensions(&self) -> u64;
}

pub(crate) struct A {
    client: Client,
    queue_url: Arc<str>,
    timeout: i32,
    extensions: Arc<AtomicU64>,
}

pub(crate) struct Guard {
    task: AbortHandle,
    _message: Message,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Variant for A {
    type Guard = Guard;

    async fn open(client: Client, queue_url: &str, timeout: u32) -> Self {
        let timeout = i32::try_from(timeout).expect("12 hours at most");
        Self { client, queue_url: queue_url.into(), timeout, extensions: Arc::default() }
    }

    async fn receive(&self) -> Vec<Guard> {
        let call = self.client.receive_message().queue_url(&*self.queue_url).max_number_of_messages(10);
        let output = call.visibility_timeout(self.timeout).send().await.expect("received");
        let messages = output.messages.unwrap_or_default().into_iter();
        let keep = |message: Message| {
            let (client, queue_url) = (self.client.clone(), Arc::clone(&self.queue_url));
            let receipt_handle = message.receipt_handle.clone().expect("a receipt handle");
            let (timeout, extensions) = (self.timeout, Arc::clone(&self.extensions));
            let half = Duration::from_secs(timeout.unsigned_abs().into()) / 2;
            let task = tokio::spawn(async move {
                loop {
                    sleep(half).await;
                    let call = client.change_message_visibility().queue_url(&*queue_url);
                    let call = call.receipt_handle(&receipt_handle).visibility_timeout(timeout);
                    match call.send().await {
                        Ok(_) => extensions.fetch_add(1, Relaxed),
                        Err(error) => panic!("an extension failed: {error:?}"),
                    };
                }
            });
            Guard { task: task.abort_handle(), _message: message }
        };
        messages.map(keep).collect()
    }

    fn extensions(&self) -> u64 {
        self.extensions.load(Relaxed)
    }
}

pub(crate) struct Ours(pub(crate) LeaseQueue);

impl Variant for Ours {
    type Guard = Delivery<Message>;

    async fn open(client: Client, queue_url: &str, timeout: u32) -> Self {
        let timeout = Visibility::new(timeout).expect("12 hours at most");
        Self(open(client, queue_url, Options::new().visibility_timeout(timeout)).await.expect("opened"))
    }

    async fn receive(&self) -> Vec<Delivery<Message>> {
        self.0.receive().await.expect("received")
    }

    fn extensions(&self) -> u64 {
        self.0.keeper().stats().extensions
    }
}
