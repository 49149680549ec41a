//! A sans-IO state machine that keeps Amazon SQS deliveries out of other consumers' reach.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod time;
mod visibility;

pub use time::Moment;
pub use visibility::{Visibility, VisibilityError};
