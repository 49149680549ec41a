//! Whatever a connection sends, the simulated SQS answers in HTTP or closes, and can still be asked.
#![no_main]

use sqs_lease_sim::fuzzing::connection;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let answered = connection(input);
    assert!(answered.is_empty() || answered.starts_with(b"HTTP/1."), "no HTTP");
});
