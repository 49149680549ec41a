//! The server without a socket, a thread or a clock, for the fuzz target `server` and the test that plays its seeds.

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_lite::future::{block_on, poll_once};
use futures_lite::{AsyncRead, AsyncWrite};
use sqs_lease_core::Moment;

use crate::http;
use crate::model::{Error, Model, NewMessage, Receive, Settings};
use crate::shared::Shared;

/// Plays one connection: what the client sent in, what it was answered out.
///
/// Input that begins with `%` is taken as the bytes of the connection. Other input is read line by line, each of which
/// becomes a request: `Operation {json}` one of SQS's, `!POST /path {json}` any other. `$0` to `$9` stand for receipt
/// handles: of two queues, `jobs` and `jobs.fifo`, that have messages in flight and more to give.
///
/// # Panics
/// Never; that is what the fuzz target is to show.
pub fn connection(input: &[u8]) -> Vec<u8> {
    let model = Model::new(Settings::default().record_at_most(10_000));
    let (shared, _heard) = Shared::new(model, true);
    let handles = shared.with(|state, now| prepare(&mut state.service.model, now)).expect("valid queues");
    let bytes = match input.strip_prefix(b"%") {
        Some(raw) => raw.to_vec(),
        None => requests(&String::from_utf8_lossy(input), &handles),
    };
    let mut stream = Memory { input: &bytes, silence: 16, output: Vec::new() };
    block_on(async {
        let mut serving = pin!(http::serve(&mut stream, &shared, None));
        // It may wait for an answer that never comes, as a fault asked; all that wakes it is in here, so that it stands
        // still after a few looks.
        for _ in 0..256 {
            if poll_once(serving.as_mut()).await.is_some() {
                return;
            }
        }
    });
    // Whatever came in, the server can still be asked, and time goes on.
    shared.with(|state, _| {
        state.advance(Duration::from_hours(13));
        let model = &mut state.service.model;
        (model.overlaps().len(), model.hidden_since_crash().len())
    });
    stream.output
}

fn prepare(model: &mut Model, now: Moment) -> Result<Vec<String>, Error> {
    let mut handles = Vec::new();
    for (queue, is_fifo) in [("jobs", false), ("jobs.fifo", true)] {
        let fifo = [("FifoQueue", "true")];
        model.create_queue(queue, &fifo[..usize::from(is_fifo)], now)?;
        for number in 0..8 {
            let mut message = NewMessage::new("work");
            if is_fifo {
                message = message.group(format!("g{}", number % 3)).deduplication_id(number.to_string());
            }
            model.send(queue, message, now)?;
        }
        let received = model.receive(queue, &Receive::new().max(5), now)?;
        handles.extend(received.into_iter().map(|delivery| delivery.receipt_handle));
    }
    Ok(handles)
}

fn requests(input: &str, handles: &[String]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in input.lines() {
        let (method, path, target, rest) = if let Some(line) = line.strip_prefix('!') {
            let mut words = line.splitn(3, ' ');
            let mut next = || words.next().unwrap_or_default();
            (next(), next(), String::new(), next())
        } else {
            let (name, body) = line.split_once(' ').unwrap_or((line, ""));
            let target = format!("X-Amz-Target: AmazonSQS.{name}\r\nAuthorization: AWS4-\r\n");
            ("POST", "/", target, body)
        };
        let mut body = rest.to_owned();
        for (i, handle) in handles.iter().enumerate().take(10) {
            body = body.replace(&format!("${i}"), handle);
        }
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: h\r\n{target}Content-Length: {}\r\n\r\n", body.len());
        bytes.extend_from_slice(head.as_bytes());
        bytes.extend_from_slice(body.as_bytes());
    }
    bytes
}

/// A client that has sent all it will ever send, and takes whatever comes.
struct Memory<'a> {
    input: &'a [u8],
    /// How often it is found silent before it is found closed: the last answers get their turn.
    silence: u32,
    output: Vec<u8>,
}

impl AsyncRead for Memory<'_> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        if self.input.is_empty() && self.silence > 0 {
            self.silence -= 1;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Pin::new(&mut self.input).poll_read(cx, buf)
    }
}

impl AsyncWrite for Memory<'_> {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.output.extend_from_slice(buf);
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
