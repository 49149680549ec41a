//! Measures how many entries of `ChangeMessageVisibilityBatch` the served simulator takes in a second, through sockets.
//!
//! `cargo run --release -p sqs-lease-sim --example load`

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use sqs_lease_sim::{Receive, Server, Settings};

/// As many as SQS lets a queue have in flight.
const MESSAGES: usize = 120_000;
const CONNECTIONS: usize = 8;
const SECONDS: u64 = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::builder().settings(Settings::default().record(false)).start()?;
    let url = server.create_queue("load", &[("VisibilityTimeout", "3600")])?;
    let handles = server.model(|model, now| {
        let mut handles = Vec::new();
        for _ in 0..MESSAGES {
            model.send("load", "work", now)?;
        }
        while handles.len() < MESSAGES {
            let received = model.receive("load", &Receive::new().max(10), now)?;
            handles.extend(received.into_iter().map(|delivery| delivery.receipt_handle));
        }
        Ok::<_, sqs_lease_sim::Error>(handles)
    })?;
    let requests: Vec<String> = handles.chunks(10).map(|handles| request(&url, handles)).collect();
    let until = Instant::now() + Duration::from_secs(SECONDS);
    let port = server.port();
    let entries: usize = std::thread::scope(|scope| {
        let load = |requests| scope.spawn(move || load(port, requests, until).expect("a connection"));
        let running: Vec<_> = requests.chunks(MESSAGES / 10 / CONNECTIONS).map(load).collect();
        running.into_iter().map(|it| it.join().expect("no panic")).sum()
    });
    println!("{} entries a second", entries as u64 / SECONDS);
    Ok(())
}

fn request(url: &str, handles: &[String]) -> String {
    let entry = |(id, handle)| serde_json::json!({"Id": format!("{id}"), "ReceiptHandle": handle, "VisibilityTimeout": 3600});
    let entries: Vec<_> = (0..10).zip(handles).map(entry).collect();
    let body = serde_json::json!({"QueueUrl": url, "Entries": entries}).to_string();
    format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS.ChangeMessageVisibilityBatch\r\n\
         Authorization: AWS4-HMAC-SHA256 any\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// How many entries were changed on one connection.
fn load(port: u16, requests: &[String], until: Instant) -> std::io::Result<usize> {
    let mut connection = BufReader::new(TcpStream::connect(("127.0.0.1", port))?);
    connection.get_ref().set_nodelay(true)?;
    let mut entries = 0;
    for request in requests.iter().cycle() {
        if Instant::now() >= until {
            break;
        }
        connection.get_mut().write_all(request.as_bytes())?;
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let start = head.len();
            connection.read_line(&mut head)?;
            if let Some(value) = head[start..].to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        connection.read_exact(&mut body)?;
        assert!(!body.windows(8).any(|part| part == b"\"Failed\""), "an entry was refused");
        entries += 10;
    }
    Ok(entries)
}
