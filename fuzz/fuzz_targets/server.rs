//! Whatever a connection sends, the simulated SQS answers in HTTP or closes, and never fails by itself.
#![no_main]

use sqs_lease_sim::fuzzing::connection;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let answered = connection(input);
    assert!(answered.is_empty() || answered.starts_with(b"HTTP/1."), "no HTTP");
    // Only a fault makes it fail, and a fault comes in as its path says.
    let has = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(has(input, "/faults") || !has(&answered, "InternalFailure"), "it failed by itself");
});
