//! One message, kept by whoever awaits its handler: no task is spawned for the lease.
//!
//! For programs that receive one message, work on it, and end. `cargo run --example keep_without_a_driver` runs it on the
//! embedded simulated SQS; `--queue-url URL` and `--endpoint-url URL` name another queue or server.

use std::process::ExitCode;
use std::time::Duration;

use sqs_lease_demo::{self as demo, Place, Result, VISIBILITY_TIMEOUT, tell};
use sqs_lease_tokio::aws_config::{self, BehaviorVersion};
use sqs_lease_tokio::aws_sdk_sqs::Client;
use sqs_lease_tokio::{LeaseQueue, Options, TokioRuntime, Visibility};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    demo::exit("keep_without_a_driver", run().await)
}

async fn run() -> Result<()> {
    demo::log()?;
    let place = Place::from_args()?;
    let config = place.configure(aws_config::defaults(BehaviorVersion::latest())).load().await;
    let client = Client::new(&config);
    let queue_url = place.queue_url(&client).await?;
    demo::send(&client, &queue_url).await?;

    let options = Options::new().visibility_timeout(Visibility::new(VISIBILITY_TIMEOUT)?);
    // In place of `sqs_lease_tokio::open`, which spawns.
    let queue = LeaseQueue::open(client, queue_url, options, TokioRuntime::new()).await?;
    let delivery = queue.receive_up_to(1).await?.pop().ok_or("no message came")?;
    // Drives the lease beside the handler. A handler that blocks its thread would starve it.
    delivery.keep(tokio::time::sleep(Duration::from_secs(7))).await?;
    delivery.delete().await?;
    tell("handled and deleted");
    Ok(())
}
