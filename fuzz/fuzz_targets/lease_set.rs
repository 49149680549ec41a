//! A set of leases keeps its promises, whatever comes.
#![no_main]

use sqs_lease_suite::harness::crowd::crowd;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| crowd(bytes));
