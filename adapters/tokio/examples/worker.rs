//! A worker: ten slow handlers at a time, and a clean stop at Ctrl-C or SIGTERM.
//!
//! `cargo run --example worker` runs it on the embedded simulated SQS, with work in the queue; press Ctrl-C to stop it,
//! and once more to end at once. `--queue-url URL` and `--endpoint-url URL` name another queue or server, `--work
//! MILLISECONDS` how long its handlers take.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use sqs_lease_demo::{self as demo, Place, Result, VISIBILITY_TIMEOUT, tell};
use sqs_lease_tokio::aws_config::{self, BehaviorVersion};
use sqs_lease_tokio::aws_sdk_sqs::{Client, types::Message};
use sqs_lease_tokio::{
    BackOff, ConsumerOptions, Delivery, OnFailure, Options, Shutdown, Stopper, Visibility,
};
use tokio::signal::unix::{SignalKind, signal};

/// How long running handlers may take after the first signal.
const GRACE: Duration = Duration::from_secs(20);

#[tokio::main]
async fn main() -> ExitCode {
    demo::exit("worker", run().await)
}

async fn run() -> Result<()> {
    demo::log()?;
    let place = Place::from_args()?;
    let config = place.configure(aws_config::defaults(BehaviorVersion::latest())).load().await;
    let client = Client::new(&config);
    let queue_url = place.queue_url(&client).await?;
    for _ in 0..if place.is_own() { 20 } else { 0 } {
        demo::send(&client, &queue_url).await?;
    }

    let options = Options::new()
        .visibility_timeout(Visibility::new(VISIBILITY_TIMEOUT)?)
        .wait(Duration::from_secs(5))?;
    let queue = sqs_lease_tokio::open(client, queue_url, options).await?;
    let options = ConsumerOptions::new().on_failure(OnFailure::BackOff(BackOff::default()));
    let work = place.work();
    let consumer = sqs_lease_tokio::consumer(queue, options, move |delivery| handle(delivery, work))?;
    tokio::spawn(stop_at_signals(consumer.stopper()));
    let report = consumer.run().await?;
    tell(&format!("stopped: {report}"));
    Ok(())
}

/// Slower than the visibility timeout.
async fn handle(delivery: Arc<Delivery<Message>>, work: Duration) -> Result<()> {
    tokio::time::sleep(work).await;
    tell(&format!("handled {}, held for another {:.1?}", delivery.message_id(), delivery.remaining()));
    Ok(())
}

/// The first signal stops cleanly, the second at once.
async fn stop_at_signals(stopper: Stopper) -> Result<()> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    for is_first in [true, false] {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        if is_first {
            tell(&format!("stopping: running handlers have {GRACE:?}; a second signal stops at once"));
            stopper.shutdown(Shutdown::ReleaseUnstarted, GRACE);
        }
    }
    std::process::exit(130)
}
