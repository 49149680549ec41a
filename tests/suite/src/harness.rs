//! One harness for seeds and fuzzing: bytes become inputs, in any order and on any clock.
//!
//! [`duel`] plays one lease beside the [reference](crate::reference::Reference).

pub mod bytes;
pub mod duel;

pub use bytes::Bytes;
