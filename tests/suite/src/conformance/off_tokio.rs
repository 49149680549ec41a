//! What the adapters of runtimes without Tokio share in their tests.

/// Makes `Here`, the platform of an adapter that is built on async-io, with its clients: `client(endpoint_url)`, and
/// `pointed(config, endpoint_url)` for a configuration of one's own.
///
/// `off_tokio_platform!(crate_of_the_adapter, ItsRuntime)`.
#[macro_export]
macro_rules! off_tokio_platform {
    ($adapter:ident, $runtime:ident) => {
        #[derive(Clone)]
        struct Here;

        fn client(endpoint_url: &str) -> $adapter::aws_sdk_sqs::Client {
            let config = pointed($adapter::client_config().unwrap(), endpoint_url);
            $adapter::aws_sdk_sqs::Client::from_conf(config.build())
        }

        fn pointed(
            config: $adapter::aws_sdk_sqs::config::Builder,
            endpoint_url: &str,
        ) -> $adapter::aws_sdk_sqs::config::Builder {
            use $adapter::aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};

            config
                .behavior_version(BehaviorVersion::latest())
                .region(Region::new("us-east-1"))
                .credentials_provider(Credentials::new("test", "test", None, None, "test"))
                .endpoint_url(endpoint_url)
        }

        impl $crate::conformance::Platform for Here {
            fn keeper(
                &self,
                endpoint_url: &str,
                queue_url: &str,
                settings: $adapter::driver::Settings,
            ) -> $adapter::driver::Keeper {
                let queue = $adapter::SqsQueue::new(client(endpoint_url), queue_url);
                $adapter::driver::Keeper::new(queue, $adapter::$runtime::new(), settings)
            }

            fn spawn(&self, task: impl std::future::Future<Output = ()> + Send + 'static) {
                $adapter::spawn(task);
            }

            async fn sleep(&self, time: std::time::Duration) {
                async_io::Timer::after(time).await;
            }
        }
    };
}

/// Makes the tests of an adapter that is built on async-io: the script, the consumer's scenes, no thread of Tokio's, and
/// clients that lack a part.
///
/// `off_tokio_tests!(crate_of_the_adapter, ItsRuntime, block_on, block)`; `block` runs a closure that blocks its thread.
#[macro_export]
macro_rules! off_tokio_tests {
    ($adapter:ident, $runtime:ident, $block_on:path, $block:path) => {
        use std::future::Future;
        use std::sync::Arc;
        use std::time::Duration;

        use $adapter::aws_sdk_sqs::config::Builder;
        use $adapter::aws_sdk_sqs::types::Message;
        use $adapter::aws_sdk_sqs::{Client, Config};
        use $adapter::{Consumer, ConsumerOptions, Delivery, LeaseQueue, OpenError, Options, Visibility};
        use $crate::conformance::{consumer::Consumes, threads};

        $crate::off_tokio_platform!($adapter, $runtime);

        impl Consumes for Here {
            type Queue = LeaseQueue;

            async fn open(&self, endpoint_url: &str, queue_url: &str) -> LeaseQueue {
                let options = Options::new().visibility_timeout(Visibility::new(2).unwrap());
                let options = options.wait(Duration::from_secs(1)).unwrap();
                $adapter::open(client(endpoint_url), queue_url, options).await.unwrap()
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
                $adapter::consumer(queue, options, handler)
            }

            async fn block(&self, work: impl FnOnce() + Send + 'static) {
                $block(work).await;
            }
        }

        $crate::conformance_tests!(Here, $block_on);
        $crate::consumer_tests!(Here, $block_on);

        /// A queue opened, received from and settled, and no thread of Tokio's in the process.
        #[test]
        fn no_thread_of_tokios_is_there() {
            let server = sqs_lease_sim::Server::builder().start().unwrap();
            let queue_url = server.create_queue("jobs", &[]).unwrap();
            server.model(|model, now| model.send("jobs", "a job", now)).unwrap();
            $block_on(async {
                let options = Options::new().visibility_timeout(Visibility::new(1).unwrap());
                let queue = $adapter::open(client(server.endpoint_url()), queue_url, options).await.unwrap();
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
            use $adapter::aws_sdk_sqs::config::retry::RetryConfig;
            use $adapter::aws_sdk_sqs::config::timeout::TimeoutConfig;
            use $adapter::aws_sdk_sqs::config::{IdentityCache, StalledStreamProtectionConfig};

            let refused = |config: Builder| -> OpenError {
                let url = "http://127.0.0.1:1/1/jobs";
                let client = Client::from_conf(config.build());
                $block_on($adapter::open(client, url, Options::new())).unwrap_err()
            };
            // No retries, timeouts and cached identities: without a sleep the SDK itself would refuse to be built.
            let bare = || {
                pointed(Config::builder(), "http://127.0.0.1:1")
                    .retry_config(RetryConfig::disabled())
                    .timeout_config(TimeoutConfig::disabled())
                    .identity_cache(IdentityCache::no_cache())
                    .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            };
            let error = refused(bare().sleep_impl($adapter::aws_async_io::AsyncIoSleep::new()));
            assert!(matches!(error, OpenError::NoHttpClient), "{error}");
            let error = refused(bare().http_client($adapter::http_client().unwrap()));
            assert!(matches!(error, OpenError::NoSleep), "{error}");
            assert!(error.to_string().contains("sleep_impl"), "{error}");
        }
    };
}
