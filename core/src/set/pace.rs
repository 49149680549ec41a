use super::chance::Chance;
use crate::time::{Moment, NANOS_PER_SEC};

/// Keeps calls apart where SQS takes fewer than are wanted.
///
/// It looks for the gap between two calls that SQS just bears. A call that is throttled after `n` others were not means
/// that calls come too fast by one in `n`: so much wider the gap gets. Then it narrows, so slowly that it comes to what
/// was throttled after `patience` answers: that many calls are made for one that is throttled. The patience grows while
/// the limit is found where it was, and is small where it has moved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Between one call and the next, in nanoseconds.
    gap: u64,
    /// What the gap was when it was last found to be borne.
    borne: u64,
    /// The gap that was throttled last.
    throttled: u64,
    /// How many calls that were sent since then were not throttled.
    well: u32,
    /// How many were.
    ill: u32,
    patience: u32,
    throttled_at: Moment,
    /// When the last call was to go.
    last: Moment,
    chance: Chance,
}

/// So few answers between two that are throttled mean that the gap is far too narrow.
const FEW: u32 = 8;
const LEAST_PATIENCE: u32 = 32;
const MOST_PATIENCE: u32 = 1024;
/// How long the limit is left alone at most.
const LONGEST_PATIENCE: u64 = 60 * NANOS_PER_SEC;
/// Where nothing is taken at all, this is how often that is tried.
const WIDEST: u64 = NANOS_PER_SEC;
/// So late a wake may come and still be made up for.
const LATE: u64 = 10_000_000;

impl Pace {
    pub(crate) fn new(gap: u64, in_flight: u32, now: Moment) -> Self {
        let gap = gap.clamp(1, WIDEST);
        Self {
            gap,
            borne: gap,
            throttled: gap / 2,
            well: 0,
            ill: 0,
            patience: least_patience(in_flight),
            throttled_at: now,
            last: now,
            chance: Chance::default(),
        }
    }

    pub(crate) fn gap(&self) -> u64 {
        self.gap
    }

    /// Makes the gap no narrower than this.
    pub(crate) fn keep_wider_than(&mut self, gap: u64) {
        self.gap = self.gap.max(gap);
        self.borne = self.borne.max(gap);
    }

    /// Whether calls are throttled however far apart they are.
    pub(crate) fn is_by_chance(&self) -> bool {
        self.chance.is_known()
    }

    pub(crate) fn next(&self) -> Moment {
        self.last.plus_nanos(self.gap)
    }

    /// When a call was throttled last.
    pub(crate) fn throttled_at(&self) -> Moment {
        self.throttled_at
    }

    pub(crate) fn sent(&mut self, now: Moment) {
        let next = self.next();
        let is_made_up_for = now <= next.plus_nanos(self.gap.max(LATE));
        self.last = if is_made_up_for { next } else { now };
    }

    /// A call that was sent then was throttled. So many others are in flight.
    pub(crate) fn throttled(&mut self, sent: Moment, in_flight: u32, now: Moment) {
        if sent < self.throttled_at {
            // It was on its way when the gap was widened.
            return;
        }
        if self.chance.explains(now) {
            return;
        }
        self.ill = self.ill.saturating_add(1);
        self.judge(in_flight, now);
    }

    /// Widens the gap where calls were throttled, once enough answers are there.
    fn judge(&mut self, in_flight: u32, now: Moment) {
        if self.ill == 0 || self.well.saturating_add(self.ill) < FEW.min(in_flight) {
            return;
        }
        // What the gap was when that call was sent: as many answers came since then as calls are in flight.
        let tried = if !self.is_near() {
            self.gap
        } else if self.is_patient(in_flight) {
            self.after(self.well.saturating_sub(in_flight))
        } else {
            self.gap.saturating_add(self.gap / hurry(in_flight) * u64::from(in_flight))
        };
        if let Some(gap) = self.chance.is_found(self.well, self.ill, tried, now) {
            // A wider gap was for nothing.
            (self.gap, self.borne, self.throttled) = (gap, gap, gap / 2);
            (self.well, self.ill, self.throttled_at) = (0, 0, now);
            self.patience = least_patience(in_flight);
            return;
        }
        let least = least_patience(in_flight);
        let (well, ill) = (self.well.max(1), self.ill.min(self.well.max(1)));
        let mut wider = tried.saturating_add(tried / u64::from(well) * u64::from(ill));
        if self.well < FEW {
            // Where nothing at all is taken at a gap that was borne before, that one need not be wrong.
            if self.well > 0 || self.is_near() {
                let more = tried.max(self.borne) / u64::from(self.well.max(2));
                self.borne = tried.max(self.borne).saturating_add(more).min(WIDEST);
            }
            self.patience = least;
            self.last = self.last.max(now);
        } else if self.is_patient(in_flight) {
            let most = MOST_PATIENCE.max(in_flight.saturating_mul(64));
            let longest = u32::try_from(LONGEST_PATIENCE / wider.max(1)).unwrap_or(most);
            // One that is throttled long before it was to be looked for again is found sooner.
            let is_where_it_was = self.well >= self.patience / 2;
            let patience = if is_where_it_was { self.patience.saturating_mul(2) } else { self.patience / 2 };
            self.patience = patience.min(most).min(longest).max(least);
            self.borne = wider;
        } else {
            wider = tried.saturating_add(tried / 16);
            self.borne = wider;
            self.patience = least;
        }
        let widest = self.chance.widest().max(self.gap);
        self.borne = self.borne.min(widest);
        (self.gap, self.throttled) = (wider.min(WIDEST).min(widest), tried);
        (self.well, self.ill, self.throttled_at) = (0, 0, now);
    }

    /// Whether the gap is about what was borne, not much wider because nothing was taken.
    fn is_near(&self) -> bool {
        self.gap <= self.borne.saturating_add(self.borne / 8)
    }

    /// The gap after so many answers: from what was borne to what was throttled in `patience` of them, and on.
    fn after(&self, answers: u32) -> u64 {
        let narrower = self.borne.saturating_sub(self.throttled);
        let part = u128::from(narrower) * u128::from(answers) / u128::from(self.patience);
        let least = self.throttled.min(self.borne);
        self.borne.saturating_sub(u64::try_from(part).unwrap_or(narrower)).max(least - least / 8).max(1)
    }

    /// Whether the limit may still be where it was throttled last.
    fn is_patient(&self, in_flight: u32) -> bool {
        self.well <= self.patience.saturating_mul(2).saturating_add(in_flight)
    }

    /// A call that was sent then was not throttled, and none waits: that a wider gap would do says nothing.
    pub(crate) fn answered_at_leisure(&mut self, sent: Moment, in_flight: u32, now: Moment) {
        if sent < self.throttled_at {
            return;
        }
        self.well = self.well.saturating_add(1);
        self.chance.answered();
        self.judge(in_flight, now);
    }

    /// A call that was sent then was not throttled. So many others are in flight.
    pub(crate) fn answered(&mut self, sent: Moment, in_flight: u32, now: Moment) {
        if sent < self.throttled_at {
            return;
        }
        self.well = self.well.saturating_add(1);
        self.chance.answered();
        if self.ill > 0 {
            self.judge(in_flight, now);
            return;
        }
        let is_early = now < self.next();
        if !self.is_near() {
            self.gap = self.borne.max(self.gap / 4);
        } else if self.is_patient(in_flight) {
            self.gap = self.after(self.well);
        } else {
            self.gap = self.gap.saturating_sub(self.gap / hurry(in_flight)).max(1);
            self.borne = self.gap;
        }
        if is_early {
            // A gap that has become narrower makes the next call due, not late.
            self.last = self.last.max(now.minus_nanos(self.gap));
        }
    }
}

/// An answer comes late by all calls that are in flight: what was too much is seen that late, too.
fn least_patience(in_flight: u32) -> u32 {
    LEAST_PATIENCE.saturating_add(in_flight.saturating_mul(4))
}

/// By which part of itself the gap narrows with each answer, once the limit is no longer where it was.
fn hurry(in_flight: u32) -> u64 {
    u64::from(in_flight).saturating_mul(4).saturating_add(32)
}

#[cfg(test)]
mod tests;
