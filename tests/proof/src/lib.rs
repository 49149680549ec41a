//! Tries everything that can happen to a lease, within bounds: the real [`sqs_lease_core::Lease`], one message as SQS
//! keeps it, a network that loses, delays, reorders and repeats, two consumers that may stand still, and a coarse
//! clock. [`properties`] says what has to hold, [`setups`] within what bounds.
//!
//! And tries the same with mutants: copies of the core, each with one mistake put in. A check that finds nothing in a
//! mutant is worth nothing.

extern crate alloc;

pub mod consumer;
pub mod held;
pub mod message;
pub mod model;
pub mod mutants;
pub mod properties;
pub mod setups;

held::held!(sqs_lease_core);
