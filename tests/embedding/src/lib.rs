//! What the three loops in `examples/` need to speak to SQS, and to show what they do: HTTP, JSON, and the simulated SQS.
//!
//! None of it is about leases. A program of your own has a client for SQS in place of [`Sqs`], and the loops as they are.

mod scenes;
mod wire;

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use sqs_lease_core::{CallKind, LeaseSet, Moment, PolicyError, Received, Visibility};
use sqs_lease_sim::{Action, Fault, Receive, Server};

pub use scenes::{Keep, scenes};
pub use wire::{Reply, post};

/// A queue on the embedded simulated SQS, and the clock that both live by.
#[derive(Debug)]
pub struct Sqs {
    server: Server,
    queue_url: String,
    is_in_a_hurry: AtomicBool,
}

/// What a handler gets.
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    /// The work.
    pub body: String,
    /// Names the delivery; whoever has it can delete the message.
    pub receipt_handle: String,
    /// How often the message was received.
    pub receive_count: u32,
}

impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { body, receive_count, .. } = self;
        f.debug_struct("Message")
            .field("body", body)
            .field("receive_count", receive_count)
            .finish_non_exhaustive()
    }
}

impl Sqs {
    /// Starts the simulated SQS, with an empty queue on it.
    ///
    /// # Errors
    /// The system gives no socket or thread.
    pub fn start() -> io::Result<Self> {
        let server = Server::builder().start()?;
        let queue_url = server.create_queue("jobs", &[]).map_err(io::Error::other)?;
        Ok(Self { server, queue_url, is_in_a_hurry: AtomicBool::new(false) })
    }

    // ---- What any client of SQS has ---------------------------------------------------------------------

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.server.port()))
    }

    /// A `ChangeMessageVisibilityBatch` or `DeleteMessageBatch`, as the bytes of an HTTP request. Entry ids are indices.
    pub fn request(&self, kind: CallKind, entries: &[(&str, Option<Visibility>)]) -> Vec<u8> {
        let operation = match kind {
            CallKind::Delete => "DeleteMessageBatch",
            _ => "ChangeMessageVisibilityBatch",
        };
        let entries = entries.iter().enumerate().map(|(index, (handle, visibility))| match visibility {
            Some(it) => {
                json!({ "Id": index.to_string(), "ReceiptHandle": handle, "VisibilityTimeout": it.secs() })
            }
            None => json!({ "Id": index.to_string(), "ReceiptHandle": handle }),
        });
        let body = json!({ "QueueUrl": self.queue_url, "Entries": entries.collect::<Vec<_>>() });
        wire::request(operation, &body)
    }

    /// Receives a message, hidden for `timeout`, with a long poll; blocks for 20 s at most.
    ///
    /// The visibility timeout is sent along: a lease must know it. The instant before the request goes into the lease,
    /// too, since SQS counts the 12 hours from there.
    ///
    /// # Errors
    /// SQS refuses, or no message comes.
    pub fn receive(&self, timeout: Visibility) -> io::Result<(Message, Received)> {
        let body = json!({
            "QueueUrl": self.queue_url,
            "VisibilityTimeout": timeout.secs(),
            "WaitTimeSeconds": 20,
            "MessageSystemAttributeNames": ["ApproximateReceiveCount"],
        });
        let requested = self.now();
        let answer = post(self.address(), &wire::request("ReceiveMessage", &body), Duration::from_secs(30))?;
        let received = Received::new(self.now(), timeout).requested(requested);
        let message = wire::message(&answer).ok_or_else(|| io::Error::other("no message came"))?;
        Ok((message, received.map_err(|error: PolicyError| io::Error::other(error))?))
    }

    /// Sends a message.
    ///
    /// # Errors
    /// SQS does not take it.
    pub fn send(&self, body: &str) -> io::Result<()> {
        let sent = self.server.model(|model, now| model.send("jobs", body, now));
        sent.map(|_| ()).map_err(io::Error::other)
    }

    // ---- The clock --------------------------------------------------------------------------------------

    /// The time. On a real queue take a clock that counts suspension.
    pub fn now(&self) -> Moment {
        self.server.now()
    }

    /// How long to sleep until `at`.
    ///
    /// In a [hurry](Self::hurry), and with no call under way, nobody has anything to do until then. The clock of the
    /// simulated SQS, which is everybody's here, is put forward instead, and there is nothing to wait for.
    pub fn sleep_until<T>(&self, at: Moment, leases: &LeaseSet<T>) -> Duration {
        let time = at.since(self.now());
        let is_idle = [CallKind::ChangeVisibility, CallKind::Delete]
            .into_iter()
            .all(|kind| leases.calls_in_flight(kind) == 0);
        if self.is_in_a_hurry.load(Ordering::Relaxed) && is_idle {
            self.server.advance(time);
            return Duration::ZERO;
        }
        time
    }

    /// Whether hours are to pass in no time, from the loop's next sleep on.
    pub fn hurry(&self, hurry: bool) {
        self.is_in_a_hurry.store(hurry, Ordering::Relaxed);
    }

    /// Puts the clock forward, for everybody.
    pub fn wait(&self, time: Duration) {
        self.server.advance(time);
    }

    // ---- What the examples look at ----------------------------------------------------------------------

    /// Cuts the way to SQS for visibility changes: they get no answer.
    pub fn cut(&self) {
        self.server.inject(Fault::hang().on(Action::ChangeMessageVisibilityBatch));
    }

    /// Mends it.
    pub fn mend(&self) {
        self.server.clear_faults();
    }

    /// Another consumer asks for a message, and lets go of it at once. Which receive of it that was, if it got one.
    ///
    /// # Panics
    /// The queue is gone.
    pub fn rival(&self) -> Option<u32> {
        self.server.model(|model, now| {
            let received =
                model.receive("jobs", &Receive::new().visibility(0), now).expect("the queue is there");
            let message = received.first()?;
            model.let_go("jobs", &message.receipt_handle, now).expect("its newest handle");
            Some(message.receive_count)
        })
    }

    /// Whether two consumers ever held a message at once, as the simulated SQS saw it.
    pub fn was_shared(&self) -> bool {
        self.server.model(|model, _| !model.overlaps().is_empty())
    }

    /// Says that the handler of a delivery has stopped without a delete, for [`was_shared`](Self::was_shared) alone.
    ///
    /// # Errors
    /// It is no delivery of this queue's.
    pub fn let_go(&self, message: &Message) -> io::Result<()> {
        let told = self.server.model(|model, now| model.let_go("jobs", &message.receipt_handle, now));
        told.map_err(io::Error::other)
    }

    /// How many visibility changes have come to SQS.
    pub fn changes(&self) -> u64 {
        self.server.calls(Action::ChangeMessageVisibilityBatch)
    }
}
