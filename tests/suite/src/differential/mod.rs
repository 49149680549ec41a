//! Random operation sequences on the model and on a server of others: what differs has to be known by name.
//!
//! A round is many sequences, each on queues of its own, in phases. Between two phases both clocks are put forward by the
//! same time; all deadlines fall halfway between two phases. The model is asked through its own socket, so that the wire
//! is compared, too.

mod answer;
mod differences;
mod duel;
mod known;
mod operation;
mod round;

pub use round::{Report, play, shrink};
