//! A handler's span in OpenTelemetry, linked to the trace in which the message was sent.
//!
//! `cargo run --example open_telemetry` runs it on an embedded simulated SQS, with an exporter to memory in place of a
//! collector; at the end it looks at what was exported.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry::trace::{
    SpanContext, SpanId, SpanKind, TraceFlags, TraceId, TraceState, TracerProvider as _,
};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use sqs_lease_demo::{self as demo, Result, tell};
use sqs_lease_sim::Server;
use sqs_lease_tokio::aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use sqs_lease_tokio::aws_sdk_sqs::types::{
    Message, MessageSystemAttributeNameForSends, MessageSystemAttributeValue,
};
use sqs_lease_tokio::aws_sdk_sqs::{Client, Config};
use sqs_lease_tokio::{ConsumerOptions, Delivery, Options, Shutdown, Visibility};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

const TRACE_HEADER: &str = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";

#[tokio::main]
async fn main() -> ExitCode {
    demo::exit("open_telemetry", run().await)
}

async fn run() -> Result<()> {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("sqs-lease"));
    tracing_subscriber::registry().with(layer.with_filter(LevelFilter::INFO)).init();

    let server = Server::builder().start()?;
    let queue_url = server.create_queue("jobs", &[])?;
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("embedded", "embedded", None, None, "embedded"))
        .endpoint_url(server.endpoint_url());
    let client = Client::from_conf(config.build());
    let header = MessageSystemAttributeValue::builder().data_type("String").string_value(TRACE_HEADER);
    client
        .send_message()
        .queue_url(&queue_url)
        .message_body("a job")
        .message_system_attributes(MessageSystemAttributeNameForSends::AwsTraceHeader, header.build()?)
        .send()
        .await?;
    tell("sent in another trace");

    let options = Options::new().visibility_timeout(Visibility::new(2)?).wait(Duration::from_secs(1))?;
    let queue = sqs_lease_tokio::open(client, queue_url, options).await?;
    let (handled, mut has_handled) = tokio::sync::mpsc::channel(1);
    let consumer =
        sqs_lease_tokio::consumer(queue, ConsumerOptions::new(), move |_: Arc<Delivery<Message>>| {
            let handled = handled.clone();
            async move {
                tokio::time::sleep(Duration::from_secs(3)).await;
                handled.send(()).await
            }
        })?
        .on_span(|span, delivery| {
            if let Some(parent) = delivery.trace_parent() {
                let flags = if parent.is_sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
                let (trace, sender) = (TraceId::from(parent.trace_id), SpanId::from(parent.span_id));
                span.add_link(SpanContext::new(trace, sender, flags, true, TraceState::default()));
            }
        });
    let stopper = consumer.stopper();
    tokio::spawn(async move {
        has_handled.recv().await;
        stopper.shutdown(Shutdown::Drain, Duration::from_secs(10));
    });
    tell(&format!("stopped: {}", consumer.run().await?));

    // It ends where the handler's task is dropped: on another thread, perhaps a moment later.
    let ended = async {
        loop {
            provider.force_flush()?;
            let span = exporter.get_finished_spans()?.into_iter().find(|span| span.name == "process jobs");
            match span {
                Some(span) => return Result::Ok(span),
                None => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    };
    let span =
        tokio::time::timeout(Duration::from_secs(5), ended).await.map_err(|_| "no span was exported")??;
    check(&span)
}

/// Prints what was exported, and compares it with what the documentation says.
fn check(span: &SpanData) -> Result<()> {
    tell(&format!("exported: {}, {:?}", span.name, span.span_kind));
    for attribute in &span.attributes {
        tell(&format!("    {} = {}", attribute.key, attribute.value));
    }
    let link = span.links.first().ok_or("the span has no link")?;
    let (trace, sender) = (link.span_context.trace_id(), link.span_context.span_id());
    tell(&format!("    link to trace {trace}, span {sender}"));
    if span.span_kind != SpanKind::Consumer {
        return Err("the span is not a consumer's".into());
    }
    if (trace.to_string(), sender.to_string())
        != ("5759e988bd862e3fe1be46a994272793".into(), "53995c3f42cd8ad8".into())
        || !link.span_context.is_sampled()
        || !link.span_context.is_remote()
    {
        return Err("the link leads to another trace".into());
    }
    let value = |name: &str| {
        let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == name);
        found.map(|attribute| attribute.value.to_string()).ok_or_else(|| format!("{name} is missing"))
    };
    for (name, expected) in [
        ("messaging.system", "aws_sqs"),
        ("messaging.operation.name", "process"),
        ("messaging.operation.type", "process"),
        ("messaging.destination.name", "jobs"),
        ("receive_count", "1"),
        ("trace_header", TRACE_HEADER),
    ] {
        let found = value(name)?;
        if found != expected {
            return Err(format!("{name} is {found}, not {expected}").into());
        }
    }
    if value("messaging.message.id")?.is_empty() {
        return Err("the message has no id".into());
    }
    tell("exported with its link and its attributes");
    Ok(())
}
