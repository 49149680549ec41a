//! What a client that is slow, greedy or gone can take: its own connection, for a while.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::json;
use sqs_lease_sim::{Action, NewMessage, Server};

use crate::client::Client;

/// A server that waits for nobody longer than this.
fn impatient(patience: Duration) -> Server {
    let server = Server::builder().patience(patience).start().unwrap();
    server.create_queue("jobs", &[]).unwrap();
    server
}

/// Whether the server closes this connection, and what it says before.
fn read_to_the_end(stream: &mut TcpStream) -> Vec<u8> {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut said = Vec::new();
    // A reset is an end, too.
    let ended = stream.read_to_end(&mut said);
    let is_late = ended.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
    assert!(!is_late, "still open after 20 seconds");
    said
}

/// Writes a byte now and then until the server takes no more.
fn until_closed(stream: &mut TcpStream) {
    let started = Instant::now();
    while stream.write_all(b"x").is_ok() {
        assert!(started.elapsed() < Duration::from_secs(20), "still open after 20 seconds");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_request_that_never_ends_is_let_go() {
    let server = impatient(Duration::from_millis(100));
    for begun in [
        "",
        "POST / HT",
        "POST / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
        "POST / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: AmazonSQS.ListQueues\r\nContent-Length: 9\r\n\r\n{",
        "POST /faults HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n{",
        "POST / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: AmazonSQS.ListQueues\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
    ] {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        stream.write_all(begun.as_bytes()).unwrap();
        assert_eq!(read_to_the_end(&mut stream), b"", "{begun}");
    }
    assert_eq!(Client::new(&server).call("ListQueues", &json!({})).status, 200, "others are served");
}

#[test]
fn a_request_byte_by_byte_is_let_go_though_each_byte_is_quick() {
    let server = impatient(Duration::from_millis(300));
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.write_all(b"POST / HTTP/1.1\r\nX-Slow: ").unwrap();
    until_closed(&mut stream);
}

#[test]
fn a_long_poll_is_no_slow_client() {
    let server = impatient(Duration::from_millis(50));
    let url = server.model(|model, _| model.queue_url("jobs")).unwrap();
    let mut client = Client::new(&server);
    let poll = client.call("ReceiveMessage", &json!({"QueueUrl": url, "WaitTimeSeconds": 1}));
    assert_eq!((poll.status, poll.body), (200, json!({})));
}

#[test]
fn a_client_that_takes_no_answer_is_let_go() {
    let server = impatient(Duration::from_millis(100));
    let url = server.model(|model, _| model.queue_url("jobs")).unwrap();
    server.model(|model, now| {
        for _ in 0..10 {
            model.send("jobs", NewMessage::new("x".repeat(1 << 20)), now).unwrap();
        }
    });
    let mut client = Client::new(&server);
    // Sixty megabytes of answers fit into no socket's buffers.
    for _ in 0..6 {
        let all = json!({"QueueUrl": url, "MaxNumberOfMessages": 10, "VisibilityTimeout": 0});
        client.send("ReceiveMessage", &all);
    }
    until_closed(client.0.get_mut());
    assert!(server.calls(Action::ReceiveMessage) < 6);
}

#[test]
fn sizes_have_a_bound() {
    let server = Server::builder().start().unwrap();
    let mut client = Client::new(&server);
    client.send_raw("ListQueues", "Authorization: AWS4-any\r\n", &"x".repeat((8 << 20) + 1));
    let answer = client.answer().unwrap();
    assert_eq!(
        (answer.status, &answer.body["message"]),
        (413, &json!("The request body is larger than 8388608 bytes."))
    );

    let mut client = Client::new(&server);
    let (status, body) = client.control("POST", "/faults", &"x".repeat((1 << 20) + 1));
    assert_eq!((status, body), (413, json!({"error": "the body is larger than 1048576 bytes"})));

    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let head = format!("GET /clock HTTP/1.1\r\nHost: h\r\nX-Large: {}\r\n\r\n", "x".repeat(70_000));
    // The server may close before it has been sent all of it.
    let _ = stream.write_all(head.as_bytes());
    let said = read_to_the_end(&mut stream);
    assert!(said.is_empty() || said.starts_with(b"HTTP/1.1 431"), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn only_loopback_unless_it_is_allowed() {
    let everywhere = IpAddr::from(Ipv4Addr::UNSPECIFIED);
    let error = Server::builder().bind(everywhere).port(9_324).start().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    let text = error.to_string();
    assert!(text.contains("0.0.0.0:9324") && text.contains("127.0.0.1:9324"), "{text}");

    let builder = Server::builder().bind(everywhere).allow_beyond_loopback().endpoint("http://sqs:1234");
    let server = builder.start().unwrap();
    assert_eq!(server.endpoint_url(), format!("http://127.0.0.1:{}", server.port()));
    assert_eq!(server.create_queue("jobs", &[]).unwrap(), "http://sqs:1234/000000000000/jobs");
    assert_eq!(Client::new(&server).call("ListQueues", &json!({})).status, 200);

    // Where the machine has it, IPv6's loopback is loopback.
    if let Ok(server) = Server::builder().bind(IpAddr::from(Ipv6Addr::LOCALHOST)).start() {
        assert_eq!(server.endpoint_url(), format!("http://[::1]:{}", server.port()));
    }
}
