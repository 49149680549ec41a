//! Twenty consumers on one queue through the sockets, with thousands of messages in flight.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use sqs_lease_sim::Server;

use crate::client::Client;

const CONSUMERS: usize = 20;
const MESSAGES: usize = 6_000;

/// Each message goes to one consumer, is extended by it and deleted by it. The clock stands still, so that no timeout can
/// run out on a busy machine: every message that comes twice is the server's doing.
#[test]
fn twenty_consumers_with_thousands_in_flight_get_no_duplicate() {
    let server = Server::builder().manual_clock().start().unwrap();
    let url = server.create_queue("jobs", &[("VisibilityTimeout", "600")]).unwrap();
    server.model(|model, now| {
        for i in 0..MESSAGES {
            model.send("jobs", i.to_string(), now).unwrap();
        }
    });
    let (seen, received) = (Mutex::new(HashSet::new()), AtomicUsize::new(0));
    let consume = || {
        let mut client = Client::new(&server);
        let mut held: Vec<Value> = Vec::new();
        loop {
            let ask = json!({"QueueUrl": url, "MaxNumberOfMessages": 10});
            let Some(messages) = client.call("ReceiveMessage", &ask).body["Messages"].as_array().cloned()
            else {
                break;
            };
            let entries = batch(&messages, Some(600));
            let changed =
                client.call("ChangeMessageVisibilityBatch", &json!({"QueueUrl": url, "Entries": entries}));
            assert_eq!(changed.body["Successful"].as_array().map(Vec::len), Some(messages.len()));
            for message in &messages {
                let id = message["MessageId"].as_str().unwrap().to_owned();
                assert!(seen.lock().unwrap().insert(id), "received twice");
            }
            received.fetch_add(messages.len(), Ordering::Relaxed);
            held.extend(messages);
        }
        // Nobody deletes before all are in flight at once.
        while received.load(Ordering::Relaxed) < MESSAGES {
            std::thread::yield_now();
        }
        for messages in held.chunks(10) {
            let request = json!({"QueueUrl": url, "Entries": batch(messages, None)});
            let deleted = client.call("DeleteMessageBatch", &request);
            assert_eq!(deleted.body["Successful"].as_array().map(Vec::len), Some(messages.len()));
        }
    };
    std::thread::scope(|scope| (0..CONSUMERS).for_each(|_| drop(scope.spawn(consume))));
    assert_eq!(seen.lock().unwrap().len(), MESSAGES);
    server.model(|model, now| {
        assert_eq!(model.overlaps(), []);
        let attributes = model.attributes("jobs", now).unwrap();
        assert_eq!(attributes["ApproximateNumberOfMessagesNotVisible"], "0");
        assert_eq!(attributes["ApproximateNumberOfMessages"], "0");
    });
}

fn batch(messages: &[Value], secs: Option<u32>) -> Value {
    let entry = |(id, message): (usize, &Value)| {
        let mut entry = json!({"Id": id.to_string(), "ReceiptHandle": message["ReceiptHandle"]});
        if let Some(secs) = secs {
            entry["VisibilityTimeout"] = secs.into();
        }
        entry
    };
    messages.iter().enumerate().map(entry).collect()
}
