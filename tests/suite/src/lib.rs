//! What sqs-lease is tested with: the transcript player, a second opinion, the harness of the fuzz targets, virtual
//! time, a scripted queue, captured log events, the script that every adapter has to pass, and what is played on the
//! SQS-compatible servers of others.

pub mod capture;
pub mod conformance;
pub mod differential;
pub mod harness;
pub mod reference;
pub mod scripted;
pub mod servers;
pub mod simulation;
pub mod source;
pub mod timeline;
pub mod transcript;
pub mod virtual_time;

/// The programs on the pages of the book that need no SDK.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../../../docs/adapters.md")]
    mod adapters {}
    #[doc = include_str!("../../../docs/embedding.md")]
    mod embedding {}
    #[doc = include_str!("../../../docs/testing.md")]
    mod testing {}
}
