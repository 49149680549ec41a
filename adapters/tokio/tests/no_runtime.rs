//! Outside a Tokio runtime: an error value, not a panic in a task that nobody looks at.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use sqs_lease_tokio::aws_sdk_sqs::config::{BehaviorVersion, Region};
use sqs_lease_tokio::aws_sdk_sqs::{Client, Config};
use sqs_lease_tokio::{OpenError, Options};

#[test]
fn open_says_that_there_is_no_runtime() {
    let config =
        Config::builder().behavior_version(BehaviorVersion::latest()).region(Region::new("us-east-1"));
    let client = Client::from_conf(config.build());
    let open =
        pin!(sqs_lease_tokio::open(client, "https://sqs.us-east-1.amazonaws.com/1/jobs", Options::new()));
    let Poll::Ready(opened) = open.poll(&mut Context::from_waker(Waker::noop())) else { panic!("at once") };
    let error = opened.unwrap_err();
    assert_eq!(error, OpenError::NoRuntime);
    assert!(error.to_string().contains("#[tokio::main]"), "{error}");
}
