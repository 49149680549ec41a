//! The loopback server over plain sockets: headers, codes, long polls, faults, clocks.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sqs_lease_sim::{Action, Fault, Receive, Server};

/// One connection that is kept alive, as an SDK's is.
struct Client(BufReader<TcpStream>);

struct Response {
    status: u16,
    head: String,
    body: Value,
}

impl Client {
    fn new(server: &Server) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Self(BufReader::new(stream))
    }

    fn send(&mut self, operation: &str, body: &Value) {
        self.send_raw(operation, "Authorization: AWS4-HMAC-SHA256 any\r\n", &body.to_string());
    }

    fn send_raw(&mut self, operation: &str, headers: &str, body: &str) {
        let request = format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS.{operation}\r\n{headers}\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
    }

    /// None if the connection was closed without an answer.
    fn answer(&mut self) -> Option<Response> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.0.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let lower = head.to_lowercase();
        let length = lower.split("content-length: ").nth(1).unwrap().lines().next().unwrap();
        let mut body = vec![0; length.parse().unwrap()];
        self.0.read_exact(&mut body).unwrap();
        let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).unwrap() };
        Some(Response { status: head[9..12].parse().unwrap(), head: lower, body })
    }

    fn call(&mut self, operation: &str, body: &Value) -> Response {
        self.send(operation, body);
        self.answer().expect("an answer")
    }
}

fn start(visibility: &str) -> (Server, String, Client) {
    let server = Server::builder().start().unwrap();
    let url = server.create_queue("jobs", &[("VisibilityTimeout", visibility)]).unwrap();
    let client = Client::new(&server);
    (server, url, client)
}

fn start_manual(visibility: &str) -> (Server, String, Client) {
    let server = Server::builder().manual_clock().start().unwrap();
    let url = server.create_queue("jobs", &[("VisibilityTimeout", visibility)]).unwrap();
    let client = Client::new(&server);
    (server, url, client)
}

fn send(server: &Server) {
    server.model(|model, now| model.send("jobs", "work", now)).unwrap();
}

/// Waits until the server has taken so many requests of this operation in.
fn until_called(server: &Server, action: Action, calls: u64) {
    let started = Instant::now();
    while server.calls(action) < calls {
        assert!(started.elapsed() < Duration::from_secs(20), "{action:?} never came");
        std::thread::yield_now();
    }
}

#[test]
fn a_message_goes_round_on_one_connection() {
    let (_server, url, mut client) = start("30");
    let sent = client.call("SendMessage", &json!({"QueueUrl": url, "MessageBody": "work"}));
    assert_eq!(
        (sent.status, &sent.body["MD5OfMessageBody"]),
        (200, &json!("67e92c8765a9bc7fb2d335c459de9eb5"))
    );
    for header in ["content-type: application/x-amz-json-1.0\r\n", "x-amzn-requestid: ", "date: "] {
        assert!(sent.head.contains(header), "{}", sent.head);
    }
    let asked = json!({"QueueUrl": url, "MessageSystemAttributeNames": ["ApproximateReceiveCount"]});
    let received = client.call("ReceiveMessage", &asked).body;
    let message = &received["Messages"][0];
    assert_eq!((&message["Body"], &message["MD5OfBody"]), (&json!("work"), &sent.body["MD5OfMessageBody"]));
    assert_eq!(message["Attributes"], json!({"ApproximateReceiveCount": "1"}), "those asked for, no others");
    assert_eq!(client.call("ReceiveMessage", &json!({"QueueUrl": url})).body, json!({}));
    let handle = &message["ReceiptHandle"];
    let entries = json!([{"Id": "a", "ReceiptHandle": handle, "VisibilityTimeout": 5},
                         {"Id": "b", "ReceiptHandle": "garbage", "VisibilityTimeout": 5}]);
    let changed =
        client.call("ChangeMessageVisibilityBatch", &json!({"QueueUrl": url, "Entries": entries})).body;
    assert_eq!(changed["Successful"], json!([{"Id": "a"}]));
    assert_eq!(changed["Failed"][0]["Code"], "ReceiptHandleIsInvalid");
    assert_eq!(changed["Failed"][0]["SenderFault"], true);
    let deleted = client.call("DeleteMessage", &json!({"QueueUrl": url, "ReceiptHandle": handle}));
    assert_eq!((deleted.status, deleted.body), (200, Value::Null));
}

#[test]
fn refusals_carry_both_names_and_the_status() {
    let (_server, url, mut client) = start("30");
    for (operation, body, status, code, name) in [
        (
            "ReceiveMessage",
            json!({"QueueUrl": "http://localhost/000000000000/none"}),
            400,
            "aws.simplequeueservice.nonexistentqueue;sender",
            "com.amazonaws.sqs#QueueDoesNotExist",
        ),
        (
            "DeleteMessage",
            json!({"QueueUrl": url, "ReceiptHandle": "garbage"}),
            404,
            "receipthandleisinvalid;sender",
            "com.amazonaws.sqs#ReceiptHandleIsInvalid",
        ),
        (
            "DeleteMessage",
            json!({"QueueUrl": url}),
            400,
            "missingparameter;sender",
            "com.amazon.coral.service#MissingRequiredParameterException",
        ),
        (
            "ChangeMessageVisibility",
            json!({"QueueUrl": url, "ReceiptHandle": "x"}),
            400,
            "missingparameter;sender",
            "com.amazon.coral.service#MissingRequiredParameterException",
        ),
        (
            "ChangeMessageVisibility",
            json!({"QueueUrl": url, "ReceiptHandle": "x", "VisibilityTimeout": "2"}),
            400,
            "serializationexception;sender",
            "com.amazon.coral.service#SerializationException",
        ),
        (
            "ChangeMessageVisibility",
            json!({"QueueUrl": url, "ReceiptHandle": "x", "VisibilityTimeout": 1.5}),
            400,
            "serializationexception;sender",
            "com.amazon.coral.service#SerializationException",
        ),
        (
            "ReceiveMessage",
            json!([]),
            400,
            "serializationexception;sender",
            "com.amazon.coral.service#SerializationException",
        ),
        (
            "ReceiveMessage",
            json!({"QueueUrl": url, "MaxNumberOfMessages": 11}),
            400,
            "invalidparametervalue;sender",
            "com.amazon.coral.service#InvalidParameterValueException",
        ),
        (
            "Dance",
            json!({}),
            400,
            "invalidaction;sender",
            "com.amazon.coral.service#UnknownOperationException",
        ),
    ] {
        let refused = client.call(operation, &body);
        assert_eq!((refused.status, &refused.body["__type"]), (status, &json!(name)));
        assert!(refused.head.contains(&format!("x-amzn-query-error: {code}\r\n")), "{}", refused.head);
        assert!(refused.body["message"].is_string());
    }
    client.send_raw("ListQueues", "", "{}");
    let unsigned = client.answer().unwrap();
    assert_eq!(
        (unsigned.status, &unsigned.body["__type"]),
        (403, &json!("com.amazonaws.sqs#InvalidSecurity"))
    );
    client.send_raw("ListQueues", "Authorization: AWS4-HMAC-SHA256 any\r\n", "no json");
    assert_eq!(client.answer().unwrap().status, 400);
}

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

#[test]
fn the_clock_moves_over_http() {
    let (server, url, mut client) = start_manual("43200");
    send(&server);
    assert!(client.call("ReceiveMessage", &json!({"QueueUrl": url})).body["Messages"][0].is_object());
    for (query, status) in [("seconds=43199", 200), ("seconds=-1", 400), ("seconds=1e3", 400), ("", 400)] {
        let request =
            format!("POST /clock/advance?{query} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
        client.0.get_mut().write_all(request.as_bytes()).unwrap();
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(client.0.read_line(&mut head).unwrap(), 0);
        }
        assert_eq!(head[9..12].parse(), Ok(status), "{query}");
        let lower = head.to_lowercase();
        let length = lower.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()).unwrap();
        client.0.read_exact(&mut vec![0; length.parse().unwrap()]).unwrap();
    }
    assert_eq!(server.now(), sqs_lease_sim::Moment::from_secs(43_199));
    assert_eq!(client.call("ReceiveMessage", &json!({"QueueUrl": url})).body, json!({}));
    server.advance(Duration::from_secs(1));
    assert!(client.call("ReceiveMessage", &json!({"QueueUrl": url})).body["Messages"][0].is_object());
}
