use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqs_lease_driver::{
    ChangeVisibility, Failure, Keeper, Moment, Queue, Receipt, ReceiptHandle, Received, Refusal, Reply,
    Runtime, Scope, Visibility,
};

use crate::model::{Change, Delivery, Entry, Error, Model, NewMessage, Outcomes, Receive, Sent, Settings};

/// A queue of the model as the driver's [`Queue`], a latency away: a handler is tested with the driver itself, and with
/// nothing over the network. Behind the feature `driver`.
///
/// It lives by the clock of a [`Runtime`]: give it the one that the [`Keeper`] has. Where that one is virtual, hours of a
/// handler pass in milliseconds. Clones are the same queue.
///
/// The driver's calls take the latency to arrive, are answered by the model, and the answer takes the latency back. A
/// call that the driver gives up before it has arrived does not arrive. For losses and failures on the way implement
/// [`Queue`] around this one. What the test does by the methods here takes no time.
///
/// Under Tokio:
///
/// ```
/// use std::time::Duration;
/// use sqs_lease_driver::{Keeper, Moment, Runtime, Settings};
/// use sqs_lease_sim::ModelQueue;
/// use tokio::time::{Instant, Sleep, sleep, sleep_until};
///
/// /// Tokio's clock. Paused, it jumps from timer to timer. In `sqs-lease-tokio`: `TokioRuntime::with_tokio_clock()`.
/// #[derive(Clone)]
/// struct TokioClock(Instant);
///
/// impl Runtime for TokioClock {
///     fn now(&self) -> Moment {
///         Moment::ORIGIN + self.0.elapsed()
///     }
///
///     fn sleep_until(&self, at: Moment) -> impl Future<Output = ()> + Send + use<> {
///         sleep_until(self.0 + (at - Moment::ORIGIN))
///     }
/// }
///
/// #[tokio::main(flavor = "current_thread", start_paused = true)]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let time = TokioClock(Instant::now());
///     let jobs = ModelQueue::new(time.clone(), "jobs", Duration::from_millis(20), &[])?;
///     let keeper = Keeper::new(jobs.clone(), time, Settings::new());
///     tokio::spawn(keeper.run());
///
///     jobs.send("render the film")?;
///     let delivery = jobs.receive_into(&keeper, 600)?.expect("the message");
///     // The handler: eleven hours of work.
///     delivery.keep(sleep(Duration::from_hours(11))).await?;
///     assert!(jobs.receive(600)?.is_none(), "nobody else gets it");
///     delivery.delete().await?;
///
///     // No two handlers worked on one message at once.
///     jobs.model(|model, _| assert!(model.overlaps().is_empty()));
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct ModelQueue<R> {
    time: R,
    model: Arc<Mutex<Model>>,
    name: Arc<str>,
    latency: Duration,
}

impl<R: Runtime> ModelQueue<R> {
    /// A queue of a new model with [`Settings::default`], this far away each way, with these attributes of SQS (`[]`: a
    /// visibility timeout of 30 s). A name that ends in `.fifo` wants the attribute `FifoQueue`.
    ///
    /// # Errors
    /// Those of [`Model::create_queue`].
    pub fn new(time: R, name: &str, latency: Duration, attributes: &[(&str, &str)]) -> Result<Self, Error> {
        Self::with_settings(time, name, latency, attributes, Settings::default())
    }

    /// The same of a model with other settings: a shorter limit than 12 hours, or another answer where public sources
    /// disagree.
    ///
    /// # Errors
    /// Those of [`Model::create_queue`].
    pub fn with_settings(
        time: R,
        name: &str,
        latency: Duration,
        attributes: &[(&str, &str)],
        settings: Settings,
    ) -> Result<Self, Error> {
        let mut model = Model::new(settings);
        model.create_queue(name, attributes, time.now())?;
        Ok(Self { time, model: Arc::new(Mutex::new(model)), name: name.into(), latency })
    }

    /// Another queue of the same model, as far away: a dead-letter queue, or the one before it.
    ///
    /// # Errors
    /// Those of [`Model::create_queue`].
    pub fn sibling(&self, name: &str, attributes: &[(&str, &str)]) -> Result<Self, Error>
    where
        R: Clone,
    {
        self.model(|model, now| model.create_queue(name, attributes, now))?;
        Ok(Self { name: name.into(), ..self.clone() })
    }

    /// Looks at the model, or acts on it, at the runtime's time: asks for the truth ([`Model::overlaps`],
    /// [`Model::history`]), or tells it that a handler has stopped ([`Model::let_go`]) or died ([`Model::crash`]).
    ///
    /// Every other use of the queue waits as long as this takes. A use of the queue inside would wait for itself.
    pub fn model<T>(&self, look: impl FnOnce(&mut Model, Moment) -> T) -> T {
        let now = self.time.now();
        look(&mut self.model.lock().unwrap_or_else(PoisonError::into_inner), now)
    }

    /// The queue's name, as the model knows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sends a message, without latency. On a FIFO queue it needs a group: [`NewMessage::group`].
    ///
    /// # Errors
    /// Those of [`Model::send`].
    pub fn send(&self, message: impl Into<NewMessage>) -> Result<Sent, Error> {
        self.model(|model, now| model.send(&self.name, message, now))
    }

    /// Receives a message if one is visible, for this visibility timeout in seconds, without latency and without waiting:
    /// what another consumer would get.
    ///
    /// # Errors
    /// Those of [`Model::receive`], for a timeout beyond 43 200 s, too.
    pub fn receive(&self, timeout: u32) -> Result<Option<Delivery>, Error> {
        // Beyond what the parameter can say is beyond what SQS takes.
        let receive = Receive::new().visibility(i32::try_from(timeout).unwrap_or(i32::MAX));
        Ok(self.model(|model, now| model.receive(&self.name, &receive, now))?.pop())
    }

    /// Receives as [`receive`](Self::receive) does, and lets the keeper hold the message from now on. The message of the
    /// delivery is what the model gave out.
    ///
    /// The keeper has to work on this queue, or on one around it, and live by the same clock.
    ///
    /// # Errors
    /// Those of [`receive`](Self::receive).
    pub fn receive_into(
        &self,
        keeper: &Keeper,
        timeout: u32,
    ) -> Result<Option<sqs_lease_driver::Delivery<Delivery>>, Error> {
        let Some(delivery) = self.receive(timeout)? else { return Ok(None) };
        // The model has refused what is beyond.
        let timeout = Visibility::new(timeout).unwrap_or(Visibility::MAX);
        let mut receipt =
            Receipt::new(delivery.receipt_handle.as_str(), Received::new(keeper.now(), timeout))
                .message_id(delivery.message_id.to_string())
                .receive_count(delivery.receive_count);
        // A group of a standard queue has no order.
        if let Some(group) = delivery.group.as_deref().filter(|_| self.is_fifo()) {
            receipt = receipt.group(group);
        }
        if let Some(header) = &delivery.trace_header {
            receipt = receipt.trace_header(header.clone());
        }
        Ok(Some(keeper.hold(receipt, delivery)))
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

impl<R: Runtime> Queue for ModelQueue<R> {
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
