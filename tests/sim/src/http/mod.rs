//! HTTP/1.1 around the service: connections, headers, sizes.

mod control;
mod patient;

use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_executor::Executor;
use async_io::{Async, Timer};
use futures_lite::future::or;
use futures_lite::{AsyncRead, AsyncWrite};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Response};
use smol_hyper::rt::{FuturesIo, SmolTimer};

use crate::model::{Error, ErrorKind, MessageId, mix};
use crate::service::Reply;
use crate::shared::Shared;
use crate::wire::{decode, encode};
use patient::Patient;

/// A batch of 1 MiB, every character of it escaped, and room for the rest.
const MAX_BODY: usize = 8 << 20;
/// What tells the clock and the faults is small.
const MAX_CONTROL_BODY: usize = 1 << 20;
/// All headers of a request together; an SDK's take two kilobytes.
const MAX_HEAD: usize = 64 << 10;
/// A client of SQS has 50 connections as a rule. What comes beyond this is closed at once.
const MAX_CONNECTIONS: usize = 4_096;

pub(crate) async fn accept(
    listener: Async<TcpListener>,
    shared: Arc<Shared>,
    executor: Weak<Executor<'static>>,
    patience: Duration,
) {
    let open = Arc::new(());
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, as a rule: a connection that ends gives one back.
            Timer::after(Duration::from_millis(10)).await;
            continue;
        };
        let Some(executor) = executor.upgrade() else { return };
        if Arc::strong_count(&open) <= MAX_CONNECTIONS {
            let (shared, open) = (shared.clone(), open.clone());
            executor
                .spawn(async move {
                    serve_socket(stream, &shared, patience).await;
                    drop(open);
                })
                .detach();
        }
    }
}

async fn serve_socket(stream: Async<TcpStream>, shared: &Shared, patience: Duration) {
    // Without it an answer in two packets waits for the client's acknowledgement of the first.
    let _ = stream.get_ref().set_nodelay(true);
    serve(Patient::new(stream, patience), shared, Some(patience)).await;
}

/// Serves one connection until its end. Without patience it waits for as long as it takes.
pub(crate) async fn serve<S>(stream: S, shared: &Shared, patience: Option<Duration>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let answer = service_fn(|request| respond(request, shared, patience));
    let mut http = http1::Builder::new();
    http.max_header_size(MAX_HEAD).header_read_timeout(patience);
    if patience.is_some() {
        http.timer(SmolTimer::new());
    }
    // A connection that breaks is the client's matter, or a fault that was asked for.
    let _ = http.serve_connection(FuturesIo::new(stream), answer).await;
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
    patience: Option<Duration>,
) -> Result<Response<Full<Bytes>>, Closed> {
    let (head, body) = request.into_parts();
    let has_target = head.headers.contains_key("x-amz-target");
    let is_control = !has_target && control::is_control(&head.method, head.uri.path());
    let body = match read(body, if is_control { MAX_CONTROL_BODY } else { MAX_BODY }, patience).await? {
        Ok(body) => body,
        Err(most) if is_control => return Ok(control::too_large(most)),
        Err(most) => {
            let text = format!("The request body is larger than {most} bytes.");
            return Ok(refusal(&Error::injected(413, "RequestEntityTooLarge", &text)));
        }
    };
    if is_control {
        return Ok(control::answer(&head, &body, shared));
    }
    let (request, wanted) = match decode(&head, &body, shared) {
        Ok(request) => request,
        Err(error) => return Ok(refusal(&error)),
    };
    match shared.call(request).await {
        None | Some(Reply::Close) => Err(Closed),
        Some(Reply::Answer(Ok(answer))) => Ok(response(200, encode::answer(&answer, &wanted))),
        Some(Reply::Answer(Err(error))) => Ok(refusal(&error)),
    }
}

/// The whole body, or how large it may be. A client that is slower than the patience, or gone, is let go.
async fn read(
    body: Incoming,
    most: usize,
    patience: Option<Duration>,
) -> Result<Result<Bytes, usize>, Closed> {
    let body = Limited::new(body, most);
    let late = async {
        match patience {
            Some(patience) => Timer::after(patience).await,
            None => std::future::pending().await,
        };
        Err(Closed)
    };
    let whole = async {
        match body.collect().await {
            Ok(body) => Ok(Ok(body.to_bytes())),
            Err(error) if error.is::<LengthLimitError>() => Ok(Err(most)),
            Err(_) => Err(Closed),
        }
    };
    or(whole, late).await
}

fn decode(
    head: &hyper::http::request::Parts,
    body: &[u8],
    shared: &Shared,
) -> Result<(crate::wire::Request, crate::wire::Wanted), Error> {
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    let Some(target) = header("x-amz-target").filter(|_| head.method == Method::POST) else {
        let text = "Only AWS JSON 1.0 is served: POST with the header x-amz-target.";
        return Err(Error::new(ErrorKind::InvalidAction, text));
    };
    if !header(AUTHORIZATION.as_str()).is_some_and(|value| value.starts_with("AWS4-")) {
        let text = "The request was not signed with Signature Version 4.";
        return Err(Error::new(ErrorKind::InvalidSecurity, text));
    }
    decode::request(target, body, shared.fractions)
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
