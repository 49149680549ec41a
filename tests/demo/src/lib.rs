//! What the `slow_handler` examples of the adapters share: where the queue is, a rival consumer, and a time line.
//!
//! Nothing here needs a runtime. What a program of your own needs is in the examples.

use std::error::Error;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use aws_config::ConfigLoader;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::{Credentials, Region};
use aws_sdk_sqs::types::MessageSystemAttributeName::ApproximateReceiveCount;
use sqs_lease_sim::Server;
use sqs_lease_sqs::in_one_line;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;

/// Any error, in one line.
pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The visibility timeout of the examples, in seconds: short, so that a minute's work fits into seconds.
pub const VISIBILITY_TIMEOUT: u32 = 2;
/// How long their handler works.
pub const WORK: Duration = Duration::from_secs(7);

static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Prints a line of the time line.
pub fn tell(what: &str) {
    println!("{:5.1} s  {what}", BEGIN.elapsed().as_secs_f32());
}

/// Lets what the lease does be told by its log events, on the same time line. `RUST_LOG` chooses others.
///
/// # Errors
/// A `RUST_LOG` that is no filter.
pub fn log() -> Result<()> {
    LazyLock::force(&BEGIN);
    let chosen = std::env::var("RUST_LOG").unwrap_or_else(|_| "sqs_lease=debug".to_owned());
    // Below that the SDK prints whole answers, receipt handles in them, for the receives made here by hand.
    let filter = EnvFilter::builder().parse(chosen)?.add_directive("aws_smithy_runtime=info".parse()?);
    let time: fn(&mut Writer<'_>) -> std::fmt::Result =
        |line| write!(line, "{:5.1} s ", BEGIN.elapsed().as_secs_f32());
    let is_terminal = std::io::stdout().is_terminal();
    tracing_subscriber::fmt().with_env_filter(filter).with_timer(time).with_ansi(is_terminal).init();
    Ok(())
}

/// Ends an example: an error is one line.
pub fn exit(example: &str, result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{example}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Where the queue is.
#[derive(Debug)]
pub struct Place {
    server: Option<Server>,
    queue_url: Option<String>,
    endpoint_url: Option<String>,
    work: Duration,
}

impl Place {
    /// As `--queue-url` and `--endpoint-url` say; without both, the embedded simulated SQS. `--work` says for how many
    /// milliseconds handlers work, where an example asks.
    ///
    /// # Errors
    /// An unknown option, an option without its value, or a server that cannot start.
    pub fn from_args() -> Result<Self> {
        let mut place = Self { server: None, queue_url: None, endpoint_url: None, work: WORK };
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{name} needs a value"));
            match name.as_str() {
                "--queue-url" => place.queue_url = Some(value()?),
                "--endpoint-url" => place.endpoint_url = Some(value()?),
                "--work" => place.work = Duration::from_millis(value()?.parse()?),
                _ => {
                    let known = "known are --queue-url URL, --endpoint-url URL and --work MILLISECONDS";
                    return Err(format!("unknown option {name}; {known}").into());
                }
            }
        }
        if place.queue_url.is_none() && place.endpoint_url.is_none() {
            let server = Server::builder().start()?;
            place.queue_url = Some(server.create_queue("jobs", &[])?);
            place.endpoint_url = Some(server.endpoint_url().to_owned());
            place.server = Some(server);
        }
        Ok(place)
    }

    /// Whether the queue is the example's own, and empty.
    pub fn is_own(&self) -> bool {
        self.server.is_some() || self.queue_url.is_none()
    }

    /// How long handlers work: 7 s, or what `--work` says.
    pub fn work(&self) -> Duration {
        self.work
    }

    /// Points a configuration there. The embedded server wants a signature but knows no keys.
    pub fn configure(&self, mut config: ConfigLoader) -> ConfigLoader {
        if let Some(endpoint_url) = &self.endpoint_url {
            config = config.endpoint_url(endpoint_url);
        }
        if self.server.is_some() {
            let keys = Credentials::new("embedded", "embedded", None, None, "embedded");
            config = config.region(Region::new("us-east-1")).credentials_provider(keys);
        }
        config
    }

    /// The queue that was named, or a new one where only an endpoint was.
    ///
    /// # Errors
    /// No queue can be made there.
    pub async fn queue_url(&self, client: &Client) -> Result<String> {
        if let Some(queue_url) = &self.queue_url {
            return Ok(queue_url.clone());
        }
        let name = format!("slow-handler-{}", std::process::id());
        let created = client.create_queue().queue_name(&name).send().await;
        let created = created.map_err(|error| format!("cannot create a queue ({})", in_one_line(&error)))?;
        Ok(created.queue_url().ok_or("the server named no queue")?.to_owned())
    }
}

/// Sends a message.
///
/// # Errors
/// The queue does not take it.
pub async fn send(client: &Client, queue_url: &str) -> Result<()> {
    let sent = client.send_message().queue_url(queue_url).message_body("a slow job").send().await;
    sent.map_err(|error| format!("cannot send to {queue_url} ({})", in_one_line(&error)))?;
    Ok(())
}

/// Another consumer: polls until it gets a message, or until all is done. Whether it got one.
///
/// # Errors
/// The queue cannot be received from.
pub async fn rival(client: &Client, queue_url: &str, is_done: &AtomicBool) -> Result<bool> {
    while !is_done.load(Ordering::Relaxed) {
        if poll(client, queue_url).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The same work with nobody to extend the visibility timeout.
///
/// # Errors
/// The rival does not get the message, or a call fails.
pub async fn without_lease(client: &Client, queue_url: &str) -> Result<()> {
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
    for _ in 0..WORK.as_secs() {
        if poll(client, queue_url).await? {
            tell("the rival works on it, and so does the handler");
            return Ok(());
        }
    }
    Err("the rival did not get the message although nobody held it".into())
}

/// A long poll of a second. What comes is deleted: a tidy end for a queue that stays.
async fn poll(client: &Client, queue_url: &str) -> Result<bool> {
    let polled = client
        .receive_message()
        .queue_url(queue_url)
        .wait_time_seconds(1)
        .message_system_attribute_names(ApproximateReceiveCount)
        .send()
        .await
        .map_err(|error| in_one_line(&error))?;
    let Some(message) = polled.messages().first() else {
        tell("a rival polls: empty");
        return Ok(false);
    };
    let count = message.attributes().and_then(|it| it.get(&ApproximateReceiveCount)).map_or("?", |it| it);
    tell(&format!("a rival polls: it has the message, receive count {count}"));
    let handle = message.receipt_handle().unwrap_or_default();
    let deleted = client.delete_message().queue_url(queue_url).receipt_handle(handle).send().await;
    deleted.map_err(|_| "the rival cannot delete it")?;
    Ok(true)
}

/// The programs on the first page and on the consumer's.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../README.md")]
    mod readme {}
    #[doc = include_str!("../../../docs/consumer.md")]
    mod consumer {}
}
