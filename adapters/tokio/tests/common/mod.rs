use sqs_lease_tokio::aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use sqs_lease_tokio::aws_sdk_sqs::{Client, Config};

/// A client of the simulated SQS: it wants a signature but knows no keys.
pub(crate) fn client(endpoint_url: &str) -> Client {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .endpoint_url(endpoint_url);
    Client::from_conf(config.build())
}
