//! What sqs-lease is tested with: the transcript player and the harness of the fuzz targets.

pub mod transcript;
