use core::num::NonZeroU8;

use crate::links::NOWHERE;
use crate::time::Moment;
use crate::visibility::Visibility;

/// One to ten slots of one moment in their order, with gaps where some have left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) slots: [u32; GROUP],
    pub(crate) at: Moment,
    /// The owner's, as what comes after.
    pub(crate) before: u32,
    pub(crate) after: u32,
    pub(crate) len: NonZeroU8,
    /// The places from here on were never taken.
    end: u8,
}

/// As many as fit into a call.
pub(crate) const GROUP: usize = Visibility::BATCH;
/// The last place of a group.
pub(crate) const LAST: usize = GROUP - 1;

impl Group {
    /// Of one to ten slots, from a place on.
    pub(crate) fn new(together: &[u32], first: usize, at: Moment, before: u32, after: u32) -> Self {
        let mut slots = [NOWHERE; GROUP];
        for (place, &slot) in slots.iter_mut().skip(first).zip(together) {
            *place = slot;
        }
        let len = few(together.len());
        let end = few(first).saturating_add(len);
        Self { slots, at, before, after, len: NonZeroU8::new(len).unwrap_or(NonZeroU8::MIN), end }
    }

    /// Takes the first out, as many as are wanted and there; the owner says how many are left.
    pub(crate) fn take(&mut self, most: usize) -> ([u32; GROUP], usize) {
        let len = usize::from(self.len.get()).min(most);
        if len == GROUP {
            return (self.slots, len);
        }
        let mut taken = [NOWHERE; GROUP];
        let left = self.slots.iter_mut().filter(|slot| **slot != NOWHERE);
        for (place, slot) in taken.iter_mut().take(len).zip(left) {
            *place = core::mem::replace(slot, NOWHERE);
        }
        (taken, len)
    }

    /// Puts a slot before the first, where there is room; at which place.
    pub(crate) fn precede(&mut self, slot: u32) -> Option<usize> {
        let place = self.slots.iter().position(|its| *its != NOWHERE)?.checked_sub(1)?;
        *self.slots.get_mut(place)? = slot;
        self.len = self.len.saturating_add(1);
        Some(place)
    }

    /// Puts slots behind the last, where there is room for all of them; from which place on.
    pub(crate) fn follow(&mut self, together: &[u32]) -> Option<usize> {
        let first = usize::from(self.end);
        self.slots.get_mut(first..first.saturating_add(together.len()))?.copy_from_slice(together);
        self.end = self.end.saturating_add(few(together.len()));
        self.len = self.len.saturating_add(few(together.len()));
        Some(first)
    }
}

fn few(count: usize) -> u8 {
    u8::try_from(count).unwrap_or(u8::MAX)
}
