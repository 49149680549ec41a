//! A sans-IO state machine that keeps Amazon SQS deliveries out of other consumers' reach.
//!
//! SQS hides a received message for its *visibility timeout* and then hands it to somebody else. It has no
//! lease to renew. So while a handler holds a delivery, this crate says *when* to call
//! `ChangeMessageVisibility`, and by how much: in the middle of each timeout, so that the second half is left
//! for the call, and its retries, to arrive. It says when the delivery is lost, before SQS can hand it on; and
//! 12 hours after the receive, where SQS refuses to hide the message any longer, it asks for a final extension
//! and warns.
//!
//! # Do you want this crate?
//!
//! To keep deliveries in a Tokio program take `sqs-lease-tokio`: it drives this core with real SQS calls. For
//! another runtime or another SQS client take `sqs-lease-driver`. Take the core itself if you have an event loop
//! of your own.
//!
//! # The loop
//!
//! The core makes no call, reads no clock, and spawns nothing. You take out what is to be done, sleep until the
//! moment that it names, and put in what has happened:
//!
//! ```
//! use sqs_lease_core::{Answer, Event, LeaseSet, Moment, Policy, Received, SetPolicy, Visibility};
//!
//! # struct Clock(u64);
//! # impl Clock {
//! #     fn now(&self) -> Moment { Moment::from_secs(self.0) }
//! #     fn sleep_until(&mut self, at: Moment) { self.0 = at.as_nanos().div_ceil(1_000_000_000) }
//! # }
//! # let mut clock = Clock(0);
//! # fn change_visibility(_handle: &str, _secs: u32) {}
//! # fn delete(_handle: &str) {}
//! let mut leases = LeaseSet::new(SetPolicy::new());
//! let received = Received::new(clock.now(), Visibility::new(30)?);
//! let key = leases.insert(&Policy::new(), received, "receipt handle", clock.now());
//!
//! loop {
//!     // Take out: events and calls, until there are none.
//!     while let Some(event) = leases.poll_event(clock.now()) {
//!         match event {
//!             Event::Stopped { key, ended } => {
//!                 println!("{:?} ended: {}", leases.remove(key), ended.reason);
//!             }
//!             other => println!("{other:?}"),
//!         }
//!     }
//!     if let Some(call) = leases.poll_call(clock.now()) {
//!         for entry in &call.entries {
//!             let handle = leases.get(entry.key).expect("it is in the set");
//!             match entry.visibility() {
//!                 Some(visibility) => change_visibility(handle, visibility.secs()),
//!                 None => delete(handle),
//!             }
//!         }
//!         // Put in: here the answer comes at once. Calls may be under way while others are sent.
//!         leases.handle_answer(call.id, Answer::Done, clock.now());
//!         continue;
//!     }
//!     // Sleep: until the set has something to do.
//!     let Some(wake_up) = leases.poll_timeout() else { break };
//!     clock.sleep_until(wake_up);
//!     # if clock.0 > 100 {
//!     // The handler is done.
//!     let _ = leases.delete(key, clock.now());
//!     # }
//! }
//! assert!(leases.is_empty());
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # The contract
//!
//! * **Drain.** After any change take out events and calls until both are `None` in a row. Then the wake-up time
//!   lies after `now`, or there is none. Breaking this makes things late, never wrong.
//! * **Everything may be spurious.** Polling early, late, or twice, an answer that comes late or twice, a key of
//!   a lease that is gone: all harmless. A clock that runs backwards counts as standing still.
//! * **Calls end at `answer_by`.** End them yourself then; an answer that comes later is not believed.
//! * **A lease that is over sends nothing.** On a standard queue SQS takes the handle of a delivery that it has
//!   handed on to somebody else, and hides or releases *their* message.
//! * **Time** is a [`Moment`] of your own clock. Take one that counts suspension, or report it
//!   ([`LeaseSet::handle_gap`]).
//!
//! # What it does not do
//!
//! It does not receive, parse or retry messages; it knows no HTTP, no credentials, no queue attribute. It cannot
//! keep a delivery beyond 12 hours, and a standard queue may rarely deliver a message twice inside its
//! visibility timeout, lease or no lease.
//!
//! `no_std` with `alloc`; no dependency, no feature, no `unsafe`. Minimum Rust 1.85.
#![no_std]
#![forbid(unsafe_code)]
#![warn(
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::std_instead_of_core,
    clippy::unwrap_used
)]
#![cfg_attr(test, allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used))]

extern crate alloc;

mod action;
mod call;
mod clock;
mod failure;
mod lease;
mod links;
mod policy;
mod schedule;
mod set;
mod slots;
mod time;
mod view;
mod visibility;

pub use action::{Action, Attempt, AttemptId, Ended, Extend, Next, SettleError, StopReason};
pub use call::{Answer, Ask, Call, CallId, CallKind, Entries, Entry, LeaseKey};
pub use failure::{Failure, Scope};
pub use lease::Lease;
pub use policy::{Policy, PolicyError, Received};
pub use set::{Event, FailedCall, LeaseSet, SetPolicy, SetPolicyError};
pub use time::Moment;
pub use view::LeaseView;
pub use visibility::{Visibility, VisibilityError};
