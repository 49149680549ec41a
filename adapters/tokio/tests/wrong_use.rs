//! What cannot work fails early, with an error value that says what to do, and never by a panic in a task that nobody
//! looks at.

mod common;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use sqs_lease_sim::{Action, Fault, Server, redrive_policy};
use sqs_lease_suite::capture::Captured;
use sqs_lease_tokio::aws_sdk_sqs::types::Message;
use sqs_lease_tokio::{
    ConsumerError, ConsumerOptions, Delivery, LeaseQueue, OpenError, Options, Shutdown, TokioRuntime,
    Visibility,
};

async fn handled(_: Arc<Delivery<Message>>) -> Result<(), ()> {
    Ok(())
}

fn secs(secs: u32) -> Visibility {
    Visibility::new(secs).unwrap()
}

fn no_wait() -> Options {
    Options::new().wait(Duration::ZERO).unwrap()
}

/// A server with a queue of this `maxReceiveCount`, and a message in it.
fn redriven(most: u32) -> (Server, String) {
    let server = Server::builder().start().unwrap();
    server.create_queue("dead", &[]).unwrap();
    let arn = server.model(|model, _| model.queue_arn("dead")).unwrap();
    let url = server.create_queue("jobs", &[("RedrivePolicy", &redrive_policy(&arn, most))]).unwrap();
    server.model(|model, now| model.send("jobs", "a job", now)).unwrap();
    (server, url)
}

#[test]
fn open_outside_a_runtime() {
    let client = common::client("http://127.0.0.1:1");
    let open =
        pin!(sqs_lease_tokio::open(client, "https://sqs.us-east-1.amazonaws.com/1/jobs", Options::new()));
    let Poll::Ready(opened) = open.poll(&mut Context::from_waker(Waker::noop())) else { panic!("at once") };
    let error = opened.unwrap_err();
    assert_eq!(error, OpenError::NoRuntime);
    assert!(error.to_string().contains("#[tokio::main]"), "{error}");
}

/// A queue that was opened inside is used outside: consumers and deliveries work there, and a receive, which is the SDK's
/// own, gives an error.
#[test]
fn the_rest_outside_a_runtime() {
    let (server, url) = redriven(5);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let options = no_wait().visibility_timeout(secs(1));
    let (queue, delivery) = runtime.block_on(async {
        let queue = sqs_lease_tokio::open(common::client(server.endpoint_url()), url, options).await.unwrap();
        let delivery = queue.receive().await.unwrap().pop().unwrap();
        (queue, delivery)
    });
    let error = sqs_lease_tokio::consumer(queue.clone(), ConsumerOptions::new(), handled).unwrap_err();
    assert_eq!(error, OpenError::NoRuntime);
    // Longer than its visibility timeout, which the runtime's own threads extend.
    let kept = futures_executor::block_on(async {
        let slow = futures_timer::Delay::new(Duration::from_millis(2500));
        delivery.keep(slow).await
    });
    assert_eq!(kept, Ok(()));
    assert_eq!(futures_executor::block_on(delivery.delete()), Ok(()));
    drop(runtime);
    // A fresh client has no connection that would hide it.
    let open = LeaseQueue::open(
        common::client(server.endpoint_url()),
        queue.queue_url(),
        no_wait().visibility_timeout(secs(1)),
        TokioRuntime::new(),
    );
    let queue = futures_executor::block_on(open).unwrap();
    let error = futures_executor::block_on(queue.receive()).unwrap_err();
    assert!(!error.is_transient(), "{error}");
    assert!(error.to_string().contains("Tokio runtime") && !error.to_string().contains('\n'), "{error}");
    // Nor by the queue's own timeout.
    let client = common::client(server.endpoint_url());
    let open = LeaseQueue::open(client, queue.queue_url(), no_wait(), TokioRuntime::new());
    let error = futures_executor::block_on(open).unwrap_err();
    assert!(matches!(error, OpenError::ClientPanicked(_)), "{error}");
}

#[tokio::test]
async fn a_wrong_queue_url_ends_the_consumer_at_once() {
    let server = Server::builder().start().unwrap();
    let options = no_wait().visibility_timeout(secs(30));
    let url = format!("{}/000000000000/typo", server.endpoint_url());
    let queue = sqs_lease_tokio::open(common::client(server.endpoint_url()), url.as_str(), options).await;
    let consumer = sqs_lease_tokio::consumer(queue.unwrap(), ConsumerOptions::new(), handled).unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(10), consumer.run()).await.expect("at once");
    let error = ended.unwrap_err();
    assert!(matches!(error, ConsumerError::Receive(_)));
    let text = error.to_string();
    assert!(text.contains("NonExistentQueue") && text.contains(&url) && !text.contains('\n'), "{text}");
}

#[tokio::test]
async fn a_missing_permission_ends_the_consumer_and_is_named() {
    let cases = [
        ("AccessDeniedException", "these credentials need sqs:ReceiveMessage"),
        ("KMS.AccessDeniedException", "these credentials need kms:Decrypt"),
    ];
    for (code, needed) in cases {
        let (server, url) = redriven(5);
        server.inject(Fault::refuse(400, code, "is not authorized").on(Action::ReceiveMessage));
        let options = no_wait().visibility_timeout(secs(30));
        let queue = sqs_lease_tokio::open(common::client(server.endpoint_url()), url, options).await.unwrap();
        let consumer = sqs_lease_tokio::consumer(queue, ConsumerOptions::new(), handled).unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(10), consumer.run()).await.expect("at once");
        let text = ended.unwrap_err().to_string();
        assert!(text.contains(needed) && text.contains(code), "{text}");
    }
}

/// Read with the queue's timeout, or beside the first receive where the timeout is named.
#[tokio::test]
async fn a_redrive_policy_that_buries_after_one_receive_is_warned_of_once() {
    for named in [false, true] {
        for most in [1, 3] {
            let (captured, _guard) = Captured::here();
            let (server, url) = redriven(most);
            let options = if named { no_wait().visibility_timeout(secs(30)) } else { no_wait() };
            let client = common::client(server.endpoint_url());
            let queue = sqs_lease_tokio::open(client, url, options).await.unwrap();
            let delivery = queue.receive().await.unwrap().pop().unwrap();
            queue.receive().await.unwrap();
            assert_eq!(delivery.max_receive_count(), Some(most));
            let warned = captured.ours().iter().filter(|it| it.contains("maxReceiveCount 1")).count();
            assert_eq!(warned, usize::from(most == 1), "named {named}, {most}");
            assert_eq!(server.calls(Action::GetQueueAttributes), 1, "named {named}");
        }
    }
}

#[tokio::test]
async fn a_redrive_policy_can_be_named_and_need_not_be_readable() {
    let (server, url) = redriven(5);
    server.inject(Fault::refuse(403, "AccessDeniedException", "no").on(Action::GetQueueAttributes));
    let open = |options: Options| {
        sqs_lease_tokio::open(common::client(server.endpoint_url()), url.as_str(), options)
    };
    let options = no_wait().visibility_timeout(secs(0));
    let delivery = open(options).await.unwrap().receive().await.unwrap().pop().unwrap();
    assert_eq!(delivery.max_receive_count(), None);
    let named = options.max_receive_count(7).unwrap();
    let delivery = open(named).await.unwrap().receive().await.unwrap().pop().unwrap();
    assert_eq!((delivery.max_receive_count(), delivery.receive_count()), (Some(7), 2));
    for most in [0, 1001] {
        let error = Options::new().max_receive_count(most).unwrap_err().to_string();
        assert_eq!(error, format!("a maxReceiveCount of {most} is out of range: SQS takes 1 to 1000"));
    }
}

/// The SDK's own HTTP client and sleep are there with this crate, whatever the client was built with.
#[tokio::test]
async fn a_client_built_by_hand_has_what_it_needs() {
    let (server, url) = redriven(5);
    let client = common::client(server.endpoint_url());
    let queue = sqs_lease_tokio::open(client, url, no_wait()).await.unwrap();
    assert_eq!(queue.receive().await.unwrap().len(), 1);
    let consumer = sqs_lease_tokio::consumer(queue, ConsumerOptions::new(), handled).unwrap();
    consumer.stopper().shutdown(Shutdown::Drain, Duration::ZERO);
    consumer.run().await.unwrap();
}
