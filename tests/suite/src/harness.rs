//! One harness for seeds and fuzzing: bytes become inputs, in any order and on any clock.
//!
//! [`duel`] plays one lease beside the [reference](crate::reference::Reference); [`crowd`] plays several in a
//! set, beside references, a scan of all leases, and the truth of SQS.

pub mod bytes;
pub mod crowd;
pub mod duel;

pub use bytes::Bytes;
