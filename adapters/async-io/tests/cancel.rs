//! Requests that are dropped while the server lets them hang. One test, alone in its process: it counts descriptors.
mod support;

use std::io::Write;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use smol::future;
use support::server::{Request, Server, answer, closed_by_client};
use support::{DRIVERS, Driver, descriptors, eventually, exchange, get, no_timeouts, read, send};

const HUNG: usize = 50;

#[test]
fn dropped_requests_close_their_sockets_at_once() {
    for driver in DRIVERS {
        in_the_head(driver);
        in_the_body(driver);
        while_nobody_drives_the_executor();
    }
}

/// The server has the requests and does not answer.
fn in_the_head(driver: Driver) {
    let (events, sees) = mpsc::channel();
    let server = Server::start(move |number, mut socket| {
        if number >= HUNG {
            while Request::read(&mut socket).is_some() {
                answer(&mut socket, "{}");
            }
            return;
        }
        Request::read(&mut socket);
        events.send(false).expect("a listener");
        closed_by_client(&mut socket);
        events.send(true).expect("a listener");
    });
    let client = driver.client();
    dropped(driver, &sees, || {
        let (client, uri) = (client.clone(), server.uri("/"));
        smol::spawn(async move { exchange(&client, get(&uri)).await.map(drop).map_err(drop) })
    });
    let again = smol::block_on(async {
        for _ in 0..20 {
            exchange(&client, get(&server.uri("/"))).await?;
        }
        Ok::<(), aws_smithy_runtime_api::client::result::ConnectorError>(())
    });
    again.expect("the client is usable");
    assert_eq!(server.accepted(), HUNG + 1, "{driver:?}");
}

/// The server stops in the middle of its answers.
fn in_the_body(driver: Driver) {
    let (events, sees) = mpsc::channel();
    let server = Server::start(move |_, mut socket| {
        Request::read(&mut socket);
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").expect("sent");
        events.send(false).expect("a listener");
        closed_by_client(&mut socket);
        events.send(true).expect("a listener");
    });
    let client = driver.client();
    dropped(driver, &sees, || {
        let (client, uri) = (client.clone(), server.uri("/"));
        smol::spawn(async move {
            let response = send(&client, &no_timeouts(), get(&uri)).await.map_err(drop)?;
            read(response).await.map(drop).map_err(drop)
        })
    });
}

fn dropped(driver: Driver, sees: &mpsc::Receiver<bool>, start: impl Fn() -> smol::Task<Result<(), ()>>) {
    // The client's side of a connection is one descriptor; the server's are two each, gone with theirs.
    let before = descriptors();
    let requests: Vec<_> = (0..HUNG).map(|_| start()).collect();
    for _ in 0..HUNG {
        assert!(!sees.recv_timeout(Duration::from_secs(10)).expect("a request"));
    }
    assert!(descriptors() >= before + HUNG, "{driver:?}");
    let start = Instant::now();
    drop(requests);
    for _ in 0..HUNG {
        assert!(sees.recv_timeout(Duration::from_secs(10)).expect("closed"));
    }
    let closed = start.elapsed();
    assert!(closed < Duration::from_secs(1), "{driver:?}: {closed:?}");
    // The reactor may have opened its own in the meantime.
    eventually("descriptors are back", || descriptors() <= before + 4);
    println!("{driver:?}: {HUNG} closed within {closed:?}");
}

/// The socket is shut down by whoever drops the request, not by the executor's next turn.
fn while_nobody_drives_the_executor() {
    let (closed, sees) = mpsc::channel();
    let server = Server::start(move |_, mut socket| {
        Request::read(&mut socket);
        closed_by_client(&mut socket);
        closed.send(()).expect("a listener");
    });
    let executor = std::sync::Arc::new(smol::Executor::new());
    let spawner = std::sync::Arc::clone(&executor);
    let client = Driver::InRequest.builder().spawn(move |task| spawner.spawn(task).detach());
    let client = client.build().expect("a client");
    let mut request = Box::pin(async { exchange(&client, get(&server.uri("/"))).await.map(drop) });
    let written = executor.run(future::or(async { drop(request.as_mut().await) }, async {
        eventually_async(|| server.accepted() == 1).await;
        smol::Timer::after(Duration::from_millis(50)).await;
    }));
    smol::block_on(written);
    drop(request);
    sees.recv_timeout(Duration::from_secs(5)).expect("closed without the executor");
    drop(executor);
}

async fn eventually_async(mut done: impl FnMut() -> bool) {
    while !done() {
        smol::Timer::after(Duration::from_millis(1)).await;
    }
}
