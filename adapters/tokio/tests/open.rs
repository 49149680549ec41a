//! Opening a queue, receiving from it, and what goes wrong with both.

mod common;

use std::time::Duration;

use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, future};
use sqs_lease_sim::{Action, Event, Fault, Server};
use sqs_lease_suite::capture::Captured;
use sqs_lease_tokio::aws_sdk_sqs::Client;
use sqs_lease_tokio::aws_sdk_sqs::types::MessageSystemAttributeName;
use sqs_lease_tokio::{Failure, LeaseQueue, OpenError, Options, SettleError, StopReason, Visibility};

struct Scene {
    server: Server,
    queue_url: String,
}

impl Scene {
    fn new(attributes: &[(&str, &str)]) -> Self {
        let server = Server::builder().start().unwrap();
        let queue_url = server.create_queue("jobs", attributes).unwrap();
        Self { server, queue_url }
    }

    async fn open(&self, options: Options) -> Result<LeaseQueue, OpenError> {
        let client = common::client(self.server.endpoint_url());
        sqs_lease_tokio::open(client, self.queue_url.as_str(), options).await
    }

    fn send(&self) -> sqs_lease_sim::MessageId {
        self.server.model(|model, now| model.send("jobs", "a job", now).unwrap().message_id)
    }

    /// For how long SQS hid the message at its first receive.
    fn hidden_for(&self, id: sqs_lease_sim::MessageId) -> Duration {
        self.server.model(|model, _| {
            let received = model.history(id).iter().find_map(|it| match it.event {
                Event::Received { until, .. } => Some(until - it.at),
                _ => None,
            });
            received.expect("it was received")
        })
    }
}

fn secs(secs: u32) -> Visibility {
    Visibility::new(secs).unwrap()
}

fn no_wait() -> Options {
    Options::new().wait(Duration::ZERO).unwrap()
}

#[tokio::test]
async fn the_queues_own_timeout_is_read_and_sent_with_each_receive() {
    let scene = Scene::new(&[("VisibilityTimeout", "17")]);
    let queue = scene.open(no_wait()).await.unwrap();
    // A change that was not read yet does not matter: the lease knows what was asked for.
    scene
        .server
        .model(|model, now| model.set_attributes("jobs", &[("VisibilityTimeout", "300")], now))
        .unwrap();
    let id = scene.send();
    let delivery = queue.receive().await.unwrap().pop().unwrap();
    assert_eq!(scene.hidden_for(id), Duration::from_secs(17));
    let remaining = delivery.remaining();
    assert!(remaining > Duration::from_secs(14) && remaining < Duration::from_secs(17), "{remaining:?}");
}

#[tokio::test]
async fn a_named_timeout_needs_no_permission_to_read_the_queues() {
    let scene = Scene::new(&[]);
    scene.server.inject(Fault::refuse(403, "AccessDeniedException", "no").on(Action::GetQueueAttributes));
    let queue = scene.open(no_wait().visibility_timeout(secs(9))).await.unwrap();
    let id = scene.send();
    assert_eq!(queue.receive().await.unwrap().len(), 1);
    assert_eq!(scene.hidden_for(id), Duration::from_secs(9));
}

#[tokio::test]
async fn a_timeout_neither_named_nor_readable_says_both_ways_out() {
    let scene = Scene::new(&[]);
    scene.server.inject(
        Fault::refuse(403, "AccessDeniedException", "User: x is not authorized")
            .on(Action::GetQueueAttributes),
    );
    let error = scene.open(no_wait()).await.unwrap_err().to_string();
    assert!(error.contains("AccessDenied"), "{error}");
    assert!(error.contains("name it with `visibility_timeout`"), "{error}");
    assert!(error.contains("sqs:GetQueueAttributes"), "{error}");
    assert!(!error.contains('\n'), "{error}");
}

#[tokio::test]
async fn a_queue_that_does_not_exist_is_told_in_one_line() {
    let scene = Scene::new(&[]);
    let url = format!("{}-not", scene.queue_url);
    let client = common::client(scene.server.endpoint_url());
    let error = sqs_lease_tokio::open(client.clone(), url.as_str(), no_wait()).await.unwrap_err();
    assert!(matches!(error, OpenError::NoSuchQueue { .. }), "{error}");
    let options = no_wait().visibility_timeout(secs(9));
    let queue = sqs_lease_tokio::open(client, url.as_str(), options).await.unwrap();
    let error = queue.receive().await.unwrap_err();
    assert_eq!((error.failure, error.is_transient()), (Failure::Denied, false));
    let error = error.to_string();
    assert!(error.contains("NonExistentQueue") && error.contains(&url) && !error.contains('\n'), "{error}");
}

#[tokio::test]
async fn a_server_in_trouble_is_worth_another_try() {
    let scene = Scene::new(&[]);
    let queue = scene.open(no_wait()).await.unwrap();
    // More than the SDK's own retries.
    scene.server.inject(Fault::unavailable().on(Action::ReceiveMessage).first(3));
    let error = queue.receive().await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert!(queue.receive().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_receive_on_a_dead_connection_ends() {
    let scene = Scene::new(&[]);
    let queue = scene.open(no_wait()).await.unwrap();
    // The first try is given up after ten seconds, and the SDK's retry is answered.
    scene.server.inject(Fault::hang().on(Action::ReceiveMessage).first(1));
    let received = tokio::time::timeout(Duration::from_secs(30), queue.receive()).await;
    assert!(received.expect("it ends").unwrap().is_empty());
}

/// Gives no credentials, for a reason that passes or for one that does not.
#[derive(Debug)]
struct NoCredentials(fn() -> CredentialsError);

impl ProvideCredentials for NoCredentials {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::ready(Err(self.0()))
    }
}

#[tokio::test]
async fn credentials_that_cannot_be_had_just_now_are_worth_another_try() {
    let passes: fn() -> CredentialsError =
        || CredentialsError::provider_error("the metadata service is busy");
    let stays: fn() -> CredentialsError = || CredentialsError::not_loaded("nothing is configured");
    for (error, is_transient) in [(passes, true), (stays, false)] {
        let scene = Scene::new(&[]);
        let config = common::client(scene.server.endpoint_url()).config().to_builder();
        let client = Client::from_conf(config.credentials_provider(NoCredentials(error)).build());
        let options = no_wait().visibility_timeout(secs(9));
        let queue = sqs_lease_tokio::open(client, scene.queue_url.as_str(), options).await.unwrap();
        let error = queue.receive().await.unwrap_err();
        assert_eq!(error.is_transient(), is_transient, "{error}");
    }
}

#[tokio::test]
async fn a_zero_timeout_gets_no_extension_but_a_delete() {
    let scene = Scene::new(&[("VisibilityTimeout", "0")]);
    let queue = scene.open(no_wait()).await.unwrap();
    scene.send();
    let delivery = queue.receive().await.unwrap().pop().unwrap();
    assert_eq!(delivery.ended().map(|ended| ended.reason), Some(StopReason::ZeroTimeout));
    assert!(!delivery.is_held());
    tokio::time::sleep(Duration::from_millis(300)).await;
    delivery.delete().await.unwrap();
    assert_eq!(scene.server.calls(Action::ChangeMessageVisibilityBatch), 0);
    assert!(queue.receive().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_delivery_knows_its_message_but_the_message_not_its_handle() {
    let scene = Scene::new(&[]);
    let queue = scene.open(no_wait().visibility_timeout(secs(0))).await.unwrap();
    let id = scene.send();
    queue.receive().await.unwrap();
    let delivery = queue.receive().await.unwrap().pop().unwrap();
    assert_eq!(delivery.message_id(), id.to_string());
    assert_eq!(delivery.receive_count(), 2);
    let message = delivery.message();
    assert_eq!((message.body(), message.receipt_handle()), (Some("a job"), None));
    let attributes = message.attributes().unwrap();
    assert!(attributes.contains_key(&MessageSystemAttributeName::ApproximateFirstReceiveTimestamp));
    assert!(attributes.contains_key(&MessageSystemAttributeName::SentTimestamp));
}

#[tokio::test]
async fn the_twelve_hours_count_from_the_request_of_a_long_poll() {
    let scene = Scene::new(&[]);
    let options = Options::new().wait(Duration::from_secs(5)).unwrap().visibility_timeout(secs(43_200));
    let queue = scene.open(options).await.unwrap();
    let (received, ()) = tokio::join!(queue.receive(), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        scene.send();
    });
    let delivery = received.unwrap().pop().unwrap();
    // To the limit: 12 hours less 5 s, from the request a second ago.
    let remaining = delivery.remaining();
    assert!(remaining <= Duration::from_secs(43_194), "{remaining:?}");
}

#[tokio::test]
async fn options_out_of_range_are_refused_by_value() {
    let error = Options::new().wait(Duration::from_secs(21)).unwrap_err().to_string();
    assert_eq!(error, "a wait of 21s is out of range: SQS takes whole seconds from 0 to 20");
    assert!(Options::new().wait(Duration::from_millis(1500)).is_err());
    let scene = Scene::new(&[]);
    let queue = scene.open(no_wait()).await.unwrap();
    for max in [0, 11] {
        let error = queue.receive_up_to(max).await.unwrap_err().to_string();
        assert!(error.contains(&format!("{max} messages were asked for")), "{error}");
    }
}

/// The SDK prints whole requests at trace, and SQS writes handles into its texts.
#[tokio::test]
async fn no_receipt_handle_in_any_event_at_trace() {
    let (captured, _guard) = Captured::here();
    let scene = Scene::new(&[("VisibilityTimeout", "2")]);
    scene.server.inject(Fault::throttle().on(Action::ChangeMessageVisibilityBatch).first(1));
    let queue = scene.open(no_wait()).await.unwrap();
    scene.send();
    scene.send();
    let mut deliveries = queue.receive().await.unwrap();
    let (first, second) = (deliveries.pop().unwrap(), deliveries.pop().unwrap());
    tracing_debug(&queue, &first);
    let kept = first.keep(tokio::time::sleep(Duration::from_secs(3))).await;
    assert_eq!(kept, Ok(()));
    first.delete().await.unwrap();
    // Deleted by somebody else: refused with a text that echoes the handle.
    scene.server.model(|model, now| model.purge("jobs", now)).unwrap();
    let loss = second.lost().await;
    assert_eq!(loss.reason, StopReason::Refused);
    assert!(matches!(second.delete().await, Err(SettleError::Lost { .. })));
    let lines = captured.lines();
    assert!(lines.iter().any(|line| line.target == "sqs_lease"), "our events are captured");
    let seen: Vec<_> = lines.iter().filter(|line| line.text.contains("AQEB")).collect();
    assert!(seen.is_empty(), "{seen:#?}");
}

fn tracing_debug(queue: &LeaseQueue, delivery: &dyn std::fmt::Debug) {
    tracing::trace!(?queue, ?delivery, "how they look");
}

#[tokio::test(start_paused = true)]
async fn leases_live_on_tokios_paused_clock_where_a_test_wants_it() {
    use sqs_lease_suite::scripted::ScriptedQueue;
    use sqs_lease_suite::virtual_time::World;
    use sqs_lease_tokio::TokioRuntime;
    use sqs_lease_tokio::driver::{Keeper, Receipt, Received, Settings};

    let begin = std::time::Instant::now();
    let calls = ScriptedQueue::new(World::new().time()).instantly();
    let keeper = Keeper::new(calls.clone(), TokioRuntime::with_tokio_clock(), Settings::new());
    tokio::spawn(keeper.run());
    let received = Received::new(keeper.now(), secs(30));
    let delivery = keeper.hold(Receipt::new("handle", received), ());
    delivery.keep(tokio::time::sleep(Duration::from_hours(2))).await.unwrap();
    delivery.delete().await.unwrap();
    assert_eq!(calls.calls().len(), 479 + 1, "an extension every 15 s of two hours, and the delete");
    assert!(begin.elapsed() < Duration::from_mins(1), "and no waiting");
}
