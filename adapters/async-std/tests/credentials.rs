//! The chain of credentials on async-std. Each source is tested on smol, over the same HTTP client and sleep.

use std::env;
use std::process::Command;

use sqs_lease_async_std::aws_sdk_sqs::Client;
use sqs_lease_async_std::aws_sdk_sqs::config::ProvideCredentials;
use sqs_lease_sim::Action;

const MARK: &str = "CREDENTIALS_TEST";

/// The environment belongs to the whole process, so this runs in one of its own.
#[test]
#[ignore = "not a test by itself: the one below runs it in a process of its own"]
fn in_a_process_of_its_own() {
    if env::var_os(MARK).is_none() {
        return;
    }
    async_std::task::block_on(async {
        let config = sqs_lease_async_std::config_loader().unwrap().load().await;
        let found = config.credentials_provider().unwrap().provide_credentials().await.unwrap();
        assert_eq!(found.access_key_id(), "AKIDENV");
        Client::new(&config).get_queue_url().queue_name("jobs").send().await.unwrap();
    });
}

#[test]
fn the_environment() {
    let server = sqs_lease_sim::Server::builder().start().unwrap();
    server.create_queue("jobs", &[]).unwrap();
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", "in_a_process_of_its_own", "--ignored"]);
    child
        .env_clear()
        .env(MARK, "1")
        .env("AWS_REGION", "eu-west-1")
        .env("AWS_ENDPOINT_URL_SQS", server.endpoint_url());
    child.env("AWS_ACCESS_KEY_ID", "AKIDENV").env("AWS_SECRET_ACCESS_KEY", "secret");
    // Where the operating system's root certificates are, on a machine that has to say so.
    for name in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
        child.envs(env::var_os(name).map(|value| (name, value)));
    }
    let output = child.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(server.calls(Action::GetQueueUrl), 1);
}
