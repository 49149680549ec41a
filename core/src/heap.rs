use alloc::vec::Vec;

use crate::time::Moment;

/// A heap of eight children a node. It says where each node goes, so that one can be found again and taken out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heap {
    nodes: Vec<Node>,
}

/// Sixteen bytes: four nodes a cache line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) at: Moment,
    /// Of one moment, what came first comes first.
    pub(crate) turn: u32,
    /// The owner's.
    pub(crate) name: u32,
}

const CHILDREN: usize = 8;
/// Below this much room a heap is not worth shrinking.
const SMALL: usize = 256;

impl Node {
    fn comes_before(&self, other: &Self) -> bool {
        // Turns wrap; half the range apart is more than are ever scheduled at once.
        self.at < other.at || (self.at == other.at && self.turn.wrapping_sub(other.turn) > u32::MAX / 2)
    }
}

impl Heap {
    #[inline]
    pub(crate) fn first(&self) -> Option<&Node> {
        self.nodes.first()
    }

    #[inline]
    pub(crate) fn get(&self, place: usize) -> Option<&Node> {
        self.nodes.get(place)
    }

    pub(crate) fn rename(&mut self, place: usize, name: u32) {
        if let Some(node) = self.nodes.get_mut(place) {
            node.name = name;
        }
    }

    /// `goes` is told each node that goes to another place, and where; the new one as well.
    pub(crate) fn push(&mut self, node: Node, mut goes: impl FnMut(&Node, usize)) {
        let place = self.nodes.len();
        self.nodes.push(node);
        self.rise(place, node, &mut goes);
    }

    pub(crate) fn remove(&mut self, place: usize, mut goes: impl FnMut(&Node, usize)) {
        if place >= self.nodes.len() {
            return;
        }
        self.nodes.swap_remove(place);
        if let Some(moved) = self.nodes.get(place).copied() {
            let place = self.rise(place, moved, &mut goes);
            self.sink(place, moved, &mut goes);
        }
        if self.nodes.capacity() > SMALL && self.nodes.len() < self.nodes.capacity() / 4 {
            self.nodes.shrink_to(self.nodes.len().saturating_mul(2));
        }
    }

    /// Visits nodes whose moment has come, the first of all first and the others in any order, while `more` wants.
    pub(crate) fn visit_due(&self, now: Moment, mut more: impl FnMut(&Node) -> bool) {
        self.visit(0, now, &mut more);
    }

    fn visit(&self, place: usize, now: Moment, more: &mut impl FnMut(&Node) -> bool) -> bool {
        let Some(node) = self.nodes.get(place).filter(|node| node.at <= now) else { return true };
        let first = place.saturating_mul(CHILDREN).saturating_add(1);
        more(node) && (first..first.saturating_add(CHILDREN)).all(|child| self.visit(child, now, more))
    }

    fn put(&mut self, place: usize, node: Node, goes: &mut impl FnMut(&Node, usize)) {
        if let Some(it) = self.nodes.get_mut(place) {
            *it = node;
        }
        goes(&node, place);
    }

    /// Moves a node from `place` towards the first as far as it belongs; where it then is.
    fn rise(&mut self, mut place: usize, node: Node, goes: &mut impl FnMut(&Node, usize)) -> usize {
        while let Some(above) = place.checked_sub(1).map(|before| before / CHILDREN) {
            let Some(parent) = self.nodes.get(above).copied() else { break };
            if !node.comes_before(&parent) {
                break;
            }
            self.put(place, parent, goes);
            place = above;
        }
        self.put(place, node, goes);
        place
    }

    /// Moves a node from `place` away from the first as far as it belongs.
    fn sink(&mut self, mut place: usize, node: Node, goes: &mut impl FnMut(&Node, usize)) {
        loop {
            let first = place.saturating_mul(CHILDREN).saturating_add(1);
            let Some(children) = self.nodes.get(first..) else { break };
            let mut best: Option<(usize, &Node)> = None;
            for (child, it) in (first..).zip(children.iter().take(CHILDREN)) {
                if best.is_none_or(|(_, best)| it.comes_before(best)) {
                    best = Some((child, it));
                }
            }
            let Some((child, &it)) = best else { break };
            if !it.comes_before(&node) {
                break;
            }
            self.put(place, it, goes);
            place = child;
        }
        self.put(place, node, goes);
    }

    #[cfg(test)]
    pub(crate) fn is_small(&self) -> bool {
        self.nodes.capacity() <= SMALL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The room of a heap of so many, of which so many are left.
    fn room(most: u32, left: u32) -> usize {
        let mut heap = Heap { nodes: Vec::with_capacity(most as usize) };
        for name in 0..most {
            heap.push(Node { at: Moment::ORIGIN, turn: name, name }, |_, _| {});
        }
        for _ in left..most {
            heap.remove(0, |_, _| {});
        }
        heap.nodes.capacity()
    }

    #[test]
    fn room_is_given_back_where_three_quarters_of_it_are_empty() {
        assert_eq!(room(4_096, 1_024), 4_096);
        assert_eq!(room(4_096, 1_023), 2_046);
    }

    #[test]
    fn little_room_is_kept() {
        assert_eq!(room(256, 0), 256);
        assert_eq!(room(257, 63), 126);
    }
}
