//! A handler that is slower than its visibility timeout, with the lease and without, on smol.
//!
//! `cargo run --example slow_handler_smol` runs it on the embedded simulated SQS; `--queue-url URL` and `--endpoint-url URL` name
//! another queue or server.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sqs_lease_demo::{self as demo, Place, Result, VISIBILITY_TIMEOUT, WORK, tell};
use sqs_lease_smol::aws_sdk_sqs::Client;
use sqs_lease_smol::{Options, Visibility};

fn main() -> ExitCode {
    demo::exit("slow_handler_smol", smol::block_on(run()))
}

async fn run() -> Result<()> {
    demo::log()?;
    let place = Place::from_args()?;
    let config = place.configure(sqs_lease_smol::config_loader()?).load().await;
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
    let queue = sqs_lease_smol::open(client.clone(), queue_url, options).await?;
    let delivery = queue.receive_up_to(1).await?.pop().ok_or("no message came")?;
    tell(&format!("received, receive count {}", delivery.receive_count()));

    let is_done = Arc::new(AtomicBool::new(false));
    let rival = smol::spawn({
        let (client, queue_url, is_done) = (client.clone(), queue_url.to_owned(), Arc::clone(&is_done));
        async move { demo::rival(&client, &queue_url, &is_done).await }
    });
    delivery.keep(smol::Timer::after(WORK)).await?;
    tell(&format!("handler is done, the message is held for another {:.1?}", delivery.remaining()));
    delivery.delete().await?;
    tell("deleted");
    is_done.store(true, Ordering::Relaxed);
    if rival.await? {
        return Err("the rival got the message although it was held".into());
    }
    tell("the rival never saw it\n");
    Ok(())
}
