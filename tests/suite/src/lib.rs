//! What sqs-lease is tested with: the transcript player, a second opinion, the harness of the fuzz targets, virtual
//! time, a scripted queue, the simulated SQS in virtual time, captured log events, and the script that every adapter
//! has to pass.

pub mod capture;
pub mod conformance;
pub mod harness;
pub mod modelled;
pub mod reference;
pub mod scripted;
pub mod simulation;
pub mod transcript;
pub mod virtual_time;
