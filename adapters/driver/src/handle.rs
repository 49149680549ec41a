//! The lease behind a [`Delivery`](crate::Delivery), without its message.

use std::sync::Arc;

use sqs_lease_core::{Ended, Failure, LeaseKey, LeaseSet, Moment, StopReason};

use crate::keeper::OnDrop;
use crate::late::Late;
use crate::receipt::About;
use crate::settle::{LateDelete, Loss, SettleError};
use crate::shared::{Kept, State, User};

pub(crate) struct Handle {
    pub(crate) user: User,
    pub(crate) key: LeaseKey,
    pub(crate) on_drop: OnDrop,
    /// A handler of this process has succeeded with the message, and the delete was not confirmed.
    pub(crate) was_handled: bool,
    /// `None`: nothing is told.
    pub(crate) about: Option<Arc<About>>,
}

/// What became of asking for a settle.
pub(crate) enum Asked {
    Now,
    Before,
    Ended { ended: Ended, late: Option<Arc<Late>>, now: Moment },
}

impl Handle {
    pub(crate) fn look<R>(&self, look: impl FnOnce(&State, LeaseKey, Moment) -> R) -> R {
        let now = self.user.0.now();
        look(&self.user.0.lock(), self.key, now)
    }

    /// By the clock: the loop may not have woken since.
    pub(crate) fn ended(&self) -> Option<Ended> {
        self.look(|state, key, now| state.set.lease(key).and_then(|lease| lease.ended_by(now)))
    }

    /// Waits for the end of the lease, without driving.
    pub(crate) async fn end(&self) -> Ended {
        loop {
            let listener = {
                let state = self.user.0.lock();
                match state.set.lease(self.key).and_then(|lease| lease.ended()) {
                    Some(ended) => return ended,
                    None => state.set.get(self.key).map(|kept| kept.ended.listen()),
                }
            };
            match listener {
                Some(listener) => listener.await,
                // The handle is what keeps it in the set.
                None => std::future::pending().await,
            }
        }
    }

    /// Waits for the loss, without driving.
    pub(crate) async fn loss(&self) -> Loss {
        let ended = self.end().await;
        if ended.reason.is_loss() { Loss::from(ended) } else { std::future::pending().await }
    }

    pub(crate) async fn lost(&self) -> Loss {
        let driven = self.user.0.engine.drive_while(self.loss()).await;
        driven.unwrap_or_else(|_over| self.abandoned())
    }

    /// Nobody keeps the delivery any more: the loop has died.
    pub(crate) fn abandoned(&self) -> Loss {
        self.ended().map_or_else(|| Loss { reason: StopReason::Left, at: self.user.0.now() }, Loss::from)
    }

    pub(crate) async fn settled(&self, wanted: StopReason) -> Result<(), SettleError> {
        match self.user.0.engine.drive_while(self.end()).await {
            Ok(ended) if ended.reason == wanted => Ok(()),
            Ok(Ended { reason, .. }) if reason.is_loss() => Err(SettleError::NotConfirmed { reason }),
            Ok(Ended { reason, .. }) => Err(SettleError::AlreadySettled { how: reason }),
            Err(_over) => Err(SettleError::Abandoned),
        }
    }

    /// A delete outside the lease, where one makes sense: at most once.
    pub(crate) fn late(&self, state: &mut State, ended: Ended) -> Option<Arc<Late>> {
        let makes_sense = match ended.reason {
            StopReason::ZeroTimeout => true,
            // A FIFO queue refuses it, and where SQS said that the delivery is gone there is nothing to delete.
            StopReason::Expired | StopReason::Limit => !self.user.0.is_fifo,
            _ => false,
        };
        let kept = state.set.get(self.key).filter(|_| makes_sense)?;
        if let Some(late) = state.late_of.get(&self.key) {
            return Some(Arc::clone(late));
        }
        let late = Arc::new(Late::new(kept.receipt_handle.clone()));
        state.late_of.insert(self.key, Arc::clone(&late));
        state.late.push_back(Arc::clone(&late));
        Some(late)
    }

    pub(crate) async fn delete_late(
        &self,
        ended: Ended,
        late: Option<Arc<Late>>,
        now: Moment,
    ) -> Result<(), SettleError> {
        let late = match late {
            None => LateDelete::NotSent,
            Some(late) => match self.user.0.engine.drive_while(late.wait()).await {
                Ok(Ok(())) => LateDelete::Accepted,
                Ok(Err(Failure::Transient)) => LateDelete::NotAnswered,
                Ok(Err(_)) => LateDelete::Refused,
                Err(_over) => return Err(SettleError::Abandoned),
            },
        };
        match (ended.reason, late) {
            (StopReason::Deleted, _) | (StopReason::ZeroTimeout, LateDelete::Accepted) => Ok(()),
            _ => Err(SettleError::after(ended, StopReason::Deleted, now, late)),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let (shared, key) = (&self.user.0, self.key);
        let removed = match self.on_drop {
            // Needs no look at the clock, and brings nothing nearer.
            OnDrop::Leave => shared.lock().let_go(key, |_| false),
            OnDrop::Release(after) => {
                shared.with(|state, now| state.let_go(key, |set| set.release(key, after, now).is_ok()))
            }
        };
        drop(removed);
    }
}

impl State {
    /// Takes a lease out whose handle is gone, or keeps it for the settle that it waits for or that `settle` asks for.
    fn let_go(&mut self, key: LeaseKey, settle: impl FnOnce(&mut LeaseSet<Kept>) -> bool) -> Option<Kept> {
        if !self.late_of.is_empty() {
            self.late_of.remove(&key);
        }
        let is_settling = self.set.lease(key).is_some_and(|it| it.is_settling() && it.ended().is_none());
        if !is_settling && !settle(&mut self.set) {
            return self.set.remove(key);
        }
        if let Some(kept) = self.set.get_mut(key) {
            kept.detached = true;
        }
        None
    }
}
