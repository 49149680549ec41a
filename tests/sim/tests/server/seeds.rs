use std::fs;
use std::path::Path;

use sqs_lease_sim::fuzzing::connection;

/// What the fuzz target begins with does what its names say; else fuzzing would begin nowhere.
#[test]
fn the_seeds_of_the_fuzz_target_reach_what_they_are_for() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/server");
    let answered = |name: &str| String::from_utf8(connection(&fs::read(folder.join(name)).unwrap())).unwrap();
    let count = |text: &str, part: &str| text.matches(part).count();

    let messages = answered("messages");
    assert_eq!(count(&messages, "HTTP/1.1 200"), 5, "{messages}");
    assert_eq!(count(&messages, "ReceiptHandle"), 3 + 2, "{messages}");
    let handles = answered("handles");
    assert!(handles.contains("beyond the limit") && handles.contains("has expired"), "{handles}");
    assert!(
        handles.contains(r#""event":"changed""#) && handles.contains(r#""event":"deleted""#),
        "{handles}"
    );
    let queues = answered("queues");
    assert_eq!(count(&queues, "HTTP/1.1 200"), 13, "{queues}");
    let faults = answered("faults");
    assert!(faults.contains("RequestThrottled") && faults.contains(r#""Code":"A""#), "{faults}");
    assert_eq!(count(&faults, "HTTP/1.1 4"), 2, "throttled, and a message that never was: {faults}");
    let raw = answered("raw");
    assert!(raw.contains(r#""stands_still":true"#), "{raw}");
    assert!(answered("partial").starts_with("HTTP/1.1 100 Continue\r\n\r\n"), "{}", answered("partial"));
}
