//! Which connections are used again, how many there may be, and for how long.
mod support;

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use aws_async_io::RequestErrorKind;
use aws_smithy_runtime_api::client::connection::CaptureSmithyConnection;
use smol::future;
use support::server::{Request, Server, answer, closed_by_client};
use support::{DRIVERS, Driver, cause, connect_timeout, exchange, get, no_timeouts, read, refused, send};

#[test]
fn a_connection_closed_while_idle_costs_no_request() {
    for driver in DRIVERS {
        // Answers once and closes, without a word about it in the answer.
        let (closed, sees) = mpsc::channel();
        let server = Server::start(move |_, mut socket| {
            if Request::read(&mut socket).is_some() {
                answer(&mut socket, "{}");
                socket.shutdown(std::net::Shutdown::Both).expect("open");
                closed.send(()).expect("a listener");
            }
        });
        let client = driver.client();
        for _ in 0..20 {
            smol::block_on(exchange(&client, get(&server.uri("/")))).expect("an answer");
            // The next request comes after the end, or it would be a race that no client can win.
            sees.recv().expect("closed");
        }
        assert_eq!(server.accepted(), 20, "{driver:?}");
    }
}

#[test]
fn all_idle_connections_may_be_stale_at_once() {
    for driver in DRIVERS {
        let (hang_up, told) = smol::channel::bounded::<()>(1);
        let (closed, sees) = mpsc::channel();
        let server = Server::start(move |number, mut socket| {
            if number >= 8 {
                while Request::read(&mut socket).is_some() {
                    answer(&mut socket, "new");
                }
                return;
            }
            Request::read(&mut socket);
            answer(&mut socket, "old");
            assert!(told.recv_blocking().is_err(), "the test says when, by dropping its end");
            socket.shutdown(std::net::Shutdown::Both).expect("open");
            closed.send(()).expect("a listener");
        });
        let client = driver.client();
        let uri = server.uri("/");
        let all = future_join((0..8).map(|_| exchange(&client, get(&uri))));
        assert!(smol::block_on(all).into_iter().all(|answer| answer.expect("an answer").1 == b"old"));
        drop(hang_up);
        for _ in 0..8 {
            sees.recv().expect("closed");
        }
        assert_eq!(smol::block_on(exchange(&client, get(&uri))).expect("an answer").1, b"new");
        assert_eq!(server.accepted(), 9, "{driver:?}");
    }
}

/// Runs all of them at once.
fn future_join<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> impl Future<Output = Vec<T>> {
    let mut futures: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    future::poll_fn(move |cx| {
        for (future, output) in &mut futures {
            if output.is_none()
                && let std::task::Poll::Ready(ready) = future.as_mut().poll(cx)
            {
                *output = Some(ready);
            }
        }
        if futures.iter().any(|(_, output)| output.is_none()) {
            return std::task::Poll::Pending;
        }
        std::task::Poll::Ready(futures.iter_mut().filter_map(|(_, output)| output.take()).collect())
    })
}

#[test]
fn a_poisoned_connection_is_not_used_again() {
    for driver in DRIVERS {
        for while_idle in [false, true] {
            let server = Server::answering("{}");
            let client = driver.client();
            let capture = CaptureSmithyConnection::new();
            let mut request = get(&server.uri("/"));
            request.add_extension(capture.clone());
            smol::block_on(async {
                let response = send(&client, &no_timeouts(), request).await.expect("a response");
                let metadata = capture.get().expect("a connection");
                assert_eq!(metadata.remote_addr().map(|address| address.port()), Some(server.port()));
                assert!(metadata.local_addr().is_some() && metadata.connection_id().is_some());
                assert!(metadata.establishment().is_some_and(|took| took.tls_duration().is_none()));
                if !while_idle {
                    metadata.poison();
                }
                read(response).await.expect("a body");
                if while_idle {
                    metadata.poison();
                }
                exchange(&client, get(&server.uri("/"))).await.expect("an answer");
            });
            assert_eq!(server.accepted(), 2, "{driver:?}, poisoned while idle: {while_idle}");
        }
    }
}

#[test]
fn connections_are_closed_when_they_have_been_idle_for_long() {
    let (closed, sees) = mpsc::channel();
    let server = Server::start(move |_, mut socket| {
        Request::read(&mut socket);
        answer(&mut socket, "{}");
        let answered = Instant::now();
        closed_by_client(&mut socket);
        closed.send(answered.elapsed()).expect("a listener");
    });
    let client = Driver::Spawn.builder().idle_time(Duration::from_millis(150)).build().expect("a client");
    smol::block_on(exchange(&client, get(&server.uri("/")))).expect("an answer");
    // Nobody uses the client meanwhile.
    let idle = sees.recv_timeout(Duration::from_secs(5)).expect("closed");
    assert!(idle >= Duration::from_millis(140), "{idle:?}");
}

#[test]
fn a_connection_idle_for_too_long_is_not_used_again() {
    for driver in DRIVERS {
        let server = Server::answering("{}");
        let client = driver.builder().idle_time(Duration::from_millis(50)).build().expect("a client");
        smol::block_on(async {
            exchange(&client, get(&server.uri("/"))).await.expect("an answer");
            exchange(&client, get(&server.uri("/"))).await.expect("an answer");
            assert_eq!(server.accepted(), 1, "{driver:?}");
            smol::Timer::after(Duration::from_millis(60)).await;
            exchange(&client, get(&server.uri("/"))).await.expect("an answer");
        });
        assert_eq!(server.accepted(), 2, "{driver:?}");
    }
}

#[test]
fn no_idling_means_a_connection_each() {
    for driver in DRIVERS {
        for builder in [driver.builder().idle_time(Duration::ZERO), driver.builder().max_idle_per_server(0)] {
            let server = Server::answering("{}");
            let client = builder.build().expect("a client");
            for _ in 0..3 {
                smol::block_on(exchange(&client, get(&server.uri("/")))).expect("an answer");
            }
            assert_eq!(server.accepted(), 3, "{driver:?}");
        }
    }
}

#[test]
fn no_more_than_so_many_lie_idle_for_one_server() {
    for driver in DRIVERS {
        let (closed, sees) = mpsc::channel();
        let server = Server::start(move |_, mut socket| {
            while Request::read(&mut socket).is_some() {
                answer(&mut socket, "{}");
            }
            closed.send(()).expect("a listener");
        });
        let client = driver.builder().max_idle_per_server(2).build().expect("a client");
        let uri = server.uri("/");
        for answer in smol::block_on(future_join((0..5).map(|_| exchange(&client, get(&uri))))) {
            answer.expect("an answer");
        }
        for _ in 0..3 {
            sees.recv_timeout(Duration::from_secs(5)).expect("closed");
        }
        assert!(sees.recv_timeout(Duration::from_millis(50)).is_err(), "{driver:?}: two remain");
        assert_eq!(server.accepted(), 5);
    }
}

#[test]
fn no_more_connections_than_allowed_are_open_at_once() {
    for driver in DRIVERS {
        let open = Arc::new(AtomicUsize::new(0));
        let most = Arc::new(AtomicUsize::new(0));
        let (now, at_most) = (Arc::clone(&open), Arc::clone(&most));
        let server = Server::start(move |_, mut socket| {
            at_most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            while Request::read(&mut socket).is_some() {
                answer(&mut socket, "{}");
            }
            now.fetch_sub(1, Ordering::SeqCst);
        });
        let client = driver.builder().max_connections(4).build().expect("a client");
        let uri = server.uri("/");
        for answer in smol::block_on(future_join((0..200).map(|_| exchange(&client, get(&uri))))) {
            answer.expect("an answer");
        }
        assert!(most.load(Ordering::SeqCst) <= 4, "{driver:?}");
        assert_eq!(server.accepted(), 4, "{driver:?}: freed connections are passed on");
    }
}

#[test]
fn another_servers_idle_connection_makes_room() {
    for driver in DRIVERS {
        let (closed, sees) = mpsc::channel();
        let first = Server::start(move |_, mut socket| {
            Request::read(&mut socket);
            answer(&mut socket, "first");
            closed_by_client(&mut socket);
            closed.send(()).expect("a listener");
        });
        let second = Server::answering("second");
        let client = driver.builder().max_connections(1).build().expect("a client");
        smol::block_on(async {
            assert_eq!(exchange(&client, get(&first.uri("/"))).await.expect("an answer").1, b"first");
            assert_eq!(exchange(&client, get(&second.uri("/"))).await.expect("an answer").1, b"second");
        });
        sees.recv_timeout(Duration::from_secs(5)).expect("closed");
    }
}

#[test]
fn waiting_for_a_free_connection_ends_with_the_connect_timeout() {
    for driver in DRIVERS {
        let server = Server::silent();
        let client = driver.builder().max_connections(1).build().expect("a client");
        let uri = server.uri("/");
        let start = Instant::now();
        let hanging = async { send(&client, &no_timeouts(), get(&uri)).await.map(drop) };
        let waiting = async {
            let settings = connect_timeout(Duration::from_millis(100));
            send(&client, &settings, get(&uri)).await.map(drop)
        };
        let error = refused(smol::block_on(future::or(hanging, waiting)), RequestErrorKind::Busy);
        assert!(start.elapsed() >= Duration::from_millis(100));
        assert!(error.is_timeout());
        let text = cause(&error).to_string();
        assert!(text.contains("within 100ms: all 1 allowed by max_connections are in use"), "{text}");
        // The one that hung was dropped with its lease.
        let settings = connect_timeout(Duration::from_secs(5));
        let again = send(&client, &settings, get(&uri));
        let again = future::or(async { again.await.map(drop) }, async {
            smol::Timer::after(Duration::from_millis(50)).await;
            Ok(())
        });
        smol::block_on(again).expect("not refused");
        assert_eq!(server.accepted(), 2, "{driver:?}");
    }
}

#[test]
fn a_connection_serves_only_its_own_server() {
    for driver in DRIVERS {
        let servers = [Server::answering("first"), Server::answering("second")];
        let client = driver.client();
        smol::block_on(async {
            for _ in 0..3 {
                for (server, body) in servers.iter().zip([&b"first"[..], b"second"]) {
                    assert_eq!(exchange(&client, get(&server.uri("/"))).await.expect("an answer").1, body);
                }
            }
        });
        assert!(servers.iter().all(|server| server.accepted() == 1), "{driver:?}");
    }
}

#[test]
fn bytes_nobody_asked_for_end_a_connection() {
    for driver in DRIVERS {
        let (sent, sees) = mpsc::channel();
        let sent = Mutex::new(sent);
        let server = Server::start(move |_, mut socket| {
            while Request::read(&mut socket).is_some() {
                answer(&mut socket, "{}");
                let _ = socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged");
                let _ = sent.lock().expect("not poisoned").send(());
            }
        });
        let client = driver.client();
        for _ in 0..10 {
            let answer = smol::block_on(exchange(&client, get(&server.uri("/")))).expect("an answer");
            assert_eq!(answer.1, b"{}", "{driver:?}");
            sees.recv().expect("sent");
        }
    }
}

#[test]
fn a_request_overtaken_by_the_close_is_sent_once_more() {
    let (hang_up, told) = smol::channel::bounded::<()>(1);
    let (closed, sees) = mpsc::channel();
    let server = Server::start(move |number, mut socket| {
        Request::read(&mut socket);
        answer(&mut socket, if number == 0 { "old" } else { "new" });
        if number == 0 {
            assert!(told.recv_blocking().is_err(), "the test says when, by dropping its end");
            socket.shutdown(std::net::Shutdown::Write).expect("open");
            closed.send(()).expect("a listener");
            assert!(Request::read(&mut socket).is_none(), "written to the old connection");
            closed.send(()).expect("a listener");
        }
    });
    // An executor that runs only when told to, so that the request is handed over before the close is seen.
    let executor = Arc::new(smol::Executor::new());
    let spawner = Arc::clone(&executor);
    let client = Driver::InRequest.builder().spawn(move |task| spawner.spawn(task).detach());
    let client = client.build().expect("a client");
    let uri = server.uri("/");
    let first = smol::block_on(executor.run(exchange(&client, get(&uri))));
    assert_eq!(first.expect("an answer").1, b"old");
    // The reactor takes an event for old news when it was waiting already as it was asked for it. This is for
    // it to wait anew.
    smol::block_on(executor.run(smol::Timer::after(Duration::from_millis(50))));
    let mut second = Box::pin(exchange(&client, get(&uri)));
    assert!(smol::block_on(future::poll_once(&mut second)).is_none());
    assert_eq!(server.accepted(), 1, "it is on the old connection");
    drop(hang_up);
    sees.recv().expect("closed");
    // For the reactor to hear of it.
    smol::block_on(smol::Timer::after(Duration::from_millis(100)));
    let second = smol::block_on(executor.run(second));
    assert_eq!(second.expect("an answer").1, b"new");
    sees.recv_timeout(Duration::from_secs(5)).expect("closed by the client, unwritten");
    assert_eq!(server.accepted(), 2);
}
