//! Any refusal is read; a whole batch never reads as the end of one delivery.
#![no_main]

use sqs_lease_core::{Failure, Scope};

libfuzzer_sys::fuzz_target!(|given: (Option<u16>, Option<&str>, &str)| {
    let (status, code, text) = given;
    let single = Failure::read(Scope::Single, status, code, text);
    assert_eq!(Failure::read(Scope::Entry, status, code, text), single);
    let batch = Failure::read(Scope::Batch, status, code, text);
    match single {
        Failure::Gone | Failure::Limit => assert_eq!(batch, Failure::Denied),
        other => assert_eq!(batch, other),
    }
});
