use alloc::vec::Vec;

use crate::links::{Link, Links, NOWHERE};
use crate::slots::{Key, Slots};
use crate::time::Moment;
use crate::visibility::Visibility;

/// What comes first: slots in the order of their moments, each at most once.
///
/// Leases that were extended by one call are due at one moment again, so slots of the same moment form a group:
/// a heap of eight children a node orders the groups, a list the slots in one. Moving a slot costs O(log n) where it
/// begins a group or leaves one empty, and O(1) elsewhere. Of the same moment, what was scheduled first comes first.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    heap: Vec<Node>,
    groups: Slots<Group>,
    links: Links,
    /// The group that was begun last, and its moment. Only this one may grow: any other of its moment is older.
    newest: Key,
    newest_at: Moment,
    turn: u32,
    len: usize,
}

/// Slots of one moment, in a list.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// Where in the heap it is.
    place: u32,
    first: u32,
    last: u32,
    len: u32,
}

/// Sixteen bytes: four nodes a cache line.
#[derive(Clone, Copy, Debug)]
struct Node {
    at: Moment,
    turn: u32,
    group: u32,
}

/// A slot that was taken out, and what it takes to put it back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) at: Moment,
    pub(crate) slot: u32,
    turn: u32,
}

/// Slots of one moment that were taken out together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TakenGroup {
    at: Moment,
    turn: u32,
    slots: [u32; GROUP],
    len: usize,
}

impl TakenGroup {
    pub(crate) fn iter(&self) -> impl Iterator<Item = Taken> {
        let Self { at, turn, slots, len } = *self;
        slots.into_iter().take(len).map(move |slot| Taken { at, slot, turn })
    }
}

/// As many as fit into a call.
const GROUP: usize = Visibility::BATCH;
const CHILDREN: usize = 8;
/// Below this much room a heap is not worth shrinking.
const SMALL: usize = 256;

impl Node {
    fn comes_before(&self, other: &Self) -> bool {
        // Turns wrap; half the range apart is more than are ever scheduled at once.
        self.at < other.at || (self.at == other.at && self.turn.wrapping_sub(other.turn) > u32::MAX / 2)
    }
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            heap: Vec::new(),
            groups: Slots::new(),
            links: Links::default(),
            newest: Key { slot: NOWHERE, generation: 0 },
            newest_at: Moment::ORIGIN,
            turn: 0,
            len: 0,
        }
    }
}

impl Schedule {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// When the first slot is due.
    #[inline]
    pub(crate) fn first_at(&self) -> Option<Moment> {
        self.heap.first().map(|node| node.at)
    }

    /// For when a slot is scheduled.
    pub(crate) fn at(&self, slot: u32) -> Option<Moment> {
        let group = self.groups.at(self.links.get(slot)?.group)?;
        self.heap.get(group.place as usize).map(|node| node.at)
    }

    /// Schedules a slot, or moves it where its moment has changed.
    #[inline]
    pub(crate) fn set(&mut self, slot: u32, at: Moment) {
        match self.at(slot) {
            Some(its) if its == at => return,
            Some(_) => {
                self.remove(slot);
            }
            None => {}
        }
        self.push(slot, at);
    }

    /// Schedules a slot that is not scheduled.
    #[inline]
    pub(crate) fn push(&mut self, slot: u32, at: Moment) {
        self.len = self.len.saturating_add(1);
        if let Some(newest) = self.groups.get_mut(self.newest).filter(|_| self.newest_at == at) {
            newest.len = newest.len.saturating_add(1);
            let before = core::mem::replace(&mut newest.last, slot);
            if let Some(link) = self.links.get_mut(before) {
                link.after = slot;
            }
            self.links.insert(slot, Link { group: self.newest.slot, before, after: NOWHERE });
        } else {
            self.turn = self.turn.wrapping_add(1);
            (self.newest, self.newest_at) = (self.begin(slot, at, self.turn), at);
        }
    }

    /// Schedules slots that are not scheduled for one moment.
    pub(crate) fn push_all(&mut self, slots: &[u32], at: Moment) {
        let Some((&first, rest)) = slots.split_first() else { return };
        self.push(first, at);
        let (Some(&second), Some(&last)) = (rest.first(), rest.last()) else { return };
        // By now the newest group is theirs, and the first the last of it.
        let name = self.newest.slot;
        let afters = rest.iter().copied().skip(1).chain([NOWHERE]);
        let mut before = first;
        for (&slot, after) in rest.iter().zip(afters) {
            self.links.insert(slot, Link { group: name, before, after });
            before = slot;
        }
        if let Some(link) = self.links.get_mut(first) {
            link.after = second;
        }
        if let Some(group) = self.groups.at_mut(name) {
            group.last = last;
            group.len = group.len.saturating_add(u32::try_from(rest.len()).unwrap_or(u32::MAX));
        }
        self.len = self.len.saturating_add(rest.len());
    }

    /// Takes a slot out; whether it was in.
    pub(crate) fn remove(&mut self, slot: u32) -> bool {
        let Some(Link { group: name, before, after }) = self.links.remove(slot) else { return false };
        self.len = self.len.saturating_sub(1);
        if let Some(link) = self.links.get_mut(before) {
            link.after = after;
        }
        if let Some(link) = self.links.get_mut(after) {
            link.before = before;
        }
        let Some(group) = self.groups.at_mut(name) else { return true };
        group.len = group.len.saturating_sub(1);
        if before == NOWHERE {
            group.first = after;
        }
        if after == NOWHERE {
            group.last = before;
        }
        if group.first == NOWHERE {
            let place = group.place as usize;
            self.end(name, place);
        }
        true
    }

    /// How many slots are due at `now`; at least `enough` where there are so many. It looks at no more of them.
    pub(crate) fn due(&self, now: Moment, enough: usize) -> usize {
        let mut due = 0;
        self.count_due(0, now, enough, &mut due);
        due
    }

    fn count_due(&self, place: usize, now: Moment, enough: usize, due: &mut usize) {
        let Some(node) = self.heap.get(place).filter(|node| node.at <= now && *due < enough) else { return };
        *due = due.saturating_add(self.groups.at(node.group).map_or(0, |group| group.len as usize));
        let first = place.saturating_mul(CHILDREN).saturating_add(1);
        for child in first..first.saturating_add(CHILDREN) {
            self.count_due(child, now, enough, due);
        }
    }

    /// Takes out the first where its moment has come.
    #[inline]
    pub(crate) fn pop_due(&mut self, now: Moment) -> Option<Taken> {
        self.pop_group_due(now, 1)?.iter().next()
    }

    /// Takes out the first and up to nine more of its group, where their moment has come, and at most `most`.
    pub(crate) fn pop_group_due(&mut self, now: Moment, most: usize) -> Option<TakenGroup> {
        let Node { at, turn, group: name } = *self.heap.first().filter(|node| node.at <= now)?;
        let group = self.groups.at_mut(name)?;
        let mut taken = TakenGroup { at, turn, slots: [NOWHERE; GROUP], len: 0 };
        // The first of a group has nobody before it: nothing to mend there.
        for place in taken.slots.iter_mut().take(most) {
            let Some(Link { after, .. }) = self.links.remove(group.first) else { break };
            *place = core::mem::replace(&mut group.first, after);
            taken.len = taken.len.saturating_add(1);
        }
        self.len = self.len.saturating_sub(taken.len);
        group.len = group.len.saturating_sub(u32::try_from(taken.len).unwrap_or(u32::MAX));
        match self.links.get_mut(group.first) {
            Some(link) => link.before = NOWHERE,
            None => self.end(name, 0),
        }
        Some(taken)
    }

    pub(crate) fn pop(&mut self) -> Option<Taken> {
        self.pop_due(Moment::MAX)
    }

    /// Puts back what was the first, in its old turn. Of several, the last that was taken out goes first.
    pub(crate) fn put_back(&mut self, Taken { at, slot, turn }: Taken) {
        self.len = self.len.saturating_add(1);
        let first =
            self.heap.first().filter(|node| (node.at, node.turn) == (at, turn)).map(|node| node.group);
        if let Some((name, group)) = first.and_then(|name| Some((name, self.groups.at_mut(name)?))) {
            group.len = group.len.saturating_add(1);
            let after = core::mem::replace(&mut group.first, slot);
            if let Some(link) = self.links.get_mut(after) {
                link.before = slot;
            }
            self.links.insert(slot, Link { group: name, before: NOWHERE, after });
        } else {
            self.begin(slot, at, turn);
        }
    }

    /// Begins a group of one slot.
    fn begin(&mut self, slot: u32, at: Moment, turn: u32) -> Key {
        let place = self.heap.len();
        let key = self.groups.insert(Group { place: NOWHERE, first: slot, last: slot, len: 1 });
        let node = Node { at, turn, group: key.slot };
        self.links.insert(slot, Link { group: key.slot, before: NOWHERE, after: NOWHERE });
        self.heap.push(node);
        self.rise(place, node);
        key
    }

    /// Takes an empty group out.
    fn end(&mut self, name: u32, place: usize) {
        if let Some(key) = self.groups.key(name) {
            self.groups.remove(key);
        }
        self.heap.swap_remove(place);
        if let Some(moved) = self.heap.get(place).copied() {
            let place = self.rise(place, moved);
            self.sink(place, moved);
        }
        if self.heap.capacity() > SMALL && self.heap.len() < self.heap.capacity() / 4 {
            self.heap.shrink_to(self.heap.len().saturating_mul(2));
        }
    }

    fn put(&mut self, place: usize, node: Node) {
        if let Some(it) = self.heap.get_mut(place) {
            *it = node;
        }
        if let Some(group) = self.groups.at_mut(node.group) {
            group.place = u32::try_from(place).unwrap_or(NOWHERE);
        }
    }

    /// Moves a node from `place` towards the first as far as it belongs; where it then is.
    fn rise(&mut self, mut place: usize, node: Node) -> usize {
        while let Some(above) = place.checked_sub(1).map(|before| before / CHILDREN) {
            let Some(parent) = self.heap.get(above).copied() else { break };
            if !node.comes_before(&parent) {
                break;
            }
            self.put(place, parent);
            place = above;
        }
        self.put(place, node);
        place
    }

    /// Moves a node from `place` away from the first as far as it belongs.
    fn sink(&mut self, mut place: usize, node: Node) {
        loop {
            let first = place.saturating_mul(CHILDREN).saturating_add(1);
            let Some(children) = self.heap.get(first..) else { break };
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
            self.put(place, it);
            place = child;
        }
        self.put(place, node);
    }
}

#[cfg(test)]
mod tests;
