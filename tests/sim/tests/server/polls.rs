use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;
use sqs_lease_sim::{Action, Receive};

use crate::client::{Client, send, start, start_manual, until_called};

#[test]
fn a_long_poll_wakes_when_a_message_is_sent_released_or_runs_out() {
    let (server, url, mut client) = start("30");
    let poll = json!({"QueueUrl": url, "WaitTimeSeconds": 20, "VisibilityTimeout": 1});
    client.send("ReceiveMessage", &poll);
    until_called(&server, Action::ReceiveMessage, 1);
    let woken = Instant::now();
    send(&server);
    let first = client.answer().unwrap().body;
    assert!(woken.elapsed() < Duration::from_secs(5), "by the send");

    client.send("ReceiveMessage", &poll);
    until_called(&server, Action::ReceiveMessage, 2);
    let released = Instant::now();
    let mut other = Client::new(&server);
    let handle = &first["Messages"][0]["ReceiptHandle"];
    other.call(
        "ChangeMessageVisibility",
        &json!({"QueueUrl": url, "ReceiptHandle": handle, "VisibilityTimeout": 0}),
    );
    assert_eq!(client.answer().unwrap().body["Messages"].as_array().unwrap().len(), 1);
    assert!(released.elapsed() < Duration::from_secs(5), "by another's release");

    let asked = Instant::now();
    assert_eq!(client.call("ReceiveMessage", &poll).body["Messages"].as_array().unwrap().len(), 1);
    let took = asked.elapsed();
    assert!(took < Duration::from_secs(10), "by the timeout of one second: {took:?}");
}

#[test]
fn a_long_poll_wakes_on_the_dead_letter_queue() {
    let (server, _, mut client) = start_manual("10");
    let dead = server.create_queue("dead", &[]).unwrap();
    server.model(|model, now| {
        let policy = sqs_lease_sim::redrive_policy(&model.queue_arn("dead").unwrap(), 1);
        model.set_attributes("jobs", &[("RedrivePolicy", &policy)], now).unwrap();
        model.send("jobs", "work", now).unwrap();
        model.receive("jobs", &Receive::new().visibility(0), now).unwrap();
    });
    client.send("ReceiveMessage", &json!({"QueueUrl": dead, "WaitTimeSeconds": 20}));
    until_called(&server, Action::ReceiveMessage, 1);
    server.model(|model, now| assert!(model.receive("jobs", &Receive::new(), now).unwrap().is_empty()));
    assert_eq!(client.answer().unwrap().body["Messages"].as_array().unwrap().len(), 1);
}

#[test]
fn a_manual_clock_wakes_the_polls_that_are_due_and_each_at_its_moment() {
    let (server, url, mut first) = start_manual("30");
    send(&server);
    let held = server.model(|model, now| model.receive("jobs", &Receive::new(), now)).unwrap().remove(0);
    let mut second = Client::new(&server);
    first.send("ReceiveMessage", &json!({"QueueUrl": url, "WaitTimeSeconds": 20, "VisibilityTimeout": 5}));
    until_called(&server, Action::ReceiveMessage, 1);
    server.advance(Duration::from_secs(12));
    second.send("ReceiveMessage", &json!({"QueueUrl": url, "WaitTimeSeconds": 20, "VisibilityTimeout": 5}));
    until_called(&server, Action::ReceiveMessage, 2);
    server.advance(Duration::from_hours(12));
    assert_eq!(first.answer().unwrap().body, json!({}), "its 20 seconds were over before the 30");
    assert_eq!(second.answer().unwrap().body["Messages"].as_array().unwrap().len(), 1);
    let received = server.model(|model, _| model.history(held.message_id).last().unwrap().at);
    assert_eq!(received, sqs_lease_sim::Moment::from_secs(30), "not at the end of the twelve hours");
}

#[test]
fn a_client_that_went_away_is_given_no_message() {
    let (server, url, mut client) = start("30");
    client.send("ReceiveMessage", &json!({"QueueUrl": url, "WaitTimeSeconds": 20}));
    until_called(&server, Action::ReceiveMessage, 1);
    drop(client);
    let started = Instant::now();
    // The server learns of the closed socket a little later; until then a message may still be lost on it.
    let mut received = Vec::new();
    while received.is_empty() {
        assert!(started.elapsed() < Duration::from_secs(20));
        send(&server);
        received = server.model(|model, now| model.receive("jobs", &Receive::new(), now)).unwrap();
    }
}

#[test]
fn sixty_four_long_polls_need_no_more_threads() {
    let (server, url, _) = start("30");
    let mut clients: Vec<_> = (0..64).map(|_| Client::new(&server)).collect();
    for client in &mut clients {
        client.send("ReceiveMessage", &json!({"QueueUrl": url, "WaitTimeSeconds": 20}));
    }
    until_called(&server, Action::ReceiveMessage, 64);
    for _ in 0..64 {
        send(&server);
    }
    for client in &mut clients {
        assert_eq!(client.answer().unwrap().body["Messages"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn a_dropped_server_closes_everything() {
    let (server, url, mut client) = start("30");
    client.send("ReceiveMessage", &json!({"QueueUrl": url, "WaitTimeSeconds": 20}));
    until_called(&server, Action::ReceiveMessage, 1);
    let port = server.port();
    drop(server);
    assert!(client.answer().is_none());
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}
