//! What the adapters of runtimes without Tokio share in their tests on other servers.

/// Makes the tests of an adapter that is built on async-io: the scenes on the SQS-compatible servers of others.
///
/// `off_tokio_server_tests!(crate_of_the_adapter, ItsRuntime, block_on)`.
#[macro_export]
macro_rules! off_tokio_server_tests {
    ($adapter:ident, $runtime:ident, $block_on:path) => {
        use std::future::Future;
        use std::time::Duration;

        use $adapter::aws_sdk_sqs::Client;
        use $adapter::aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
        use $adapter::driver::{Keeper, Settings};
        use $adapter::{LeaseQueue, Options, SqsQueue};
        use $crate::conformance::Platform;
        use $crate::servers::{Adapter, Terms};

        #[derive(Clone)]
        struct Here;

        fn client(endpoint_url: &str) -> Client {
            let config = $adapter::client_config()
                .unwrap()
                .behavior_version(BehaviorVersion::latest())
                .region(Region::new("us-east-1"))
                .credentials_provider(Credentials::new("test", "test", None, None, "test"))
                .endpoint_url(endpoint_url);
            Client::from_conf(config.build())
        }

        impl Platform for Here {
            fn keeper(&self, endpoint_url: &str, queue_url: &str, settings: Settings) -> Keeper {
                let queue = SqsQueue::new(client(endpoint_url), queue_url);
                Keeper::new(queue, $adapter::$runtime::new(), settings)
            }

            fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
                $adapter::spawn(task);
            }

            async fn sleep(&self, time: Duration) {
                async_io::Timer::after(time).await;
            }
        }

        impl Adapter for Here {
            type Queue = LeaseQueue;

            async fn open(
                &self,
                endpoint_url: &str,
                queue_url: &str,
                terms: Terms,
            ) -> Result<LeaseQueue, String> {
                let options = Options::new().wait(terms.wait).map_err(|it| it.to_string())?;
                let options = options.policy(terms.policy);
                let options = match terms.timeout {
                    Some(timeout) => options.visibility_timeout(timeout),
                    None => options,
                };
                let opened = $adapter::open(client(endpoint_url), queue_url, options).await;
                opened.map_err(|error| error.to_string())
            }
        }

        fn block_on(scene: impl Future<Output = ()>) {
            $block_on(scene);
        }

        $crate::server_tests!(Here, block_on);
    };
}
