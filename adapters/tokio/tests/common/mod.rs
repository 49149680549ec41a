use std::future::Future;
use std::time::Duration;

use sqs_lease_suite::conformance::Platform;
use sqs_lease_tokio::aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use sqs_lease_tokio::aws_sdk_sqs::{Client, Config};
use sqs_lease_tokio::driver::{Keeper, Settings};
use sqs_lease_tokio::{LeaseQueue, Options, SqsQueue, TokioRuntime, Visibility};

/// A client of the simulated SQS: it wants a signature but knows no keys.
pub(crate) fn client(endpoint_url: &str) -> Client {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .endpoint_url(endpoint_url);
    Client::from_conf(config.build())
}

/// A queue of 2 s of visibility timeout and long polls of 1 s.
#[allow(dead_code, reason = "not every test binary wants it")]
pub(crate) async fn open(endpoint_url: &str, queue_url: &str) -> LeaseQueue {
    let options = Options::new().visibility_timeout(Visibility::new(2).unwrap());
    let options = options.wait(Duration::from_secs(1)).unwrap();
    sqs_lease_tokio::open(client(endpoint_url), queue_url, options).await.unwrap()
}

/// Where the scenes are played.
#[allow(dead_code, reason = "not every test binary wants it")]
#[derive(Clone)]
pub(crate) struct Tokio;

impl Platform for Tokio {
    fn keeper(&self, endpoint_url: &str, queue_url: &str, settings: Settings) -> Keeper {
        let queue = SqsQueue::new(client(endpoint_url), queue_url);
        Keeper::new(queue, TokioRuntime::new(), settings)
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        tokio::spawn(task);
    }

    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}
