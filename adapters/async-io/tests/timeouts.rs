//! The SDK's two timeouts, names and addresses.
mod support;

use std::future;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use aws_async_io::RequestErrorKind;
use aws_smithy_runtime_api::client::dns::{DnsFuture, ResolveDns, ResolveDnsError};
use aws_smithy_types::body::SdkBody;
use support::server::{Request, Server, answer, closed_by_client};
use support::{DRIVERS, cause, connect_timeout, exchange, get, post, read, read_timeout, refused, send};

const SHORT: Duration = Duration::from_millis(150);
/// What a short timeout may at most take on a busy machine.
const SOON: Duration = Duration::from_secs(5);

const fn loopback(last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(127, 0, 0, last))
}

/// Resolves every name to these.
#[derive(Debug)]
struct Addresses(Vec<IpAddr>);

impl ResolveDns for Addresses {
    fn resolve_dns<'a>(&'a self, _: &'a str) -> DnsFuture<'a> {
        DnsFuture::ready(Ok(self.0.clone()))
    }
}

/// A server that takes no connection: packets to it get no answer.
struct Full {
    listener: TcpListener,
    _waiting: Vec<TcpStream>,
}

impl Full {
    fn on(address: (IpAddr, u16)) -> Self {
        let listener = TcpListener::bind(address).expect("a free port");
        let address = listener.local_addr().expect("an address");
        rustix::net::listen(&listener, 0).expect("a backlog of none");
        let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(100));
        let waiting = std::iter::from_fn(|| connect().ok()).take(100).collect();
        assert!(connect().is_err(), "the backlog is full");
        Self { listener, _waiting: waiting }
    }

    fn port(&self) -> u16 {
        self.listener.local_addr().expect("an address").port()
    }
}

#[test]
fn a_server_that_takes_no_connection_meets_the_connect_timeout() {
    for driver in DRIVERS {
        let full = Full::on((loopback(1), 0));
        let uri = format!("http://127.0.0.1:{}/", full.port());
        let start = Instant::now();
        let result = smol::block_on(send(&driver.client(), &connect_timeout(SHORT), get(&uri)));
        let error = refused(result, RequestErrorKind::ConnectTimeout);
        assert!((SHORT..SOON).contains(&start.elapsed()), "{:?}", start.elapsed());
        assert!(error.is_timeout());
        let server = format!("127.0.0.1:{}", full.port());
        assert_eq!(cause(&error).server(), server);
        let text = cause(&error).to_string();
        assert_eq!(text, format!("{server}: no connection after 150ms: no answer from {server}"));
    }
}

#[test]
fn a_name_that_does_not_resolve_in_time_meets_the_connect_timeout() {
    #[derive(Debug)]
    struct Never;
    impl ResolveDns for Never {
        fn resolve_dns<'a>(&'a self, _: &'a str) -> DnsFuture<'a> {
            DnsFuture::new(future::pending())
        }
    }
    for driver in DRIVERS {
        let client = driver.builder().resolver(Never).build().expect("a client");
        let result = smol::block_on(send(&client, &connect_timeout(SHORT), get("http://sqs.example/")));
        let error = refused(result, RequestErrorKind::ConnectTimeout);
        assert!(error.is_timeout());
        assert!(cause(&error).to_string().ends_with("the name is still being resolved"));
    }
}

#[test]
fn a_server_that_does_not_answer_meets_the_read_timeout() {
    for driver in DRIVERS {
        let server = Server::silent();
        let start = Instant::now();
        let client = driver.client();
        let result = smol::block_on(send(&client, &read_timeout(SHORT), get(&server.uri("/"))));
        let error = refused(result, RequestErrorKind::ReadTimeout);
        assert!((SHORT..SOON).contains(&start.elapsed()), "{:?}", start.elapsed());
        assert!(error.is_timeout());
        assert!(cause(&error).to_string().ends_with("no response within the read timeout of 150ms"));
    }
}

#[test]
fn an_answer_that_trickles_in_meets_the_read_timeout_until_its_head_is_there() {
    for driver in DRIVERS {
        let server = Server::start(|_, mut socket| {
            Request::read(&mut socket);
            while socket.write_all(b"H").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let server_slow_body = Server::start(|_, mut socket| {
            Request::read(&mut socket);
            socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n").expect("sent");
            std::thread::sleep(2 * SHORT);
            socket.write_all(b"{}").expect("sent");
            closed_by_client(&mut socket);
        });
        let client = driver.client();
        smol::block_on(async {
            // Not "HTTP", so refused at its second byte at the latest.
            let result = send(&client, &read_timeout(SHORT), get(&server.uri("/"))).await;
            assert!(result.is_err());
            // The head came in time; the body is not the read timeout's.
            let response = send(&client, &read_timeout(SHORT), get(&server_slow_body.uri("/"))).await;
            assert_eq!(read(response.expect("a head")).await.expect("a body"), b"{}");
        });
    }
}

#[test]
fn the_longest_timeouts_are_none() {
    for driver in DRIVERS {
        let server = Server::answering("{}");
        let client = driver.client();
        smol::block_on(async {
            for settings in [connect_timeout(Duration::MAX), read_timeout(Duration::MAX)] {
                let response = send(&client, &settings, get(&server.uri("/"))).await.expect("a response");
                read(response).await.expect("a body");
            }
        });
    }
}

#[test]
fn a_stalled_body_is_the_callers_to_drop() {
    for driver in DRIVERS {
        let server = Server::start(|_, mut socket| {
            Request::read(&mut socket);
            socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").expect("sent");
            closed_by_client(&mut socket);
        });
        let client = driver.client();
        smol::block_on(async {
            let response = send(&client, &read_timeout(SHORT), get(&server.uri("/"))).await.expect("a head");
            let stalled = smol::future::or(async { read(response).await.ok() }, async {
                smol::Timer::after(SHORT).await;
                None
            });
            assert_eq!(stalled.await, None, "{driver:?}");
        });
    }
}

#[test]
fn an_upload_that_stalls_meets_the_read_timeout() {
    for driver in DRIVERS {
        let server = Server::silent();
        let body = SdkBody::from_body_1_x(http_body_util::StreamBody::new(smol::stream::pending::<
            Result<http_body::Frame<bytes::Bytes>, std::convert::Infallible>,
        >()));
        let request = post(&server.uri("/"), body);
        let result = smol::block_on(send(&driver.client(), &read_timeout(SHORT), request));
        refused(result, RequestErrorKind::ReadTimeout);
    }
}

#[test]
fn addresses_are_tried_in_turn() {
    for driver in DRIVERS {
        let server = Server::answering("{}");
        // The first refuses at once.
        let addresses = Addresses(vec![loopback(2), loopback(1)]);
        let client = driver.builder().resolver(addresses).build().expect("a client");
        let uri = format!("http://sqs.example:{}/", server.port());
        smol::block_on(exchange(&client, get(&uri))).expect("an answer");
        assert_eq!(server.accepted(), 1, "{driver:?}");
    }
}

#[test]
fn an_address_that_swallows_packets_leaves_time_for_the_next() {
    for driver in DRIVERS {
        let server = Server::answering("{}");
        let full = Full::on((loopback(2), server.port()));
        let addresses = Addresses(vec![loopback(2), loopback(1)]);
        let client = driver.builder().resolver(addresses).build().expect("a client");
        let uri = format!("http://sqs.example:{}/", full.port());
        let start = Instant::now();
        let timeout = Duration::from_millis(600);
        smol::block_on(send(&client, &connect_timeout(timeout), get(&uri))).expect("a response");
        // Half of the time was the first one's share.
        assert!((timeout / 2..SOON).contains(&start.elapsed()), "{:?}", start.elapsed());
    }
}

#[test]
fn an_error_names_every_address_tried() {
    for driver in DRIVERS {
        // Nobody listens there any more.
        let port =
            TcpListener::bind((loopback(1), 0)).expect("a port").local_addr().expect("an address").port();
        let addresses = Addresses(vec![loopback(3), loopback(1)]);
        let client = driver.builder().resolver(addresses).build().expect("a client");
        let result = smol::block_on(exchange(&client, get(&format!("http://sqs.example:{port}/"))));
        let error = refused(result, RequestErrorKind::Connect);
        assert!(error.is_io(), "{error:?}");
        let text = cause(&error).to_string();
        assert!(
            text.starts_with(&format!("sqs.example:{port}: cannot connect: 127.0.0.3:{port}: ")),
            "{text}"
        );
        assert!(text.contains(&format!("127.0.0.1:{port}: Connection refused")), "{text}");
    }
}

#[test]
fn names_without_addresses_are_told_apart_from_names_that_fail() {
    #[derive(Debug)]
    struct Fails;
    impl ResolveDns for Fails {
        fn resolve_dns<'a>(&'a self, name: &'a str) -> DnsFuture<'a> {
            DnsFuture::ready(Err(ResolveDnsError::new(format!("no such name: {name}"))))
        }
    }
    for driver in DRIVERS {
        let failing = driver.builder().resolver(Fails).build().expect("a client");
        let error = refused(
            smol::block_on(exchange(&failing, get("http://sqs.example/"))),
            RequestErrorKind::Resolve,
        );
        assert!(error.is_io(), "a repetition may go better");
        assert_eq!(cause(&error).to_string(), "sqs.example:80: the name cannot be resolved");
        let empty = driver.builder().resolver(Addresses(Vec::new())).build().expect("a client");
        let result = smol::block_on(exchange(&empty, get("http://sqs.example/")));
        let error = refused(result, RequestErrorKind::Resolve);
        assert_eq!(cause(&error).to_string(), "sqs.example:80: the name has no address");
    }
}

#[test]
fn the_operating_system_resolves_by_default() {
    for driver in DRIVERS {
        let server = Server::start(|_, mut socket| {
            while let Some(request) = Request::read(&mut socket) {
                answer(&mut socket, request.header("host").unwrap_or_default());
            }
        });
        let uri = format!("http://LOCALHOST:{}/", server.port());
        // The address is tried that the server listens on, whichever comes first.
        let answer = smol::block_on(exchange(&driver.client(), get(&uri))).expect("an answer");
        assert_eq!(answer.1, format!("LOCALHOST:{}", server.port()).as_bytes());
    }
}
