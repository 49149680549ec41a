//! Calls of AWS JSON 1.0 without an SDK: what a rival does, and what a differential test asks.

use std::fmt;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use async_io::{Async, Timer};
use futures_lite::future;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Request, header};
use serde_json::{Value, json};
use smol_hyper::rt::FuturesIo;

/// How long an answer may take, a long poll of 20 s included.
const PATIENCE: Duration = Duration::from_mins(1);

/// A client of one server. It opens a connection for each call and works on any runtime.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    address: SocketAddr,
}

/// A call that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The HTTP status; 0 where no answer came.
    pub status: u16,
    /// The error code as an SDK shows it, or what kept the answer away.
    pub code: String,
    /// The server's text. It may name a receipt handle.
    pub text: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.status, self.code, self.text)
    }
}

impl Client {
    /// A client of the server at this URL, `http://127.0.0.1:PORT`.
    ///
    /// # Panics
    /// It is no such URL.
    pub fn new(endpoint_url: &str) -> Self {
        let address = endpoint_url.trim_end_matches('/').strip_prefix("http://").map(str::parse);
        let Some(Ok(address)) = address else { panic!("'{endpoint_url}' is not http://ADDRESS:PORT") };
        Self { address }
    }

    /// Makes a call, `SendMessage` for instance.
    ///
    /// # Errors
    /// The server refuses it, or gives no answer within a minute.
    pub async fn call(&self, action: &str, body: &Value) -> Result<Value, Refused> {
        let no_answer = |error: String| Refused { status: 0, code: "no answer".into(), text: error };
        let late = async {
            Timer::after(PATIENCE).await;
            Err(no_answer("not within a minute".into()))
        };
        let exchanged =
            async { self.exchange(action, body).await.map_err(|error| no_answer(error.to_string())) };
        let (status, code, text) = future::or(exchanged, late).await?;
        let body: Value =
            if text.is_empty() { json!({}) } else { serde_json::from_slice(&text).unwrap_or_default() };
        if status == 200 && body.is_object() {
            return Ok(body);
        }
        let of = |name: &str| body[name].as_str().map(ToOwned::to_owned);
        let in_type = || of("__type").map(|it| it.rsplit('#').next().unwrap_or_default().to_owned());
        Err(Refused {
            status,
            code: code.or_else(in_type).unwrap_or_default(),
            text: of("message").or_else(|| of("Message")).unwrap_or_default(),
        })
    }

    /// Status, code out of the header, body.
    async fn exchange(
        &self,
        action: &str,
        body: &Value,
    ) -> Result<(u16, Option<String>, Bytes), Box<dyn std::error::Error + Send + Sync>> {
        let stream = Async::<TcpStream>::connect(self.address).await?;
        let (mut sender, connection) = http1::handshake(FuturesIo::new(stream)).await?;
        let request = Request::post("/")
            .header(header::HOST, self.address.to_string())
            .header(header::CONTENT_TYPE, "application/x-amz-json-1.0")
            // Unsigned, but complete: moto finds service and region in it.
            .header(
                header::AUTHORIZATION,
                "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=0",
            )
            .header("x-amz-target", format!("AmazonSQS.{action}"))
            .header("x-amzn-query-mode", "true")
            .body(Full::new(Bytes::from(body.to_string())))?;
        let exchange = async {
            let (head, body) = sender.send_request(request).await?.into_parts();
            Ok::<_, hyper::Error>((head, body.collect().await?.to_bytes()))
        };
        // The connection carries the exchange while it is polled; that it ends is not its result.
        let carry = async {
            let _ = connection.await;
            future::pending().await
        };
        let (head, bytes) = future::or(exchange, carry).await?;
        let code = head.headers.get("x-amzn-query-error").and_then(|value| value.to_str().ok());
        let code = code.and_then(|value| value.split(';').next()).map(ToOwned::to_owned);
        Ok((head.status.as_u16(), code, bytes))
    }
}
