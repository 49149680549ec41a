//! What sqs-lease is tested with: the transcript player, a second opinion, and the harness of the fuzz targets.

pub mod harness;
pub mod reference;
pub mod transcript;
