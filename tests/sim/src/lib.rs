//! A simulated Amazon SQS that is strict about visibility.
//!
//! Test a consumer's handler against it: without AWS, Docker or Java, and with hours that pass in no time. The
//! [`Model`] is SQS as a function of time, standard and FIFO; the [`Server`] serves it on loopback to the SDK of any
//! language. [`Network`] and [`ClientClock`] are what may lie between a client and SQS.
//!
//! # Twelve hours of work, in a test of milliseconds
//!
//! The handler extends its message in the middle of each timeout; SQS counts the 12 hours from the receive, refuses what
//! goes beyond them, and shortens nothing.
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
//! # What it rests on
//!
//! AWS's documentation, the service model that its SDKs carry, and answers that others recorded on AWS. Where those
//! disagree, or are silent, a [setting](Settings) chooses, and says what either side rests on; the default is what is
//! harder on whoever keeps a lease. No live queue was called to write it.

mod fault;
#[doc(hidden)]
pub mod fuzzing;
mod http;
mod model;
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
pub use network::{ClientClock, Fate, Network, Trip, Weather};
pub use polls::LongPolls;
pub use server::{Builder, Server};
pub use sqs_lease_core::Moment;
pub use wire::Action;
