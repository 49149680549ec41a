//! One lease as the model drives it: the real one, or a mutant of it.

use std::fmt::Debug;
use std::hash::Hash;

/// Nanoseconds.
pub type Time = u64;

/// What a lease has to know from the start.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The visibility timeout, in seconds.
    pub timeout: u32,
    /// The guard.
    pub guard: Time,
    /// The longest hold; none: the 12 hours of SQS, without a margin.
    pub max_hold: Option<Time>,
}

/// What a call asks of SQS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ask {
    /// Hide the message for so many seconds.
    Extend(u32),
    /// Show it in so many seconds.
    Release(u32),
    /// Delete it.
    Delete,
}

/// Why a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Why {
    /// The server was in trouble.
    Transient,
    /// Too many calls.
    Throttled,
    /// Nobody may do that just now.
    Denied,
    /// Beyond the 12 hours.
    Limit,
    /// Deleted, or the handle is dead.
    Gone,
}

/// What a lease has its owner do.
#[derive(Clone, Copy, Debug)]
pub enum Told<Id> {
    /// Send this; its answer is wanted by then.
    Send(Id, Ask, Time),
    /// A warning.
    Warning,
    /// It is over; whether that is a loss.
    Stop {
        /// The handler did not ask for it.
        is_loss: bool,
    },
}

/// A lease of any build of the core.
pub trait Held: Clone + Debug + Eq + Hash + Send + Sync + 'static {
    /// Names a call.
    type Id: Copy + Debug + Eq + Hash + Send + Sync + 'static;

    /// The lease of a delivery.
    fn new(terms: &Terms, at: Time, requested: Time) -> Self;
    /// Takes out what is due.
    fn poll(&mut self, now: Time) -> Option<Told<Self::Id>>;
    /// When it wants to be polled.
    fn wake_up(&self) -> Option<Time>;
    /// Puts an answer in.
    fn answer(&mut self, id: Self::Id, answer: Result<(), Why>, now: Time);
    /// The clock stood still.
    fn gap(&mut self, gap: Time, now: Time);
    /// Wants the message deleted; whether that was taken.
    fn delete(&mut self, now: Time) -> bool;
    /// Wants the message back in the queue; whether that was taken.
    fn release(&mut self, after: u32, now: Time) -> bool;
    /// Lets go; whether that was taken.
    fn leave(&mut self, now: Time) -> bool;
    /// Asks for extensions of so many seconds.
    fn extend(&mut self, by: u32, now: Time);
    /// Whether it believes that nobody else has the message.
    fn is_held(&self, now: Time) -> bool;
    /// When that belief ends.
    fn held_until(&self) -> Time;
    /// When SQS may hand the message on, as it believes.
    fn end(&self) -> Time;
    /// Past which nothing is extended.
    fn limit(&self) -> Time;
    /// The timeout in force, in seconds.
    fn timeout(&self) -> u32;
}

/// Makes the `Lease` of a build of the core one that the model can drive.
macro_rules! held {
    ($core:path) => {
        const _: () = {
            use core_of_it::{Action, AttemptId, Failure, Lease, Moment, Policy, Received, Visibility};
            use std::time::Duration;
            use $core as core_of_it;
            use $crate::held::{Ask, Held, Terms, Time, Told, Why};

            fn at(time: Time) -> Moment {
                Moment::from_nanos(time)
            }

            fn secs(secs: u32) -> Visibility {
                Visibility::new(secs).expect("in range")
            }

            impl Held for Lease {
                type Id = AttemptId;

                fn new(terms: &Terms, received: Time, requested: Time) -> Self {
                    let policy = Policy::new().guard(Duration::from_nanos(terms.guard));
                    let mut policy = policy.limit_margin(Duration::ZERO).expect("in range");
                    if let Some(hold) = terms.max_hold {
                        policy = policy.max_hold(Duration::from_nanos(hold)).expect("in range");
                    }
                    let received = Received::new(at(received), secs(terms.timeout));
                    Lease::new(&policy, received.requested(at(requested)).expect("before the receive"))
                }

                fn poll(&mut self, now: Time) -> Option<Told<AttemptId>> {
                    Some(match Lease::poll(self, at(now))? {
                        Action::Extend(it) => {
                            let until = it.attempt.answer_by.as_nanos();
                            Told::Send(it.attempt.id, Ask::Extend(it.by.secs()), until)
                        }
                        Action::Release { attempt, after } => {
                            Told::Send(attempt.id, Ask::Release(after.secs()), attempt.answer_by.as_nanos())
                        }
                        Action::Delete(attempt) => {
                            Told::Send(attempt.id, Ask::Delete, attempt.answer_by.as_nanos())
                        }
                        Action::Stop(reason) => Told::Stop { is_loss: reason.is_loss() },
                        _ => Told::Warning,
                    })
                }

                fn wake_up(&self) -> Option<Time> {
                    self.poll_timeout().map(Moment::as_nanos)
                }

                fn answer(&mut self, id: AttemptId, answer: Result<(), Why>, now: Time) {
                    let answer = answer.map_err(|why| match why {
                        Why::Transient => Failure::Transient,
                        Why::Throttled => Failure::Throttled,
                        Why::Denied => Failure::Denied,
                        Why::Limit => Failure::Limit,
                        Why::Gone => Failure::Gone,
                    });
                    self.handle_answer(id, answer, at(now));
                }

                fn gap(&mut self, gap: Time, now: Time) {
                    self.handle_gap(Duration::from_nanos(gap), at(now));
                }

                fn delete(&mut self, now: Time) -> bool {
                    Lease::delete(self, at(now)).is_ok()
                }

                fn release(&mut self, after: u32, now: Time) -> bool {
                    Lease::release(self, secs(after), at(now)).is_ok()
                }

                fn leave(&mut self, now: Time) -> bool {
                    Lease::leave(self, at(now)).is_ok()
                }

                fn extend(&mut self, by: u32, now: Time) {
                    Lease::extend(self, secs(by), at(now)).expect("more than nothing");
                }

                fn is_held(&self, now: Time) -> bool {
                    Lease::is_held(self, at(now))
                }

                fn held_until(&self) -> Time {
                    Lease::held_until(self).as_nanos()
                }

                fn end(&self) -> Time {
                    Lease::end(self).as_nanos()
                }

                fn limit(&self) -> Time {
                    Lease::limit(self).as_nanos()
                }

                fn timeout(&self) -> u32 {
                    Lease::timeout(self).secs()
                }
            }
        };
    };
}
pub(crate) use held;
