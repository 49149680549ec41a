//! AWS JSON 1.0 over HTTP/1.1, one request a connection: little enough to be written by hand for a demonstration. A real
//! program takes an SDK, or an HTTP client and a signer.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;
use sqs_lease_core::{Answer, Failure, Scope};

use crate::Message;

/// What SQS, or the network, said to a batch call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// An outcome for each entry, by its index; `None` for one that the answer does not mention.
    Entries(Vec<Option<Result<(), Failure>>>),
    /// The whole call failed.
    Failed(Failure),
}

impl Reply {
    /// No answer: the connection failed or broke, or time was up.
    pub const NONE: Self = Self::Failed(Failure::Transient);

    /// Reads the bytes of an HTTP response to a call of so many entries.
    pub fn read(response: &[u8], entries: usize) -> Self {
        let Some((status, error, body)) = split(response) else { return Self::NONE };
        if status != 200 {
            let scope = if entries == 1 { Scope::Single } else { Scope::Batch };
            // The query-compatible code is in a header, the JSON protocol's own in the body.
            let code = error.as_deref().or_else(|| body["__type"].as_str());
            let text = body["message"].as_str().unwrap_or_default();
            return Self::Failed(Failure::read(scope, Some(status), code, text));
        }
        // HTTP 200 is no success: each entry has its own outcome.
        let index = |entry: &Value| entry["Id"].as_str()?.parse::<usize>().ok();
        let mut outcomes = vec![None; entries];
        for entry in list(&body["Successful"]) {
            if let Some(outcome) = index(entry).and_then(|index| outcomes.get_mut(index)) {
                *outcome = Some(Ok(()));
            }
        }
        for entry in list(&body["Failed"]) {
            if let Some(outcome) = index(entry).and_then(|index| outcomes.get_mut(index)) {
                let status = if entry["SenderFault"] == true { 400 } else { 500 };
                let text = entry["Message"].as_str().unwrap_or_default();
                *outcome = Some(Err(Failure::read(Scope::Entry, Some(status), entry["Code"].as_str(), text)));
            }
        }
        Self::Entries(outcomes)
    }

    /// As a set takes it.
    pub fn answer(&self) -> Answer<'_> {
        match self {
            Self::Entries(outcomes) => Answer::Entries(outcomes),
            Self::Failed(failure) => Answer::Failed(*failure),
        }
    }
}

/// The bytes of a request. The simulated SQS wants a signature and does not check it.
pub(crate) fn request(operation: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\n\
         X-Amz-Target: AmazonSQS.{operation}\r\nAuthorization: AWS4-HMAC-SHA256 unchecked\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Sends a request and waits for the whole response, at most for `within`; then the connection is closed.
///
/// # Errors
/// It cannot be had in time.
pub fn post(address: SocketAddr, request: &[u8], within: Duration) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + within;
    // A socket takes no time-out of zero.
    let left = || match deadline.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
        left => io::Result::Ok(left),
    };
    let mut stream = TcpStream::connect_timeout(&address, left()?)?;
    stream.set_write_timeout(Some(left()?))?;
    stream.write_all(request)?;
    let (mut response, mut part) = (Vec::new(), [0; 4096]);
    loop {
        stream.set_read_timeout(Some(left()?))?;
        match stream.read(&mut part) {
            Ok(0) => return Ok(response),
            Ok(n) => response.extend_from_slice(&part[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The one message of a `ReceiveMessage`, if there is one.
pub(crate) fn message(response: &[u8]) -> Option<Message> {
    let (_, _, body) = split(response)?;
    let message = body["Messages"].get(0)?;
    Some(Message {
        body: message["Body"].as_str()?.to_owned(),
        receipt_handle: message["ReceiptHandle"].as_str()?.to_owned(),
        receive_count: message["Attributes"]["ApproximateReceiveCount"].as_str()?.parse().ok()?,
    })
}

/// Status, error code and body; `None` if it is not a whole response.
fn split(response: &[u8]) -> Option<(u16, Option<String>, Value)> {
    let text = std::str::from_utf8(response).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let header = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    };
    if header("content-length")?.parse() != Ok(body.len()) {
        return None;
    }
    Some((status, header("x-amzn-query-error"), serde_json::from_str(body).unwrap_or_default()))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, head: &str, body: &str) -> Vec<u8> {
        format!("HTTP/1.1 {status} OK\r\n{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
    }

    #[test]
    fn entries_have_their_own_outcomes() {
        let body = r#"{"Successful":[{"Id":"0"}],"Failed":[{"Id":"2","SenderFault":true,"Code":"ReceiptHandleIsInvalid"}]}"#;
        let read = Reply::read(&response(200, "", body), 3);
        assert_eq!(read, Reply::Entries(vec![Some(Ok(())), None, Some(Err(Failure::Gone))]));
    }

    #[test]
    fn a_refusal_is_read_by_its_header_first() {
        let body = r#"{"__type":"com.amazonaws.sqs#InternalError","message":""}"#;
        let head = "x-amzn-query-error: AWS.SimpleQueueService.NonExistentQueue;Sender\r\n";
        assert_eq!(Reply::read(&response(400, head, body), 1), Reply::Failed(Failure::Denied));
        assert_eq!(Reply::read(&response(500, "", body), 1), Reply::Failed(Failure::Transient));
    }

    #[test]
    fn half_a_response_is_none() {
        let whole = response(200, "", r#"{"Successful":[{"Id":"0"}]}"#);
        assert_eq!(Reply::read(&whole[..whole.len() - 1], 1), Reply::NONE);
        assert_eq!(Reply::read(&[], 1), Reply::NONE);
    }
}
