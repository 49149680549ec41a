use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use aws_smithy_runtime_api::client::connection::CaptureSmithyConnection;
use aws_smithy_runtime_api::client::http::HttpConnectorSettings;
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use http::header::{HOST, HeaderValue};
use http::uri::PathAndQuery;
use http::{Request, Response, Uri, Version};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;

use crate::body::ResponseBody;
use crate::conn::Conn;
use crate::connect::{Dialer, Origin};
use crate::error::{RequestError, RequestErrorKind};
use crate::pool::{Lease, Pool};
use crate::timeout::{Timeout, deadline, until};

/// What all requests of a client share.
pub(crate) struct Exchange {
    pub(crate) dialer: Dialer,
    pub(crate) pool: Arc<Pool>,
    pub(crate) next_id: AtomicU64,
}

/// The SDK's two timeouts of one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    connect: Option<Duration>,
    read: Option<Duration>,
}

impl Timeouts {
    pub(crate) fn of(settings: &HttpConnectorSettings) -> Self {
        Self { connect: settings.connect_timeout(), read: settings.read_timeout() }
    }
}

impl Exchange {
    /// Sends one request, and resolves with the head of its response; the body follows as it is read.
    pub(crate) async fn call(
        &self,
        request: HttpRequest,
        timeouts: Timeouts,
    ) -> Result<HttpResponse, ConnectorError> {
        let capture = request.extension::<CaptureSmithyConnection>().cloned();
        let request = request.try_into_http1x().map_err(|error| {
            RequestError::new(RequestErrorKind::Request, "request", "it cannot be put into HTTP")
                .because(error)
        })?;
        let (response, lease) = self.respond(request, timeouts, capture.as_ref()).await?;
        let origin = Arc::clone(lease.origin());
        let (head, incoming) = response.into_parts();
        let mut body = ResponseBody::new(incoming, lease);
        let body = if body.is_settling() {
            poll_fn(|cx| body.poll_settled(cx)).await;
            SdkBody::empty()
        } else {
            SdkBody::from_body_1_x(body)
        };
        HttpResponse::try_from(Response::from_parts(head, body)).map_err(|error| {
            let what = "the response's head cannot be represented";
            RequestError::new(RequestErrorKind::Interrupted, origin.server(), what)
                .transient(false)
                .because(error)
                .into()
        })
    }

    async fn respond(
        &self,
        mut request: Request<SdkBody>,
        timeouts: Timeouts,
        capture: Option<&CaptureSmithyConnection>,
    ) -> Result<(Response<Incoming>, Lease), ConnectorError> {
        let origin = address(&mut request)?;
        self.dialer.permits(&origin)?;
        let start = Instant::now();
        let mut lease = self.lease(origin, start, timeouts.connect).await?;
        if let Some(conn) = lease.reuse().await {
            tell(capture, conn);
            match send(conn, request, timeouts.read).await {
                Ok(response) => return Ok((response, lease)),
                // The server closed it while it lay idle, and nothing of the request was written: once
                // more, and on a connection that cannot be stale.
                Err(Unanswered::Unsent(unsent, _)) => request = *unsent,
                Err(Unanswered::Failed(failure)) => return Err(failure.explain(&lease)),
            }
            lease.close();
        }
        lease.make_room();
        let dialed = self.dialer.dial(lease.origin(), start, timeouts.connect).await?;
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let conn = Conn::open(dialed, id, self.pool.spawn())
            .await
            .map_err(|error| Failure::Http(error).explain(&lease))?;
        let conn = lease.hold(conn);
        tell(capture, conn);
        match send(conn, request, timeouts.read).await {
            Ok(response) => Ok((response, lease)),
            Err(Unanswered::Unsent(_, error)) => Err(Failure::Closed(error).explain(&lease)),
            Err(Unanswered::Failed(failure)) => Err(failure.explain(&lease)),
        }
    }

    async fn lease(
        &self,
        origin: Origin,
        start: Instant,
        timeout: Option<Duration>,
    ) -> Result<Lease, RequestError> {
        let server = origin.server();
        until(deadline(start, timeout), self.pool.lease(origin)).await.ok_or_else(|| {
            let what = format!(
                "no connection became free within {:?}: all {} allowed by max_connections are in use",
                timeout.unwrap_or_default(),
                self.pool.limits().connections.unwrap_or(usize::MAX),
            );
            RequestError::new(RequestErrorKind::Busy, server, what)
        })
    }
}

/// Why a request has no response.
enum Unanswered {
    /// Nothing of it was written, and here it is again.
    Unsent(Box<Request<SdkBody>>, hyper::Error),
    Failed(Failure),
}

enum Failure {
    ReadTimeout(Duration),
    /// A new connection that was closed before anything could be written.
    Closed(hyper::Error),
    Http(hyper::Error),
}

async fn send(
    conn: &mut Conn,
    request: Request<SdkBody>,
    read_timeout: Option<Duration>,
) -> Result<Response<Incoming>, Unanswered> {
    let mut response = pin!(conn.send(request));
    let mut timeout = Timeout::after(read_timeout);
    poll_fn(|cx| match conn.poll_with(cx, |cx| response.as_mut().poll(cx)) {
        Poll::Ready(result) => Poll::Ready(result.map_err(Unanswered::from)),
        Poll::Pending => timeout
            .poll(cx)
            .map(|()| Err(Unanswered::Failed(Failure::ReadTimeout(read_timeout.unwrap_or_default())))),
    })
    .await
}

impl From<TrySendError<Request<SdkBody>>> for Unanswered {
    fn from(mut error: TrySendError<Request<SdkBody>>) -> Self {
        match error.take_message() {
            Some(unsent) => Self::Unsent(Box::new(unsent), error.into_error()),
            None => Self::Failed(Failure::Http(error.into_error())),
        }
    }
}

impl Failure {
    fn explain(self, lease: &Lease) -> ConnectorError {
        let server = lease.origin().server();
        let interrupted =
            |what| RequestError::new(RequestErrorKind::Interrupted, lease.origin().server(), what);
        let error = match self {
            Self::ReadTimeout(after) => {
                let what = format!("no response within the read timeout of {after:?}");
                RequestError::new(RequestErrorKind::ReadTimeout, server, what)
            }
            Self::Closed(error) => {
                interrupted("the new connection was closed before the request was written").because(error)
            }
            Self::Http(error) if error.is_user() => {
                RequestError::new(RequestErrorKind::Request, server, "the request's body failed")
                    .because(error)
            }
            Self::Http(error) if error.is_parse() => {
                interrupted("the answer is not HTTP/1.1").transient(false).because(error)
            }
            Self::Http(error) => interrupted("the connection ended before a response came").because(error),
        };
        let error = ConnectorError::from(error);
        match lease.facts() {
            Some(facts) => error.with_connection(facts.metadata()),
            None => error,
        }
    }
}

/// Tells the SDK which connection its request goes over, so that it can keep it from being used again.
fn tell(capture: Option<&CaptureSmithyConnection>, conn: &Conn) {
    if let Some(capture) = capture {
        let facts = Arc::clone(conn.facts());
        capture.set_connection_retriever(move || Some(facts.metadata()));
    }
}

/// Puts the request into the form that goes over the wire, which is the one that was signed: `Host` without a
/// default port, and a target without scheme and server.
fn address(request: &mut Request<SdkBody>) -> Result<Origin, RequestError> {
    let origin = Origin::of(request.uri())?;
    if !request.headers().contains_key(HOST) {
        let host = request.uri().host().unwrap_or_default();
        let value = match request.uri().port_u16() {
            Some(port) if !origin.has_default_port() => HeaderValue::try_from(format!("{host}:{port}")),
            _ => HeaderValue::try_from(host),
        };
        let value = value.map_err(|error| {
            RequestError::new(RequestErrorKind::Request, origin.server(), "the host fits into no header")
                .because(error)
        })?;
        request.headers_mut().insert(HOST, value);
    }
    let target = request.uri().path_and_query().cloned();
    *request.uri_mut() = Uri::from(target.unwrap_or_else(|| PathAndQuery::from_static("/")));
    *request.version_mut() = Version::HTTP_11;
    Ok(origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addressed(uri: &str, host: Option<&str>) -> (String, String) {
        let mut request = Request::new(SdkBody::empty());
        *request.uri_mut() = uri.parse().expect("a URI");
        if let Some(host) = host {
            request.headers_mut().insert(HOST, HeaderValue::try_from(host).expect("a header"));
        }
        address(&mut request).expect("an address");
        let host = request.headers()[HOST].to_str().expect("text").to_owned();
        (host, request.uri().to_string())
    }

    #[test]
    fn host_and_target_are_what_was_signed() {
        let expect = |uri, host: &str, target: &str| {
            assert_eq!(addressed(uri, None), (host.to_owned(), target.to_owned()), "{uri}");
        };
        expect("https://sqs.eu-west-1.amazonaws.com/", "sqs.eu-west-1.amazonaws.com", "/");
        expect("https://sqs.eu-west-1.amazonaws.com:443/", "sqs.eu-west-1.amazonaws.com", "/");
        expect("http://localhost:80/a?b=c%20d", "localhost", "/a?b=c%20d");
        expect("http://localhost:443", "localhost:443", "/");
        expect("http://[::1]:9324/q", "[::1]:9324", "/q");
        expect("https://user:secret@host/", "host", "/");
        expect("https://host?list", "host", "/?list");
    }

    #[test]
    fn a_host_that_is_set_stays() {
        assert_eq!(addressed("http://127.0.0.1:1/", Some("signed.example")).0, "signed.example");
    }
}
