//! What sqs-lease is tested with: the transcript player, virtual time, a scripted queue, captured log events.

pub mod capture;
pub mod scripted;
pub mod transcript;
pub mod virtual_time;
