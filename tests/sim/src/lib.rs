//! A simulated Amazon SQS that is strict about visibility: a model in virtual time, and a loopback server for any SDK.
//!
//! Test a consumer's handler against it: without AWS, Docker or Java, and with hours that pass in no time. Standard and
//! FIFO queues, the 12 hours counted from the receive, each error with SQS's code, status and text. It knows what no
//! consumer can: whether two handlers ever worked on one message at once ([`Model::overlaps`]).
//!
//! # Do you want this crate?
//!
//! | you test | take |
//! | --- | --- |
//! | what your code does when SQS does this or that, in virtual time | [`Model`]: SQS as a function of time |
//! | a Rust program with a real SDK | [`Server`], in the test |
//! | a program in another language, or by hand | the command, `sqs-lease-sim serve` |
//! | a handler with the driver of sqs-lease, in virtual time | `ModelQueue`, behind the feature `driver` |
//! | a client of your own against losses and delays | [`Network`] and [`ClientClock`] around the model |
//! | policies, quotas, or anything but queues | an emulator of AWS as a whole |
//!
//! # Ten lines
//!
//! ```
//! use std::time::Duration;
//! use sqs_lease_sim::{Action, Fault, Receive, Server};
//!
//! // A minute instead of 12 hours, and a clock that only this test moves.
//! let server = Server::builder().limit(Duration::from_secs(60)).manual_clock().start()?;
//! let url = server.create_queue("jobs", &[("VisibilityTimeout", "30")])?;
//! server.inject(Fault::throttle().on(Action::ChangeMessageVisibilityBatch).first(3));
//! // Here your program works on `url`: its SDK gets `server.endpoint_url()`, any credentials and any region.
//!
//! // The test looks at the model behind the server, or acts on it, without a request.
//! server.model(|sqs, now| sqs.send("jobs", "work", now))?;
//! let job = server.model(|sqs, now| sqs.receive("jobs", &Receive::new(), now))?.remove(0);
//! server.advance(Duration::from_secs(30));
//! let again = server.model(|sqs, now| sqs.receive("jobs", &Receive::new(), now))?.remove(0);
//! assert_eq!((job.receive_count, again.receive_count), (1, 2));
//! # assert!(url.ends_with("jobs"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! From outside Rust:
//!
//! ```console
//! $ sqs-lease-sim serve --port 9324
//! sqs-lease-sim listens on http://127.0.0.1:9324
//! $ curl -X POST 'http://127.0.0.1:9324/clock/advance?seconds=43200'
//! $ curl -X POST http://127.0.0.1:9324/faults -d '{"effect": "throttle", "action": "ReceiveMessage", "first": 3}'
//! $ curl http://127.0.0.1:9324/truth/overlaps
//! ```
//!
//! `GET /` on it lists what a test may ask and set; `docs/testing.md` has the whole of it.
//!
//! # Twelve hours of work, in a test of milliseconds
//!
//! The handler extends its message in the middle of each timeout; SQS counts the 12 hours from the receive, refuses
//! what goes beyond them, and shortens nothing.
//!
//! ```
//! use std::time::{Duration, Instant};
//! use sqs_lease_sim::{ErrorKind, Model, Moment, Receive};
//!
//! let started = Instant::now();
//! let at = Moment::from_secs;
//! let mut sqs = Model::default();
//! sqs.create_queue("jobs", &[("VisibilityTimeout", "600")], at(0))?;
//! sqs.send("jobs", "render the film", at(0))?;
//!
//! let job = sqs.receive("jobs", &Receive::new(), at(0))?.remove(0);
//! // Half of each timeout later, until less than a whole one is left.
//! for middle in (300..=42_300).step_by(300) {
//!     sqs.change_visibility("jobs", &job.receipt_handle, 600, at(middle))?;
//!     assert!(sqs.receive("jobs", &Receive::new(), at(middle))?.is_empty(), "nobody else gets it");
//! }
//! // 600 more seconds would end at the 12 hours. The last extension has to ask for less.
//! let refused = sqs.change_visibility("jobs", &job.receipt_handle, 600, at(42_600)).unwrap_err();
//! assert_eq!(refused.kind(), ErrorKind::BeyondLimit);
//! sqs.change_visibility("jobs", &job.receipt_handle, 595, at(42_600))?;
//! sqs.delete("jobs", &job.receipt_handle, at(43_190))?;
//!
//! assert!(sqs.overlaps().is_empty());
//! assert!(started.elapsed() < Duration::from_millis(100));
//! # Ok::<(), sqs_lease_sim::Error>(())
//! ```
//!
//! With the driver of sqs-lease in place of the loop: `ModelQueue`.
//!
//! # A handler that loses its lease
//!
//! Whether two handlers worked on one message at once is not for a consumer to say; [`Model::overlaps`] knows.
//!
//! ```
//! use sqs_lease_sim::{Model, Moment, Receive};
//!
//! let at = Moment::from_secs;
//! for told_at in [29, 35] {
//!     let mut sqs = Model::default();
//!     sqs.create_queue("jobs", &[("VisibilityTimeout", "30")], at(0))?;
//!     sqs.send("jobs", "work", at(0))?;
//!     let lost = sqs.receive("jobs", &Receive::new(), at(0))?.remove(0);
//!     // The network is down: no extension comes through, and the handler stops when it is told.
//!     if told_at < 30 {
//!         sqs.let_go("jobs", &lost.receipt_handle, at(told_at))?;
//!     }
//!     let second = sqs.receive("jobs", &Receive::new(), at(30))?.remove(0);
//!     assert_eq!(second.receive_count, 2);
//!     if told_at >= 30 {
//!         sqs.let_go("jobs", &lost.receipt_handle, at(told_at))?;
//!     }
//!     assert_eq!(sqs.overlaps().is_empty(), told_at <= 30);
//! }
//! # Ok::<(), sqs_lease_sim::Error>(())
//! ```
//!
//! # The contract
//!
//! * **Answers are SQS's**, or are refused: a parameter that SQS does not take is an error, with SQS's code, status and
//!   text.
//! * **Where public sources disagree**, or are silent, a [setting](Settings) chooses and cites both sides. The default
//!   is what is harder on whoever keeps a lease. Run a test that depends on one every way: [`Settings::disputed`].
//! * **One seed, one run.** What chance decides, faults, duplicates and ids, comes from seeds.
//! * **The truth is recorded** apart from what consumers can see: [`Model::history`]. Looking takes nothing out of a
//!   queue.
//!
//! It rests on AWS's documentation, the service model that its SDKs carry, and answers that others recorded on AWS. No
//! live queue was called to write it.
//!
//! # Time
//!
//! * The model reads no clock: `now` is the last argument of everything. One that runs backwards counts as the latest
//!   seen.
//! * The server's clock is real, or stands still until [`Server::advance`] moves it. Whatever falls due on the way
//!   happens at its own moment and in order.
//! * A visibility timeout counts from the answer of the receive or from the change, the 12 hours from the receive
//!   request.
//!
//! # Limits
//!
//! * 120 000 messages in flight, ten entries in a batch, 1 MiB in a message, as SQS has them; [`Settings`] lowers some.
//! * It listens on loopback, unless it is [told](Builder::allow_beyond_loopback) otherwise: whoever reaches it may move
//!   its clock.
//! * 4 096 connections at a time; a request has 8 MiB at most.
//!
//! # What it does not do
//!
//! It speaks AWS JSON 1.0 without TLS; not the old query protocol. A request has to be signed (an
//! `Authorization` that begins with `AWS4-`), but no signature, permission or key is checked. The order in which fair
//! queues serve tenants and quotas of standard queues are not simulated.
//!
//! No `unsafe`. Minimum Rust 1.95. MIT OR Apache-2.0.

mod fault;
#[doc(hidden)]
pub mod fuzzing;
mod http;
mod model;
#[cfg(feature = "driver")]
mod model_queue;
mod network;
mod polls;
mod server;
mod service;
mod shared;
mod wire;

pub use fault::Fault;
pub use model::{
    Asked, AttributeValue, Change, ChangeAfterRetention, ChangeAfterTimeout, Delivery, Entry,
    EntryWithoutTimeout, Error, ErrorKind, Event, FifoChangeAfterTimeout, FifoOvertakenChange,
    FifoThrottling, FractionalTimeout, HandleAge, Hidden, InvalidHandleStatus, LimitEdge, LimitEntryCode,
    LimitFrom, MessageId, Model, MoveStatus, MoveTask, NewMessage, OutOfRange, Outcomes, Overlap,
    OvertakenChange, OvertakenDelete, Receive, Recorded, Sent, Settings, ZeroTimeout, redrive_policy,
};
#[cfg(feature = "driver")]
pub use model_queue::ModelQueue;
pub use network::{ClientClock, Fate, Network, Trip, Weather};
pub use polls::LongPolls;
pub use server::{Builder, Server};
pub use sqs_lease_core::Moment;
pub use wire::Action;
