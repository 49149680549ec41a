use std::io::Read as _;
use std::time::Duration;

use serde_json::json;
use sqs_lease_sim::{Action, Fault, Receive};

use crate::client::{Client, send, start, start_manual, until_called};

#[test]
fn faults_hit_what_they_name() {
    let (server, url, mut client) = start_manual("30");
    let receive = json!({"QueueUrl": url});

    server.inject(Fault::throttle().on(Action::ReceiveMessage).queue("jobs").first(1));
    server.inject(Fault::throttle().on(Action::ReceiveMessage).queue("other"));
    let throttled = client.call("ReceiveMessage", &receive);
    assert_eq!(throttled.status, 403);
    assert!(throttled.head.contains("x-amzn-query-error: requestthrottled;sender"), "{}", throttled.head);
    assert_eq!(client.call("ReceiveMessage", &receive).status, 200);

    for (fault, status, code) in [
        (Fault::internal_failure(), 500, "internalfailure;receiver"),
        (Fault::unavailable(), 503, "serviceunavailable;receiver"),
        (Fault::refuse(400, "ThrottlingException", "Rate exceeded"), 400, "throttlingexception;sender"),
    ] {
        server.inject(fault.first(1));
        let failed = client.call("ReceiveMessage", &receive);
        assert_eq!(failed.status, status);
        assert!(failed.head.contains(code), "{}", failed.head);
    }

    send(&server);
    server.inject(Fault::reset().first(1));
    client.send("ReceiveMessage", &receive);
    assert!(client.answer().is_none(), "closed without an answer");
    let mut client = Client::new(&server);
    server.inject(Fault::lose_answer().first(1));
    client.send("ReceiveMessage", &receive);
    assert!(client.answer().is_none(), "closed without an answer");
    let mut client = Client::new(&server);
    assert_eq!(client.call("ReceiveMessage", &receive).body, json!({}), "but received");
}

#[test]
fn latency_comes_before_the_effect_or_after_it() {
    let (server, url, mut client) = start_manual("30");
    let message = json!({"QueueUrl": url, "MessageBody": "work"});
    let count = || server.model(|model, now| model.receive("jobs", &Receive::new(), now)).unwrap().len();

    server.inject(Fault::latency_before(Duration::from_secs(3)).on(Action::SendMessage).first(1));
    client.send("SendMessage", &message);
    until_called(&server, Action::SendMessage, 1);
    server.advance(Duration::from_secs(2));
    assert_eq!(count(), 0, "still on its way");
    server.advance(Duration::from_secs(1));
    assert_eq!(client.answer().unwrap().status, 200);
    assert_eq!(count(), 1);

    server.inject(Fault::latency_after(Duration::from_secs(3)).on(Action::SendMessage).first(1));
    client.send("SendMessage", &message);
    until_called(&server, Action::SendMessage, 2);
    assert_eq!(count(), 1, "there, though not answered");
    server.advance(Duration::from_secs(3));
    assert_eq!(client.answer().unwrap().status, 200);
}

#[test]
fn a_hanging_request_has_no_effect_and_no_answer() {
    let (server, url, mut client) = start_manual("30");
    server.inject(Fault::hang().on(Action::SendMessage).first(1));
    client.send("SendMessage", &json!({"QueueUrl": url, "MessageBody": "work"}));
    until_called(&server, Action::SendMessage, 1);
    server.advance(Duration::from_hours(1));
    client.0.get_mut().set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let mut byte = [0];
    assert!(client.0.read(&mut byte).is_err(), "open and silent");
    assert!(server.model(|model, now| model.receive("jobs", &Receive::new(), now)).unwrap().is_empty());
}

#[test]
fn one_entry_of_a_batch_can_be_refused() {
    let (server, url, mut client) = start("30");
    server.inject(Fault::internal_failure_entry(0).on(Action::SendMessageBatch).first(1));
    server.inject(Fault::refuse_entry(2, "AccessDenied", "No.").on(Action::SendMessageBatch).first(1));
    let entries = json!([{"Id": "a", "MessageBody": "1"}, {"Id": "b", "MessageBody": "2"}, {"Id": "c", "MessageBody": "3"}]);
    let answer = client.call("SendMessageBatch", &json!({"QueueUrl": url, "Entries": entries})).body;
    assert_eq!(answer["Successful"].as_array().unwrap().len(), 1);
    assert_eq!(answer["Successful"][0]["Id"], "b");
    assert_eq!(
        answer["Failed"],
        json!([
            {"Id": "a", "SenderFault": false, "Code": "InternalFailure",
             "Message": "The request processing has failed because of an unknown error."},
            {"Id": "c", "SenderFault": true, "Code": "AccessDenied", "Message": "No."},
        ])
    );
}
