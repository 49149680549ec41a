//! HTTP/1.1 around the service: connections, headers, sizes.

use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use async_executor::Executor;
use async_io::Async;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Response};
use smol_hyper::rt::FuturesIo;

use crate::model::{Error, ErrorKind, MessageId, mix};
use crate::server::Shared;
use crate::service::Reply;
use crate::wire::{decode, encode};

/// A batch of 1 MiB, every character of it escaped, and room for the rest.
const MAX_BODY: usize = 8 << 20;
/// A client of SQS has 50 connections as a rule. What comes beyond this is closed at once.
const MAX_CONNECTIONS: usize = 4_096;

pub(crate) async fn accept(
    listener: Async<TcpListener>,
    shared: Arc<Shared>,
    executor: Weak<Executor<'static>>,
) {
    let open = Arc::new(());
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, as a rule: a connection that ends gives one back.
            async_io::Timer::after(std::time::Duration::from_millis(10)).await;
            continue;
        };
        let Some(executor) = executor.upgrade() else { return };
        if Arc::strong_count(&open) <= MAX_CONNECTIONS {
            let (shared, open) = (shared.clone(), open.clone());
            executor
                .spawn(async move {
                    serve(stream, &shared).await;
                    drop(open);
                })
                .detach();
        }
    }
}

async fn serve(stream: Async<TcpStream>, shared: &Shared) {
    // Without it an answer in two packets waits for the client's acknowledgement of the first.
    let _ = stream.get_ref().set_nodelay(true);
    let answer = service_fn(|request| respond(request, shared));
    // A connection that breaks is the client's matter, or a fault that was asked for.
    let _ = http1::Builder::new().serve_connection(FuturesIo::new(stream), answer).await;
}

/// An error of the service makes hyper close the connection without an answer.
#[derive(Debug)]
struct Closed;

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("closed without an answer")
    }
}

impl std::error::Error for Closed {}

async fn respond(
    request: hyper::Request<Incoming>,
    shared: &Shared,
) -> Result<Response<Full<Bytes>>, Closed> {
    if let Some(answer) = control(&request, shared) {
        return Ok(answer);
    }
    let (request, wanted) = match read(request).await {
        Ok(request) => request,
        Err(error) => return Ok(refusal(&error)),
    };
    match shared.call(request).await {
        None | Some(Reply::Close) => Err(Closed),
        Some(Reply::Answer(Ok(answer))) => Ok(response(200, encode::answer(&answer, &wanted))),
        Some(Reply::Answer(Err(error))) => Ok(refusal(&error)),
    }
}

/// `POST /clock/advance?seconds=N` puts the server's clock forward, whatever language the test is in. No SDK sends a
/// request without `x-amz-target`, so none is mistaken for this.
fn control(request: &hyper::Request<Incoming>, shared: &Shared) -> Option<Response<Full<Bytes>>> {
    let is_control = request.method() == Method::POST && request.uri().path() == "/clock/advance";
    if !is_control || request.headers().contains_key("x-amz-target") {
        return None;
    }
    let seconds = request.uri().query().and_then(|query| query.strip_prefix("seconds="));
    // A hundred years are enough for any test, and far from where moments end.
    Some(match seconds.and_then(|text| text.parse::<u64>().ok()).filter(|secs| *secs <= 3_155_760_000) {
        Some(secs) => {
            shared.advance(std::time::Duration::from_secs(secs));
            response(200, String::new())
        }
        None => response(400, "POST /clock/advance?seconds=N wants a whole number of seconds.".to_owned()),
    })
}

async fn read(
    request: hyper::Request<Incoming>,
) -> Result<(crate::wire::Request, crate::wire::Wanted), Error> {
    let (head, body) = request.into_parts();
    let body = Limited::new(body, MAX_BODY).collect().await.map_err(|_| {
        Error::new(ErrorKind::Serialization, "The request body could not be read, or is too large.")
    })?;
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    let Some(target) = header("x-amz-target").filter(|_| head.method == Method::POST) else {
        let text = "Only AWS JSON 1.0 is served: POST with the header x-amz-target.";
        return Err(Error::new(ErrorKind::InvalidAction, text));
    };
    if !header(AUTHORIZATION.as_str()).is_some_and(|value| value.starts_with("AWS4-")) {
        let text = "The request was not signed with Signature Version 4.";
        return Err(Error::new(ErrorKind::InvalidSecurity, text));
    }
    decode::request(target, &body.to_bytes())
}

fn refusal(error: &Error) -> Response<Full<Bytes>> {
    let mut response = response(error.status(), encode::error(error));
    let fault = if error.is_senders_fault() { "Sender" } else { "Receiver" };
    // A made-up code may hold anything; what is no header is left out.
    if let Ok(value) = HeaderValue::from_str(&format!("{};{fault}", error.code())) {
        response.headers_mut().insert("x-amzn-query-error", value);
    }
    response
}

fn response(status: u16, body: String) -> Response<Full<Bytes>> {
    static NEXT_ID: AtomicU64 = AtomicU64::new(0);
    let number = NEXT_ID.fetch_add(1, Ordering::Relaxed);
    let id = MessageId(u128::from(mix(number)) << 64 | u128::from(mix(!number)));
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() =
        hyper::StatusCode::from_u16(status).unwrap_or(hyper::StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-amz-json-1.0"));
    if let Ok(id) = HeaderValue::from_str(&id.to_string()) {
        headers.insert("x-amzn-requestid", id);
    }
    response
}
