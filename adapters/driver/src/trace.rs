/// What `AWSTraceHeader` says of the trace in which a message was sent: what a span can be linked to.
///
/// ```
/// use sqs_lease_driver::TraceParent;
///
/// let header = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";
/// let parent = TraceParent::parse(header).expect("whole");
/// assert_eq!(parent.trace_id, 0x5759e988_bd862e3f_e1be46a9_94272793);
/// assert_eq!(parent.span_id, 0x53995c3f42cd8ad8);
/// assert!(parent.is_sampled);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceParent {
    /// The trace's id in OpenTelemetry's form: the time and the unique part of X-Ray's, together.
    pub trace_id: u128,
    /// The id of the sender's span.
    pub span_id: u64,
    /// Whether the sender's trace is recorded.
    pub is_sampled: bool,
}

impl TraceParent {
    /// Reads a header: `Root=1-TIME-UNIQUE;Parent=SPAN;Sampled=1`, in any order, other parts aside. `None` where root or
    /// parent are missing or no ids.
    pub fn parse(header: &str) -> Option<Self> {
        let (mut trace_id, mut span_id, mut is_sampled) = (None, None, false);
        for (name, value) in header.split(';').filter_map(|part| part.trim().split_once('=')) {
            match name {
                "Root" => {
                    let (time, unique) = value.strip_prefix("1-")?.split_once('-')?;
                    let time = hex(time, 8)?;
                    trace_id = Some(time << 96 | hex(unique, 24)?);
                }
                "Parent" => span_id = u64::try_from(hex(value, 16)?).ok(),
                "Sampled" => is_sampled = value == "1",
                _ => {}
            }
        }
        // Zero is no id.
        let (trace_id, span_id) = (trace_id.filter(|id| *id != 0)?, span_id.filter(|id| *id != 0)?);
        Some(Self { trace_id, span_id, is_sampled })
    }
}

fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_hex = text.len() == digits && text.bytes().all(|it| it.is_ascii_hexdigit());
    is_hex.then(|| u128::from_str_radix(text, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::TraceParent;

    #[test]
    fn what_is_no_header_is_none() {
        for header in [
            "",
            "Root=1-5759e988-bd862e3fe1be46a994272793",
            "Root=1-5759e988-bd862e3fe1be46a99427279;Parent=53995c3f42cd8ad8",
            "Root=2-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8",
            "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8adZ",
            "Root=1-+759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8",
            "Root=1-00000000-000000000000000000000000;Parent=53995c3f42cd8ad8",
            "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=0000000000000000",
        ] {
            assert_eq!(TraceParent::parse(header), None, "{header}");
        }
    }

    #[test]
    fn other_parts_and_another_order_do_not_matter() {
        let header = "Self=1-x; Sampled=0;Parent=53995c3f42cd8ad8;Lineage=a:1;Root=1-5759e988-bd862e3fe1be46a994272793";
        let parent = TraceParent::parse(header).unwrap();
        assert!(!parent.is_sampled);
        assert_eq!(format!("{:032x}", parent.trace_id), "5759e988bd862e3fe1be46a994272793");
    }
}
