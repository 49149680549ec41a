//! A sans-IO state machine that keeps Amazon SQS deliveries out of other consumers' reach.
//!
//! SQS hides a received message for its *visibility timeout* and then hands it to the next consumer. It has no lease to
//! renew. So while a handler holds a delivery, this crate says *when* to call `ChangeMessageVisibility`, and by how
//! many seconds: in the middle of each timeout, so that the second half is left for the call, and its retries, to
//! arrive. It says when the delivery is lost, before SQS can hand it on. At the 12 hours beyond which SQS hides no
//! message it asks for a final extension, and warns. It makes no call, reads no clock and spawns nothing.
//!
//! # Do you want this crate?
//!
//! | you have | take |
//! | --- | --- |
//! | a Tokio program | `sqs-lease-tokio`, which drives this core with real SQS calls |
//! | a smol or async-std program | `sqs-lease-smol`, `sqs-lease-async-std` |
//! | another async runtime, or another SQS client | `sqs-lease-driver` |
//! | an event loop of your own, a blocking program, a simulator | this crate |
//!
//! # The loop
//!
//! You take out what is to be done, sleep until the moment that is named, and put in what has happened. [`LeaseSet`]
//! keeps any number of deliveries of one queue behind one wake-up time, with calls of up to ten entries; a [`Lease`] is
//! one alone.
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
//! # fn handler_is_done(now: Moment) -> bool { now > Moment::from_secs(100) }
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
//!     if handler_is_done(clock.now()) {
//!         let _ = leases.delete(key, clock.now());
//!     }
//! }
//! assert!(leases.is_empty());
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! `docs/embedding.md` builds three loops of different kinds around it, `docs/state-machine.md` says what a lease
//! decides.
//!
//! # The contract
//!
//! * **Drain.** After any change take out events and calls until both are `None` in a row. Then the wake-up time lies
//!   after `now`, or there is none. Breaking this makes things late, never wrong.
//! * **Everything may be spurious.** Polling early, late, or twice, an answer that comes late or twice, a key of a
//!   lease that is gone: all harmless.
//! * **Calls end at `answer_by`,** without retries of the client's own. End them yourself then; an answer that comes
//!   later is not believed.
//! * **A lease that is over sends nothing.** On a standard queue SQS takes the handle of a delivery that it has handed
//!   on to somebody else, and hides or releases *their* message.
//!
//! # Time
//!
//! * A [`Moment`] is nanoseconds of your own clock, from whatever origin. One that runs backwards counts as standing
//!   still.
//! * Take a clock that counts suspension of the machine, as SQS does, or report it: [`LeaseSet::handle_gap`].
//! * A lease counts from the answer of its receive, an extension from before its call. No time stamp of SQS's is looked
//!   at.
//! * Timeouts are whole seconds. What is left is cut to them, never rounded up.
//!
//! # Limits
//!
//! * A delivery is held for 12 hours at most, less a margin of 5 s, from the receive *request*. [`Policy::max_hold`]
//!   makes that shorter.
//! * A visibility timeout is 1 to 43 200 s. With one of zero nothing is hidden: such a lease is stopped from the start.
//! * A set holds as many leases as memory does; SQS lets about 120 000 messages of a queue be in flight.
//!
//! # What it does not do
//!
//! It does not receive, parse or retry messages, and knows no HTTP, no credentials and no queue attribute. A standard
//! queue may rarely deliver a message twice inside its visibility timeout, lease or no lease.
//!
//! `no_std` with `alloc`; no dependency, no feature, no `unsafe`. Minimum Rust 1.85. MIT OR Apache-2.0.
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
// The suite runs these tests too, for a newer Rust: what that would have written otherwise is not there in 1.85.
#![cfg_attr(test, allow(clippy::collapsible_if, clippy::duration_suboptimal_units))]

extern crate alloc;

mod action;
mod call;
mod clock;
mod failure;
mod group;
mod heap;
mod lease;
mod links;
mod policy;
mod schedule;
#[cfg(test)]
mod schedule_tests;
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
pub use set::{Acknowledged, Event, FailedCall, LeaseSet, SetPolicy, SetPolicyError};
pub use time::Moment;
pub use view::LeaseView;
pub use visibility::{Visibility, VisibilityError};
