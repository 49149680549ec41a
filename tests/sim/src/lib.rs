//! A simulated Amazon SQS that is strict about visibility.

mod fault;
mod http;
mod model;
mod network;
mod polls;
mod server;
mod service;
mod wire;

pub use fault::Fault;
pub use model::{
    Asked, AttributeValue, Change, ChangeAfterTimeout, Delivery, Entry, EntryWithoutTimeout, Error,
    ErrorKind, Event, FifoChangeAfterTimeout, Hidden, LimitEdge, LimitEntryCode, LimitFrom, MessageId, Model,
    NewMessage, Outcomes, Overlap, OvertakenChange, OvertakenDelete, Receive, Recorded, Sent, Settings,
    redrive_policy,
};
pub use network::{ClientClock, Fate, Network, Trip, Weather};
pub use polls::LongPolls;
pub use server::{Builder, Server};
pub use sqs_lease_core::Moment;
pub use wire::Action;
