//! The smol adapter with Tokio's features compiled in: no Tokio runtime runs.

use std::time::Duration;

use sqs_lease_smol::aws_sdk_sqs::Client;
use sqs_lease_smol::aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use sqs_lease_smol::{Options, Visibility};
use sqs_lease_suite::conformance::threads;
use tokio::runtime::Handle;

#[test]
fn no_tokio_runs() {
    let server = sqs_lease_sim::Server::builder().start().unwrap();
    let queue_url = server.create_queue("jobs", &[]).unwrap();
    server.model(|model, now| model.send("jobs", "a job", now)).unwrap();
    let config = sqs_lease_smol::client_config()
        .unwrap()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .endpoint_url(server.endpoint_url());
    let client = Client::from_conf(config.build());
    smol::block_on(async {
        let options = Options::new().visibility_timeout(Visibility::new(1).unwrap());
        let queue = sqs_lease_smol::open(client, queue_url, options).await.unwrap();
        let delivery = queue.receive().await.unwrap().pop().unwrap();
        let kept = delivery.keep(async {
            smol::Timer::after(Duration::from_millis(2300)).await;
            Handle::try_current().is_err()
        });
        assert!(kept.await.unwrap(), "a Tokio runtime is entered in a handler");
        delivery.delete().await.unwrap();
        let spawned = smol::spawn(async { Handle::try_current().is_err() });
        assert!(spawned.await, "a Tokio runtime is entered in a spawned task");
    });
    assert!(Handle::try_current().is_err());
    let threads = threads();
    assert!(!threads.iter().any(|name| name.starts_with("tokio")), "{threads:?}");
}
