//! The script that every adapter passes, on both flavours of Tokio.

mod common;

use std::future::Future;
use std::sync::Arc;

use common::Tokio;
use sqs_lease_suite::conformance::consumer::Consumes;
use sqs_lease_tokio::aws_sdk_sqs::types::Message;
use sqs_lease_tokio::{Consumer, ConsumerOptions, Delivery, LeaseQueue};

impl Consumes for Tokio {
    type Queue = LeaseQueue;

    async fn open(&self, endpoint_url: &str, queue_url: &str) -> LeaseQueue {
        common::open(endpoint_url, queue_url).await
    }

    fn consumer<F, E>(
        &self,
        queue: LeaseQueue,
        options: ConsumerOptions,
        handler: impl Fn(Arc<Delivery<Message>>) -> F + Send + Sync + 'static,
    ) -> Consumer<LeaseQueue>
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
    {
        sqs_lease_tokio::consumer(queue, options, handler).unwrap()
    }

    async fn block(&self, work: impl FnOnce() + Send + 'static) {
        tokio::task::spawn_blocking(work).await.unwrap();
    }
}

mod multi_thread {
    fn block_on(scene: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.unwrap().block_on(scene);
    }

    sqs_lease_suite::conformance_tests!(super::Tokio, block_on);
    sqs_lease_suite::consumer_tests!(super::Tokio, block_on);
}

mod current_thread {
    fn block_on(scene: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(scene);
    }

    sqs_lease_suite::conformance_tests!(super::Tokio, block_on);
    sqs_lease_suite::consumer_tests!(super::Tokio, block_on);
}
