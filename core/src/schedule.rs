use core::num::NonZeroU8;

use crate::group::{GROUP, Group, LAST};
use crate::heap::{Heap, Node};
use crate::links::{Links, NOWHERE};
use crate::slots::{Key, Slots};
use crate::time::Moment;

/// What comes first: slots in the order of their moments, each at most once.
///
/// Leases that were extended by one call are due at one moment again, and so are many more: a moment has a node in a
/// heap, and its slots lie in groups of ten, one behind the other. Of the same moment,
/// what was scheduled first comes first.
///
/// A link says where a slot is. It is believed only where the slot is there indeed: so what is taken out together is
/// taken out of the group alone, and its links lie until it is scheduled again or [removed](Self::remove).
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    heap: Heap,
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
    pub(crate) fn iter(&self) -> impl Iterator<Item = Taken> + '_ {
        let Self { at, turn, .. } = *self;
        self.slots.iter().take(self.len).map(move |&slot| Taken { at, slot, turn })
    }
}

/// Marks what has no group: 2^31 leases do not fit into memory.
const ALONE: u32 = 1 << 31;
/// A link into a group is its number times this, and the place in it.
const PLACES: u32 = 16;

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
            heap: Heap::default(),
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
        let mut due = 0_usize;
        self.heap.visit_due(now, |node| {
            if node.name & ALONE != 0 {
                due = due.saturating_add(1);
            }
            let mut name = node.name;
            while let Some(group) = self.groups.at(name).filter(|_| name & ALONE == 0 && due < enough) {
                due = due.saturating_add(usize::from(group.len.get()));
                name = group.after;
            }
            due < enough
        });
        due
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
            (taken.slots, taken.len) = group.take(most);
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
        if let Some(place) = group.precede(slot) {
            self.link_all(&[slot], name, place);
        } else {
            let before = core::mem::replace(&mut group.before, NOWHERE);
            let key = self.insert(&[slot], LAST, Group::new(&[slot], LAST, at, before, name));
            if let Some(group) = self.groups.at_mut(name) {
                group.before = key.slot;
            }
            self.heap.rename(0, key.slot);
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

    /// Whether it keeps next to nothing, and nothing that is scheduled.
    #[cfg(test)]
    pub(crate) fn is_bare(&self) -> bool {
        self.heap.is_small() && self.groups.len() == 0 && self.links.pages() == 0
    }

    fn link_all(&mut self, together: &[u32], name: u32, first: usize) {
        let first = name.saturating_mul(PLACES).saturating_add(u32::try_from(first).unwrap_or(0));
        for (link, &slot) in (first..).zip(together) {
            self.links.set(slot, link);
        }
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
        if let Some(first) = group.follow(together) {
            self.link_all(together, key.slot, first);
            self.newest = Newest::Group(key);
        } else {
            let next = self.insert(together, 0, Group::new(together, 0, at, key.slot, NOWHERE));
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
        let name = self.insert(&[slot], first, Group::new(&[slot], first, at, before, NOWHERE)).slot;
        self.heap.rename(place, name);
        name
    }

    fn insert(&mut self, together: &[u32], first: usize, group: Group) -> Key {
        let key = self.groups.insert(group);
        self.link_all(together, key.slot, first);
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
            let key = self.insert(together, 0, Group::new(together, 0, at, NOWHERE, NOWHERE));
            self.newest = Newest::Group(key);
            key.slot
        };
        self.add(Node { at, turn: self.turn, name });
    }

    fn add(&mut self, node: Node) {
        let Self { heap, links, groups, .. } = self;
        heap.push(node, |node, place| goes(links, groups, node, place));
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
            self.groups.discard(key);
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
        } else {
            self.heap.rename(place, after);
        }
    }

    /// Takes a node out of the heap.
    fn end(&mut self, place: usize) {
        let Self { heap, links, groups, .. } = self;
        heap.remove(place, |node, place| goes(links, groups, node, place));
    }
}

/// Notes where in the heap a node goes.
#[inline]
fn goes(links: &mut Links, groups: &mut Slots<Group>, node: &Node, place: usize) {
    let place = u32::try_from(place).unwrap_or(NOWHERE) | ALONE;
    if node.name & ALONE != 0 {
        links.set(node.name ^ ALONE, place);
    } else if let Some(group) = groups.at_mut(node.name) {
        group.before = place;
    }
}
