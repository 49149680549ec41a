use alloc::vec::Vec;
use core::num::NonZeroU8;

use crate::links::{Links, NOWHERE};
use crate::slots::{Key, Slots};
use crate::time::Moment;
use crate::visibility::Visibility;

/// What comes first: slots in the order of their moments, each at most once.
///
/// Leases that were extended by one call are due at one moment again, and so are many more: a moment has a node in a
/// heap of eight children a node, and its slots lie in groups of ten, one behind the other. Of the same moment,
/// what was scheduled first comes first.
///
/// A link says where a slot is. It is believed only where the slot is there indeed: so what is taken out together is
/// taken out of the group alone, and its links lie until it is scheduled again or [removed](Self::remove).
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    heap: Vec<Node>,
    groups: Slots<Group>,
    links: Links,
    /// What was pushed last, and its moment. Only there more may follow: all else of its moment is older.
    newest: Newest,
    newest_at: Moment,
    turn: u32,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
enum Newest {
    Alone(u32),
    Group(Key),
}

/// Sixteen bytes: four nodes a cache line.
#[derive(Clone, Copy, Debug)]
struct Node {
    at: Moment,
    turn: u32,
    /// A slot that is alone at its moment, marked [`ALONE`], or the first group.
    name: u32,
}

/// One to ten slots of one moment in their order, with gaps where some have left.
#[derive(Clone, Copy, Debug)]
struct Group {
    slots: [u32; GROUP],
    at: Moment,
    /// The group before this one; of the first, where in the heap its node is, marked [`ALONE`].
    before: u32,
    after: u32,
    len: NonZeroU8,
    /// The places from here on were never taken.
    end: u8,
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
    #[inline]
    pub(crate) fn at(&self) -> Moment {
        self.at
    }

    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = Taken> {
        let Self { at, turn, slots, len } = *self;
        slots.into_iter().take(len).map(move |slot| Taken { at, slot, turn })
    }
}

/// As many as fit into a call.
const GROUP: usize = Visibility::BATCH;
/// The last place of a group.
const LAST: usize = GROUP - 1;
const CHILDREN: usize = 8;
/// Below this much room a heap is not worth shrinking.
const SMALL: usize = 256;
/// Marks what has no group: 2^31 leases do not fit into memory.
const ALONE: u32 = 1 << 31;
/// A link into a group is its number times this, and the place in it.
const PLACES: u32 = 16;

impl Group {
    const EMPTY: Self = Self {
        slots: [NOWHERE; GROUP],
        at: Moment::ORIGIN,
        before: NOWHERE,
        after: NOWHERE,
        len: NonZeroU8::MIN,
        end: 0,
    };
}

impl Node {
    fn comes_before(&self, other: &Self) -> bool {
        // Turns wrap; half the range apart is more than are ever scheduled at once.
        self.at < other.at || (self.at == other.at && self.turn.wrapping_sub(other.turn) > u32::MAX / 2)
    }
}

/// Where a slot is.
#[derive(Clone, Copy)]
enum Place {
    /// In the heap.
    Alone(usize),
    /// In a group, and where in it.
    Grouped(u32, usize),
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            heap: Vec::new(),
            groups: Slots::new(),
            links: Links::default(),
            newest: Newest::Alone(NOWHERE),
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
    #[inline]
    pub(crate) fn at(&self, slot: u32) -> Option<Moment> {
        match self.place(slot, self.links.get(slot))? {
            Place::Alone(place) => self.heap.get(place).map(|node| node.at),
            Place::Grouped(name, _) => self.groups.at(name).map(|group| group.at),
        }
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
        self.push_all(&[slot], at);
    }

    /// Schedules slots that are not scheduled for one moment.
    pub(crate) fn push_all(&mut self, slots: &[u32], at: Moment) {
        self.len = self.len.saturating_add(slots.len());
        for together in slots.chunks(GROUP) {
            if at != self.newest_at || !self.follow(together, at) {
                self.begin(together, at);
            }
        }
    }

    /// Takes a slot out; whether it was in.
    pub(crate) fn remove(&mut self, slot: u32) -> bool {
        let link = self.links.remove(slot);
        if link == NOWHERE {
            return false;
        }
        let Some(place) = self.place(slot, link) else { return false };
        self.len = self.len.saturating_sub(1);
        match place {
            Place::Alone(place) => self.end(place),
            Place::Grouped(name, place) => {
                let Some(group) = self.groups.at_mut(name) else { return true };
                if let Some(it) = group.slots.get_mut(place) {
                    *it = NOWHERE;
                }
                self.shorten(name, 1);
            }
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
        if node.name & ALONE != 0 {
            *due = due.saturating_add(1);
        }
        let mut name = node.name;
        while let Some(group) = self.groups.at(name).filter(|_| name & ALONE == 0 && *due < enough) {
            *due = due.saturating_add(usize::from(group.len.get()));
            name = group.after;
        }
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

    /// Takes out the first and those of its moment that lie beside it, where their moment has come: one to `most`.
    #[inline]
    pub(crate) fn pop_group_due(&mut self, now: Moment, most: usize) -> Option<TakenGroup> {
        let node = *self.heap.first().filter(|node| node.at <= now)?;
        Some(self.pop_group(node, most))
    }

    fn pop_group(&mut self, Node { at, turn, name }: Node, most: usize) -> TakenGroup {
        let mut taken = TakenGroup { at, turn, slots: [NOWHERE; GROUP], len: 1 };
        if name & ALONE != 0 {
            taken.slots = [name ^ ALONE; GROUP];
            self.end(0);
        } else if let Some(group) = self.groups.at_mut(name) {
            taken.len = usize::from(group.len.get()).min(most);
            if taken.len == GROUP {
                taken.slots = group.slots;
            } else {
                let left = group.slots.iter_mut().filter(|slot| **slot != NOWHERE);
                for (place, slot) in taken.slots.iter_mut().take(taken.len).zip(left) {
                    *place = core::mem::replace(slot, NOWHERE);
                }
            }
            self.shorten(name, taken.len);
        }
        self.len = self.len.saturating_sub(taken.len);
        taken
    }

    pub(crate) fn pop(&mut self) -> Option<Taken> {
        self.pop_due(Moment::MAX)
    }

    /// Puts back what was the first, in its old turn. Of several, the last that was taken out goes first.
    pub(crate) fn put_back(&mut self, Taken { at, slot, turn }: Taken) {
        self.len = self.len.saturating_add(1);
        let first = self.heap.first().filter(|node| (node.at, node.turn) == (at, turn)).copied();
        let Some(first) = first else {
            self.add(Node { at, turn, name: slot | ALONE });
            return;
        };
        // More are likely to follow: room is left before it.
        let name =
            if first.name & ALONE == 0 { first.name } else { self.group_alone(first.name ^ ALONE, 0, LAST) };
        let Some(group) = self.groups.at_mut(name) else { return };
        let begins = group.slots.iter().position(|its| *its != NOWHERE);
        if let Some(place) = begins.and_then(|begins| begins.checked_sub(1)) {
            if let Some(it) = group.slots.get_mut(place) {
                *it = slot;
            }
            group.len = group.len.saturating_add(1);
            self.link(slot, name, place);
        } else {
            let before = core::mem::replace(&mut group.before, NOWHERE);
            let key = self.insert(&[slot], LAST, Group { before, after: name, ..Group::EMPTY }, at);
            if let Some(group) = self.groups.at_mut(name) {
                group.before = key.slot;
            }
            if let Some(node) = self.heap.first_mut() {
                node.name = key.slot;
            }
        }
    }

    /// Where a slot is that has this link, if it is there.
    #[inline]
    fn place(&self, slot: u32, link: u32) -> Option<Place> {
        if link & ALONE != 0 {
            // Also where there is no link.
            let place = (link ^ ALONE) as usize;
            self.heap.get(place).filter(|node| node.name == slot | ALONE)?;
            return Some(Place::Alone(place));
        }
        let (name, place) = (link / PLACES, (link % PLACES) as usize);
        self.groups.at(name)?.slots.get(place).filter(|its| **its == slot)?;
        Some(Place::Grouped(name, place))
    }

    fn link(&mut self, slot: u32, name: u32, place: usize) {
        let place = u32::try_from(place).unwrap_or(0);
        self.links.set(slot, name.saturating_mul(PLACES).saturating_add(place));
    }

    /// Puts slots behind what was pushed last, where that is of this moment and still there.
    fn follow(&mut self, together: &[u32], at: Moment) -> bool {
        let key = match self.newest {
            Newest::Group(key) => key,
            Newest::Alone(slot) => {
                let Some(Place::Alone(place)) = self.place(slot, self.links.get(slot)) else { return false };
                // Not one that was pushed again since.
                if self.heap.get(place).is_none_or(|node| (node.at, node.turn) != (at, self.turn)) {
                    return false;
                }
                let name = self.group_alone(slot, place, 0);
                let Some(key) = self.groups.key(name) else { return false };
                key
            }
        };
        let Some(group) = self.groups.get_mut(key) else { return false };
        let end = usize::from(group.end);
        if let Some(room) = group.slots.get_mut(end..end.saturating_add(together.len())) {
            room.copy_from_slice(together);
            let more = u8::try_from(together.len()).unwrap_or(u8::MAX);
            group.end = group.end.saturating_add(more);
            group.len = group.len.saturating_add(more);
            for (place, &slot) in (end..).zip(together) {
                self.link(slot, key.slot, place);
            }
            self.newest = Newest::Group(key);
        } else {
            let next = self.insert(together, 0, Group { before: key.slot, ..Group::EMPTY }, at);
            if let Some(group) = self.groups.get_mut(key) {
                group.after = next.slot;
            }
            self.newest = Newest::Group(next);
        }
        true
    }

    /// Makes a group of a slot that is alone at a place of the heap; what it is called.
    fn group_alone(&mut self, slot: u32, place: usize, first: usize) -> u32 {
        let Some(at) = self.heap.get(place).map(|node| node.at) else { return NOWHERE };
        let before = u32::try_from(place).unwrap_or(NOWHERE) | ALONE;
        let name = self.insert(&[slot], first, Group { before, ..Group::EMPTY }, at).slot;
        if let Some(node) = self.heap.get_mut(place) {
            node.name = name;
        }
        name
    }

    /// Makes a group of one to ten slots from a place on.
    fn insert(&mut self, together: &[u32], first: usize, mut group: Group, at: Moment) -> Key {
        for (place, &slot) in group.slots.iter_mut().skip(first).zip(together) {
            *place = slot;
        }
        let len = u8::try_from(together.len()).unwrap_or(u8::MAX);
        group.len = NonZeroU8::new(len).unwrap_or(NonZeroU8::MIN);
        group.end = u8::try_from(first).unwrap_or(u8::MAX).saturating_add(len);
        group.at = at;
        let key = self.groups.insert(group);
        for (place, &slot) in (first..).zip(together) {
            self.link(slot, key.slot, place);
        }
        key
    }

    /// Begins a moment with one to ten slots.
    fn begin(&mut self, together: &[u32], at: Moment) {
        self.turn = self.turn.wrapping_add(1);
        self.newest_at = at;
        let name = if let &[slot] = together {
            self.newest = Newest::Alone(slot);
            slot | ALONE
        } else {
            let key = self.insert(together, 0, Group::EMPTY, at);
            self.newest = Newest::Group(key);
            key.slot
        };
        self.add(Node { at, turn: self.turn, name });
    }

    fn add(&mut self, node: Node) {
        let place = self.heap.len();
        self.heap.push(node);
        self.rise(place, node);
    }

    /// So many slots have left a group: it ends with the last of them.
    fn shorten(&mut self, name: u32, less: usize) {
        let Some(group) = self.groups.at_mut(name) else { return };
        let left = usize::from(group.len.get()).saturating_sub(less);
        if let Some(len) = u8::try_from(left).ok().and_then(NonZeroU8::new) {
            group.len = len;
            return;
        }
        let Group { before, after, .. } = *group;
        if let Some(key) = self.groups.key(name) {
            self.groups.remove(key);
        }
        if let Some(next) = self.groups.at_mut(after) {
            next.before = before;
        }
        if before & ALONE == 0 {
            if let Some(group) = self.groups.at_mut(before) {
                group.after = after;
            }
            return;
        }
        let place = (before ^ ALONE) as usize;
        if after == NOWHERE {
            self.end(place);
        } else if let Some(node) = self.heap.get_mut(place) {
            node.name = after;
        }
    }

    /// Takes a node out of the heap.
    fn end(&mut self, place: usize) {
        if place >= self.heap.len() {
            return;
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

    #[inline]
    fn put(&mut self, place: usize, node: Node) {
        if let Some(it) = self.heap.get_mut(place) {
            *it = node;
        }
        let place = u32::try_from(place).unwrap_or(NOWHERE) | ALONE;
        if node.name & ALONE != 0 {
            self.links.set(node.name ^ ALONE, place);
        } else if let Some(group) = self.groups.at_mut(node.name) {
            group.before = place;
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
