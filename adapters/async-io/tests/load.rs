//! Many requests against a server that closes, stalls and resets as it pleases. One test, alone in its process:
//! it counts descriptors and memory.
mod support;

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use aws_async_io::Client;
use smol::future;
use support::server::{Request, Server, closed_by_client, reset};
use support::{DRIVERS, Driver, descriptors, eventually, get, read, read_timeout, send};

/// Requests in all; `AWS_ASYNC_IO_LOAD` asks for another number.
const REQUESTS: usize = 20_000;
const AT_A_TIME: usize = 64;
/// How long a stalled answer is waited for.
const PATIENCE: Duration = Duration::from_millis(100);
const SEED: u64 = 0x5EED;
/// Less than a kilobyte for each request of the shortest run; what is lost once per request shows.
const GROWTH: usize = 8 << 20;

#[test]
fn neither_sockets_nor_memory_leak_under_a_misbehaving_server() {
    let requests = match std::env::var("AWS_ASYNC_IO_LOAD") {
        Ok(requests) => requests.parse().expect("AWS_ASYNC_IO_LOAD is a number of requests"),
        Err(_) => REQUESTS,
    };
    for driver in DRIVERS {
        // Threads, arenas and buffers come with the first requests and stay.
        run(driver, requests / 10);
        let (sockets, memory) = (descriptors(), resident());
        let start = Instant::now();
        let outcomes = run(driver, requests / DRIVERS.len());
        println!("{driver:?}: {outcomes:?} in {:?}", start.elapsed());
        let answered = outcomes.get("answered").copied().unwrap_or_default();
        assert!(answered > requests / DRIVERS.len() / 2, "{driver:?}, seed {SEED:#x}: {outcomes:?}");
        eventually("descriptors are back", || descriptors() <= sockets);
        let grown = resident().saturating_sub(memory);
        println!("{driver:?}: {} KiB more resident", grown >> 10);
        assert!(grown < GROWTH, "{driver:?}: {grown} bytes more resident after {requests} requests");
    }
}

/// How often each outcome came.
fn run(driver: Driver, requests: usize) -> BTreeMap<&'static str, usize> {
    let server = Server::start(misbehave);
    let client = driver.builder().max_connections(AT_A_TIME).build().expect("a client");
    let next = Arc::new(AtomicUsize::new(0));
    let workers: Vec<_> = (0..AT_A_TIME)
        .map(|_| {
            let (client, next, uri) = (client.clone(), Arc::clone(&next), server.uri(""));
            smol::spawn(async move {
                let mut outcomes = BTreeMap::new();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= requests {
                        return outcomes;
                    }
                    *outcomes.entry(ask(&client, &uri, number).await).or_insert(0) += 1;
                }
            })
        })
        .collect();
    let mut all = BTreeMap::new();
    for worker in workers {
        for (outcome, times) in smol::block_on(worker) {
            *all.entry(outcome).or_insert(0) += times;
        }
    }
    assert_eq!(all.values().sum::<usize>(), requests, "every request ends");
    all
}

async fn ask(client: &Client, uri: &str, number: usize) -> &'static str {
    let exchange = async {
        let request = get(&format!("{uri}/{number}"));
        let Ok(response) = send(client, &read_timeout(PATIENCE), request).await else { return "failed" };
        match read(response).await {
            Ok(body) => {
                assert!(body == expected(number).as_bytes(), "request {number} got another's answer");
                "answered"
            }
            Err(_) => "cut off",
        }
    };
    // Some lose interest before the answer, and all do when a body stalls.
    let patience = if number.is_multiple_of(50) { Duration::from_micros(300) } else { 2 * PATIENCE };
    future::or(exchange, async {
        smol::Timer::after(patience).await;
        "dropped"
    })
    .await
}

fn expected(number: usize) -> String {
    format!("{number} ").repeat(1 + number % 400)
}

/// Answers most requests, in one of several ways, and fails some, in one of several others.
fn misbehave(connection: usize, mut socket: TcpStream) {
    let mut random = Random(SEED ^ (connection as u64) << 20);
    while let Some(request) = Request::read(&mut socket) {
        let number = request.line().split(['/', ' ']).nth(2).and_then(|number| number.parse().ok());
        let body = expected(number.expect("a number for a path"));
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
        let whole = format!("{head}{body}");
        let (half, rest) = whole.split_at(head.len() + body.len() / 2);
        let sent = match random.below(1000) {
            0..20 => return,
            20..40 => return reset(&socket),
            40..50 => return closed_by_client(&mut socket),
            50..60 => {
                let _ = socket.write_all(half.as_bytes());
                return closed_by_client(&mut socket);
            }
            60..80 => {
                let _ = socket.write_all(half.as_bytes());
                return;
            }
            // Answers, and then closes without a word.
            80..130 => {
                let _ = socket.write_all(whole.as_bytes());
                return;
            }
            130..150 => {
                let _ = socket.write_all(whole.as_bytes());
                return reset(&socket);
            }
            150..300 => {
                let chunked = format!(
                    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
                    body.len()
                );
                socket.write_all(chunked.as_bytes())
            }
            300..400 => socket.write_all(half.as_bytes()).and_then(|()| {
                std::thread::yield_now();
                socket.write_all(rest.as_bytes())
            }),
            _ => socket.write_all(whole.as_bytes()),
        };
        if sent.is_err() {
            return;
        }
    }
}

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// Bytes of this process that are in memory.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    let kilobytes: usize = line.trim().trim_end_matches(" kB").parse().expect("kB");
    kilobytes << 10
}
