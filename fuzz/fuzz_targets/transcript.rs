//! Any text is read or refused; what is read plays alike on a lease, a set and the reference.
#![no_main]

use sqs_lease_suite::transcript::{Transcript, With, play};

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(transcript) = Transcript::parse(text) {
        if transcript.is_long() {
            return;
        }
        let expected = play(&transcript, With::Reference);
        assert_eq!(play(&transcript, With::Lease), expected);
        assert_eq!(play(&transcript, With::Set), expected);
    }
});
