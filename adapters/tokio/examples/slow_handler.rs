//! A handler that is slower than its visibility timeout, with the lease and without.
//!
//! `cargo run --example slow_handler` runs it on the embedded simulated SQS. With `--queue-url URL` it runs on that
//! queue, with credentials and region from where the AWS tools look for them; take a queue that nobody else uses.
//! `--endpoint-url URL` names another server that speaks SQS; without a queue it makes one there.

use std::error::Error;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use sqs_lease_tokio::aws_config::{self, BehaviorVersion};
use sqs_lease_tokio::aws_sdk_sqs::Client;
use sqs_lease_tokio::aws_sdk_sqs::config::{Credentials, Region};
use sqs_lease_tokio::aws_sdk_sqs::types::MessageSystemAttributeName::ApproximateReceiveCount;
use sqs_lease_tokio::{Options, Visibility, in_one_line};
use tokio::time::{Instant, sleep, timeout};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;

/// Short, so that a minute's work fits into seconds.
const VISIBILITY_TIMEOUT: u32 = 2;
const WORK: Duration = Duration::from_secs(7);

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> ExitCode {
    LazyLock::force(&BEGIN);
    if let Err(error) = log() {
        eprintln!("slow_handler: {error}");
        return ExitCode::FAILURE;
    }
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("slow_handler: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<()> {
    let (queue_url, endpoint_url) = arguments()?;
    let (client, queue_url, _server) = match (queue_url, endpoint_url) {
        (None, None) => {
            let server = sqs_lease_sim::Server::builder().start()?;
            let queue_url = server.create_queue("jobs", &[])?;
            (embedded_client(server.endpoint_url()), queue_url, Some(server))
        }
        (queue_url, endpoint_url) => {
            let mut config = aws_config::defaults(BehaviorVersion::latest());
            if let Some(endpoint_url) = &endpoint_url {
                config = config.endpoint_url(endpoint_url);
            }
            let client = Client::new(&config.load().await);
            let queue_url = match queue_url {
                Some(queue_url) => queue_url,
                None => create_queue(&client).await?,
            };
            (client, queue_url, None)
        }
    };
    with_lease(&client, &queue_url).await?;
    without_lease(&client, &queue_url).await
}

async fn with_lease(client: &Client, queue_url: &str) -> Result<()> {
    println!("With the lease: {VISIBILITY_TIMEOUT} s of visibility timeout, {WORK:?} of work.");
    send(client, queue_url).await?;

    // The lines that a program needs: open, receive, keep, delete.
    let options = Options::new().visibility_timeout(Visibility::new(VISIBILITY_TIMEOUT)?);
    let queue = sqs_lease_tokio::open(client.clone(), queue_url, options).await?;
    let delivery = queue.receive_up_to(1).await?.pop().ok_or("no message came")?;
    tell(&format!("received, receive count {}", delivery.receive_count()));

    let is_done = Arc::new(AtomicBool::new(false));
    let rival = tokio::spawn(rival(client.clone(), queue_url.to_owned(), Arc::clone(&is_done)));
    delivery.keep(sleep(WORK)).await?;
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

async fn without_lease(client: &Client, queue_url: &str) -> Result<()> {
    println!("The same without the lease.");
    send(client, queue_url).await?;
    let received = client
        .receive_message()
        .queue_url(queue_url)
        .visibility_timeout(i32::try_from(VISIBILITY_TIMEOUT)?)
        .wait_time_seconds(10)
        .send()
        .await
        .map_err(|error| in_one_line(&error))?;
    received.messages().first().ok_or("no message came")?;
    tell("received, nobody extends it");
    let rival = rival(client.clone(), queue_url.to_owned(), Arc::default());
    let got = timeout(WORK, rival).await.unwrap_or(Ok(false))?;
    if !got {
        return Err("the rival did not get the message although nobody held it".into());
    }
    tell("the rival works on it, and so does the handler");
    Ok(())
}

/// Another consumer: polls until it gets a message, or until all is done. Whether it got one.
async fn rival(client: Client, queue_url: String, is_done: Arc<AtomicBool>) -> Result<bool> {
    while !is_done.load(Ordering::Relaxed) {
        let polled = client
            .receive_message()
            .queue_url(&queue_url)
            .wait_time_seconds(1)
            .message_system_attribute_names(ApproximateReceiveCount)
            .send()
            .await
            .map_err(|error| in_one_line(&error))?;
        let Some(message) = polled.messages().first() else {
            tell("a rival polls: empty");
            continue;
        };
        let count = message.attributes().and_then(|it| it.get(&ApproximateReceiveCount)).map_or("?", |it| it);
        tell(&format!("a rival polls: it has the message, receive count {count}"));
        let handle = message.receipt_handle().unwrap_or_default();
        // A tidy end for a queue that stays.
        client
            .delete_message()
            .queue_url(&queue_url)
            .receipt_handle(handle)
            .send()
            .await
            .map_err(Box::new)?;
        return Ok(true);
    }
    Ok(false)
}

async fn send(client: &Client, queue_url: &str) -> Result<()> {
    let sent = client.send_message().queue_url(queue_url).message_body("a slow job").send().await;
    sent.map_err(|error| format!("cannot send to {queue_url} ({})", in_one_line(&error)))?;
    Ok(())
}

async fn create_queue(client: &Client) -> Result<String> {
    let name = format!("slow-handler-{}", std::process::id());
    let created = client.create_queue().queue_name(&name).send().await;
    let created = created.map_err(|error| format!("cannot create a queue ({})", in_one_line(&error)))?;
    Ok(created.queue_url().ok_or("the server named no queue")?.to_owned())
}

/// The simulated SQS wants a signature but knows no keys.
fn embedded_client(endpoint_url: &str) -> Client {
    let config = sqs_lease_tokio::aws_sdk_sqs::Config::builder()
        .behavior_version_latest()
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("embedded", "embedded", None, None, "embedded"))
        .endpoint_url(endpoint_url);
    Client::from_conf(config.build())
}

/// Queue and endpoint, as they were named.
fn arguments() -> Result<(Option<String>, Option<String>)> {
    let (mut queue_url, mut endpoint_url) = (None, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let place = match name.as_str() {
            "--queue-url" => &mut queue_url,
            "--endpoint-url" => &mut endpoint_url,
            _ => {
                return Err(
                    format!("unknown option {name}; known are --queue-url URL, --endpoint-url URL").into()
                );
            }
        };
        *place = Some(arguments.next().ok_or_else(|| format!("{name} needs a URL"))?);
    }
    Ok((queue_url, endpoint_url))
}

fn tell(begin: Instant, what: &str) {
    println!("{:5.1} s  {what}", begin.elapsed().as_secs_f32());
}
