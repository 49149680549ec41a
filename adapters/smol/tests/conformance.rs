//! The script that every adapter passes, on smol.

use std::future::Future;
use std::time::Duration;

use sqs_lease_smol::aws_sdk_sqs::Client;
use sqs_lease_smol::aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use sqs_lease_smol::driver::{Keeper, Settings};
use sqs_lease_smol::{LeaseQueue, OpenError, Options, SmolRuntime, SqsQueue, Visibility};
use sqs_lease_suite::conformance::{Platform, threads};

#[derive(Clone)]
struct Here;

fn client(endpoint_url: &str) -> Client {
    let config = sqs_lease_smol::client_config().unwrap();
    Client::from_conf(pointed(config, endpoint_url).build())
}

fn pointed(
    config: sqs_lease_smol::aws_sdk_sqs::config::Builder,
    endpoint_url: &str,
) -> sqs_lease_smol::aws_sdk_sqs::config::Builder {
    config
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .endpoint_url(endpoint_url)
}

impl Platform for Here {
    fn keeper(&self, endpoint_url: &str, queue_url: &str, settings: Settings) -> Keeper {
        Keeper::new(SqsQueue::new(client(endpoint_url), queue_url), SmolRuntime::new(), settings)
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        sqs_lease_smol::spawn(task);
    }

    async fn sleep(&self, time: Duration) {
        async_io::Timer::after(time).await;
    }
}

fn block_on<T>(scene: impl Future<Output = T>) -> T {
    smol::block_on(scene)
}

sqs_lease_suite::conformance_tests!(Here, block_on);

/// A queue opened, received from and settled, and no thread of Tokio's in the process.
#[test]
fn no_thread_of_tokios_is_there() {
    let server = sqs_lease_sim::Server::builder().start().unwrap();
    let queue_url = server.create_queue("jobs", &[]).unwrap();
    server.model(|model, now| model.send("jobs", "a job", now)).unwrap();
    block_on(async {
        let options = Options::new().visibility_timeout(Visibility::new(1).unwrap());
        let queue = sqs_lease_smol::open(client(server.endpoint_url()), queue_url, options).await.unwrap();
        let delivery = queue.receive().await.unwrap().pop().unwrap();
        delivery.keep(async_io::Timer::after(Duration::from_millis(1500))).await.unwrap();
        let threads = threads();
        assert!(threads.iter().any(|name| name == "async-io"), "{threads:?}");
        assert!(!threads.iter().any(|name| name.starts_with("tokio")), "{threads:?}");
        delivery.delete().await.unwrap();
    });
}

/// A client that would fall back to Tokio's parts is refused with a sentence, and nothing panics later.
#[test]
fn a_client_that_lacks_a_part_is_refused() {
    let refused = |client: Client| -> OpenError {
        let opened: Result<LeaseQueue, OpenError> =
            block_on(sqs_lease_smol::open(client, "http://127.0.0.1:1/1/jobs", Options::new()));
        opened.unwrap_err()
    };
    // No retries, timeouts and cached identities: without a sleep the SDK itself would refuse to be built.
    let bare = || {
        use sqs_lease_smol::aws_sdk_sqs::config::{
            IdentityCache, StalledStreamProtectionConfig, retry::RetryConfig, timeout::TimeoutConfig,
        };
        pointed(sqs_lease_smol::aws_sdk_sqs::Config::builder(), "http://127.0.0.1:1")
            .retry_config(RetryConfig::disabled())
            .timeout_config(TimeoutConfig::disabled())
            .identity_cache(IdentityCache::no_cache())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
    };
    let error = refused(Client::from_conf(
        bare().sleep_impl(sqs_lease_smol::aws_async_io::AsyncIoSleep::new()).build(),
    ));
    assert!(matches!(error, OpenError::NoHttpClient), "{error}");
    let error =
        refused(Client::from_conf(bare().http_client(sqs_lease_smol::http_client().unwrap()).build()));
    assert!(matches!(error, OpenError::NoSleep), "{error}");
    assert!(error.to_string().contains("sleep_impl"), "{error}");
}
