//! Real SQS calls for [`sqs_lease_driver`]: `aws-sdk-sqs` behind the driver's two calls, and a receive that hands
//! out deliveries already kept.
//!
//! The one crate of the family that names the SDK. To keep deliveries in a Tokio program take
//! `sqs-lease-tokio`, which has this inside and opens a [`LeaseQueue`] in one call. Take this crate to put the
//! SDK under a runtime of your own: [`LeaseQueue::open`] takes any
//! [`Runtime`](sqs_lease_driver::Runtime).
//!
//! # What it sees to
//!
//! * The visibility timeout is named by you, or read from the queue and read again every five minutes; the value
//!   in force is sent with every `ReceiveMessage`, so a lease knows it for certain.
//! * Extensions and releases go by `ChangeMessageVisibilityBatch`, deletes by `DeleteMessageBatch`, with the SDK's
//!   own retries off: the lease owns retries, and a request repeated behind its back could arrive after a release.
//! * `InvalidParameterValue`, which the SDK does not model, is read by its text.
//! * The SDK writes whole requests, receipt handles in them, to its own trace events, and error texts that echo
//!   them to its debug events. For the calls made here these events are switched off.
//!
//! # Permissions
//!
//! `sqs:ReceiveMessage`, `sqs:DeleteMessage`, `sqs:ChangeMessageVisibility`, and `sqs:GetQueueAttributes` unless
//! the visibility timeout is named. With a named one it is asked once whether there is a redrive policy, and does
//! without where that is not allowed.
#![forbid(unsafe_code)]

mod calls;
mod error;
mod open;
mod read;
mod receive;
mod redrive;
mod source;
mod timeout;

pub use calls::SqsQueue;
pub use error::{OpenError, OptionsError, ReceiveError};
pub use open::{LeaseQueue, Options, check_off_tokio};
pub use read::in_one_line;

pub use aws_sdk_sqs;
pub use sqs_lease_driver as driver;

/// The program on the crate's page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
