//! A simulated Amazon SQS that is strict about visibility.

mod model;

pub use model::*;
pub use sqs_lease_core::Moment;
