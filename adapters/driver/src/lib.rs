//! Drives [`sqs_lease_core`] on any async runtime and any SQS client: the loop, the handles and the log events that all
//! adapters share.
//!
//! A [`Keeper`] keeps the deliveries of one queue. Its [loop](Keeper::run) is one task that spawns nothing. A
//! [`Delivery`] is a message and its lease: ask it [how long it is held](Delivery::remaining), [wait for its
//! loss](Delivery::lost), [delete](Delivery::delete) or [release](Delivery::release) it. Dropping it ends the renewal.
//! A [`Consumer`] receives, runs a handler for each message, settles, and stops cleanly.
//!
//! # Do you want this crate?
//!
//! | you have | take |
//! | --- | --- |
//! | a Tokio program | `sqs-lease-tokio`, which has this inside |
//! | a smol or async-std program | `sqs-lease-smol`, `sqs-lease-async-std` |
//! | another runtime, with `aws-sdk-sqs` | `sqs-lease-sqs` and the [`Runtime`] trait |
//! | another SQS client | this crate and the [`Queue`] trait |
//! | no async at all | `sqs-lease-core` |
//!
//! # Ten lines
//!
//! ```
//! use futures_executor::block_on;
//! use sqs_lease_driver::{Keeper, NoRuntime, Receipt, Received, Settings, Visibility};
//!
//! # use sqs_lease_driver::{ChangeVisibility, Queue, ReceiptHandle, Reply};
//! # struct Jobs;
//! # impl Queue for Jobs {
//! #     async fn change_visibility(&self, _: Vec<ChangeVisibility>) -> Reply { Reply::Done }
//! #     async fn delete(&self, _: Vec<ReceiptHandle>) -> Reply { Reply::Done }
//! # }
//! // `Jobs` implements `Queue` over your SQS client; `NoRuntime` sleeps by a thread of its own.
//! let keeper = Keeper::new(Jobs, NoRuntime::new(), Settings::new());
//! let extending = keeper.run();
//! std::thread::spawn(|| block_on(extending)); // or a task of your runtime
//!
//! // As soon as a receive was answered:
//! let received = Received::new(keeper.now(), Visibility::new(30)?);
//! let delivery = keeper.hold(Receipt::new("AQEB…", received), "the message");
//! block_on(async {
//!     match delivery.keep(async { /* slow work */ }).await {
//!         Ok(()) => delivery.delete().await?,
//!         Err(loss) => println!("given up: {loss}"),
//!     }
//!     Ok::<(), sqs_lease_driver::SettleError>(())
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The two traits are small: [`Runtime`] is the time and a sleep, [`Queue`] is two batch calls. `docs/adapters.md`
//! shows both, whole.
//!
//! # The contract
//!
//! * **Hold at once** what was received, also what waits for a free handler: a lease counts from the receive. Give the
//!   timeout that the receive asked for; around a long poll put [`Keeper::receiving`].
//! * **Somebody has to drive.** Spawn [`Keeper::run`]. Without a task, whoever awaits something of a delivery drives
//!   meanwhile.
//! * **A loss is told before** SQS may hand the message on. [`Delivery::keep`] drops the handler then;
//!   [`Delivery::lost`] is for one that must not be cut off.
//! * **A settle counts from its first poll.** Dropping its future takes nothing back. What becomes of it is in the
//!   [`SettleError`].
//! * **Dropping a call's future ends the request.** The driver drops it at the moment by which it wants the answer, and
//!   does all retries itself.
//!
//! # Log events
//!
//! Target `sqs_lease`; fields `message_id`, `receive_count`, `remaining` (how long the delivery is still held),
//! `attempt` (which try of the call it was), `reason`:
//!
//! | level | event | when |
//! | --- | --- | --- |
//! | debug | `extended` | an extension was acknowledged |
//! | info | `call failed, …` | a call failed; `code` is SQS's, `retry_in` when it is tried again |
//! | warn | `final extension: …` | the last extension before the limit is sent |
//! | warn | `the limit is near …` | the same where nothing is left to extend |
//! | warn | `lost: …`, `lost on its last receive: …` | the delivery is lost; `reason` is `expired`, `limit` or `refused` |
//! | error | `SQS denies the call: …` | no permission, no such queue, bad credentials; `action` is what IAM must allow |
//! | debug | `ended` | it was deleted, released or left, or came with a timeout of zero |
//!
//! No body or credential appears in any event, error or `Debug`, and of a receipt handle four characters at most.
//!
//! # Time
//!
//! * Leases live by the runtime's [`now`](Runtime::now), which should count suspension of the machine, as SQS does.
//!   [`BootClock`] does on Linux and Android; elsewhere it is [`std::time::Instant`].
//! * After a suspension `is_held`, `remaining` and settles are right at once; `lost()` resolves when the loop wakes
//!   next.
//! * Sleeps may wake early, at the price of a wake. What they wake late eats into the second half of the timeout.
//!
//! # Limits
//!
//! * A delivery is held for 12 hours at most, less 5 s, or for [`Policy::max_hold`].
//! * 128 calls that extend or release and 64 that delete are under way at most, each with up to ten entries:
//!   [`SetPolicy`].
//! * A handler that blocks the thread of the loop starves all leases of that queue.
//!
//! # What it does not do
//!
//! * It makes no HTTP call and knows no SDK. It receives by your [`Source`], or you receive.
//! * A [`Delivery`] is kept for itself. Only a [`Consumer`] keeps the order in a message group.
//! * [`Keeper::stats`] is a snapshot of numbers; exporting them is yours.
//!
//! No `unsafe`. Minimum Rust 1.95. MIT OR Apache-2.0.
#![forbid(unsafe_code)]

mod arrival;
mod consumer;
mod delivery;
mod drive;
mod engine;
mod handle;
mod keeper;
mod late;
mod log;
mod queue;
mod receipt;
mod runtime;
mod settle;
mod shared;
mod span;
mod stats;
mod sync;
mod trace;

pub use consumer::{
    BackOff, Consumer, ConsumerError, ConsumerOptions, ConsumerOptionsError, LastReceive, OnFailure, Report,
    Shutdown, Source, Stopper, Task,
};
pub use delivery::Delivery;
pub use keeper::{Keeper, OnDrop, Settings};
pub use queue::{ChangeVisibility, Queue, Refusal, Reply};
pub use receipt::{Receipt, ReceiptHandle};
pub use runtime::{BootClock, NoRuntime, Runtime};
pub use settle::{LateDelete, Loss, SettleError};
pub use sqs_lease_core::{
    self as core, Ended, Failure, Moment, Policy, PolicyError, Received, Scope, SetPolicy, SetPolicyError,
    StopReason, Visibility, VisibilityError,
};
pub use stats::{Losses, Margins, Stats};
pub use trace::TraceParent;
