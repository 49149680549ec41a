use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

use futures_util::FutureExt as _;
use futures_util::task::AtomicWaker;
use sqs_lease_driver::Runtime as _;
use sqs_lease_sim::{Model, Moment};

use crate::virtual_time::VirtualTime;

/// What is on its way to SQS. It arrives, whatever has become of its sender meanwhile.
#[derive(Clone)]
pub(crate) struct Wire {
    time: VirtualTime,
    shared: Arc<Shared>,
}

struct Shared {
    model: Mutex<Model>,
    on_the_way: Mutex<OnTheWay>,
    news: AtomicWaker,
}

#[derive(Default)]
struct OnTheWay {
    requests: BTreeMap<(Moment, u64), Request>,
    sent: u64,
}

type Request = Box<dyn FnOnce(&mut Model, Moment) + Send>;

impl Wire {
    pub(crate) fn new(time: VirtualTime, model: Model) -> Self {
        let shared =
            Shared { model: Mutex::new(model), on_the_way: Mutex::default(), news: AtomicWaker::new() };
        Self { time, shared: Arc::new(shared) }
    }

    pub(crate) fn model<R>(&self, look: impl FnOnce(&mut Model, Moment) -> R) -> R {
        let now = self.time.now();
        look(&mut self.shared.model.lock().unwrap_or_else(PoisonError::into_inner), now)
    }

    /// Sends a request that arrives at `at`, and waits for what SQS does with it.
    pub(crate) async fn send<R: Send + 'static>(
        &self,
        at: Moment,
        request: impl FnOnce(&mut Model, Moment) -> R + Send + 'static,
    ) -> R {
        let answer = Arc::new(Mutex::new((None, None::<Waker>)));
        let slot = Arc::clone(&answer);
        self.post(at, move |model, now| {
            let result = request(model, now);
            let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            slot.0 = Some(result);
            if let Some(waker) = slot.1.take() {
                waker.wake();
            }
        });
        poll_fn(move |cx| {
            let mut answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(result) = answer.0.take() {
                return Poll::Ready(result);
            }
            answer.1 = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    fn post(&self, at: Moment, request: impl FnOnce(&mut Model, Moment) + Send + 'static) {
        let mut way = self.shared.on_the_way.lock().unwrap_or_else(PoisonError::into_inner);
        way.sent += 1;
        let key = (at, way.sent);
        way.requests.insert(key, Box::new(request));
        drop(way);
        self.shared.news.wake();
    }

    /// Lets requests arrive, each at its moment. It never ends.
    pub(crate) async fn deliver(self) {
        loop {
            let next = {
                let mut way = self.shared.on_the_way.lock().unwrap_or_else(PoisonError::into_inner);
                let due = way.requests.first_entry().filter(|first| first.key().0 <= self.time.now());
                match due {
                    Some(due) => Ok(due.remove()),
                    None => Err(way.requests.first_key_value().map(|(&(at, _), _)| at)),
                }
            };
            match next {
                Ok(request) => self.model(|model, now| request(model, now)),
                Err(next) => self.wait(next).await,
            }
        }
    }

    async fn wait(&self, next: Option<Moment>) {
        let mut sleep = pin!(next.map(|at| self.time.sleep_until(at)));
        let sent = self.sent();
        poll_fn(|cx| {
            self.shared.news.register(cx.waker());
            let is_due = sleep.as_mut().as_pin_mut().is_some_and(|mut sleep| sleep.poll_unpin(cx).is_ready());
            if is_due || self.sent() != sent { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    fn sent(&self) -> u64 {
        self.shared.on_the_way.lock().unwrap_or_else(PoisonError::into_inner).sent
    }
}
