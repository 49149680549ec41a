use alloc::vec::Vec;

use crate::time::Moment;

/// What comes first: slots in the order of their moments, each at most once.
///
/// A heap of eight children a node that tracks where each slot is, so that a slot can be moved or taken out
/// in O(log n). Of the same moment, what was scheduled first comes first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schedule {
    heap: Vec<Node>,
    /// Where in the heap a slot is.
    places: Vec<u32>,
    turn: u32,
}

/// Sixteen bytes: four nodes a cache line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) at: Moment,
    turn: u32,
    pub(crate) slot: u32,
}

const CHILDREN: usize = 8;
const NOWHERE: u32 = u32::MAX;

impl Node {
    fn comes_before(&self, other: &Self) -> bool {
        // Turns wrap; half the range apart is more than are ever scheduled at once.
        self.at < other.at || (self.at == other.at && self.turn.wrapping_sub(other.turn) > u32::MAX / 2)
    }
}

impl Schedule {
    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    pub(crate) fn first(&self) -> Option<Node> {
        self.heap.first().copied()
    }

    /// For when a slot is scheduled.
    pub(crate) fn at(&self, slot: u32) -> Option<Moment> {
        self.heap.get(self.place(slot)?).map(|node| node.at)
    }

    /// Schedules a slot, or moves it where its moment has changed.
    pub(crate) fn set(&mut self, slot: u32, at: Moment) {
        match self.place(slot) {
            Some(place) if self.heap.get(place).is_some_and(|node| node.at == at) => {}
            Some(place) => {
                let turn = self.next_turn();
                if let Some(node) = self.heap.get_mut(place) {
                    *node = Node { at, turn, slot };
                }
                self.settle(place);
            }
            None => {
                let turn = self.next_turn();
                self.put_back(Node { at, turn, slot });
            }
        }
    }

    /// Takes a slot out; whether it was in.
    pub(crate) fn remove(&mut self, slot: u32) -> bool {
        let Some(place) = self.place(slot) else { return false };
        if let Some(it) = self.places.get_mut(slot as usize) {
            *it = NOWHERE;
        }
        self.heap.swap_remove(place);
        if let Some(moved) = self.heap.get(place) {
            let moved = moved.slot;
            self.note(moved, place);
            self.settle(place);
        }
        true
    }

    pub(crate) fn pop(&mut self) -> Option<Node> {
        let first = self.first()?;
        self.remove(first.slot);
        Some(first)
    }

    /// Takes out the first where its moment has come.
    pub(crate) fn pop_due(&mut self, now: Moment) -> Option<Node> {
        if self.first()?.at <= now { self.pop() } else { None }
    }

    /// Puts a node back where it was, in its old turn.
    pub(crate) fn put_back(&mut self, node: Node) {
        let slot = node.slot as usize;
        if self.places.len() <= slot {
            self.places.resize(slot.saturating_add(1), NOWHERE);
        }
        let place = self.heap.len();
        self.heap.push(node);
        self.note(node.slot, place);
        self.settle(place);
    }

    fn next_turn(&mut self) -> u32 {
        self.turn = self.turn.wrapping_add(1);
        self.turn
    }

    fn place(&self, slot: u32) -> Option<usize> {
        self.places.get(slot as usize).filter(|place| **place != NOWHERE).map(|place| *place as usize)
    }

    fn note(&mut self, slot: u32, place: usize) {
        if let Some(it) = self.places.get_mut(slot as usize) {
            *it = u32::try_from(place).unwrap_or(NOWHERE);
        }
    }

    /// Moves the node at `place` to where it belongs.
    fn settle(&mut self, place: usize) {
        let place = self.rise(place);
        self.sink(place);
    }

    fn rise(&mut self, mut place: usize) -> usize {
        while let Some(parent) = place.checked_sub(1).map(|before| before / CHILDREN) {
            if !self.in_order(place, parent) {
                break;
            }
            self.swap(place, parent);
            place = parent;
        }
        place
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let first = place.saturating_mul(CHILDREN).saturating_add(1);
            let Some(children) = self.heap.get(first..) else { return };
            let mut best: Option<(usize, &Node)> = None;
            for (child, node) in (first..).zip(children.iter().take(CHILDREN)) {
                if best.is_none_or(|(_, best)| node.comes_before(best)) {
                    best = Some((child, node));
                }
            }
            let Some((child, _)) = best else { return };
            if !self.in_order(child, place) {
                return;
            }
            self.swap(child, place);
            place = child;
        }
    }

    fn in_order(&self, first: usize, second: usize) -> bool {
        match (self.heap.get(first), self.heap.get(second)) {
            (Some(first), Some(second)) => first.comes_before(second),
            _ => false,
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        for place in [one, other] {
            if let Some(slot) = self.heap.get(place).map(|node| node.slot) {
                self.note(slot, place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;

    fn at(nanos: u64) -> Moment {
        Moment::from_nanos(nanos)
    }

    #[test]
    fn of_one_moment_what_was_scheduled_first_comes_first() {
        let mut schedule = Schedule::default();
        for slot in [3, 1, 2] {
            schedule.set(slot, at(7));
        }
        let order: Vec<u32> = core::iter::from_fn(|| schedule.pop()).map(|node| node.slot).collect();
        assert_eq!(order, [3, 1, 2]);
    }

    #[test]
    fn a_node_put_back_keeps_its_turn() {
        let mut schedule = Schedule::default();
        for slot in 0..3 {
            schedule.set(slot, at(7));
        }
        let first = schedule.pop().unwrap();
        schedule.put_back(first);
        assert_eq!(schedule.pop().map(|node| node.slot), Some(0));
    }

    /// Against a map that is searched, over many operations from a small generator of its own.
    #[test]
    fn agrees_with_a_searched_map() {
        let mut schedule = Schedule::default();
        let mut map = BTreeMap::new();
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..20_000 {
            let slot = u32::try_from(random(200)).unwrap();
            match random(4) {
                0 | 1 => {
                    let moment = at(random(50));
                    schedule.set(slot, moment);
                    map.insert(slot, moment);
                }
                2 => assert_eq!(schedule.remove(slot), map.remove(&slot).is_some()),
                _ => {
                    let first = schedule.pop();
                    assert_eq!(first.map(|node| node.at), map.values().min().copied());
                    if let Some(node) = first {
                        assert_eq!(map.remove(&node.slot), Some(node.at));
                    }
                }
            }
            assert_eq!(schedule.len(), map.len());
            assert_eq!(schedule.at(slot), map.get(&slot).copied());
        }
    }
}
