use crate::time::Moment;

/// Keeps calls apart where even one at a time is throttled: fast calls are many a second.
///
/// It finds the gap that SQS bears: wider at each throttled answer, narrower with each other one, fast while it is far
/// from the gap that was throttled last and slowly near it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    gap: u64,
    /// The gap that was throttled last.
    throttled: u64,
    /// Answers since then.
    well: u32,
    next: Moment,
}

/// So few answers between two that are throttled mean that the gap is far too narrow.
const FEW: u32 = 8;
const WIDEST: u64 = 10_000_000_000;

impl Pace {
    pub(crate) fn new(gap: u64, now: Moment) -> Self {
        let gap = gap.saturating_mul(2);
        Self { gap, throttled: gap / 2, well: 0, next: now.plus_nanos(gap) }
    }

    pub(crate) fn next(&self) -> Moment {
        self.next
    }

    pub(crate) fn sent(&mut self, now: Moment) {
        // A wake that came late is made up for, one call's worth.
        self.next = self.next.max(now.minus_nanos(self.gap)).plus_nanos(self.gap);
    }

    pub(crate) fn throttled(&mut self, now: Moment) {
        self.throttled = self.gap;
        let more = if self.well < FEW { self.gap } else { self.gap / 32 };
        self.gap = self.gap.saturating_add(more).min(WIDEST);
        self.well = 0;
        self.next = self.next.max(now.plus_nanos(self.gap));
    }

    /// An answer came that was not throttled. Whether the calls still need to be kept apart.
    pub(crate) fn answered(&mut self, shortest: u64) -> bool {
        self.well = self.well.saturating_add(1);
        let is_near = self.gap.abs_diff(self.throttled) <= self.throttled / 12;
        self.gap = self.gap.saturating_sub(self.gap / if is_near { 8_192 } else { 32 });
        self.gap > shortest
    }
}
