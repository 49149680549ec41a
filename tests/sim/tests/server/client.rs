use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;
use sqs_lease_sim::{Action, Server};

/// One connection that is kept alive, as an SDK's is.
pub(crate) struct Client(pub(crate) BufReader<TcpStream>);

pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Client {
    pub(crate) fn new(server: &Server) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Self(BufReader::new(stream))
    }

    pub(crate) fn send(&mut self, operation: &str, body: &Value) {
        self.send_raw(operation, "Authorization: AWS4-HMAC-SHA256 any\r\n", &body.to_string());
    }

    pub(crate) fn send_raw(&mut self, operation: &str, headers: &str, body: &str) {
        let request = format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS.{operation}\r\n{headers}\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
    }

    /// None if the connection was closed without an answer.
    pub(crate) fn answer(&mut self) -> Option<Response> {
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

    /// A request of no SDK's: to the clock, the faults or the truth.
    pub(crate) fn control(&mut self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
        let answer = self.answer().expect("an answer");
        (answer.status, answer.body)
    }

    pub(crate) fn call(&mut self, operation: &str, body: &Value) -> Response {
        self.send(operation, body);
        self.answer().expect("an answer")
    }
}

pub(crate) fn start(visibility: &str) -> (Server, String, Client) {
    let server = Server::builder().start().unwrap();
    let url = server.create_queue("jobs", &[("VisibilityTimeout", visibility)]).unwrap();
    let client = Client::new(&server);
    (server, url, client)
}

pub(crate) fn start_manual(visibility: &str) -> (Server, String, Client) {
    let server = Server::builder().manual_clock().start().unwrap();
    let url = server.create_queue("jobs", &[("VisibilityTimeout", visibility)]).unwrap();
    let client = Client::new(&server);
    (server, url, client)
}

pub(crate) fn send(server: &Server) {
    server.model(|model, now| model.send("jobs", "work", now)).unwrap();
}

/// Waits until the server has taken so many requests of this operation in.
pub(crate) fn until_called(server: &Server, action: Action, calls: u64) {
    let started = Instant::now();
    while server.calls(action) < calls {
        assert!(started.elapsed() < Duration::from_secs(20), "{action:?} never came");
        std::thread::yield_now();
    }
}
