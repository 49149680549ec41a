//! Drives [`sqs_lease_core`] on any async runtime and any SQS client.
//!
//! The loop, the handles and the log events that every adapter shares. To keep deliveries in a Tokio program take
//! `sqs-lease-tokio`, which has this inside. Take this crate itself to write an adapter for another runtime (the
//! [`Runtime`] trait: the time, and a sleep) or another client (the [`Queue`] trait: two calls).
//!
//! A [`Keeper`] keeps the deliveries of one queue. Its [loop](Keeper::run) is one task that spawns nothing;
//! handlers never run inside it. A [`Delivery`] is the message and its lease: ask it
//! [how long it is held](Delivery::remaining), [wait for its loss](Delivery::lost), [delete](Delivery::delete) or
//! [release](Delivery::release) it; dropping it ends the renewal.
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
//! | debug | `ended` | it was deleted or released, or came with a timeout of zero |
//!
//! No receipt handle, body or credential appears in any event, error or `Debug`: of a receipt handle at most four
//! characters.
//!
//! # Time
//!
//! Leases live by the runtime's [`now`](Runtime::now), which should count suspension of the machine
//! ([`BootClock`] does). After a suspension `is_held`, `remaining` and settles are right at once; `lost()`
//! resolves when the loop wakes next.
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
