//! One lease: any inputs in any order on any clock, beside the reference.
#![no_main]

use sqs_lease_suite::harness::duel::duel;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(run) = duel(bytes) {
        panic!("they differ:\n{run}");
    }
});
