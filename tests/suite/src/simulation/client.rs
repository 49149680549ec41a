use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use sqs_lease_driver::{Moment, Runtime};
use sqs_lease_sim::ClientClock;

use crate::virtual_time::VirtualTime;

/// One consumer's machine: its clock may go wrong, and it may stop for a while.
///
/// Everything a consumer does follows a sleep or an answer, and both wait here until it runs.
#[derive(Clone)]
pub(crate) struct Client {
    time: VirtualTime,
    clock: Arc<ClientClock>,
}

impl Client {
    pub(crate) fn new(time: VirtualTime, clock: ClientClock) -> Self {
        Self { time, clock: Arc::new(clock) }
    }

    /// Sleeps by its own clock.
    pub(crate) async fn sleep(&self, time: Duration) {
        self.sleep_until(self.now() + time).await;
    }

    /// Lets something that takes this long elsewhere come in.
    pub(crate) async fn comes_in(&self, after: Duration) {
        self.time.sleep(after).await;
        self.awake().await;
    }

    pub(crate) async fn awake(&self) {
        let now = self.time.now();
        let awake = self.clock.awake(now);
        if awake > now {
            self.time.sleep_until(awake).await;
        }
    }

    /// Waits for a moment of SQS's clock, stopped or not.
    pub(crate) async fn until_truth(&self, at: Moment) {
        while self.time.now() < at {
            self.time.sleep_until(at).await;
        }
    }

    /// When it can act on what happens at `at`.
    pub(crate) fn awake_after(&self, at: Moment) -> Moment {
        self.clock.awake(at)
    }

    /// The time by SQS's clock.
    pub(crate) fn truth(&self) -> Moment {
        self.time.now()
    }
}

impl Runtime for Client {
    fn now(&self) -> Moment {
        self.clock.shows(self.time.now())
    }

    fn sleep_until(&self, at: Moment) -> impl Future<Output = ()> + Send + use<> {
        let client = self.clone();
        async move {
            client.time.sleep_until(client.clock.when(at)).await;
            client.awake().await;
        }
    }
}
