//! Your own receive loop: what a `Consumer` would decide is decided here.
//!
//! `cargo run --example own_loop` runs it on the embedded simulated SQS; `--queue-url URL` and `--endpoint-url URL` name
//! another queue or server.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqs_lease_demo::{self as demo, Place, Result, VISIBILITY_TIMEOUT, tell};
use sqs_lease_tokio::aws_config::{self, BehaviorVersion};
use sqs_lease_tokio::aws_sdk_sqs::{Client, types::Message};
use sqs_lease_tokio::{Delivery, Options, Visibility};
use tokio::task::JoinSet;

/// How many handlers run at a time.
const CONCURRENCY: usize = 4;
const JOBS: usize = 6;

#[tokio::main]
async fn main() -> ExitCode {
    demo::exit("own_loop", run().await)
}

async fn run() -> Result<()> {
    demo::log()?;
    let place = Place::from_args()?;
    let config = place.configure(aws_config::defaults(BehaviorVersion::latest())).load().await;
    let client = Client::new(&config);
    let queue_url = place.queue_url(&client).await?;
    for _ in 0..JOBS {
        demo::send(&client, &queue_url).await?;
    }

    let options = Options::new().visibility_timeout(Visibility::new(VISIBILITY_TIMEOUT)?);
    let queue = sqs_lease_tokio::open(client, queue_url, options).await?;
    let stops = Arc::new(AtomicBool::new(false));
    tokio::spawn(at_signals(Arc::clone(&stops)));
    let (mut running, mut handled) = (JoinSet::new(), 0);
    while handled < JOBS {
        let is_stopping = stops.load(Ordering::Relaxed);
        if is_stopping && running.is_empty() {
            break;
        }
        // Only what can start now: a lease counts from the receive. One under way is let finish at a stop: dropping it would
        // hide what SQS was about to answer.
        let free = CONCURRENCY - running.len();
        if !is_stopping && free > 0 && handled + running.len() < JOBS {
            for delivery in queue.receive_up_to(u8::try_from(free)?).await? {
                running.spawn(handle(delivery));
            }
        } else if let Some(ended) = running.join_next().await {
            ended??;
            handled += 1;
        }
    }
    tell(&format!("{handled} handled"));
    Ok(())
}

/// The first Ctrl-C lets what was received end, the second ends at once.
async fn at_signals(stops: Arc<AtomicBool>) {
    if tokio::signal::ctrl_c().await.is_ok() {
        stops.store(true, Ordering::Relaxed);
    }
    if tokio::signal::ctrl_c().await.is_ok() {
        std::process::exit(130);
    }
}

async fn handle(delivery: Delivery<Message>) -> Result<()> {
    // Dropped at the loss, and then nothing is deleted.
    delivery.keep(tokio::time::sleep(Duration::from_secs(5))).await?;
    delivery.delete().await?;
    tell(&format!("handled {}", delivery.message_id()));
    Ok(())
}
