//! The simulated SQS in virtual time, as the driver's queue: on the clock of a [`World`](crate::virtual_time::World), or
//! of a runtime that can pause its own, as Tokio can.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqs_lease_driver::{
    ChangeVisibility, Failure, Keeper, Moment, Queue, Receipt, ReceiptHandle, Received, Refusal, Reply,
    Runtime, Scope, Visibility,
};
use sqs_lease_sim::{Change, Delivery, Entry, Error, Model, Outcomes, Receive, Settings};

use crate::virtual_time::VirtualTime;

/// A queue of the model, a latency away. Clones are the same queue.
#[derive(Clone)]
pub struct ModelQueue<R = VirtualTime> {
    time: R,
    model: Arc<Mutex<Model>>,
    name: Arc<str>,
    latency: Duration,
}

impl<R: Runtime + Clone> ModelQueue<R> {
    /// A queue of a new model, each way this far away, that lives by this clock.
    ///
    /// # Panics
    /// Attributes that SQS refuses.
    pub fn new(time: R, name: &str, latency: Duration, attributes: &[(&str, &str)]) -> Self {
        let mut model = Model::new(Settings::default());
        model.create_queue(name, attributes, time.now()).expect("valid attributes");
        Self { time, model: Arc::new(Mutex::new(model)), name: name.into(), latency }
    }

    /// Another queue of the same model.
    ///
    /// # Panics
    /// Attributes that SQS refuses.
    #[must_use]
    pub fn sibling(&self, name: &str, attributes: &[(&str, &str)]) -> Self {
        self.model(|model, now| model.create_queue(name, attributes, now).expect("valid attributes"));
        Self { name: name.into(), ..self.clone() }
    }

    /// Looks at the model, or acts on it.
    pub fn model<T>(&self, work: impl FnOnce(&mut Model, Moment) -> T) -> T {
        let now = self.time.now();
        work(&mut self.model.lock().unwrap_or_else(PoisonError::into_inner), now)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sends a message.
    ///
    /// # Panics
    /// SQS refuses it.
    pub fn send(&self, body: &str) {
        self.model(|model, now| model.send(&self.name, body, now).expect("sent"));
    }

    /// Receives a message if one is visible, and holds it.
    ///
    /// # Panics
    /// SQS refuses the receive.
    pub fn receive_into(
        &self,
        keeper: &Keeper,
        timeout: u32,
    ) -> Option<sqs_lease_driver::Delivery<Delivery>> {
        let delivery = self.receive(timeout)?;
        let timeout = Visibility::new(timeout).expect("a visibility timeout");
        let receipt = Receipt::new(delivery.receipt_handle.as_str(), Received::new(keeper.now(), timeout))
            .message_id(delivery.message_id.to_string())
            .receive_count(delivery.receive_count);
        Some(keeper.hold(receipt, delivery))
    }

    /// Receives a message if one is visible.
    ///
    /// # Panics
    /// SQS refuses the receive.
    pub fn receive(&self, timeout: u32) -> Option<Delivery> {
        let receive = Receive::new().visibility(i32::try_from(timeout).expect("a visibility timeout"));
        self.model(|model, now| model.receive(&self.name, &receive, now).expect("received")).pop()
    }

    /// Receives a message as SQS gave it out at an earlier moment: its answer was on the way since.
    ///
    /// # Panics
    /// SQS refuses the receive.
    pub fn receive_at(&self, at: Moment, timeout: u32) -> Option<Delivery> {
        let receive = Receive::new().visibility(i32::try_from(timeout).expect("a visibility timeout"));
        self.model(|model, _| model.receive(&self.name, &receive, at).expect("received")).pop()
    }

    async fn call<T>(&self, call: impl FnOnce(&mut Model, Moment) -> Result<Outcomes<T>, Error>) -> Reply {
        self.time.sleep_until(self.time.now() + self.latency).await;
        let result = self.model(call);
        self.time.sleep_until(self.time.now() + self.latency).await;
        match result {
            Ok(outcomes) => Reply::Entries(outcomes.iter().map(|(_, outcome)| Some(read(outcome))).collect()),
            Err(error) => {
                let failure =
                    Failure::read(Scope::Batch, Some(error.status()), Some(error.code()), &error.text());
                Reply::Failed(Refusal::new(failure, error.code().to_owned()))
            }
        }
    }
}

fn read<T>(outcome: &Result<T, Error>) -> Result<(), Refusal> {
    outcome.as_ref().map(|_| ()).map_err(|error| {
        let (code, text) = (error.entry_code(), error.entry_text());
        let status = if error.is_senders_fault() { 400 } else { 500 };
        Refusal::new(Failure::read(Scope::Entry, Some(status), Some(code), &text), code.to_owned())
    })
}

impl<R: Runtime + Clone> Queue for ModelQueue<R> {
    async fn change_visibility(&self, entries: Vec<ChangeVisibility>) -> Reply {
        let entries: Vec<_> = (0..)
            .zip(entries)
            .map(|(id, entry): (u32, _)| {
                let secs = i32::try_from(entry.timeout.secs()).unwrap_or(i32::MAX);
                Entry::new(id.to_string(), Change::new(entry.receipt_handle.expose(), secs))
            })
            .collect();
        self.call(|model, now| model.change_visibility_batch(&self.name, &entries, now)).await
    }

    async fn delete(&self, entries: Vec<ReceiptHandle>) -> Reply {
        let entries: Vec<_> = (0..)
            .zip(entries)
            .map(|(id, handle): (u32, _)| Entry::new(id.to_string(), handle.expose().to_owned()))
            .collect();
        self.call(|model, now| model.delete_batch(&self.name, &entries, now)).await
    }

    fn is_fifo(&self) -> bool {
        self.name.ends_with(".fifo")
    }
}

impl<R> fmt::Debug for ModelQueue<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelQueue").field("name", &self.name).finish_non_exhaustive()
    }
}
