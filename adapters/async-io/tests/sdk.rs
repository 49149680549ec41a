//! A service client of the SDK over this client: what the two expect of each other.
mod support;

use std::io::Write;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use aws_async_io::{AsyncIoSleep, RequestError, RequestErrorKind};
use aws_sdk_sqs::config::StalledStreamProtectionConfig;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::config::{BehaviorVersion, Builder, Credentials, Region};
use aws_sdk_sqs::error::SdkError;
use support::server::{Request, Server, answer, closed_by_client};
use support::{DRIVERS, Driver};

fn config(driver: Driver, server: &Server) -> Builder {
    aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new("eu-west-1"))
        .credentials_provider(Credentials::new("id", "secret", None, None, "test"))
        .endpoint_url(server.uri(""))
        .http_client(driver.client())
        .sleep_impl(AsyncIoSleep::new())
        .retry_config(RetryConfig::standard().with_initial_backoff(Duration::from_millis(1)))
}

fn client(config: Builder) -> aws_sdk_sqs::Client {
    aws_sdk_sqs::Client::from_conf(config.build())
}

#[test]
fn a_call_is_signed_for_what_is_sent_and_its_answer_read() {
    for driver in DRIVERS {
        let (requests, sent) = mpsc::channel();
        let server = Server::start(move |_, mut socket| {
            while let Some(request) = Request::read(&mut socket) {
                requests.send(request).expect("a listener");
                answer(&mut socket, r#"{"QueueUrl":"http://queue"}"#);
            }
        });
        let client = client(config(driver, &server));
        for _ in 0..3 {
            let created = smol::block_on(client.create_queue().queue_name("orders").send()).expect("created");
            assert_eq!(created.queue_url(), Some("http://queue"));
        }
        let request = sent.recv().expect("a request");
        assert_eq!(request.line(), "POST / HTTP/1.1");
        assert_eq!(request.header("host"), Some(format!("127.0.0.1:{}", server.port()).as_str()));
        let signed = request.header("authorization").expect("signed");
        assert!(signed.contains("host;"), "{signed}");
        assert_eq!(server.accepted(), 1, "{driver:?}");
    }
}

#[test]
fn the_sdk_tries_again_what_may_go_better() {
    for driver in DRIVERS {
        let server = Server::start(|number, mut socket| {
            while Request::read(&mut socket).is_some() {
                if number < 2 {
                    return;
                }
                answer(&mut socket, "{}");
            }
        });
        let client = client(config(driver, &server));
        smol::block_on(client.list_queues().send()).expect("the third attempt");
        assert_eq!(server.accepted(), 3, "{driver:?}");
    }
}

#[test]
fn the_sdk_does_not_try_again_what_cannot_go_better() {
    for driver in DRIVERS {
        let server = Server::start(|_, mut socket| {
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
            closed_by_client(&mut socket);
        });
        let certificate = rcgen::generate_simple_self_signed(Vec::new()).expect("a certificate");
        let builder = driver.builder().trust_pem(certificate.cert.pem());
        let config = config(driver, &server)
            .endpoint_url(format!("https://127.0.0.1:{}", server.port()))
            .http_client(builder.build().expect("a client"));
        let error = smol::block_on(client(config).list_queues().send()).expect_err("refused");
        assert_eq!(cause(&error).kind(), RequestErrorKind::Tls);
        assert_eq!(server.accepted(), 1, "{driver:?}: one attempt");
    }
}

/// This crate's error, at the end of the SDK's chain.
fn cause<E: std::error::Error + 'static, R: std::fmt::Debug + 'static>(
    error: &SdkError<E, R>,
) -> &RequestError {
    let mut next = std::error::Error::source(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref() {
            return error;
        }
        next = error.source();
    }
    panic!("no RequestError in {error:?}")
}

#[test]
fn the_sdks_timeouts_end_a_call() {
    for driver in DRIVERS {
        let server = Server::silent();
        let timeout = Duration::from_millis(100);
        let call = |timeouts: TimeoutConfig| {
            let config =
                config(driver, &server).timeout_config(timeouts).retry_config(RetryConfig::disabled());
            smol::block_on(client(config).list_queues().send()).expect_err("no answer")
        };
        let start = Instant::now();
        let error = call(TimeoutConfig::builder().read_timeout(timeout).build());
        assert!(matches!(&error, SdkError::DispatchFailure(failure) if failure.is_timeout()), "{error:?}");
        let error = call(TimeoutConfig::builder().operation_attempt_timeout(timeout).build());
        assert!(matches!(error, SdkError::TimeoutError(_)), "{error:?}");
        let error = call(TimeoutConfig::builder().operation_timeout(timeout).build());
        assert!(matches!(error, SdkError::TimeoutError(_)), "{error:?}");
        assert!((3 * timeout..Duration::from_secs(10)).contains(&start.elapsed()), "{:?}", start.elapsed());
    }
}

#[test]
fn a_stalled_body_meets_stalled_stream_protection() {
    for driver in DRIVERS {
        let server = Server::start(|_, mut socket| {
            Request::read(&mut socket);
            socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{").expect("sent");
            closed_by_client(&mut socket);
        });
        let protection = StalledStreamProtectionConfig::enabled().grace_period(Duration::from_millis(100));
        let config = config(driver, &server)
            .stalled_stream_protection(protection.build())
            .retry_config(RetryConfig::disabled());
        let start = Instant::now();
        let error = smol::block_on(client(config).list_queues().send()).expect_err("stalled");
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        let text = aws_sdk_sqs::error::DisplayErrorContext(&error).to_string();
        assert!(text.contains("minimum throughput"), "{text}");
    }
}

#[test]
fn the_sdk_poisons_a_connection_that_answered_with_a_server_error() {
    for driver in DRIVERS {
        let server = Server::start(|number, mut socket| {
            while Request::read(&mut socket).is_some() {
                if number == 0 {
                    let _ = socket.write_all(b"HTTP/1.1 503 Busy\r\ncontent-length: 2\r\n\r\n{}");
                } else {
                    answer(&mut socket, "{}");
                }
            }
        });
        let client = client(config(driver, &server));
        smol::block_on(client.list_queues().send()).expect("the second attempt");
        assert_eq!(server.accepted(), 2, "{driver:?}");
    }
}

#[test]
fn the_client_names_itself_to_the_service() {
    let (agents, sees) = mpsc::channel();
    let server = Server::start(move |_, mut socket| {
        while let Some(request) = Request::read(&mut socket) {
            agents.send(request.header("x-amz-user-agent").map(str::to_owned)).expect("a listener");
            answer(&mut socket, "{}");
        }
    });
    smol::block_on(client(config(Driver::InRequest, &server)).list_queues().send()).expect("an answer");
    let agent = sees.recv().expect("a request").expect("an agent");
    assert!(agent.contains(concat!("http#aws-async-io-", env!("CARGO_PKG_VERSION"))), "{agent}");
}

#[test]
fn only_the_reactor_and_the_executor_run() {
    let server = Server::answering("{}");
    let client = client(config(Driver::Spawn, &server));
    smol::block_on(client.list_queues().send()).expect("an answer");
    let names = std::fs::read_dir("/proc/self/task")
        .expect("procfs")
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    let names: Vec<_> = names.collect();
    assert!(names.iter().any(|name| name.trim() == "async-io"), "{names:?}");
    assert!(names.iter().all(|name| !name.starts_with("tokio")), "{names:?}");
}
