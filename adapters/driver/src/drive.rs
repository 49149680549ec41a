use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, ready};

use futures_util::future::{Either, FutureExt, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use sqs_lease_core::{Failure, Moment};

use crate::log::Log;
use crate::queue::{Queue, Refusal, Reply};
use crate::runtime::Runtime;
use crate::shared::{Carries, Of, Outgoing, Shared};

/// The only loop: drain, send, wait for the first of timer, answer, news.
pub(crate) async fn drive<Q: Queue, R: Runtime>(queue: Arc<Q>, runtime: Arc<R>, shared: Arc<Shared>) {
    let mut calls = FuturesUnordered::new();
    let mut sleep = None;
    let mut log = Log::default();
    poll_fn(move |cx| {
        shared.waker.register(cx.waker());
        loop {
            while let Some(outgoing) = shared.take_out(&mut log) {
                calls.push(send(Arc::clone(&queue), Arc::clone(&runtime), outgoing));
            }
            let mut answered = false;
            while let Poll::Ready(Some((of, reply))) = calls.poll_next_unpin(cx) {
                shared.put_in(of, &reply, &mut log);
                answered = true;
            }
            if answered {
                continue;
            }
            if calls.is_empty() && shared.is_done() {
                return Poll::Ready(());
            }
            // A new sleep only where the moment has changed.
            let wake_up = shared.arm();
            if sleep.as_ref().map(|(until, _)| *until) != wake_up {
                sleep = wake_up.map(|until| (until, Box::pin(runtime.sleep_until(until))));
            }
            let Some((_, sleeping)) = &mut sleep else { return Poll::Pending };
            ready!(sleeping.as_mut().poll(cx));
            sleep = None;
        }
    })
    .await;
}

/// Sends a call and ends it, by a timer of our own, at the moment by which its answer is wanted.
async fn send<Q: Queue, R: Runtime>(queue: Arc<Q>, runtime: Arc<R>, outgoing: Outgoing) -> (Of, Reply) {
    let Outgoing { carries, answer_by, of } = outgoing;
    let call = async {
        match carries {
            Carries::Changes(entries) => queue.change_visibility(entries).await,
            Carries::Deletes(entries) => queue.delete(entries).await,
        }
    };
    // A client that panics must not take the other leases down with it.
    let call = pin!(AssertUnwindSafe(call).catch_unwind());
    let reply = match select(call, pin!(wait_until(&*runtime, answer_by))).await {
        Either::Left((Ok(reply), _)) => reply,
        Either::Left((Err(_), _)) => Reply::Failed(Refusal::new(Failure::Transient, "the client panicked")),
        Either::Right(((), _)) => Reply::Failed(Refusal::new(Failure::Transient, "no answer in time")),
    };
    (of, reply)
}

/// Sleeps again where a timer fires early.
async fn wait_until<R: Runtime>(runtime: &R, at: Moment) {
    while runtime.now() < at {
        runtime.sleep_until(at).await;
    }
}
