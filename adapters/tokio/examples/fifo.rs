//! A FIFO queue: groups beside each other, the members of a group one after another, and what a failure does to those
//! behind it.
//!
//! `cargo run --example fifo` runs it on an embedded simulated SQS.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sqs_lease_demo::{self as demo, Result, tell};
use sqs_lease_sim::{NewMessage, Server};
use sqs_lease_tokio::aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use sqs_lease_tokio::aws_sdk_sqs::{Client, Config, types::Message};
use sqs_lease_tokio::{ConsumerOptions, Delivery, OnFailure, Options, Shutdown, Visibility};

const GROUPS: [&str; 2] = ["north", "south"];
const STEPS: [&str; 4] = ["1", "2", "3", "4"];

#[tokio::main]
async fn main() -> ExitCode {
    demo::exit("fifo", run().await)
}

async fn run() -> Result<()> {
    demo::log()?;
    let server = Server::builder().start()?;
    let attributes = [("FifoQueue", "true"), ("ContentBasedDeduplication", "true")];
    let queue_url = server.create_queue("steps.fifo", &attributes)?;
    for (group, step) in GROUPS.iter().flat_map(|group| STEPS.map(|step| (group, step))) {
        let message = NewMessage::new(format!("{group} {step}")).group(*group);
        server.model(|model, now| model.send("steps.fifo", message, now))?;
    }
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("embedded", "embedded", None, None, "embedded"))
        .endpoint_url(server.endpoint_url());
    let client = Client::from_conf(config.build());

    let options = Options::new().visibility_timeout(Visibility::new(2)?).wait(Duration::from_secs(1))?;
    let queue = sqs_lease_tokio::open(client, queue_url, options).await?;
    // A failed step is delivered again after a second, and its group with it.
    let options = ConsumerOptions::new().on_failure(OnFailure::Release(Visibility::new(1)?));
    let done: Arc<Mutex<HashMap<String, Vec<String>>>> = Arc::default();
    let (has_failed, count) = (AtomicBool::new(false), Arc::new(AtomicUsize::new(0)));
    let handled = (Arc::clone(&done), Arc::clone(&count));
    let consumer = sqs_lease_tokio::consumer(queue, options, move |delivery: Arc<Delivery<Message>>| {
        let body = delivery.message().body().unwrap_or_default().to_owned();
        let fails = body == "north 2" && !has_failed.swap(true, Ordering::Relaxed);
        let (done, count) = (Arc::clone(&handled.0), Arc::clone(&handled.1));
        async move {
            tokio::time::sleep(Duration::from_millis(500)).await;
            if fails {
                tell(&format!("{body} fails: what stands behind it goes back"));
                return Err("the test wants it");
            }
            tell(&format!("{body} is done"));
            let (group, step) = body.split_once(' ').unwrap_or_default();
            let mut done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            done.entry(group.to_owned()).or_default().push(step.to_owned());
            count.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    })?;
    let stopper = consumer.stopper();
    let at_signal = stopper.clone();
    tokio::spawn(async move {
        // The first Ctrl-C stops cleanly, the second at once.
        if tokio::signal::ctrl_c().await.is_ok() {
            at_signal.shutdown(Shutdown::ReleaseUnstarted, Duration::from_secs(20));
        }
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(130);
        }
    });
    tokio::spawn(async move {
        while count.load(Ordering::Relaxed) < GROUPS.len() * STEPS.len() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        stopper.shutdown(Shutdown::Drain, Duration::from_secs(10));
    });
    let report = consumer.run().await?;
    tell(&format!("stopped: {report}"));
    let done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let in_order = GROUPS.iter().all(|group| done.get(*group).is_some_and(|steps| *steps == STEPS));
    if !in_order {
        return Err(format!("the order was not kept: {done:?}").into());
    }
    tell("each group in its order");
    Ok(())
}
