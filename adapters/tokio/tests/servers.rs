//! The scenes that every adapter plays on the SQS-compatible servers of others, on Tokio.
//!
//! Without those servers (`tests/servers/servers.sh`) they say that they are skipped.

mod common;

use std::future::Future;

use common::Tokio;
use sqs_lease_suite::servers::{Adapter, Terms};
use sqs_lease_tokio::{LeaseQueue, Options};

impl Adapter for Tokio {
    type Queue = LeaseQueue;

    async fn open(&self, endpoint_url: &str, queue_url: &str, terms: Terms) -> Result<LeaseQueue, String> {
        let options = Options::new().wait(terms.wait).map_err(|it| it.to_string())?.policy(terms.policy);
        let options = match terms.timeout {
            Some(timeout) => options.visibility_timeout(timeout),
            None => options,
        };
        let opened = sqs_lease_tokio::open(common::client(endpoint_url), queue_url, options).await;
        opened.map_err(|error| error.to_string())
    }
}

fn block_on(scene: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(scene);
}

sqs_lease_suite::server_tests!(Tokio, block_on);
