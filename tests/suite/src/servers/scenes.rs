//! Scenes that every adapter plays on servers of others: through the SDK, in real time, with short timeouts.
//!
//! They assert what SQS does. "Not before" is asserted exactly; "not later than" with seconds to spare, since these
//! servers and the machine they run on may be slow.

#![expect(clippy::missing_panics_doc, reason = "a scene is a test; its panic is its failure")]

use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use sqs_lease_driver::{
    Delivery, LateDelete, Policy, Receipt, Received, Settings, SettleError, Source, StopReason, Visibility,
};

use super::Server;
use super::stage::{Adapter, LATE, Stage, Terms, receive, receive_count, secs};

/// Makes a test of each scene on each server: `server_tests!(adapter, block_on)`.
#[macro_export]
macro_rules! server_tests {
    ($adapter:expr, $block_on:expr) => {
        mod localstack {
            use super::*;
            $crate::server_tests!(@all $adapter, $block_on, LocalStack);
        }

        mod ministack {
            use super::*;
            $crate::server_tests!(@all $adapter, $block_on, Ministack);
        }

        mod moto {
            use super::*;

            #[test]
            fn told_of_the_limit_by_refusal() {
                let kind = $crate::servers::Kind::Moto;
                if let Some(server) = $crate::servers::Server::find_with_clock(kind) {
                    $block_on($crate::servers::told_of_the_limit_by_refusal($adapter, server));
                }
            }
        }
    };
    (@all $adapter:expr, $block_on:expr, $kind:ident) => {
        $crate::server_tests!(
            @each $adapter, $block_on, $kind,
            keeps_past_its_timeout,
            deletes,
            releases_at_once,
            releases_after,
            comes_back_when_left,
            settles_in_batches,
            counts_receives,
            ends_in_the_dead_letter_queue,
            takes_the_timeout_of_the_queue,
            keeps_the_order_of_a_group,
            told_of_a_purge,
            told_of_a_delete_by_an_older_handle,
            knows_by_its_clock_that_a_rival_has_it,
            wrong_queue_url
        );
    };
    (@each $adapter:expr, $block_on:expr, $kind:ident, $($scene:ident),*) => {
        $(
            #[test]
            fn $scene() {
                let kind = $crate::servers::Kind::$kind;
                if let Some(server) = $crate::servers::Server::find_for(kind, stringify!($scene)) {
                    $block_on($crate::servers::$scene($adapter, server));
                }
            }
        )*
    };
}

/// A handler that takes several timeouts, and a rival that polls all the while and never sees the message.
pub async fn keeps_past_its_timeout<A: Adapter>(adapter: A, server: Server) {
    let stage = Stage::new(adapter, server, json!({})).await;
    stage.send("slow work").await;
    let queue = stage.open(3).await;
    let delivery = receive::<A>(&queue).await;
    assert_eq!(delivery.receive_count(), 1);
    delivery.keep(stage.rival_gets_nothing_for(Duration::from_secs(9))).await.expect("held");
    assert!(delivery.is_held());
    delivery.delete().await.expect("deleted");
    stage.rival_gets_nothing_for(Duration::from_secs(5)).await;
}

/// Deleted means gone, and a second delete is no call.
pub async fn deletes<A: Adapter>(adapter: A, server: Server) {
    let stage = Stage::new(adapter, server, json!({})).await;
    stage.send("work").await;
    let queue = stage.open(3).await;
    let delivery = receive::<A>(&queue).await;
    delivery.delete().await.expect("deleted");
    delivery.delete().await.expect("it is deleted");
    stage.rival_gets_nothing_for(Duration::from_secs(5)).await;
}

/// Released means visible at once, with a receive count one higher.
pub async fn releases_at_once<A: Adapter>(adapter: A, server: Server) {
    let stage = Stage::new(adapter, server, json!({})).await;
    stage.send("work").await;
    let queue = stage.open(60).await;
    let delivery = receive::<A>(&queue).await;
    delivery.release(Visibility::ZERO).await.expect("released");
    assert!(!delivery.is_held());
    let again = stage.rival_receives(30).await;
    assert_eq!(again.len(), 1, "visible at once");
    assert_eq!(receive_count(&again[0]), "2");
}

/// Released with a delay means visible after it and not before, counted from the call.
pub async fn releases_after<A: Adapter>(adapter: A, server: Server) {
    let stage = Stage::new(adapter, server, json!({})).await;
    stage.send("work").await;
    let queue = stage.open(60).await;
    let delivery = receive::<A>(&queue).await;
    let before = Instant::now();
    delivery.release(secs(3)).await.expect("released");
    let (again, asked) = stage.rival_gets_it_within(Duration::from_secs(3) + LATE).await;
    // From before the call, where the server counts from within it; the rival's request took some time, too.
    let answered = Instant::now().duration_since(before);
    assert!(answered >= Duration::from_secs(3), "{answered:?}");
    assert!(asked.duration_since(before) < Duration::from_secs(3) + LATE);
    assert_eq!(receive_count(&again), "2");
}

/// What is left comes back when its timeout has run out, and not before.
pub async fn comes_back_when_left<A: Adapter>(adapter: A, server: Server) {
    let stage = Stage::new(adapter, server, json!({})).await;
    stage.send("work").await;
    let queue = stage.open(3).await;
    let before = Instant::now();
    let delivery = receive::<A>(&queue).await;
    let _message = delivery.leave();
    let (again, _) = stage.rival_gets_it_within(Duration::from_secs(3) + LATE).await;
    let answered = Instant::now().duration_since(before);
    assert!(answered >= Duration::from_secs(3), "{answered:?}");
    assert_eq!(receive_count(&again), "2");
}

/// Ten are held past their timeout; then seven are deleted and three given back, all at once.
pub async fn settles_in_batches<A: Adapter>(adapter: A, server: Server) {
    let stage = Stage::new(adapter, server, json!({})).await;
    let entries: Vec<_> =
        (0..10).map(|i| json!({"Id": format!("{i}"), "MessageBody": format!("work {i}")})).collect();
    stage.call("SendMessageBatch", json!({"Entries": entries})).await;
    let queue = stage.open(4).await;
    let mut deliveries = Vec::new();
    let end = Instant::now() + LATE;
    while deliveries.len() < 10 {
        deliveries.extend(queue.receive(10).await.expect("received"));
        assert!(Instant::now() < end, "{} of 10 came", deliveries.len());
    }
    stage.rival_gets_nothing_for(Duration::from_secs(6)).await;
    let given_back: Vec<_> = deliveries[7..].iter().map(|it| it.message_id().to_owned()).collect();
    let deleted = join_all(deliveries[..7].iter().map(Delivery::delete));
    let released = join_all(deliveries[7..].iter().map(|it| it.release(Visibility::ZERO)));
    let (deleted, released) = join(deleted, released).await;
    assert!(deleted.iter().chain(&released).all(Result::is_ok), "{deleted:?} {released:?}");
    let again = stage.rival_receives(30).await;
    let mut ids: Vec<_> =
        again.iter().map(|it| it["MessageId"].as_str().expect("an id").to_owned()).collect();
    ids.sort_unstable_by_key(|id| given_back.iter().position(|it| it == id));
    assert_eq!(ids, given_back);
    assert!(again.iter().all(|message| receive_count(message) == "2"));
}

/// Each receive counts, and an extension does not.
pub async fn counts_receives<A: Adapter>(adapter: A, server: Server) {
    let stage = Stage::new(adapter, server, json!({})).await;
    stage.send("work").await;
    let queue = stage.open(2).await;
    for count in 1..=3 {
        let delivery = receive::<A>(&queue).await;
        assert_eq!(delivery.receive_count(), count);
        delivery.keep(stage.adapter.sleep(Duration::from_millis(1500))).await.expect("held");
        delivery.release(Visibility::ZERO).await.expect("released");
    }
}

/// After `maxReceiveCount` receives the next finds nothing, and the message is in the dead-letter queue, its count going
/// on.
pub async fn ends_in_the_dead_letter_queue<A: Adapter>(adapter: A, server: Server) {
    let dead = Stage::new(adapter.clone(), server.clone(), json!({})).await;
    let attributes = dead.call("GetQueueAttributes", json!({"AttributeNames": ["QueueArn"]})).await;
    let policy = json!({"deadLetterTargetArn": attributes["Attributes"]["QueueArn"], "maxReceiveCount": "2"});
    let stage = Stage::new(adapter, server, json!({"RedrivePolicy": policy.to_string()})).await;
    stage.send("fails always").await;
    let queue = stage.open(30).await;
    for is_last in [false, true] {
        let delivery = receive::<A>(&queue).await;
        assert_eq!(delivery.is_last_receive(2), is_last);
        delivery.release(Visibility::ZERO).await.expect("released");
    }
    assert_eq!(queue.receive(1).await.expect("received").len(), 0);
    let (buried, _) = dead.rival_gets_it_within(LATE).await;
    assert_eq!(buried["Body"], "fails always");
    assert_eq!(receive_count(&buried), "3");
}

/// Opened without naming a timeout: the queue's own is read, and kept to.
pub async fn takes_the_timeout_of_the_queue<A: Adapter>(adapter: A, server: Server) {
    let stage = Stage::new(adapter, server, json!({"VisibilityTimeout": "3"})).await;
    stage.send("work").await;
    let terms = Terms { timeout: None, wait: Duration::ZERO, policy: Policy::new() };
    let queue =
        stage.adapter.open(&stage.server.endpoint_url, &stage.queue_url, terms).await.expect("opened");
    let delivery = receive::<A>(&queue).await;
    assert!(delivery.remaining() <= Duration::from_secs(3), "{:?}", delivery.remaining());
    delivery.keep(stage.rival_gets_nothing_for(Duration::from_secs(5))).await.expect("held");
}

/// What is kept holds back what is behind it in its group, and nothing of another group.
pub async fn keeps_the_order_of_a_group<A: Adapter>(adapter: A, server: Server) {
    let attributes = json!({"FifoQueue": "true", "ContentBasedDeduplication": "true"});
    let stage = Stage::new(adapter, server, attributes).await;
    for (body, group) in [("a1", "a"), ("a2", "a"), ("b1", "b")] {
        stage.call("SendMessage", json!({"MessageBody": body, "MessageGroupId": group})).await;
    }
    let queue = stage.open(3).await;
    let first = receive::<A>(&queue).await;
    assert_eq!(first.group(), Some("a"));
    let bodies = |messages: Vec<Value>| -> Vec<_> {
        messages.iter().map(|it| it["Body"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(bodies(stage.rival_receives(60).await), ["b1"]);
    first.keep(stage.rival_gets_nothing_for(Duration::from_secs(6))).await.expect("held");
    first.delete().await.expect("deleted in time, by its extensions");
    let next = stage.rival_receives(60).await;
    assert_eq!(receive_count(&next[0]), "1");
    assert_eq!(bodies(next), ["a2"]);
}

/// The queue is purged under the handler's hands: the next extension is refused, and the handler is told.
pub async fn told_of_a_purge<A: Adapter>(adapter: A, server: Server) {
    let stage = Stage::new(adapter, server, json!({})).await;
    stage.send("work").await;
    let queue = stage.open(4).await;
    let delivery = receive::<A>(&queue).await;
    stage.call("PurgeQueue", json!({})).await;
    let loss = delivery.keep(std::future::pending::<()>()).await.expect_err("lost");
    assert_eq!(loss.reason, StopReason::Refused);
    let late = delivery.delete().await;
    assert!(matches!(late, Err(SettleError::Lost { late: LateDelete::NotSent, .. })), "{late:?}");
}

/// Somebody who received the message before deletes it: the next extension is refused.
pub async fn told_of_a_delete_by_an_older_handle<A: Adapter>(adapter: A, server: Server) {
    let stage = Stage::new(adapter, server, json!({})).await;
    stage.send("work").await;
    let older = stage.rival_receives(0).await.remove(0);
    let queue = stage.open(4).await;
    let delivery = receive::<A>(&queue).await;
    assert_eq!(delivery.receive_count(), 2);
    stage.call("DeleteMessage", json!({"ReceiptHandle": older["ReceiptHandle"]})).await;
    let loss = delivery.keep(std::future::pending::<()>()).await.expect_err("lost");
    assert_eq!(loss.reason, StopReason::Refused);
}

/// Nobody drives while the timeout runs out, and a rival receives the message: the lease is over by its own clock,
/// whatever the server would say to an extension now.
pub async fn knows_by_its_clock_that_a_rival_has_it<A: Adapter>(adapter: A, server: Server) {
    let stage = Stage::new(adapter, server, json!({})).await;
    stage.send("work").await;
    let keeper = stage.adapter.keeper(&stage.server.endpoint_url, &stage.queue_url, Settings::new());
    let requested = keeper.now();
    let mine = stage.rival_receives(3).await.remove(0);
    let received = Received::new(keeper.now(), secs(3)).requested(requested).expect("not later");
    let receipt = Receipt::new(mine["ReceiptHandle"].as_str().expect("a handle"), received);
    let delivery = keeper.hold(receipt, ());
    assert!(delivery.is_held());
    let (again, _) = stage.rival_gets_it_within(Duration::from_secs(3) + LATE).await;
    assert_eq!(receive_count(&again), "2");
    assert!(!delivery.is_held());
    let loss = delivery.keep(std::future::pending::<()>()).await.expect_err("lost");
    assert_eq!(loss.reason, StopReason::Expired);
    let released = delivery.release(Visibility::ZERO).await;
    assert!(matches!(released, Err(SettleError::Lost { .. })), "{released:?}");
    // Nothing was sent that would end the rival's lease.
    stage.rival_gets_nothing_for(Duration::from_secs(2)).await;
}

/// A queue that does not exist is an error that no other try mends.
pub async fn wrong_queue_url<A: Adapter>(adapter: A, server: Server) {
    let stage = Stage::new(adapter, server, json!({})).await;
    let queue_url = format!("{}-of-nobody", stage.queue_url);
    let terms = |timeout| Terms { timeout, wait: Duration::ZERO, policy: Policy::new() };
    let endpoint_url = &stage.server.endpoint_url;
    let Err(error) = stage.adapter.open(endpoint_url, &queue_url, terms(None)).await.map(drop) else {
        panic!("a queue that does not exist was opened");
    };
    assert!(error.contains("NonExistentQueue"), "{error}");
    let queue = stage.adapter.open(endpoint_url, &queue_url, terms(Some(secs(3)))).await.expect("not asked");
    let Err(error) = queue.receive(1).await.map(|deliveries| deliveries.len()) else {
        panic!("a queue that does not exist gave an answer");
    };
    assert!(!queue.is_transient(&error), "{error}");
    assert!(error.to_string().contains("NonExistentQueue"), "{error}");
}
