//! The rules of a standard queue, one test each, in virtual time.

mod batches;
mod changes;
mod limit;
mod queues;
mod receives;

use sqs_lease_sim::{Delivery, Error, ErrorKind, Model, Moment, Receive};

pub(crate) const QUEUE: &str = "jobs";

pub(crate) fn at(secs: u64) -> Moment {
    Moment::from_secs(secs)
}

/// A queue with this visibility timeout and one message, sent at the origin.
pub(crate) fn one_message(visibility: &str) -> Model {
    let mut model = Model::default();
    model.create_queue(QUEUE, &[("VisibilityTimeout", visibility)], at(0)).unwrap();
    model.send(QUEUE, "work", at(0)).unwrap();
    model
}

pub(crate) fn receive(model: &mut Model, now: Moment) -> Option<Delivery> {
    model.receive(QUEUE, &Receive::new(), now).unwrap().pop()
}

pub(crate) fn refusal<T: std::fmt::Debug>(result: Result<T, Error>) -> (ErrorKind, String) {
    let error = result.unwrap_err();
    (error.kind(), error.text())
}
