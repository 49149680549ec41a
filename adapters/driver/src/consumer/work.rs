//! One handler at work, as a task of its own.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use event_listener::Event;
use futures_util::future::{Either, FutureExt, select};
use sqs_lease_core::StopReason;

use super::action::{Finish, Id};
use super::options::{OnFailure, Shutdown};
use crate::delivery::Delivery;
use crate::log::TARGET;
use crate::settle::SettleError;

pub(crate) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;
/// The user's handler; `false` where it failed.
pub(crate) type Handler<M> = Arc<dyn Fn(Arc<Delivery<M>>) -> Boxed<bool> + Send + Sync>;

/// What tasks and handles tell the consumer.
#[derive(Debug, Default)]
pub(crate) struct News {
    queue: Mutex<VecDeque<New>>,
    pub(crate) event: Event,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum New {
    Finished(Id, Finish),
    Shutdown(Shutdown, Duration),
    /// The loop that keeps the deliveries has ended.
    Abandoned,
}

impl News {
    pub(crate) fn tell(&self, new: New) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).push_back(new);
        self.event.notify(usize::MAX);
    }

    pub(crate) fn take(&self) -> Option<New> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// Tells when it is dropped: also where the runtime drops a task that it never ran to its end.
pub(crate) struct Tells {
    pub(crate) news: Arc<News>,
    pub(crate) new: New,
}

impl Drop for Tells {
    fn drop(&mut self) {
        self.news.tell(self.new);
    }
}

/// Asks a task to drop its handler.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    is_asked: AtomicBool,
    event: Event,
}

impl Stop {
    pub(crate) fn ask(&self) {
        self.is_asked.store(true, Ordering::Release);
        self.event.notify(usize::MAX);
    }

    async fn asked(&self) {
        loop {
            let listener = self.event.listen();
            if self.is_asked.load(Ordering::Acquire) {
                return;
            }
            listener.await;
        }
    }
}

/// Runs the handler and settles. The delivery of a handler that was stopped is the consumer's to settle.
pub(crate) async fn work<M: Send + Sync + 'static>(
    delivery: Arc<Delivery<M>>,
    handler: Handler<M>,
    on_failure: OnFailure,
    stop: Arc<Stop>,
    mut tells: Tells,
    id: Id,
) {
    let worked = AssertUnwindSafe(async {
        let worked = handler(Arc::clone(&delivery));
        delivery.keep(worked).await
    });
    let worked = match select(pin!(stop.asked()), pin!(worked.catch_unwind())).await {
        Either::Left(_) => return,
        Either::Right((worked, _)) => worked,
    };
    match worked {
        Ok(Ok(true)) => tells.new = New::Finished(id, delete(&delivery).await),
        Ok(Ok(false)) => fail(&delivery, on_failure).await,
        // The driver has said so.
        Ok(Err(_loss)) => {}
        Err(_panic) => {
            let (message_id, receive_count) = (delivery.message_id(), delivery.receive_count());
            tracing::error!(target: TARGET, message_id, receive_count, "the handler panicked");
            delivery.give_up();
        }
    }
}

async fn delete<M>(delivery: &Delivery<M>) -> Finish {
    match delivery.delete().await {
        Ok(()) | Err(SettleError::AlreadySettled { how: StopReason::Deleted }) => Finish::Done,
        // The handler gave it back by itself.
        Err(SettleError::AlreadySettled { .. }) => Finish::Broken,
        Err(error) => {
            let (message_id, receive_count) = (delivery.message_id(), delivery.receive_count());
            tracing::warn!(target: TARGET, message_id, receive_count, %error, "handled, but not deleted for certain");
            Finish::Unconfirmed
        }
    }
}

async fn fail<M>(delivery: &Delivery<M>, on_failure: OnFailure) {
    let (message_id, receive_count) = (delivery.message_id(), delivery.receive_count());
    let last_receive = delivery.is_on_last_receive();
    let Some(after) = on_failure.release_after(receive_count) else {
        tracing::warn!(
            target: TARGET,
            message_id, receive_count, last_receive,
            "the handler failed: left to its timeout"
        );
        delivery.let_go();
        return;
    };
    let visible_in = after.secs();
    tracing::warn!(
        target: TARGET,
        message_id, receive_count, last_receive, visible_in,
        "the handler failed: released"
    );
    match delivery.release(after).await {
        Ok(()) | Err(SettleError::AlreadySettled { .. }) => {}
        Err(error) => {
            tracing::warn!(target: TARGET, message_id, receive_count, %error, "not released for certain");
        }
    }
}
