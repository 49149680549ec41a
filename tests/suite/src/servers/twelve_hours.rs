//! The 12 hours, on a server that counts them: moto, whose clock is put forward.

#![expect(clippy::missing_panics_doc, reason = "a scene is a test; its panic is its failure")]

use std::time::Duration;

use serde_json::json;
use sqs_lease_driver::{Policy, Source, StopReason};

use super::stage::{Adapter, Stage, Terms, receive, secs};
use super::{Server, say};
use crate::capture::Captured;

/// What moto still has of its 12 hours when the lease asks for more than that.
const LEFT: u64 = 16;

/// SQS counts more time since the receive than the lease does: it refuses what reaches beyond 12 hours, and shortens
/// nothing. The lease asks for less, warns that it was the last time, and ends at its limit.
pub async fn told_of_the_limit_by_refusal<A: Adapter>(adapter: A, server: Server) {
    server.set_ahead(Duration::ZERO);
    let stage = Stage::new(adapter, server, json!({})).await;
    let terms = Terms { timeout: Some(secs(6)), wait: Duration::ZERO, policy: Policy::new() };
    let captured = Captured::default();
    let open = stage.adapter.open(&stage.server.endpoint_url, &stage.queue_url, terms);
    let queue = open.await.expect("opened");
    // Moto counts from the send, and a long poll of its does not survive a jump of its clock.
    stage.send("half a day of work").await;
    let delivery = receive::<A>(&queue).await;
    let begin = queue.keeper().now();
    stage.server.set_ahead(Duration::from_secs(43_200 - LEFT));
    delivery.extend(secs(20)).expect("not zero");
    let loss = captured.watch(delivery.keep(std::future::pending::<()>())).await.expect_err("lost");
    stage.server.set_ahead(Duration::ZERO);
    assert_eq!(loss.reason, StopReason::Limit);
    // 20 s were refused and 10 s less were granted: longer than the 6 s of the receive, and within what was left.
    let held = loss.at - begin;
    say(&format!("moto refused an extension beyond the 12 hours; the lease ended after {held:?}"));
    assert!(held > Duration::from_millis(6_500) && held < Duration::from_secs(LEFT), "{held:?}");
}
