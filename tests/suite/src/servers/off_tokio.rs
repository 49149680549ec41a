//! What the adapters of runtimes without Tokio share in their tests on other servers.

/// Makes the tests of an adapter that is built on async-io: the scenes on the SQS-compatible servers of others.
///
/// `off_tokio_server_tests!(crate_of_the_adapter, ItsRuntime, block_on)`.
#[macro_export]
macro_rules! off_tokio_server_tests {
    ($adapter:ident, $runtime:ident, $block_on:path) => {
        use std::future::Future;

        use $adapter::{LeaseQueue, Options};
        use $crate::servers::{Adapter, Terms};

        $crate::off_tokio_platform!($adapter, $runtime);

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
