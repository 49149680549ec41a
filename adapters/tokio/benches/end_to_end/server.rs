//! The simulated SQS, in a process of its own.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use sqs_lease_sim::{Action, Fault, Settings};
use sqs_lease_tokio::aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use sqs_lease_tokio::aws_sdk_sqs::types::QueueAttributeName;
use sqs_lease_tokio::aws_sdk_sqs::{Client, Config};

/// Serves a queue with so many messages until its input is closed; a line of it changes what becomes of extensions.
pub(crate) fn serve(messages: u32, timeout: &str) {
    // Long runs: no record of what happens to each message.
    let settings = Settings::default().record(false);
    let server = sqs_lease_sim::Server::builder().settings(settings).start().expect("a server");
    let url = server.create_queue("leases", &[("VisibilityTimeout", timeout)]).expect("a queue");
    for _ in 0..messages {
        server.model(|model, now| model.send("leases", "work", now)).expect("sent");
    }
    println!("{} {url}", server.endpoint_url());
    for line in std::io::stdin().lines().map_while(Result::ok) {
        server.clear_faults();
        let fault = match &*line {
            "interrupted" => Fault::hang(),
            "throttled" => Fault::throttle(),
            _ => continue,
        };
        server.inject(fault.on(Action::ChangeMessageVisibilityBatch));
    }
}

pub(crate) struct Server {
    child: Child,
    endpoint_url: String,
    queue_url: String,
}

impl Server {
    pub(crate) fn start(messages: u32, timeout: u32) -> Self {
        let mut child = Command::new(super::this())
            .args(["serve", &messages.to_string(), &timeout.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a server");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
        let (endpoint_url, queue_url) = line.trim().split_once(' ').expect("two addresses");
        Self { endpoint_url: endpoint_url.to_owned(), queue_url: queue_url.to_owned(), child }
    }

    /// Changes what becomes of extensions: `interrupted`, no answer; `throttled`; else all is well.
    pub(crate) fn becomes(&mut self, how: &str) {
        let input = self.child.stdin.as_mut().expect("piped");
        writeln!(input, "{how}").expect("the server is there");
    }

    /// How many messages the server would give to others: none, while all are held.
    pub(crate) async fn visible(&self, client: &Client) -> u32 {
        let count = QueueAttributeName::ApproximateNumberOfMessages;
        let call = client.get_queue_attributes().queue_url(&self.queue_url).attribute_names(count.clone());
        let output = call.send().await.expect("an answer");
        output.attributes.and_then(|them| them.get(&count)?.parse().ok()).expect("a number")
    }

    pub(crate) fn queue_url(&self) -> &str {
        &self.queue_url
    }

    /// It wants a signature but knows no keys.
    pub(crate) fn client(&self) -> Client {
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("us-east-1"))
            .credentials_provider(Credentials::new("test", "test", None, None, "test"))
            .endpoint_url(&self.endpoint_url);
        Client::from_conf(config.build())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
