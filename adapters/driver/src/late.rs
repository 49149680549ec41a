use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use event_listener::Event;
use sqs_lease_core::Failure;

use crate::receipt::ReceiptHandle;

/// A delete of a delivery that has no lease: it was lost, or it never had one. Sent once.
pub(crate) struct Late {
    pub(crate) receipt_handle: ReceiptHandle,
    answer: Mutex<Option<Result<(), Failure>>>,
    event: Event,
}

impl Late {
    pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

    pub(crate) fn new(receipt_handle: ReceiptHandle) -> Self {
        Self { receipt_handle, answer: Mutex::new(None), event: Event::new() }
    }

    pub(crate) fn answered(&self, answer: Result<(), Failure>) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        self.event.notify(usize::MAX);
    }

    fn answer(&self) -> Option<Result<(), Failure>> {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn wait(&self) -> Result<(), Failure> {
        loop {
            let listener = self.event.listen();
            if let Some(answer) = self.answer() {
                return answer;
            }
            listener.await;
        }
    }
}
