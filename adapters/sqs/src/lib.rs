//! Real SQS calls for [`sqs_lease_driver`]: `aws-sdk-sqs` behind the driver's two calls, and a receive whose deliveries
//! are kept from the start. The one crate of the family that names the SDK.
//!
//! # Do you want this crate?
//!
//! | you have | take |
//! | --- | --- |
//! | a Tokio program | `sqs-lease-tokio`, which has this inside and opens a queue in one call |
//! | a smol or async-std program | `sqs-lease-smol`, `sqs-lease-async-std`: the same |
//! | `aws-sdk-sqs` under another runtime, or under none | this crate, with a [`Runtime`](sqs_lease_driver::Runtime) or [`NoRuntime`](sqs_lease_driver::NoRuntime) |
//! | another SQS client | `sqs-lease-driver` |
//!
//! # Ten lines
//!
//! ```no_run
//! use sqs_lease_sqs::driver::Runtime;
//! use sqs_lease_sqs::{LeaseQueue, Options, aws_sdk_sqs::Client};
//!
//! async fn example(client: Client, runtime: impl Runtime) -> Result<(), Box<dyn std::error::Error>> {
//!     let queue_url = "https://sqs.eu-central-1.amazonaws.com/123456789012/jobs";
//!     let queue = LeaseQueue::open(client, queue_url, Options::new(), runtime).await?;
//!     // Spawn `queue.keeper().run()` on your runtime: it is the task that extends.
//!     for delivery in queue.receive().await? {
//!         delivery.keep(async { /* slow work */ }).await?;
//!         delivery.delete().await?;
//!     }
//!     Ok(())
//! }
//! ```
//!
//! This crate turns on no feature of the SDK: it brings no HTTP client and no timer. The client that you hand in has
//! them.
//!
//! # The contract
//!
//! * **The visibility timeout** is named by you, or read from the queue and read again every five minutes of receiving.
//!   The value in force is sent with every `ReceiveMessage`, so a lease knows it for certain.
//! * **Calls.** Extensions and releases go by `ChangeMessageVisibilityBatch`, deletes by `DeleteMessageBatch`, with the
//!   SDK's own retries off: the lease owns retries, and a request repeated behind its back could arrive after a
//!   release. Receives are retried as the client is configured.
//! * **Errors.** `InvalidParameterValue`, which the SDK does not model, is read by its text.
//! * **Receipt handles** are taken out of the SDK's `Message`. The SDK writes whole requests to its own trace events,
//!   and error texts that echo handles to its debug events; for the calls made here these events are switched off.
//! * **Permissions.** `sqs:ReceiveMessage`, `sqs:DeleteMessage`, `sqs:ChangeMessageVisibility`, and
//!   `sqs:GetQueueAttributes` unless the visibility timeout is named. With a named one it is asked once whether there
//!   is a redrive policy, and does without where that is not allowed.
//!
//! # Time
//!
//! * A lease counts from the answer of its receive, of a short poll from the request. An answer that came while the
//!   process stood still counts from before that.
//! * A receive waits 20 s for a message unless [told](Options::wait) otherwise, and 10 s more for its answer.
//! * The driver ends its calls itself; 15 s as the SDK's own timeout are a backstop only.
//!
//! # Limits
//!
//! * A FIFO queue is one whose URL ends in `.fifo`. Each of its deliveries is kept for itself: only a consumer keeps
//!   the order in a message group.
//! * A receive brings ten messages at most.
//!
//! # What it does not do
//!
//! * It does not unwrap handles of the extended client (large messages in S3); send those to a client that does.
//! * It creates and configures no queue, and sends no message: use the [`client`](LeaseQueue::client).
//!
//! No `unsafe`. The minimum Rust version follows the SDK's: 1.95. MIT OR Apache-2.0.
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
