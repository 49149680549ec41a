//! What every scene stands on: an adapter, a queue of its own, and a rival.

use std::future::Future;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sqs_lease_driver::{Delivery, Policy, Source, Visibility};

use super::{Client, Server, unique};
use crate::conformance::Platform;

/// An adapter that opens a queue, besides what [`Platform`] has.
pub trait Adapter: Platform {
    /// Where it receives.
    type Queue: Source;

    /// Opens a queue, and spawns what keeps its deliveries.
    fn open(
        &self,
        endpoint_url: &str,
        queue_url: &str,
        terms: Terms,
    ) -> impl Future<Output = Result<Self::Queue, String>> + Send;
}

/// How a queue is opened.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The visibility timeout; none is the queue's own.
    pub timeout: Option<Visibility>,
    /// How long a receive waits for a message.
    pub wait: Duration,
    /// What leases ask for.
    pub policy: Policy,
}

/// How long a message may take to appear beyond when it should: the slowest of them is 1.2 s late on an idle machine.
pub(super) const LATE: Duration = Duration::from_secs(6);

pub(super) fn secs(secs: u32) -> Visibility {
    Visibility::new(secs).expect("in range")
}

/// A queue of its own on the server, and a rival that polls it without the SDK.
pub(super) struct Stage<A> {
    pub(super) adapter: A,
    pub(super) server: Server,
    pub(super) client: Client,
    pub(super) queue_url: String,
}

impl<A: Adapter> Stage<A> {
    pub(super) async fn new(adapter: A, server: Server, attributes: Value) -> Self {
        let client = server.client();
        let is_fifo = attributes.get("FifoQueue").is_some();
        let name = unique("scene") + if is_fifo { ".fifo" } else { "" };
        let created = client.call("CreateQueue", &json!({"QueueName": name, "Attributes": attributes})).await;
        let created = created.expect("the queue");
        let queue_url = created["QueueUrl"].as_str().expect("its URL").to_owned();
        Self { adapter, server, client, queue_url }
    }

    pub(super) async fn open(&self, timeout: u32) -> A::Queue {
        let timeout = Some(secs(timeout));
        let terms = Terms { timeout, wait: Duration::from_secs(1), policy: Policy::new() };
        self.adapter.open(&self.server.endpoint_url, &self.queue_url, terms).await.expect("opened")
    }

    pub(super) async fn call(&self, action: &str, mut body: Value) -> Value {
        body["QueueUrl"] = json!(self.queue_url);
        self.client.call(action, &body).await.unwrap_or_else(|refused| panic!("{action}: {refused}"))
    }

    pub(super) async fn send(&self, body: &str) {
        self.call("SendMessage", json!({"MessageBody": body})).await;
    }

    /// What a rival gets now, hidden from others for this long.
    pub(super) async fn rival_receives(&self, timeout: u32) -> Vec<Value> {
        let receive = json!({
            "MaxNumberOfMessages": 10,
            "VisibilityTimeout": timeout,
            "WaitTimeSeconds": 0,
            "AttributeNames": ["All"],
        });
        let answer = self.call("ReceiveMessage", receive).await;
        answer["Messages"].as_array().cloned().unwrap_or_default()
    }

    pub(super) async fn rival_gets_nothing_for(&self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            assert_eq!(self.rival_receives(30).await.len(), 0, "a rival got the message");
            self.adapter.sleep(Duration::from_millis(200)).await;
        }
    }

    /// The one message that a rival gets, and when the request was sent that got it.
    pub(super) async fn rival_gets_it_within(&self, time: Duration) -> (Value, Instant) {
        let end = Instant::now() + time;
        loop {
            let asked = Instant::now();
            if let Some(message) = self.rival_receives(30).await.pop() {
                return (message, asked);
            }
            assert!(asked < end, "the rival did not get the message");
            self.adapter.sleep(Duration::from_millis(50)).await;
        }
    }
}

pub(super) type Held<A> = Delivery<<<A as Adapter>::Queue as Source>::Message>;

/// The one delivery that is there.
pub(super) async fn receive<A: Adapter>(queue: &A::Queue) -> Held<A> {
    let end = Instant::now() + LATE;
    loop {
        let mut deliveries = queue.receive(1).await.expect("received");
        if let Some(delivery) = deliveries.pop() {
            return delivery;
        }
        assert!(Instant::now() < end, "no message came");
    }
}

pub(super) fn receive_count(message: &Value) -> &str {
    message["Attributes"]["ApproximateReceiveCount"].as_str().expect("a receive count")
}
