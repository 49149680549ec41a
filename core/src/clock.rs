use core::time::Duration;

use crate::time::{Moment, nanos};

/// Turns the caller's clock into one that never runs backwards and counts suspensions.
///
/// The machines live on the inner clock. A gap moves the inner clock forward instead of every instant they
/// hold backward: the same, in one place, and nothing can fall off the origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Clock {
    seen: Moment,
    gaps: u64,
}

impl Clock {
    pub(crate) fn starting_at(now: Moment) -> Self {
        Self { seen: now, gaps: 0 }
    }

    /// The inner instant of the caller's `now`; the latest seen where that ran backwards.
    #[inline]
    pub(crate) fn enter(&mut self, now: Moment) -> Moment {
        self.seen = self.peek(now);
        self.seen
    }

    /// The same without remembering it.
    #[inline]
    pub(crate) fn peek(&self, now: Moment) -> Moment {
        self.inner(now).max(self.seen)
    }

    /// The inner instant of one that the caller names, in the past or the future.
    #[inline]
    pub(crate) fn inner(&self, moment: Moment) -> Moment {
        moment.plus_nanos(self.gaps)
    }

    /// The caller's name for an inner instant.
    #[inline]
    pub(crate) fn outer(&self, moment: Moment) -> Moment {
        if moment == Moment::MAX { moment } else { moment.minus_nanos(self.gaps) }
    }

    pub(crate) fn gap(&mut self, gap: Duration) {
        self.gaps = self.gaps.saturating_add(nanos(gap));
        self.seen = self.seen.plus_nanos(nanos(gap));
    }
}
