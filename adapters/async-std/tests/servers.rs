//! The scenes that every adapter plays on the SQS-compatible servers of others, on async-std.
//!
//! Without those servers (`tests/servers/servers.sh`) they say that they are skipped.

use std::future::Future;
use std::time::Duration;

use sqs_lease_async_std::aws_sdk_sqs::Client;
use sqs_lease_async_std::aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use sqs_lease_async_std::driver::{Keeper, Settings};
use sqs_lease_async_std::{AsyncStdRuntime, LeaseQueue, Options, SqsQueue};
use sqs_lease_suite::conformance::Platform;
use sqs_lease_suite::servers::{Adapter, Terms};

#[derive(Clone)]
struct Here;

fn client(endpoint_url: &str) -> Client {
    let config = sqs_lease_async_std::client_config()
        .unwrap()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .endpoint_url(endpoint_url);
    Client::from_conf(config.build())
}

impl Platform for Here {
    fn keeper(&self, endpoint_url: &str, queue_url: &str, settings: Settings) -> Keeper {
        Keeper::new(SqsQueue::new(client(endpoint_url), queue_url), AsyncStdRuntime::new(), settings)
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        sqs_lease_async_std::spawn(task);
    }

    async fn sleep(&self, time: Duration) {
        async_io::Timer::after(time).await;
    }
}

impl Adapter for Here {
    type Queue = LeaseQueue;

    async fn open(&self, endpoint_url: &str, queue_url: &str, terms: Terms) -> Result<LeaseQueue, String> {
        let options = Options::new().wait(terms.wait).map_err(|it| it.to_string())?.policy(terms.policy);
        let options = match terms.timeout {
            Some(timeout) => options.visibility_timeout(timeout),
            None => options,
        };
        let opened = sqs_lease_async_std::open(client(endpoint_url), queue_url, options).await;
        opened.map_err(|error| error.to_string())
    }
}

fn block_on(scene: impl Future<Output = ()>) {
    async_std::task::block_on(scene);
}

sqs_lease_suite::server_tests!(Here, block_on);
