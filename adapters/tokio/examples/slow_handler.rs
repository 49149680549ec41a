//! A handler that is slower than its visibility timeout, with the lease and without.
//!
//! `cargo run --example slow_handler` runs it on the embedded simulated SQS. With `--queue-url URL` it runs on that
//! queue, with credentials and region from where the AWS tools look for them; take a queue that nobody else uses.
//! `--endpoint-url URL` names another server that speaks SQS; without a queue it makes one there.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sqs_lease_demo::{self as demo, Place, Result, VISIBILITY_TIMEOUT, WORK, tell};
use sqs_lease_tokio::aws_config::{self, BehaviorVersion};
use sqs_lease_tokio::aws_sdk_sqs::Client;
use sqs_lease_tokio::{Options, Visibility};

#[tokio::main]
async fn main() -> ExitCode {
    demo::exit("slow_handler", run().await)
}

async fn run() -> Result<()> {
    demo::log()?;
    let place = Place::from_args()?;
    let config = place.configure(aws_config::defaults(BehaviorVersion::latest())).load().await;
    let client = Client::new(&config);
    let queue_url = place.queue_url(&client).await?;
    with_lease(&client, &queue_url).await?;
    demo::without_lease(&client, &queue_url).await
}

async fn with_lease(client: &Client, queue_url: &str) -> Result<()> {
    println!("With the lease: {VISIBILITY_TIMEOUT} s of visibility timeout, {WORK:?} of work.");
    demo::send(client, queue_url).await?;

    // The lines that a program needs: open, receive, keep, delete.
    let options = Options::new().visibility_timeout(Visibility::new(VISIBILITY_TIMEOUT)?);
    let queue = sqs_lease_tokio::open(client.clone(), queue_url, options).await?;
    let delivery = queue.receive_up_to(1).await?.pop().ok_or("no message came")?;
    tell(&format!("received, receive count {}", delivery.receive_count()));

    let is_done = Arc::new(AtomicBool::new(false));
    let rival = tokio::spawn({
        let (client, queue_url, is_done) = (client.clone(), queue_url.to_owned(), Arc::clone(&is_done));
        async move { demo::rival(&client, &queue_url, &is_done).await }
    });
    delivery.keep(tokio::time::sleep(WORK)).await?;
    tell(&format!("handler is done, the message is held for another {:.1?}", delivery.remaining()));
    delivery.delete().await?;
    tell("deleted");
    is_done.store(true, Ordering::Relaxed);
    if rival.await?? {
        return Err("the rival got the message although it was held".into());
    }
    tell("the rival never saw it\n");
    Ok(())
}
