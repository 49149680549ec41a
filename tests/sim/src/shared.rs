//! What a server's connections share: the service, the clock, and the timer that keeps both together.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_channel::{Receiver, Sender};
use sqs_lease_core::Moment;

use crate::model::{FractionalTimeout, Model};
use crate::service::{Caller, Reply, Service};
use crate::wire::Request;

/// What the connections, the timer and the server's owner share.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Tells the timer that something is due earlier than it thinks.
    news: Sender<()>,
    /// How requests are read, which needs no look at the state.
    pub(crate) fractions: FractionalTimeout,
}

/// The service and its clock.
pub(crate) struct State {
    pub(crate) service: Service<Waiting>,
    /// None with a manual clock.
    started: Option<Instant>,
    /// How far the clock was put forward.
    ahead: Duration,
    /// What the timer waits for.
    alarm: Option<Moment>,
}

/// A connection that waits for its answer.
pub(crate) struct Waiting(Sender<Reply>);

impl Caller for Waiting {
    fn is_gone(&self) -> bool {
        self.0.is_closed()
    }
}

impl State {
    pub(crate) fn now(&self) -> Moment {
        Moment::ORIGIN + (self.started.map_or(Duration::ZERO, |at| at.elapsed()) + self.ahead)
    }

    /// Whether time stands still unless it is moved.
    pub(crate) fn is_manual(&self) -> bool {
        self.started.is_none()
    }

    /// Puts the clock forward; what falls due on the way happens at its own time and in order.
    pub(crate) fn advance(&mut self, by: Duration) {
        let target = self.now() + by;
        while let Some(at) = self.service.poll_timeout().filter(|at| *at <= target) {
            self.service.handle_timeout(at);
        }
        self.ahead = self.ahead.saturating_add(by);
        self.service.handle_timeout(target);
    }
}

impl Shared {
    /// With a clock that runs from now, or one that stands still; and what a timer hears the news by.
    pub(crate) fn new(model: Model, is_manual: bool) -> (Self, Receiver<()>) {
        let (news, heard) = async_channel::bounded(1);
        let fractions = model.fractions();
        let state = State {
            service: Service::new(model),
            started: (!is_manual).then(Instant::now),
            ahead: Duration::ZERO,
            alarm: None,
        };
        (Self { state: Mutex::new(state), news, fractions }, heard)
    }

    /// Carries a request out, now or later. No answer means that the server is going away.
    pub(crate) async fn call(&self, request: Request) -> Option<Reply> {
        let (sender, receiver) = async_channel::bounded(1);
        {
            let mut state = self.state();
            let now = state.now();
            state.service.handle_request(request, Waiting(sender), now);
            self.answer(state);
        }
        receiver.recv().await.ok()
    }

    /// Looks at everything, or acts on it, at the server's time; whoever waits learns what came of it.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut State, Moment) -> R) -> R {
        let mut state = self.state();
        let now = state.now();
        let result = act(&mut state, now);
        let now = state.now();
        state.service.handle_timeout(now);
        self.answer(state);
        result
    }

    /// A panic under the lock is a bug of this crate; whoever comes next should see that one, not a poisoned lock.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands out the answers that are there, and sets the timer to what comes next.
    fn answer(&self, mut state: MutexGuard<'_, State>) {
        while let Some((Waiting(sender), reply)) = state.service.poll_reply() {
            // A caller that has gone needs no answer.
            let _ = sender.try_send(reply);
        }
        let next = state.service.poll_timeout();
        let is_earlier = next.is_some_and(|next| state.alarm.is_none_or(|alarm| next < alarm));
        if is_earlier && state.started.is_some() {
            // A full channel has told the timer already.
            let _ = self.news.try_send(());
        }
    }
}

/// Does what is due when it is due, by the real clock.
pub(crate) async fn keep_time(shared: Arc<Shared>, news: Receiver<()>) {
    loop {
        let wait = {
            let mut state = shared.state();
            let now = state.now();
            state.service.handle_timeout(now);
            state.alarm = state.service.poll_timeout();
            let wait = state.alarm.map(|at| at.since(now));
            shared.answer(state);
            wait
        };
        let timer = async {
            match wait {
                Some(wait) => async_io::Timer::after(wait).await,
                None => std::future::pending().await,
            };
            Ok(())
        };
        if futures_lite::future::or(timer, news.recv()).await.is_err() {
            return;
        }
    }
}
