//! The script that every adapter has to pass, against the simulated SQS on loopback.
//!
//! [`conformance_tests!`](crate::conformance_tests) makes a test of each scene. Wall time here: each scene asserts
//! bounds, and where a moment matters asks the server or the lease, not the watch.

#![expect(clippy::missing_panics_doc, reason = "a scene is a test; its panic is its failure")]

use std::future::Future;
use std::time::Duration;

use futures_util::FutureExt;
use sqs_lease_driver::{
    Delivery, Keeper, Policy, Receipt, Received, Settings, SettleError, StopReason, Visibility,
};
use sqs_lease_sim::{Action, Fault, Receive, Server, redrive_policy};

use crate::capture::Captured;

pub mod consumer;
mod off_tokio;

/// A runtime and a client under test.
pub trait Platform: Clone + Send + Sync + 'static {
    /// A keeper of the queue at this URL, with real calls.
    fn keeper(&self, endpoint_url: &str, queue_url: &str, settings: Settings) -> Keeper;

    /// Spawns a task that is not waited for.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static);

    /// Sleeps.
    fn sleep(&self, time: Duration) -> impl Future<Output = ()> + Send;
}

/// The names of this process's threads; none where the platform does not tell.
pub fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    tasks
        .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok())
        .map(|name| name.trim_end().to_owned())
        .collect()
}

/// Makes a test of each scene: `conformance_tests!(platform, block_on)`.
#[macro_export]
macro_rules! conformance_tests {
    ($platform:expr, $block_on:expr) => {
        $crate::conformance_tests!(
            @each $platform, $block_on,
            holds_through_several_timeouts,
            is_lost_by_refusal,
            is_lost_by_a_dead_network,
            deletes,
            releases,
            survives_throttling,
            survives_a_partial_failure,
            ends_when_all_is_settled,
            lets_go_when_dropped,
            deletes_although_cancelled,
            ends_a_hung_call_in_time,
            keeps_without_a_task,
            plays_the_last_scene
        );
    };
    (@each $platform:expr, $block_on:expr, $($scene:ident),*) => {
        $(
            #[test]
            fn $scene() {
                $block_on($crate::conformance::$scene($platform));
            }
        )*
    };
}

const CHANGE: Action = Action::ChangeMessageVisibilityBatch;
const DELETE: Action = Action::DeleteMessageBatch;

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

struct Scene<P> {
    platform: P,
    server: Server,
    keeper: Keeper,
    captured: Captured,
}

impl<P: Platform> Scene<P> {
    fn new(platform: P) -> Self {
        Self::with(platform, Settings::new(), |_| {}, Server::builder().start().expect("a server"))
    }

    /// With a task that runs the keeper.
    fn with(platform: P, settings: Settings, prepare: impl FnOnce(&Server), server: Server) -> Self {
        let scene = Self::idle(platform, settings, prepare, server);
        scene.platform.spawn(scene.captured.watch(scene.keeper.run()));
        scene
    }

    fn idle(platform: P, settings: Settings, prepare: impl FnOnce(&Server), server: Server) -> Self {
        prepare(&server);
        let queue_url = server
            .model(|model, _| model.queue_url("jobs"))
            .or_else(|_| server.create_queue("jobs", &[]))
            .expect("the queue");
        let keeper = platform.keeper(server.endpoint_url(), &queue_url, settings);
        Self { platform, server, keeper, captured: Captured::default() }
    }

    /// Sends a message, receives it, and holds it.
    fn deliver(&self, timeout: u32) -> Delivery<sqs_lease_sim::Delivery> {
        self.server.model(|model, now| model.send("jobs", "a job", now).expect("sent"));
        self.receive(timeout).expect("the message")
    }

    fn receive(&self, timeout: u32) -> Option<Delivery<sqs_lease_sim::Delivery>> {
        let delivery = self.rival_receives(timeout)?;
        let received = Received::new(self.keeper.now(), Visibility::new(timeout).expect("a timeout"));
        let receipt = Receipt::new(delivery.receipt_handle.as_str(), received)
            .message_id(delivery.message_id.to_string())
            .receive_count(delivery.receive_count);
        Some(self.keeper.hold(receipt, delivery))
    }

    fn rival_receives(&self, timeout: u32) -> Option<sqs_lease_sim::Delivery> {
        let receive = Receive::new().visibility(i32::try_from(timeout).expect("a timeout"));
        self.server.model(|model, now| model.receive("jobs", &receive, now).expect("received")).pop()
    }

    /// Polls as a rival does, and fails if it gets anything.
    async fn rival_gets_nothing_for(&self, time: Duration) {
        let end = self.server.now() + time;
        while self.server.now() < end {
            assert!(self.rival_receives(30).is_none(), "a rival got the message");
            self.platform.sleep(millis(50)).await;
        }
    }

    async fn rival_gets_it_within(&self, time: Duration) -> sqs_lease_sim::Delivery {
        let end = self.server.now() + time;
        loop {
            if let Some(delivery) = self.rival_receives(1) {
                return delivery;
            }
            assert!(self.server.now() < end, "the rival did not get the message");
            self.platform.sleep(millis(20)).await;
        }
    }

    /// No event of any crate shows a receipt handle.
    fn nothing_secret_was_logged(&self, delivery: &sqs_lease_sim::Delivery) {
        let lines = self.captured.lines();
        for line in &lines {
            assert!(!line.text.contains(&delivery.receipt_handle), "{line:?}");
            assert!(!line.text.contains("AQEB"), "{line:?}");
        }
    }
}

/// A handler that takes several timeouts, and a rival that polls all the while.
pub async fn holds_through_several_timeouts<P: Platform>(platform: P) {
    let scene = Scene::new(platform);
    let delivery = scene.deliver(2);
    delivery.keep(scene.rival_gets_nothing_for(millis(7300))).await.expect("held");
    assert!(delivery.is_held());
    delivery.delete().await.expect("deleted");
    let extensions = scene.server.calls(CHANGE);
    assert!((6..=8).contains(&extensions), "{extensions} extensions in 7.3 s at a timeout of 2 s");
    scene.rival_gets_nothing_for(millis(2500)).await;
    scene.nothing_secret_was_logged(delivery.message());
}

/// The message is deleted behind the handler's back.
pub async fn is_lost_by_refusal<P: Platform>(platform: P) {
    let scene = Scene::new(platform);
    let delivery = scene.deliver(2);
    let handle = &delivery.message().receipt_handle;
    scene.server.model(|model, now| model.delete("jobs", handle, now).expect("deleted"));
    let loss = delivery.keep(std::future::pending::<()>()).await.expect_err("lost");
    assert_eq!(loss.reason, StopReason::Refused);
    assert!(matches!(delivery.delete().await, Err(SettleError::Lost { .. })));
    assert_eq!(scene.server.calls(DELETE), 0, "there is nothing to delete");
    scene.nothing_secret_was_logged(delivery.message());
}

/// No call returns any more: the loss is told by the clock, before SQS hands the message on.
pub async fn is_lost_by_a_dead_network<P: Platform>(platform: P) {
    let scene = Scene::new(platform);
    scene.server.inject(Fault::hang().on(CHANGE));
    let begin = scene.keeper.now();
    let delivery = scene.deliver(2);
    let loss = delivery.keep(std::future::pending::<()>()).await.expect_err("lost");
    assert_eq!(loss.reason, StopReason::Expired);
    // 2 s less the guard of 0.1 s, from a receive a little after the beginning.
    let held = loss.at - begin;
    assert!(held >= millis(1900) && held < millis(2400), "{held:?}");
}

/// Deleted means gone, and a second delete is none.
pub async fn deletes<P: Platform>(platform: P) {
    let scene = Scene::new(platform);
    let delivery = scene.deliver(1);
    delivery.delete().await.expect("deleted");
    delivery.delete().await.expect("it is deleted");
    assert_eq!(scene.server.calls(DELETE), 1);
    let released = delivery.release(Visibility::ZERO).await;
    assert_eq!(released, Err(SettleError::AlreadySettled { how: StopReason::Deleted }));
    scene.rival_gets_nothing_for(millis(1500)).await;
}

/// Released means visible at once, with a receive count one higher.
pub async fn releases<P: Platform>(platform: P) {
    let scene = Scene::new(platform);
    let delivery = scene.deliver(30);
    delivery.release(Visibility::ZERO).await.expect("released");
    let again = scene.rival_receives(30).expect("it is visible");
    assert_eq!(again.receive_count, 2);
    assert!(!delivery.is_held());
    scene.nothing_secret_was_logged(&again);
}

/// Throttled calls are repeated, and the lease holds.
pub async fn survives_throttling<P: Platform>(platform: P) {
    let scene = Scene::new(platform);
    scene.server.inject(Fault::throttle().on(CHANGE).first(2));
    let delivery = scene.deliver(4);
    delivery.keep(scene.rival_gets_nothing_for(millis(5000))).await.expect("held");
    assert!(scene.server.calls(CHANGE) >= 4, "two throttled, and the rest");
    scene.nothing_secret_was_logged(delivery.message());
}

/// One entry of a batch fails; it is repeated, and the others do not notice.
pub async fn survives_a_partial_failure<P: Platform>(platform: P) {
    let scene = Scene::new(platform);
    scene.server.inject(Fault::internal_failure_entry(1).on(CHANGE).first(1));
    let deliveries = [scene.deliver(4), scene.deliver(4), scene.deliver(4)];
    scene.rival_gets_nothing_for(millis(5000)).await;
    assert!(deliveries.iter().all(Delivery::is_held));
}

/// The keeper's task ends when everything is settled and everybody is gone.
pub async fn ends_when_all_is_settled<P: Platform>(platform: P) {
    let Scene { platform, server, keeper, .. } =
        Scene::idle(platform, Settings::new(), |_| {}, Server::builder().start().expect("a server"));
    let scene = Scene { platform, server, keeper, captured: Captured::default() };
    let delivery = scene.deliver(30);
    let run = scene.keeper.run();
    let settling = delivery.delete().now_or_never();
    assert!(settling.is_none() || settling == Some(Ok(())));
    drop(delivery);
    let Scene { keeper, server, .. } = scene;
    drop(keeper);
    run.await;
    assert_eq!(server.calls(DELETE), 1);
}

/// Dropping ends the renewal: the timeout runs out, and the message goes to somebody else.
pub async fn lets_go_when_dropped<P: Platform>(platform: P) {
    let scene = Scene::new(platform);
    let delivery = scene.deliver(2);
    drop(delivery);
    let again = scene.rival_gets_it_within(millis(4000)).await;
    assert_eq!(again.receive_count, 2);
    assert_eq!(scene.server.calls(CHANGE), 0);
}

/// A delete whose future is dropped while the call is on the wire happens all the same.
pub async fn deletes_although_cancelled<P: Platform>(platform: P) {
    let scene = Scene::new(platform);
    scene.server.inject(Fault::latency_before(millis(500)).on(DELETE));
    let delivery = scene.deliver(2);
    {
        let mut delete = std::pin::pin!(delivery.delete());
        let mut sleep = std::pin::pin!(scene.platform.sleep(millis(200)));
        let first = futures_util::future::select(delete.as_mut(), sleep.as_mut()).await;
        assert!(matches!(first, futures_util::future::Either::Right(_)), "the delete takes longer");
    }
    drop(delivery);
    scene.rival_gets_nothing_for(millis(3000)).await;
}

/// A server that accepts a call and never answers: the call is ended in time for another.
pub async fn ends_a_hung_call_in_time<P: Platform>(platform: P) {
    let scene = Scene::new(platform);
    scene.server.inject(Fault::hang().on(CHANGE).first(1));
    let delivery = scene.deliver(4);
    // Sent at 2 s, wanted by 3 s, sent again at 3.1 s.
    delivery.keep(scene.rival_gets_nothing_for(millis(5500))).await.expect("held");
    assert!(scene.server.calls(CHANGE) >= 2);
}

/// `keep` and `delete` do their own driving where no task does.
pub async fn keeps_without_a_task<P: Platform>(platform: P) {
    let scene = Scene::idle(platform, Settings::new(), |_| {}, Server::builder().start().expect("a server"));
    let delivery = scene.deliver(2);
    delivery.keep(scene.rival_gets_nothing_for(millis(3500))).await.expect("held");
    delivery.delete().await.expect("deleted");
    assert!(scene.server.calls(CHANGE) >= 3);
    scene.rival_gets_nothing_for(millis(2500)).await;
}

/// The twelve hours scaled down to eight seconds, on both sides.
///
/// A handler holds on to the end: one final extension, the warning in the log, the message goes to another consumer
/// with a receive count one higher, and after `maxReceiveCount` receives it is in the dead-letter queue.
pub async fn plays_the_last_scene<P: Platform>(platform: P) {
    let policy = Policy::new().max_hold(millis(7500)).expect("in range");
    let redrive = |server: &Server| {
        server.create_queue("dead", &[]).expect("the dead-letter queue");
        let arn = server.model(|model, _| model.queue_arn("dead").expect("its ARN"));
        server.create_queue("jobs", &[("RedrivePolicy", &redrive_policy(&arn, 2))]).expect("the queue");
    };
    let server = Server::builder().limit(Duration::from_secs(8)).start().expect("a server");
    let scene = Scene::with(platform, Settings::new().policy(policy), redrive, server);
    let delivery = scene.deliver(4);
    assert_eq!(delivery.receive_count(), 1);

    let kept = delivery.keep(std::future::pending::<()>());
    // It may drive until the task does.
    let loss = scene.captured.watch(kept).await.expect_err("lost");
    assert_eq!(loss.reason, StopReason::Limit);
    // In the middle of the first timeout by 4 s; 4 s after the receive the final one, by the 3 s that are left.
    assert_eq!(scene.server.calls(CHANGE), 2);
    assert!(scene.rival_receives(1).is_none(), "told before SQS hands the message on");

    let again = scene.rival_gets_it_within(millis(4000)).await;
    assert_eq!(again.receive_count, 2);
    // By now it is logged: the handler is told first.
    let warnings: Vec<_> = scene.captured.ours().into_iter().filter(|it| it.starts_with("WARN")).collect();
    assert!(warnings[0].contains("final extension") && warnings[0].contains("by=3"), "{warnings:#?}");
    assert!(warnings[1].contains("lost") && warnings[1].contains("reason=\"limit\""), "{warnings:#?}");
    // Its timeout of 1 s runs out, and the receive that would be the third buries it.
    scene.platform.sleep(millis(1300)).await;
    assert!(scene.rival_receives(1).is_none());
    let receive = Receive::new();
    let dead = scene.server.model(|model, now| model.receive("dead", &receive, now).expect("received"));
    assert_eq!(dead.first().map(|it| it.message_id), Some(again.message_id));
    scene.nothing_secret_was_logged(delivery.message());
}
