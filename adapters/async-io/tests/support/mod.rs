//! A server of raw sockets that does as each test tells it, and the ways to call it.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part of this")]

pub mod server;

use std::time::Duration;

use aws_async_io::{Client, ClientBuilder, RequestError, RequestErrorKind};
use aws_smithy_runtime_api::client::http::{HttpClient, HttpConnector, HttpConnectorSettings};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponentsBuilder;
use aws_smithy_types::body::SdkBody;
use http_body_util::BodyExt;

/// Who drives the connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    Spawn,
    InRequest,
}

/// Both, for tests that must hold whoever it is.
pub const DRIVERS: [Driver; 2] = [Driver::Spawn, Driver::InRequest];

impl Driver {
    /// A client for plain HTTP, deaf to the environment.
    pub fn builder(self) -> ClientBuilder {
        let builder = Client::builder().without_system_roots().ignore_proxy_variables();
        match self {
            Self::Spawn => builder.spawn(|task| smol::spawn(task).detach()),
            Self::InRequest => builder,
        }
    }

    pub fn client(self) -> Client {
        self.builder().build().expect("a client")
    }
}

pub fn no_timeouts() -> HttpConnectorSettings {
    HttpConnectorSettings::builder().build()
}

pub fn connect_timeout(timeout: Duration) -> HttpConnectorSettings {
    HttpConnectorSettings::builder().connect_timeout(timeout).build()
}

pub fn read_timeout(timeout: Duration) -> HttpConnectorSettings {
    HttpConnectorSettings::builder().read_timeout(timeout).build()
}

pub fn get(uri: &str) -> HttpRequest {
    HttpRequest::get(uri).expect("a request")
}

pub fn post(uri: &str, body: impl Into<SdkBody>) -> HttpRequest {
    let mut request = HttpRequest::new(body.into());
    request.set_method("POST").expect("a method");
    request.set_uri(uri).expect("a URI");
    request
}

/// Sends as the SDK does, up to the head of the response.
pub async fn send(
    client: &Client,
    settings: &HttpConnectorSettings,
    request: HttpRequest,
) -> Result<HttpResponse, ConnectorError> {
    let components = RuntimeComponentsBuilder::for_tests().build().expect("components");
    client.http_connector(settings, &components).call(request).await
}

/// Sends and reads the body to its end.
pub async fn exchange(client: &Client, request: HttpRequest) -> Result<(u16, Vec<u8>), ConnectorError> {
    let response = send(client, &no_timeouts(), request).await?;
    let status = response.status().as_u16();
    Ok((status, read(response).await.expect("a whole body")))
}

pub async fn read(response: HttpResponse) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
    Ok(response.into_body().collect().await?.to_bytes().to_vec())
}

/// The error's own type, out of the SDK's.
pub fn cause(error: &ConnectorError) -> &RequestError {
    std::error::Error::source(error).and_then(|source| source.downcast_ref()).expect("a RequestError")
}

#[track_caller]
pub fn refused<T>(result: Result<T, ConnectorError>, kind: RequestErrorKind) -> ConnectorError {
    let error = result.err().expect("no response");
    assert_eq!(cause(&error).kind(), kind, "{}", cause(&error));
    error
}

/// The descriptors of this process. Tests that count them have a process to themselves.
pub fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("procfs").count()
}

/// Waits until `done`, and says how long it took. Fails after ten seconds.
#[track_caller]
pub fn eventually(what: &str, mut done: impl FnMut() -> bool) -> Duration {
    let start = std::time::Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(10), "never: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
    start.elapsed()
}
