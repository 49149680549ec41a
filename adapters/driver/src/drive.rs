use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::future::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use sqs_lease_core::{Failure, Moment};

use crate::log::Log;
use crate::queue::{Queue, Refusal, Reply};
use crate::runtime::Runtime;
use crate::shared::{Carries, Of, Outgoing, Shared};

/// The only loop: drain, send, wait for the first of timer, answer, news.
pub(crate) async fn drive<Q: Queue, R: Runtime>(queue: Arc<Q>, runtime: Arc<R>, shared: Arc<Shared>) {
    let mut calls = FuturesUnordered::new();
    let mut soonest = Soonest::default();
    let (mut armed, mut sleep) = (None, None);
    let mut replies = Vec::new();
    let mut log = Log::default();
    poll_fn(move |cx| {
        shared.waker.register(cx.waker());
        loop {
            // One look at the clock for all of them: a call that is sent a little after it promises a little less.
            let now = shared.now();
            log.begin();
            // Before others go in their places: no more requests than the bounds allow, at any instant.
            if soonest.any <= now {
                soonest = end_overdue(&mut calls, now, |of| matches!(of, Of::Leases(_)));
            }
            while let Some(Outgoing { carries, answer_by, of }) = shared.take_out(now, &mut log) {
                soonest.note(answer_by, &of);
                let call = Some(Box::pin(send(Arc::clone(&queue), carries)));
                calls.push(UnderWay { of: Some(of), answer_by, call });
            }
            while let Poll::Ready(Some(reply)) = calls.poll_next_unpin(cx) {
                replies.push(reply);
            }
            let answered = !replies.is_empty();
            if answered {
                // One look at the clock for these too, after the last of them: none counts as earlier than it came.
                let now = shared.now();
                for (of, reply) in replies.drain(..) {
                    shared.put_in(of, &reply, &mut log, now);
                }
            }
            if calls.is_empty() {
                soonest = Soonest::default();
            } else if soonest.any <= now {
                // The set does not know these: an answer that is there counts.
                soonest = end_overdue(&mut calls, now, |_| true);
                continue;
            }
            if answered {
                continue;
            }
            if calls.is_empty() && shared.is_done() {
                return Poll::Ready(());
            }
            let Some(until) = shared.arm(soonest.late) else {
                (armed, sleep) = (None, None);
                return Poll::Pending;
            };
            // A new sleep only where the moment has changed, in the place of the one before.
            if armed != Some(until) {
                let sleeps = runtime.sleep_until(until);
                match &mut sleep {
                    None => sleep = Some(Box::pin(sleeps)),
                    Some(place) => place.set(sleeps),
                }
                armed = Some(until);
            }
            let Some(sleeping) = &mut sleep else { return Poll::Pending };
            ready!(sleeping.as_mut().poll(cx));
            armed = None;
        }
    })
    .await;
}

/// Sends a call.
async fn send<Q: Queue>(queue: Arc<Q>, carries: Carries) -> Reply {
    let call = async {
        match carries {
            Carries::Changes(entries) => queue.change_visibility(entries).await,
            Carries::Deletes(entries) => queue.delete(entries).await,
        }
    };
    // A client that panics must not take the other leases down with it.
    match AssertUnwindSafe(call).catch_unwind().await {
        Ok(reply) => reply,
        Err(_) => Reply::Failed(Refusal::new(Failure::Transient, "the client panicked")),
    }
}

/// A call that was sent. It has no timer of its own: the set wakes the loop when the call is given up.
struct UnderWay<F> {
    of: Option<Of>,
    answer_by: Moment,
    /// `None`: ended by us.
    call: Option<Pin<Box<F>>>,
}

impl<F: Future<Output = Reply>> Future for UnderWay<F> {
    type Output = (Of, Reply);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let reply = match &mut self.call {
            Some(call) => ready!(call.as_mut().poll(cx)),
            None => Reply::Failed(Refusal::new(Failure::Transient, "no answer in time")),
        };
        self.of.take().map_or(Poll::Pending, |of| Poll::Ready((of, reply)))
    }
}

/// Ends the calls whose answers are overdue, and looks for the one that will be next.
///
/// It looks at all that are under way, hundreds at most, and only when one was not answered in time.
fn end_overdue<F: Future<Output = Reply>>(
    calls: &mut FuturesUnordered<UnderWay<F>>,
    now: Moment,
    which: impl Fn(&Of) -> bool,
) -> Soonest {
    let mut soonest = Soonest::default();
    // What is put in anew is polled, and so those that were ended are noticed.
    *calls = std::mem::take(calls)
        .into_iter()
        .map(|mut it| {
            if it.answer_by <= now && it.of.as_ref().is_some_and(&which) {
                it.call = None;
            } else if let Some(of) = &it.of {
                soonest.note(it.answer_by, of);
            }
            it
        })
        .collect();
    soonest
}

/// The first moment at which a call may have to be ended. That call may be answered by now.
struct Soonest {
    any: Moment,
    /// Of calls that the set does not know.
    late: Moment,
}

impl Default for Soonest {
    fn default() -> Self {
        Self { any: Moment::MAX, late: Moment::MAX }
    }
}

impl Soonest {
    fn note(&mut self, answer_by: Moment, of: &Of) {
        self.any = self.any.min(answer_by);
        if matches!(of, Of::Late(_)) {
            self.late = self.late.min(answer_by);
        }
    }
}
