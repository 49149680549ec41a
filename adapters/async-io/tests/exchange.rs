//! Requests and answers over the wire: what is sent, what is taken, and over how many connections.
mod support;

use std::convert::Infallible;
use std::io::Write;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use aws_async_io::RequestErrorKind;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::retry::ErrorKind as Retry;
use bytes::Bytes;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use support::server::{Request, Server, answer, closed_by_client, reset};
use support::{DRIVERS, cause, exchange, get, no_timeouts, post, read, refused, send};

#[test]
fn requests_one_after_the_other_share_a_connection() {
    for driver in DRIVERS {
        let server = Server::answering("{}");
        let client = driver.client();
        smol::block_on(async {
            for _ in 0..200 {
                let answer = exchange(&client, post(&server.uri("/"), "x")).await.expect("an answer");
                assert_eq!(answer, (200, b"{}".to_vec()));
            }
        });
        assert_eq!(server.accepted(), 1, "{driver:?}");
    }
}

#[test]
fn an_empty_answer_gives_its_connection_back_though_nobody_reads_it() {
    for driver in DRIVERS {
        let server = Server::answering("");
        let client = driver.client();
        smol::block_on(async {
            for _ in 0..100 {
                let response =
                    send(&client, &no_timeouts(), get(&server.uri("/"))).await.expect("a response");
                assert_eq!(response.status().as_u16(), 200);
            }
        });
        assert_eq!(server.accepted(), 1, "{driver:?}");
    }
}

#[test]
fn what_goes_over_the_wire_is_what_was_signed() {
    for driver in DRIVERS {
        let (heads, sent) = mpsc::channel();
        let server = Server::start(move |_, mut socket| {
            while let Some(request) = Request::read(&mut socket) {
                let host = request.header("host").expect("a host").to_owned();
                heads.send((request.line().to_owned(), host)).expect("a listener");
                answer(&mut socket, "");
            }
        });
        let client = driver.client();
        smol::block_on(exchange(&client, get(&server.uri("/000000000000/q?a=%20b")))).expect("an answer");
        let (line, host) = sent.recv().expect("a request");
        assert_eq!(line, "GET /000000000000/q?a=%20b HTTP/1.1");
        assert_eq!(host, format!("127.0.0.1:{}", server.port()));
    }
}

#[test]
fn an_answer_may_come_byte_by_byte() {
    for driver in DRIVERS {
        let server = Server::start(|_, mut socket| {
            while Request::read(&mut socket).is_some() {
                for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello" {
                    socket.write_all(&[*byte]).expect("the client listens");
                }
            }
        });
        let client = driver.client();
        smol::block_on(async {
            for _ in 0..20 {
                let answer = exchange(&client, get(&server.uri("/"))).await.expect("an answer");
                assert_eq!(answer.1, b"hello");
            }
        });
        assert_eq!(server.accepted(), 1, "{driver:?}");
    }
}

#[test]
fn chunked_answers_with_trailers_are_taken() {
    for driver in DRIVERS {
        let server = Server::start(|_, mut socket| {
            while Request::read(&mut socket).is_some() {
                let chunks = "5\r\nhello\r\n7;x=y\r\n, world\r\n0\r\nx-sum: 1\r\n\r\n";
                write!(socket, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}")
                    .expect("sent");
            }
        });
        let client = driver.client();
        smol::block_on(async {
            for _ in 0..3 {
                let answer = exchange(&client, get(&server.uri("/"))).await.expect("an answer");
                assert_eq!(answer.1, b"hello, world");
            }
        });
        assert_eq!(server.accepted(), 1, "{driver:?}");
    }
}

#[test]
fn large_bodies_pass_both_ways() {
    const LENGTH: usize = 8 << 20;
    for driver in DRIVERS {
        let server = Server::start(|_, mut socket| {
            while let Some(request) = Request::read(&mut socket) {
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", request.body.len());
                socket.write_all(head.as_bytes()).expect("sent");
                socket.write_all(&request.body).expect("sent");
            }
        });
        let client = driver.client();
        let body: Vec<u8> = (0..LENGTH).map(|at| u8::try_from(at * 31 % 251).expect("small")).collect();
        smol::block_on(async {
            for _ in 0..2 {
                let answer =
                    exchange(&client, post(&server.uri("/"), body.clone())).await.expect("an answer");
                assert!(answer.1 == body, "{driver:?}");
            }
        });
        assert_eq!(server.accepted(), 1, "{driver:?}");
    }
}

#[test]
fn a_body_is_uploaded_while_it_is_made() {
    for driver in DRIVERS {
        let server = Server::start(|_, mut socket| {
            while let Some(request) = Request::read(&mut socket) {
                assert!(request.header("transfer-encoding").is_some());
                answer(&mut socket, &request.body.len().to_string());
            }
        });
        let client = driver.client();
        smol::block_on(async {
            for _ in 0..3 {
                let (frames, body) = smol::channel::bounded(1);
                let body = StreamBody::new(body);
                let upload = post(&server.uri("/"), SdkBody::from_body_1_x(body));
                let making = async move {
                    for _ in 0..10 {
                        let frame = Frame::data(Bytes::from(vec![b'x'; 1000]));
                        frames.send(Ok::<_, Infallible>(frame)).await.expect("an upload");
                        smol::Timer::after(Duration::from_millis(1)).await;
                    }
                };
                let (answer, ()) = smol::future::zip(exchange(&client, upload), making).await;
                assert_eq!(answer.expect("an answer").1, b"10000");
            }
        });
        assert_eq!(server.accepted(), 1, "{driver:?}");
    }
}

#[test]
fn a_body_that_fails_to_be_made_is_the_callers_error() {
    for driver in DRIVERS {
        let server = Server::silent();
        let client = driver.client();
        let body = StreamBody::new(smol::stream::once(Err::<Frame<Bytes>, _>("no more")));
        let request = post(&server.uri("/"), SdkBody::from_body_1_x(body));
        let error = refused(smol::block_on(exchange(&client, request)), RequestErrorKind::Request);
        assert!(error.is_user(), "{driver:?}: {error:?}");
    }
}

#[test]
fn an_answer_before_the_request_was_read_is_taken_and_its_connection_closed() {
    for driver in DRIVERS {
        let (closed, sees) = mpsc::channel();
        let (answers, answered) = mpsc::channel();
        let answered = Mutex::new(answered);
        let server = Server::start(move |number, mut socket| {
            if number == 0 {
                Request::read_head(&mut socket).expect("a head");
                answer(&mut socket, "too large");
                // Not a byte is read until the client has its answer, so that the upload gets stuck.
                answered.lock().expect("not poisoned").recv().expect("the test");
                closed_by_client(&mut socket);
                closed.send(()).expect("a listener");
            } else {
                while Request::read(&mut socket).is_some() {
                    answer(&mut socket, "{}");
                }
            }
        });
        let client = driver.client();
        let body = vec![0; 64 << 20];
        smol::block_on(async {
            let answer = exchange(&client, post(&server.uri("/"), body)).await.expect("an answer");
            assert_eq!(answer.1, b"too large", "{driver:?}");
            answers.send(()).expect("the server");
            sees.recv().expect("closed");
            assert_eq!(exchange(&client, get(&server.uri("/"))).await.expect("an answer").1, b"{}");
        });
        assert_eq!(server.accepted(), 2, "{driver:?}");
    }
}

#[test]
fn a_body_dropped_half_way_closes_its_connection() {
    for driver in DRIVERS {
        let (closed, sees) = mpsc::channel();
        let server = Server::start(move |_, mut socket| {
            if Request::read(&mut socket).is_some() {
                socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").expect("sent");
                closed_by_client(&mut socket);
                closed.send(()).expect("a listener");
            }
        });
        let client = driver.client();
        let response = smol::block_on(send(&client, &no_timeouts(), get(&server.uri("/")))).expect("a head");
        let mut body = response.into_body();
        let first = smol::block_on(body.frame()).expect("a frame").expect("no error");
        assert_eq!(first.into_data().expect("data"), "half");
        drop(body);
        sees.recv_timeout(Duration::from_secs(5)).expect("closed while the client lives");
    }
}

#[test]
fn a_connection_that_ends_before_the_answer_may_be_tried_again() {
    for driver in DRIVERS {
        for abruptly in [false, true] {
            let server = Server::start(move |_, mut socket| {
                Request::read(&mut socket);
                if abruptly {
                    reset(&socket);
                }
            });
            let error = smol::block_on(exchange(&driver.client(), get(&server.uri("/"))));
            let error = refused(error, RequestErrorKind::Interrupted);
            assert_eq!(error.as_other(), Some(Retry::TransientError), "{error:?}");
            assert!(error.connection_metadata().is_some());
            assert!(cause(&error).to_string().starts_with(&format!("127.0.0.1:{}: ", server.port())));
            // What a request was written of is not sent again by the client itself.
            assert_eq!(server.accepted(), 1, "{driver:?}");
        }
    }
}

#[test]
fn a_body_cut_off_is_an_error_and_not_an_end() {
    for driver in DRIVERS {
        for answer in ["content-length: 100\r\n\r\nhalf", "transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n"] {
            let server = Server::start(move |_, mut socket| {
                Request::read(&mut socket);
                write!(socket, "HTTP/1.1 200 OK\r\n{answer}").expect("sent");
            });
            let client = driver.client();
            let response =
                smol::block_on(send(&client, &no_timeouts(), get(&server.uri("/")))).expect("a head");
            let error = smol::block_on(read(response)).expect_err("an error");
            assert!(!error.to_string().is_empty());
        }
    }
}

#[test]
fn garbage_is_not_tried_again() {
    for driver in DRIVERS {
        let server = Server::start(|_, mut socket| {
            Request::read(&mut socket);
            socket.write_all(b"220 mail.example ESMTP\r\n").expect("sent");
            closed_by_client(&mut socket);
        });
        let error = smol::block_on(exchange(&driver.client(), get(&server.uri("/"))));
        let error = refused(error, RequestErrorKind::Interrupted);
        assert!(error.is_other() && error.as_other().is_none(), "{error:?}");
        assert!(cause(&error).to_string().contains("not HTTP/1.1"));
    }
}

#[test]
fn a_connection_the_server_will_close_is_not_used_again() {
    for driver in DRIVERS {
        let server = Server::start(|_, mut socket| {
            while Request::read(&mut socket).is_some() {
                let _ =
                    socket.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}");
            }
        });
        let client = driver.client();
        smol::block_on(async {
            for _ in 0..5 {
                exchange(&client, get(&server.uri("/"))).await.expect("an answer");
            }
        });
        assert_eq!(server.accepted(), 5, "{driver:?}");
    }
}

#[test]
fn what_cannot_be_sent_is_the_callers_error() {
    for driver in DRIVERS {
        let client = driver.client();
        for uri in ["/no/host", "ftp://127.0.0.1/"] {
            let error = smol::block_on(exchange(&client, get(uri)));
            let error = refused(error, RequestErrorKind::Request);
            assert!(error.is_user(), "{error:?}");
        }
        let error = smol::block_on(exchange(&client, get("https://127.0.0.1/")));
        let error = refused(error, RequestErrorKind::Tls);
        assert!(cause(&error).to_string().contains("trusts no root certificate"));
    }
}
