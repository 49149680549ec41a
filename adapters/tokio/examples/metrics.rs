//! Exports the numbers of a queue through the `metrics` facade, once a second.
//!
//! `cargo run --example metrics` runs it on the embedded simulated SQS and prints what is exported; a program installs the
//! recorder of its monitoring in place of `Printed`.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};
use sqs_lease_demo::{self as demo, Place, Result, VISIBILITY_TIMEOUT, tell};
use sqs_lease_tokio::aws_config::{self, BehaviorVersion};
use sqs_lease_tokio::aws_sdk_sqs::Client;
use sqs_lease_tokio::{Options, Stats, Visibility};

#[tokio::main]
async fn main() -> ExitCode {
    demo::exit("metrics", run().await)
}

async fn run() -> Result<()> {
    demo::log()?;
    metrics::set_global_recorder(Printed)?;
    let place = Place::from_args()?;
    let config = place.configure(aws_config::defaults(BehaviorVersion::latest())).load().await;
    let client = Client::new(&config);
    let queue_url = place.queue_url(&client).await?;
    demo::send(&client, &queue_url).await?;
    let options = Options::new().visibility_timeout(Visibility::new(VISIBILITY_TIMEOUT)?);
    let queue = sqs_lease_tokio::open(client, queue_url, options).await?;

    let keeper = queue.keeper().clone();
    let exporter = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            export(&keeper.stats());
        }
    });
    let delivery = queue.receive_up_to(1).await?.pop().ok_or("no message came")?;
    delivery.keep(tokio::time::sleep(Duration::from_secs(5))).await?;
    delivery.delete().await?;
    exporter.abort();
    export(&queue.keeper().stats());
    Ok(())
}

/// The lines that a program needs.
fn export(stats: &Stats) {
    #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
    metrics::gauge!("sqs_lease_held").set(stats.leases_held as f64);
    metrics::counter!("sqs_lease_extensions").absolute(stats.extensions);
    metrics::counter!("sqs_lease_calls", "call" => "change").absolute(stats.change_calls);
    metrics::counter!("sqs_lease_calls", "call" => "delete").absolute(stats.delete_calls);
    for (started, losses) in [("true", stats.lost_started), ("false", stats.lost_waiting)] {
        for (reason, lost) in
            [("expired", losses.expired), ("limit", losses.limit), ("refused", losses.refused)]
        {
            metrics::counter!("sqs_lease_lost", "reason" => reason, "started" => started).absolute(lost);
        }
    }
    let mut at_most = 0;
    for (bound, count) in stats.margin.buckets() {
        at_most += count;
        let bound = bound.map_or("+Inf".to_owned(), |bound| bound.as_secs_f64().to_string());
        metrics::counter!("sqs_lease_margin_seconds_bucket", "le" => bound).absolute(at_most);
    }
    if let Some(left) = stats.time_to_limit {
        metrics::gauge!("sqs_lease_time_to_limit_seconds").set(left.as_secs_f64());
    }
}

/// Prints what is not zero.
struct Printed;

struct Line(String);

impl CounterFn for Line {
    fn increment(&self, _: u64) {}

    fn absolute(&self, value: u64) {
        if value > 0 {
            tell(&format!("{} {value}", self.0));
        }
    }
}

impl GaugeFn for Line {
    fn increment(&self, _: f64) {}

    fn decrement(&self, _: f64) {}

    fn set(&self, value: f64) {
        tell(&format!("{} {value}", self.0));
    }
}

impl Recorder for Printed {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(Arc::new(Line(key.to_string())))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(Arc::new(Line(key.to_string())))
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}
