use std::fmt;
use std::future::{Future, poll_fn};
use std::num::NonZero;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use sqs_lease_core::{Ended, LeaseKey, Moment, PolicyError, SettleError as Refused, StopReason, Visibility};

use crate::handle::{Asked, Handle};
use crate::keeper::OnDrop;
use crate::receipt::About;
use crate::settle::{LateDelete, Loss, SettleError};
use crate::shared::User;
use crate::trace::TraceParent;

/// A delivery that is kept: the message and its lease.
///
/// As long as this is there and nothing of it is settled, its visibility timeout is extended. Dropping it ends
/// that, by the keeper's [`OnDrop`].
///
/// Deadlines are those of the [lease](sqs_lease_core::Lease::held_until): a little before SQS may hand the
/// message on.
///
/// ```
/// use sqs_lease_driver::{ChangeVisibility, Keeper, NoRuntime, Queue, Receipt, ReceiptHandle, Received, Reply, Settings, Visibility};
///
/// # struct Nowhere;
/// # impl Queue for Nowhere {
/// #     async fn change_visibility(&self, _: Vec<ChangeVisibility>) -> Reply { Reply::Done }
/// #     async fn delete(&self, _: Vec<ReceiptHandle>) -> Reply { Reply::Done }
/// # }
/// let keeper = Keeper::new(Nowhere, NoRuntime::new(), Settings::new());
/// let received = Received::new(keeper.now(), Visibility::new(30)?);
/// let delivery = keeper.hold(Receipt::new("AQEB…", received), "the message");
/// assert!(delivery.is_held());
/// assert!(delivery.remaining().as_secs() <= 29);
/// // In a program without a task that extends, whoever awaits drives the lease meanwhile.
/// futures_executor::block_on(async {
///     delivery.keep(async { println!("work on {}", delivery.message()) }).await?;
///     delivery.delete().await?;
///     Ok::<(), Box<dyn std::error::Error>>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Delivery<M> {
    message: M,
    lease: Handle,
}

impl<M> Delivery<M> {
    pub(crate) fn new(
        user: User,
        key: LeaseKey,
        on_drop: OnDrop,
        about: Option<Arc<About>>,
        message: M,
    ) -> Self {
        Self { message, lease: Handle { user, key, on_drop, was_handled: false, about } }
    }

    fn about(&self) -> Option<&About> {
        self.lease.about.as_deref()
    }

    /// The message.
    pub fn message(&self) -> &M {
        &self.message
    }

    /// The message's id.
    pub fn message_id(&self) -> &str {
        self.about().and_then(|about| about.message_id.as_deref()).unwrap_or_default()
    }

    /// `ApproximateReceiveCount`: how often the message was received, this time included. 0: not known.
    pub fn receive_count(&self) -> u32 {
        self.about().map_or(0, |about| about.receive_count)
    }

    /// Whether SQS moves the message to the dead-letter queue instead of delivering it again: it has been received
    /// `max_receive_count` times, the redrive policy's `maxReceiveCount`. Never where the count is not known.
    ///
    /// The count is SQS's and approximate; a receive counts even where its answer was lost.
    pub fn is_last_receive(&self, max_receive_count: u32) -> bool {
        self.receive_count() > 0 && self.receive_count() >= max_receive_count
    }

    /// `maxReceiveCount` of the queue's redrive policy, where the receipt named it.
    pub fn max_receive_count(&self) -> Option<u32> {
        self.about()?.max_receive_count.map(NonZero::get)
    }

    /// Whether a handler of the same [`Consumer`](crate::Consumer) has succeeded with this message before, and SQS did
    /// not confirm the delete: the work is done, and returning `Ok` deletes the message by this delivery.
    ///
    /// A consumer remembers a thousand of them. Never for a message that another process has handled.
    pub fn was_handled(&self) -> bool {
        self.lease.was_handled
    }

    /// `MessageGroupId` of a FIFO queue, where the receipt named it.
    pub fn group(&self) -> Option<&str> {
        self.about()?.more.as_ref()?.group.as_deref()
    }

    /// `AWSTraceHeader`, where the message has one: `Root=1-…;Parent=…;Sampled=1`.
    pub fn trace_header(&self) -> Option<&str> {
        self.about()?.more.as_ref()?.trace_header.as_deref()
    }

    /// What the trace header says, to link a span to the trace of the sender.
    pub fn trace_parent(&self) -> Option<TraceParent> {
        TraceParent::parse(self.trace_header()?)
    }

    /// A span for the work on this message, named as OpenTelemetry's messaging conventions name things. A
    /// [`Consumer`](crate::Consumer) makes it by itself.
    ///
    /// `queue` is the queue's name.
    ///
    /// ```
    /// # async fn example(delivery: sqs_lease_driver::Delivery<String>) {
    /// use tracing::Instrument;
    ///
    /// let work = async { /* slow work */ };
    /// let kept = delivery.keep(work.instrument(delivery.span("jobs"))).await;
    /// # }
    /// ```
    pub fn span(&self, queue: &str) -> tracing::Span {
        crate::span::span(queue, self)
    }

    /// Takes the message out; the lease stays with what is left.
    pub fn split(self) -> (M, Delivery<()>) {
        (self.message, Delivery { message: (), lease: self.lease })
    }

    // ---- Looking ----------------------------------------------------------------------------------------

    /// Whether the delivery is held now: no other consumer can have it. By the clock, so it is right at once
    /// after a suspension of the machine.
    ///
    /// On a standard queue SQS may, rarely, deliver a message twice all the same.
    pub fn is_held(&self) -> bool {
        !self.remaining().is_zero()
    }

    /// How long it is still held, were no extension to be acknowledged any more.
    pub fn remaining(&self) -> Duration {
        self.lease
            .look(|state, key, now| state.set.lease(key).map_or(Duration::ZERO, |lease| lease.remaining(now)))
    }

    /// When it is lost, were no extension to be acknowledged any more, on the keeper's
    /// [clock](crate::Keeper::now).
    pub fn deadline(&self) -> Moment {
        self.lease.look(|state, key, now| state.set.lease(key).map_or(now, |lease| lease.held_until()))
    }

    /// How and when the lease ended, by the clock; `None` while it is held or being settled.
    pub fn ended(&self) -> Option<Ended> {
        self.lease.ended()
    }

    /// The loss of the delivery, without waiting; `None` while it is held, and after a settle. By the clock, so it is right
    /// at once after a suspension of the machine.
    pub fn loss(&self) -> Option<Loss> {
        self.ended().filter(|ended| ended.reason.is_loss()).map(Loss::from)
    }

    /// Waits for the loss of the delivery; answers at once after the fact.
    ///
    /// It resolves when the limit is reached, the timeout ran out, or SQS said that the delivery is gone. It
    /// never does for a delivery that was settled, or that came with a timeout of zero.
    pub async fn lost(&self) -> Loss {
        self.lease.lost().await
    }

    // ---- Working ----------------------------------------------------------------------------------------

    /// Runs a handler as long as the delivery is held.
    ///
    /// It gives the handler's result, or drops the handler at the loss. Before each step of the handler it looks at the
    /// clock: after a suspension of the machine, a handler whose delivery is lost meanwhile does not go on. A handler
    /// that comes to its end in the very step in which the delivery was lost has done the work, and its result is given;
    /// [`loss`](Self::loss) tells, and so does [`delete`](Self::delete).
    ///
    /// It works without a task that [runs](crate::Keeper::run) the keeper; then a handler that blocks its thread starves
    /// its own lease.
    ///
    /// # Errors
    /// The loss.
    pub async fn keep<F: Future>(&self, handler: F) -> Result<F::Output, Loss> {
        let engine = &self.lease.user.0.engine;
        if let Some(kept) = self.lease.user.0.lock().set.get_mut(self.lease.key) {
            kept.started = true;
        }
        let work = async {
            let (mut handler, mut lost) = (pin!(handler), pin!(self.lease.loss()));
            poll_fn(|cx| {
                if let Some(loss) = self.loss() {
                    return Poll::Ready(Err(loss));
                }
                match handler.as_mut().poll(cx) {
                    Poll::Ready(output) => Poll::Ready(Ok(output)),
                    Poll::Pending => lost.as_mut().poll(cx).map(Err),
                }
            })
            .await
        };
        engine.drive_while(work).await.unwrap_or_else(|_over| Err(self.lease.abandoned()))
    }

    /// Asks for extensions of this length from now on, the first at once.
    ///
    /// SQS counts it from the call; it is not added to what is left, and never shortens that.
    ///
    /// # Errors
    /// Zero seconds.
    pub fn extend(&self, extension: Visibility) -> Result<(), PolicyError> {
        let key = self.lease.key;
        self.lease.user.0.with(|state, now| state.set.extend(key, extension, now))
    }

    // ---- Settling ---------------------------------------------------------------------------------------

    /// Deletes the message: the handler has succeeded.
    ///
    /// The lease is kept until SQS confirms. It counts from the first poll; dropping the future does not withdraw
    /// it. After a loss a delete is still sent, once, on a standard queue: the work is done, and a second delivery
    /// would do it again. What SQS says to that proves nothing, so it is told as
    /// [lost](SettleError::Lost).
    ///
    /// # Errors
    /// The delivery was lost before, SQS did not confirm in time, or another settle was asked for.
    pub async fn delete(&self) -> Result<(), SettleError> {
        let (shared, key) = (&self.lease.user.0, self.lease.key);
        let asked = shared.with(|state, now| match state.set.delete(key, now) {
            Err(Refused::Ended(ended)) => Asked::Ended { ended, late: self.lease.late(state, ended), now },
            Err(Refused::AlreadySettling) => Asked::Before,
            _ => Asked::Now,
        });
        match asked {
            Asked::Now | Asked::Before => self.lease.settled(StopReason::Deleted).await,
            Asked::Ended { ended, late, now } => self.lease.delete_late(ended, late, now).await,
        }
    }

    /// Gives the message back to the queue, visible again in `after`; zero is at once.
    ///
    /// It counts from the first poll; dropping the future does not withdraw it. Each release uses up a receive of
    /// the redrive policy's `maxReceiveCount`.
    ///
    /// # Errors
    /// The delivery was lost before, SQS did not confirm in time, or another settle was asked for.
    pub async fn release(&self, after: Visibility) -> Result<(), SettleError> {
        let (shared, key) = (&self.lease.user.0, self.lease.key);
        let asked = shared.with(|state, now| match state.set.release(key, after, now) {
            Err(Refused::Ended(ended)) => Asked::Ended { ended, late: None, now },
            Err(Refused::AlreadySettling) => Asked::Before,
            _ => Asked::Now,
        });
        match asked {
            Asked::Now | Asked::Before => self.lease.settled(StopReason::Released).await,
            Asked::Ended { ended, now, .. } => {
                Err(SettleError::after(ended, StopReason::Released, now, LateDelete::NotSent))
            }
        }
    }

    /// Asks for the release now; await [`release`](Self::release) for its outcome.
    pub(crate) fn ask_release(&self, after: Visibility) {
        let key = self.lease.key;
        // Why it was not taken is what `release` gives.
        let _ = self.lease.user.0.with(|state, now| state.set.release(key, after, now));
    }

    /// Whether SQS would rather bury it than deliver it again, as far as that is known.
    pub(crate) fn is_on_last_receive(&self) -> bool {
        self.about().is_some_and(About::is_last_receive)
    }

    pub(crate) fn note_handled(&mut self) {
        self.lease.was_handled = true;
    }

    /// Does what dropping it would, also where somebody else still has a hold of it.
    pub(crate) fn give_up(&self) {
        match self.lease.on_drop {
            OnDrop::Leave => self.let_go(),
            OnDrop::Release(after) => self.ask_release(after),
        }
    }

    /// Leaves it, unless it is settled or lost already.
    pub(crate) fn let_go(&self) {
        // Then there is nothing to let go.
        let _ = self.leave();
    }

    /// Lets go without a call: the timeout runs out, and SQS hands the message on.
    ///
    /// # Errors
    /// The delivery was lost before, or another settle was asked for.
    pub fn leave(&self) -> Result<(), SettleError> {
        let key = self.lease.key;
        self.lease.user.0.with(|state, now| match state.set.leave(key, now) {
            Ok(())
            | Err(Refused::Ended(Ended { reason: StopReason::Left | StopReason::ZeroTimeout, .. })) => Ok(()),
            Err(Refused::Ended(ended)) => {
                Err(SettleError::after(ended, StopReason::Left, now, LateDelete::NotSent))
            }
            Err(_settling) => {
                let deletes = state.set.lease(key).is_some_and(|lease| lease.is_deleting());
                let how = if deletes { StopReason::Deleted } else { StopReason::Released };
                Err(SettleError::AlreadySettled { how })
            }
        })
    }
}

impl<M: fmt::Debug> fmt::Debug for Delivery<M> {
    /// Without the message: it is somebody's data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery")
            .field("message_id", &self.message_id())
            .field("receive_count", &self.receive_count())
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}
