//! The span in which a handler runs.

use tracing::Span;

use crate::delivery::Delivery;
use crate::log::TARGET;

/// Named as OpenTelemetry's messaging conventions name things.
pub(crate) fn span<M>(queue: &str, delivery: &Delivery<M>) -> Span {
    let receive_count = delivery.receive_count();
    let span = tracing::info_span!(
        target: TARGET,
        "process",
        otel.name = %format_args!("process {queue}"),
        otel.kind = "consumer",
        messaging.system = "aws_sqs",
        messaging.operation.name = "process",
        messaging.operation.r#type = "process",
        messaging.destination.name = queue,
        messaging.message.id = delivery.message_id(),
        receive_count,
        group = tracing::field::Empty,
        trace_header = tracing::field::Empty,
    );
    if let Some(group) = delivery.group() {
        span.record("group", group);
    }
    if let Some(trace_header) = delivery.trace_header() {
        span.record("trace_header", trace_header);
    }
    span
}
