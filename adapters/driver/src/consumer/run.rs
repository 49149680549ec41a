//! Does what the plan decides.

use std::collections::{HashMap, VecDeque};
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use event_listener::EventListener;
use futures_util::stream::{FuturesUnordered, StreamExt};
use sqs_lease_core::{Moment, StopReason, Visibility};
use tracing::Instrument;

use super::action::{Action, Arrival, Finish, Id};
use super::plan::Plan;
use super::report::{ConsumerError, Report};
use super::work::{Boxed, New, Stop, Tells, work};
use super::{Consumer, Source};
use crate::delivery::Delivery;
use crate::log::TARGET;
use crate::shared::Sleep;
use crate::span::span;

pub(crate) async fn run<S: Source>(consumer: Consumer<S>) -> Result<Report, ConsumerError<S::Error>> {
    let keeper = consumer.source.keeper();
    let keeping = keeper.run();
    let ended = Tells { news: Arc::clone(&consumer.news), new: New::Abandoned };
    (consumer.spawn)(Box::pin(async move {
        let _ended = ended;
        keeping.await;
    }));
    let plan = Plan::new(&consumer.options);
    let mut shell = Shell {
        consumer,
        plan,
        crew: HashMap::new(),
        receiving: None,
        returning: FuturesUnordered::new(),
        handled: VecDeque::new(),
        timer: None,
        report: Report::default(),
        error: None,
    };
    shell.run().await;
    shell.end()
}

type Received<S> = Result<Vec<Delivery<<S as Source>::Message>>, <S as Source>::Error>;

struct Shell<S: Source> {
    consumer: Consumer<S>,
    plan: Plan,
    crew: HashMap<Id, Member<S::Message>>,
    receiving: Option<Boxed<Received<S>>>,
    returning: FuturesUnordered<Boxed<Id>>,
    /// Messages that were handled and whose delete SQS has not confirmed, the last ones.
    handled: VecDeque<Arc<str>>,
    timer: Option<(Moment, Sleep)>,
    report: Report,
    error: Option<ConsumerError<S::Error>>,
}

struct Member<M> {
    delivery: Arc<Delivery<M>>,
    /// Stops its task, where it has one.
    stop: Option<Arc<Stop>>,
    /// To be given back as soon as its handler is gone.
    goes_back: bool,
}

/// How many messages with an unconfirmed delete are remembered.
const REMEMBERED: usize = 1000;

enum Woken<S: Source> {
    Received(Received<S>),
    Returned(Id),
    Look,
}

impl<S: Source> Shell<S> {
    async fn run(&mut self) {
        loop {
            let mut listener = self.consumer.news.event.listen();
            while let Some(new) = self.consumer.news.take() {
                self.take_in(new);
            }
            while let Some(action) = self.plan.poll_action(self.now()) {
                self.act(action);
            }
            if self.plan.is_over(self.now()) || matches!(self.error, Some(ConsumerError::Abandoned)) {
                return;
            }
            self.arm();
            match poll_fn(|cx| self.poll_woken(&mut listener, cx)).await {
                Woken::Received(received) => {
                    self.receiving = None;
                    self.take_received(received);
                }
                Woken::Returned(id) => self.returned(id),
                Woken::Look => {}
            }
        }
    }

    fn poll_woken(&mut self, listener: &mut EventListener, cx: &mut Context<'_>) -> Poll<Woken<S>> {
        if let Some(receiving) = &mut self.receiving
            && let Poll::Ready(received) = receiving.as_mut().poll(cx)
        {
            return Poll::Ready(Woken::Received(received));
        }
        if let Poll::Ready(Some(id)) = self.returning.poll_next_unpin(cx) {
            return Poll::Ready(Woken::Returned(id));
        }
        if Pin::new(listener).poll(cx).is_ready() {
            return Poll::Ready(Woken::Look);
        }
        if let Some((_, sleep)) = &mut self.timer
            && sleep.as_mut().poll(cx).is_ready()
        {
            self.timer = None;
            return Poll::Ready(Woken::Look);
        }
        Poll::Pending
    }

    /// A new sleep only where the moment has changed.
    fn arm(&mut self) {
        let wake_up = self.plan.poll_timeout();
        if self.timer.as_ref().map(|(at, _)| *at) != wake_up {
            self.timer = wake_up.map(|at| (at, self.consumer.source.keeper().sleep_until(at)));
        }
    }

    fn take_in(&mut self, new: New) {
        match new {
            New::Finished(id, finish) => {
                if finish == Finish::Unconfirmed
                    && let Some(member) = self.crew.get(&id)
                {
                    self.handled.push_back(member.delivery.message_id().into());
                    let extra = self.handled.len().saturating_sub(REMEMBERED);
                    self.handled.drain(..extra);
                }
                if self.plan.handle_finished(id, finish) {
                    self.crew.remove(&id);
                } else if self.crew.get(&id).is_some_and(|member| member.goes_back) {
                    self.give_back(id);
                }
            }
            New::Shutdown(how, grace) => {
                tracing::info!(target: TARGET, ?how, ?grace, "the consumer shuts down");
                self.plan.shutdown(how, grace, self.now());
            }
            New::Abandoned => self.error = Some(ConsumerError::Abandoned),
        }
    }

    fn take_received(&mut self, received: Received<S>) {
        let deliveries = match received {
            Ok(deliveries) => deliveries,
            Err(error) if self.consumer.source.is_transient(&error) => {
                let retry_in = self.plan.handle_receive_failed(self.now()) - self.now();
                tracing::warn!(target: TARGET, %error, ?retry_in, "a receive failed, will be tried again");
                return;
            }
            Err(error) => {
                tracing::error!(target: TARGET, %error, "the consumer cannot receive and ends");
                self.plan.handle_receive_denied(self.now());
                self.error = Some(ConsumerError::Receive(error));
                return;
            }
        };
        if deliveries.iter().any(|it| it.ended().is_some_and(|it| it.reason == StopReason::ZeroTimeout)) {
            let error = ConsumerError::ZeroTimeout;
            tracing::error!(target: TARGET, %error, "the consumer cannot receive and ends");
            self.plan.handle_receive_denied(self.now());
            self.error = Some(error);
            return;
        }
        let arrivals = deliveries.iter().map(|it| Arrival {
            message_id: it.message_id().into(),
            group: it.group().map(Arc::from),
            is_last: it.is_on_last_receive(),
        });
        let names = self.plan.handle_received(arrivals, self.now());
        for (mut delivery, name) in deliveries.into_iter().zip(names) {
            let Some(id) = name else {
                let (message_id, receive_count) = (delivery.message_id(), delivery.receive_count());
                tracing::info!(
                    target: TARGET,
                    message_id, receive_count,
                    "a duplicate of a message that is in work here: left to its timeout"
                );
                delivery.let_go();
                continue;
            };
            if let Some(place) = self.handled.iter().position(|it| **it == *delivery.message_id()) {
                self.handled.remove(place);
                let (message_id, receive_count) = (delivery.message_id(), delivery.receive_count());
                tracing::info!(
                    target: TARGET,
                    message_id, receive_count,
                    "it comes again although its handler has succeeded: the delete was not confirmed"
                );
                delivery.note_handled();
            }
            self.crew.insert(id, Member { delivery: Arc::new(delivery), stop: None, goes_back: false });
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Receive(max) => {
                let source = Arc::clone(&self.consumer.source);
                self.receiving = Some(Box::pin(async move { source.receive(max).await }));
            }
            Action::AbandonReceive => {
                self.receiving = None;
                self.report.abandoned_receive = true;
            }
            Action::Start(id) => self.start(id),
            Action::Release(id) => {
                self.stop(id);
                match self.crew.get_mut(&id) {
                    // First its handler has to be gone: somebody else may get the message at once.
                    Some(member) if member.stop.is_some() => member.goes_back = true,
                    _ => self.give_back(id),
                }
            }
            Action::Leave(id) => {
                self.stop(id);
                let Some(member) = self.crew.remove(&id) else { return };
                if member.delivery.leave().is_ok() {
                    self.warn_of_burial(&member.delivery);
                    self.report.left.push(member.delivery.message_id().into());
                }
            }
        }
    }

    fn give_back(&mut self, id: Id) {
        let Some(member) = self.crew.get(&id) else { return };
        let delivery = Arc::clone(&member.delivery);
        if delivery.ended().is_none() {
            self.warn_of_burial(&delivery);
        }
        // Asked for now, so that they reach SQS in this order.
        delivery.ask_release(Visibility::ZERO);
        self.returning.push(Box::pin(async move {
            // How it ended is asked of the lease.
            let _ = delivery.release(Visibility::ZERO).await;
            id
        }));
    }

    /// Before it is given back: nobody will get to see the message again.
    fn warn_of_burial(&mut self, delivery: &Delivery<S::Message>) {
        if delivery.is_on_last_receive() {
            let (message_id, receive_count) = (delivery.message_id(), delivery.receive_count());
            tracing::warn!(
                target: TARGET,
                message_id, receive_count,
                "given back on its last receive: SQS moves the message to the dead-letter queue"
            );
            if self.plan.is_stopping() {
                self.report.last_receives.push(message_id.into());
            }
        }
    }

    fn start(&mut self, id: Id) {
        let Consumer { source, spawn, handler, options, news, on_span } = &self.consumer;
        let Some(member) = self.crew.get_mut(&id) else { return };
        if !member.delivery.is_held() {
            // The driver has said so.
            self.plan.handle_finished(id, Finish::Broken);
            self.crew.remove(&id);
            return;
        }
        let stop = member.stop.insert(Arc::default());
        let tells = Tells { news: Arc::clone(news), new: New::Finished(id, Finish::Broken) };
        let delivery = Arc::clone(&member.delivery);
        let span = span(source.name(), &delivery);
        if let Some(on_span) = on_span {
            let told = catch_unwind(AssertUnwindSafe(|| on_span(&span, &delivery)));
            if told.is_err() {
                tracing::error!(target: TARGET, "the function given to `on_span` panicked");
            }
        }
        let work = work(delivery, Arc::clone(handler), options.on_failure, Arc::clone(stop), tells, id);
        spawn(Box::pin(work.instrument(span)));
    }

    /// Asks its handler to go, where one runs.
    fn stop(&mut self, id: Id) {
        let Some(member) = self.crew.get(&id) else { return };
        if let Some(stop) = &member.stop {
            stop.ask();
            self.report.interrupted.push(member.delivery.message_id().into());
        }
    }

    fn returned(&mut self, id: Id) {
        self.plan.handle_returned(id);
        let Some(member) = self.crew.remove(&id) else { return };
        if !self.plan.is_stopping() {
            // What stood behind a failed member of its group: no news for the report of a shutdown.
            return;
        }
        let message_id: Arc<str> = member.delivery.message_id().into();
        match member.delivery.ended().map(|ended| ended.reason) {
            Some(StopReason::Released) => {
                // The last long poll may have brought it once more.
                if !self.report.released.contains(&message_id) {
                    self.report.released.push(message_id);
                }
            }
            // Its handler was quicker.
            Some(StopReason::Deleted) => {
                self.report.interrupted.retain(|it| *it != message_id);
                self.report.last_receives.retain(|it| *it != message_id);
            }
            _ => self.report.left.push(message_id),
        }
    }

    fn now(&self) -> Moment {
        self.consumer.source.keeper().now()
    }

    fn end(mut self) -> Result<Report, ConsumerError<S::Error>> {
        // Those whose release SQS has not confirmed in time.
        self.report.left.extend(self.crew.values().map(|member| Arc::from(member.delivery.message_id())));
        let Report { released, left, interrupted, .. } = &self.report;
        let (released, left, interrupted) = (released.len(), left.len(), interrupted.len());
        tracing::info!(target: TARGET, released, left, interrupted, "the consumer has stopped");
        for message_id in &self.report.left {
            tracing::warn!(target: TARGET, message_id = &**message_id, "left to its timeout at the shutdown");
        }
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.report),
        }
    }
}
