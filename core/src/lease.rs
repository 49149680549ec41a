use core::time::Duration;

use crate::action::{Action, Attempt, AttemptId, Ended, Extend, Next, SettleError};
use crate::clock::Clock;
use crate::failure::Failure;
use crate::policy::{Policy, PolicyError, Received, checked_extension};
use crate::time::Moment;
use crate::view::LeaseView;
use crate::visibility::Visibility;

pub(crate) mod machine;
pub(crate) mod state;

use machine::Machine;
use state::{Notice, Sent};

/// The lease of one delivery: always knows what it will do next, and when.
///
/// It reads no clock and makes no call. Its owner
///
/// 1. takes [`Action`]s out with [`poll`](Self::poll) until there are none, and carries them out;
/// 2. sleeps until [`poll_timeout`](Self::poll_timeout), an answer, or news from the handler;
/// 3. puts that in ([`handle_answer`](Self::handle_answer), [`delete`](Self::delete), …) and begins again.
///
/// Every input names the time. Late, repeated and unknown input is harmless. Late driving is normal: the lease
/// acts once, on what is true then. Early driving does nothing.
///
/// For more than a few deliveries use a [`LeaseSet`](crate::LeaseSet): it shares calls between them.
///
/// It is a plain value: copies go ways of their own, and equal ones do the same from here on. So a model
/// checker can try whatever may happen to it.
///
/// ```
/// use sqs_lease_core::{Action, Lease, Moment, Policy, Received, StopReason, Visibility};
///
/// let at = Moment::from_secs;
/// let received = Received::new(at(100), Visibility::new(30)?);
/// let mut lease = Lease::new(&Policy::new(), received);
///
/// // Nothing to do before the middle of the timeout.
/// assert_eq!(lease.poll(at(100)), None);
/// assert_eq!(lease.poll_timeout(), Some(at(115)));
///
/// // There, an extension of 30 s.
/// let Some(Action::Extend(extend)) = lease.poll(at(115)) else { panic!("an extension is due") };
/// assert_eq!(extend.by.secs(), 30);
/// lease.handle_answer(extend.attempt.id, Ok(()), at(116));
///
/// // SQS counts it from the call, so the next is due 15 s after the call, not after the answer.
/// assert_eq!(lease.poll(at(116)), None);
/// assert_eq!(lease.poll_timeout(), Some(at(130)));
///
/// // The handler is done.
/// lease.delete(at(120))?;
/// let Some(Action::Delete(attempt)) = lease.poll(at(120)) else { panic!("a delete is due") };
/// lease.handle_answer(attempt.id, Ok(()), at(121));
/// assert_eq!(lease.poll(at(121)), Some(Action::Stop(StopReason::Deleted)));
/// assert_eq!(lease.poll_timeout(), None);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    clock: Clock,
    machine: Machine,
}

impl Lease {
    /// The lease of a delivery. One with a visibility timeout of zero is stopped from the start.
    pub fn new(policy: &Policy, received: Received) -> Self {
        Self { clock: Clock::starting_at(received.at), machine: Machine::new(policy, &received) }
    }

    // ---- Taking out -------------------------------------------------------------------------------------

    /// Takes out the next thing to do at `now`; `None` when everything due is done.
    ///
    /// Call it again until `None`: then [`poll_timeout`](Self::poll_timeout) lies after `now`. Too early, it
    /// does nothing. Too late, calls have less time left, and after [`held_until`](Self::held_until) there is
    /// nothing left but to say so.
    pub fn poll(&mut self, now: Moment) -> Option<Action> {
        let now = self.clock.enter(now);
        loop {
            self.machine.advance(now);
            if let Some(notice) = self.machine.take_notice() {
                return Some(notice.into());
            }
            if let Some(settle) = self.machine.take_settle(now) {
                let attempt = self.attempt(settle.sent);
                return Some(match settle.after {
                    None => Action::Delete(attempt),
                    Some(after) => Action::Release { attempt, after },
                });
            }
            if !self.machine.is_extension_due(now) {
                return None;
            }
            if let Some(it) = self.machine.take_extension(now) {
                let attempt = self.attempt(it.sent);
                return Some(Action::Extend(Extend {
                    attempt,
                    by: it.by,
                    is_final: it.is_final,
                    warns: it.warns,
                }));
            }
        }
    }

    /// When [`poll`](Self::poll) is to be called next; `None` once the lease has stopped.
    ///
    /// A moment that has passed means at once. It may come nearer with every input, so ask again after each.
    pub fn poll_timeout(&self) -> Option<Moment> {
        self.machine.wake_at().map(|at| self.clock.outer(at))
    }

    // ---- Putting in -------------------------------------------------------------------------------------

    /// Puts in the answer of a call.
    ///
    /// A call that was given up, or is not this lease's, changes nothing. An answer counts until the lease was
    /// polled at or after its [`answer_by`](Attempt::answer_by), and never after
    /// [`held_until`](Self::held_until): SQS may say yes to the handle of a message that it has handed on.
    pub fn handle_answer(&mut self, attempt: AttemptId, answer: Result<(), Failure>, now: Moment) {
        let now = self.clock.enter(now);
        self.machine.answer(attempt.0, answer, now);
    }

    /// Says that the machine, and with it the caller's clock, stood still for `gap` until `now`.
    ///
    /// Only for clocks that do not count suspension. Everything that the lease has planned comes nearer.
    pub fn handle_gap(&mut self, gap: Duration, now: Moment) {
        self.clock.enter(now);
        self.clock.gap(gap);
    }

    /// Wants the message deleted: the handler has succeeded.
    ///
    /// The lease is kept until SQS confirms the delete.
    ///
    /// # Errors
    /// The lease is over, with how and when; or a settle was asked for before.
    pub fn delete(&mut self, now: Moment) -> Result<(), SettleError> {
        let now = self.clock.enter(now);
        self.machine.delete(now).map_err(|error| self.view().outer_error(error))
    }

    /// Wants the message given back to the queue, visible again in `after`; zero is at once.
    ///
    /// It waits for an extension in flight, and none is sent any more. SQS counts the receive all the same: a
    /// message that is released too often ends in the dead-letter queue.
    ///
    /// # Errors
    /// The lease is over, with how and when; or a settle was asked for before.
    pub fn release(&mut self, after: Visibility, now: Moment) -> Result<(), SettleError> {
        let now = self.clock.enter(now);
        self.machine.release(after, now).map_err(|error| self.view().outer_error(error))
    }

    /// Lets go without a call: the timeout runs out, and SQS hands the message on.
    ///
    /// # Errors
    /// The lease is over, with how and when; or a settle was asked for before.
    pub fn leave(&mut self, now: Moment) -> Result<(), SettleError> {
        let now = self.clock.enter(now);
        self.machine.leave(now).map_err(|error| self.view().outer_error(error))
    }

    /// Asks for extensions of this length from now on, the first at once.
    ///
    /// With an extension in flight it follows that one's acknowledgement, or rides on its retry. It is ignored
    /// once a settle is wanted or the final extension is spent. What is granted is never shortened.
    ///
    /// # Errors
    /// Zero seconds.
    pub fn extend(&mut self, extension: Visibility, now: Moment) -> Result<(), PolicyError> {
        checked_extension(extension)?;
        let now = self.clock.enter(now);
        self.machine.extend(extension, now);
        Ok(())
    }

    // ---- Looking ----------------------------------------------------------------------------------------

    /// Whether the delivery is held at `now`: no other consumer can have it.
    pub fn is_held(&self, now: Moment) -> bool {
        self.view().is_held(now)
    }

    /// How long it is still held, were no extension to be acknowledged any more.
    pub fn remaining(&self, now: Moment) -> Duration {
        self.view().remaining(now)
    }

    /// The instant at which the lease is over unless an extension is acknowledged before: a little
    /// ([`Policy::guard`]) before SQS may hand the message on.
    pub fn held_until(&self) -> Moment {
        self.view().held_until()
    }

    /// The earliest instant at which SQS may hand the message to somebody else.
    pub fn end(&self) -> Moment {
        self.view().end()
    }

    /// The instant past which nothing is extended: 12 hours after the receive request less the
    /// [margin](Policy::limit_margin), or the [longest hold](Policy::max_hold).
    pub fn limit(&self) -> Moment {
        self.view().limit()
    }

    /// The visibility timeout in force.
    pub fn timeout(&self) -> Visibility {
        self.view().timeout()
    }

    /// What will be extended next, as things stand: "extend at T by N".
    ///
    /// `None` while an extension is in flight, and where none will follow. What is sent is worked out anew when
    /// it is taken.
    pub fn next(&self) -> Option<Next> {
        self.view().next()
    }

    /// Whether a delete or a release was asked for.
    pub fn is_settling(&self) -> bool {
        self.view().is_settling()
    }

    /// How and when it ended.
    pub fn ended(&self) -> Option<Ended> {
        self.view().ended()
    }

    /// Whether the answer of this call would still count.
    pub fn awaits(&self, attempt: AttemptId) -> bool {
        self.machine.awaits(attempt.0)
    }

    fn attempt(&self, sent: Sent) -> Attempt {
        Attempt { id: AttemptId(sent.serial), answer_by: self.clock.outer(sent.answer_by) }
    }

    fn view(&self) -> LeaseView<'_> {
        LeaseView { clock: &self.clock, machine: self.machine }
    }
}

impl From<Notice> for Action {
    fn from(notice: Notice) -> Self {
        match notice {
            Notice::WarnDenied => Self::WarnDenied,
            Notice::WarnLimit => Self::WarnLimit,
            Notice::Stop(reason) => Self::Stop(reason),
        }
    }
}
