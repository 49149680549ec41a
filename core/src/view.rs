use core::time::Duration;

use crate::action::{Ended, Next, SettleError};
use crate::clock::Clock;
use crate::lease::machine::Machine;
use crate::time::Moment;
use crate::visibility::Visibility;

/// A look at a lease of a [`LeaseSet`](crate::LeaseSet).
///
/// ```
/// use sqs_lease_core::{LeaseSet, Moment, Policy, Received, SetPolicy, Visibility};
///
/// let at = Moment::from_secs;
/// let mut set = LeaseSet::new(SetPolicy::new());
/// let key = set.insert(&Policy::new(), Received::new(at(0), Visibility::new(30)?), "receipt handle", at(0));
/// let lease = set.lease(key).expect("it is in the set");
/// assert!(lease.is_held(at(28)));
/// assert_eq!(lease.remaining(at(10)).as_secs(), 19);
/// assert_eq!((lease.held_until(), lease.end()), (at(29), at(30)));
/// # Ok::<(), sqs_lease_core::VisibilityError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LeaseView<'a> {
    pub(crate) clock: &'a Clock,
    pub(crate) machine: Machine,
}

impl LeaseView<'_> {
    /// Whether the delivery is held at `now`: no other consumer can have it.
    pub fn is_held(&self, now: Moment) -> bool {
        !self.remaining(now).is_zero()
    }

    /// How long it is still held, were no extension to be acknowledged any more.
    pub fn remaining(&self, now: Moment) -> Duration {
        match self.machine.ended() {
            Some(_) => Duration::ZERO,
            None => self.machine.held_until().since(self.clock.peek(now)),
        }
    }

    /// The instant at which the lease is over unless an extension is acknowledged before: a little
    /// ([`Policy::guard`](crate::Policy::guard)) before SQS may hand the message on.
    pub fn held_until(&self) -> Moment {
        self.clock.outer(self.machine.held_until())
    }

    /// The earliest instant at which SQS may hand the message to somebody else.
    pub fn end(&self) -> Moment {
        self.clock.outer(self.machine.end())
    }

    /// The instant past which nothing is extended: 12 hours after the receive request less the
    /// [margin](crate::Policy::limit_margin), or the [longest hold](crate::Policy::max_hold).
    pub fn limit(&self) -> Moment {
        self.clock.outer(self.machine.limit())
    }

    /// The visibility timeout in force.
    pub fn timeout(&self) -> Visibility {
        self.machine.timeout()
    }

    /// What will be extended next, as things stand: "extend at T by N".
    ///
    /// `None` while an extension is in flight, and where none will follow. What is sent is worked out anew when
    /// it is taken.
    pub fn next(&self) -> Option<Next> {
        let (at, by, is_final) = self.machine.next(self.clock.peek(Moment::ORIGIN))?;
        Some(Next { at: self.clock.outer(at), by, is_final })
    }

    /// Whether a delete or a release was asked for.
    pub fn is_settling(&self) -> bool {
        self.machine.is_settling()
    }

    /// Whether it was a delete that was asked for.
    pub fn is_deleting(&self) -> bool {
        self.machine.is_deleting()
    }

    /// How and when it ended.
    pub fn ended(&self) -> Option<Ended> {
        self.machine.ended().map(|ended| self.outer(ended))
    }

    /// The same by the clock alone: also of a lease that has run out at `now` and was not driven since.
    pub fn ended_by(&self, now: Moment) -> Option<Ended> {
        let machine = self.machine;
        let is_over = || self.clock.peek(now) >= machine.held_until();
        let ended = machine.ended().or_else(|| is_over().then(|| machine.coming_end()));
        ended.map(|ended| self.outer(ended))
    }

    fn outer(&self, ended: Ended) -> Ended {
        Ended { at: self.clock.outer(ended.at), ..ended }
    }

    pub(crate) fn outer_error(&self, error: SettleError) -> SettleError {
        match error {
            SettleError::Ended(ended) => SettleError::Ended(self.outer(ended)),
            other => other,
        }
    }
}
