//! The script that every adapter passes, in a program without a runtime: a bare `block_on`, futures-timer, and the
//! HTTP client on async-io with no executor.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use aws_async_io::AsyncIoSleep;
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_sqs::types::Message;
use aws_sdk_sqs::{Client, Config};
use futures_executor::block_on;
use sqs_lease_driver::{Consumer, ConsumerOptions, Delivery, Keeper, NoRuntime, Settings, Visibility};
use sqs_lease_sqs::{LeaseQueue, Options, SqsQueue, aws_sdk_sqs};
use sqs_lease_suite::conformance::consumer::Consumes;
use sqs_lease_suite::conformance::{Platform, threads};

#[derive(Clone)]
struct Bare;

fn client(endpoint_url: &str) -> Client {
    // Without an executor: each request drives its own connection.
    let http = aws_async_io::Client::builder().build().unwrap();
    let config = Config::builder()
        .http_client(http)
        .sleep_impl(AsyncIoSleep::new())
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .endpoint_url(endpoint_url);
    Client::from_conf(config.build())
}

impl Platform for Bare {
    fn keeper(&self, endpoint_url: &str, queue_url: &str, settings: Settings) -> Keeper {
        Keeper::new(SqsQueue::new(client(endpoint_url), queue_url), NoRuntime::new(), settings)
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        std::thread::spawn(|| block_on(task));
    }

    async fn sleep(&self, time: Duration) {
        futures_timer::Delay::new(time).await;
    }
}

impl Consumes for Bare {
    type Queue = LeaseQueue;

    async fn open(&self, endpoint_url: &str, queue_url: &str) -> LeaseQueue {
        let options = Options::new().visibility_timeout(Visibility::new(2).unwrap());
        let options = options.wait(Duration::from_secs(1)).unwrap();
        LeaseQueue::open(client(endpoint_url), queue_url, options, NoRuntime::new()).await.unwrap()
    }

    /// Each task a thread of its own.
    fn consumer<F, E>(
        &self,
        queue: LeaseQueue,
        options: ConsumerOptions,
        handler: impl Fn(Arc<Delivery<Message>>) -> F + Send + Sync + 'static,
    ) -> Consumer<LeaseQueue>
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
    {
        let spawn = |task| drop(std::thread::spawn(|| block_on(task)));
        Consumer::new(queue, spawn, options, handler)
    }

    /// A handler has its thread for itself.
    async fn block(&self, work: impl FnOnce() + Send + 'static) {
        work();
    }
}

sqs_lease_suite::conformance_tests!(Bare, block_on);
sqs_lease_suite::consumer_tests!(Bare, block_on);

/// Opened, received, kept for several timeouts and deleted by one `block_on`, with nothing spawned.
#[test]
fn keep_needs_no_task_and_no_runtime() {
    let server = sqs_lease_sim::Server::builder().start().unwrap();
    let queue_url = server.create_queue("jobs", &[("VisibilityTimeout", "1")]).unwrap();
    server.model(|model, now| model.send("jobs", "a job", now)).unwrap();
    block_on(async {
        let client = client(server.endpoint_url());
        let queue = LeaseQueue::open(client, queue_url, Options::new(), NoRuntime::new()).await.unwrap();
        let delivery = queue.receive().await.unwrap().pop().unwrap();
        delivery.keep(futures_timer::Delay::new(Duration::from_millis(3300))).await.unwrap();
        delivery.delete().await.unwrap();
        let threads = threads();
        assert!(!threads.iter().any(|name| name.starts_with("tokio")), "{threads:?}");
    });
}
