use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// The messages of a FIFO queue, by group and in the order in which they came.
///
/// A message can be received if it is visible and everything before it in its group is: what is hidden holds back
/// what is behind it, never what is before it. And only if it is among so many at the front of the queue.
pub(crate) struct Groups {
    /// The places of all messages, and how many of them, up to which, the queue looks at.
    all: BTreeSet<u64>,
    window: usize,
    inside: usize,
    last: u64,
    by_name: HashMap<Arc<str>, Group>,
    /// The groups whose first message is visible, in turn: a group that was received from comes after the others.
    ready: BTreeMap<u64, Arc<str>>,
    next_turn: u64,
}

#[derive(Default)]
struct Group {
    members: BTreeMap<u64, Member>,
    /// Its place among those that are ready.
    turn: Option<u64>,
}

#[derive(Clone, Copy)]
struct Member {
    number: u64,
    is_visible: bool,
}

impl Groups {
    pub(crate) fn new(window: usize) -> Self {
        Self {
            all: BTreeSet::new(),
            window,
            inside: 0,
            last: 0,
            by_name: HashMap::new(),
            ready: BTreeMap::new(),
            next_turn: 0,
        }
    }

    /// `order` is higher than any before.
    pub(crate) fn insert(&mut self, group: &Arc<str>, order: u64, number: u64, is_visible: bool) {
        self.all.insert(order);
        if self.inside < self.window {
            (self.inside, self.last) = (self.inside + 1, order);
        }
        self.edit(group, |members| {
            members.insert(order, Member { number, is_visible });
        });
    }

    pub(crate) fn remove(&mut self, group: &Arc<str>, order: u64) {
        if self.all.remove(&order) && order <= self.last {
            self.inside -= 1;
            // The first of those that it did not look at moves up.
            if let Some(&next) = self.all.range(self.last + 1..).next() {
                (self.inside, self.last) = (self.inside + 1, next);
            }
        }
        self.edit(group, |members| {
            members.remove(&order);
        });
    }

    pub(crate) fn set_visible(&mut self, group: &Arc<str>, order: u64, is_visible: bool) {
        self.edit(group, |members| {
            if let Some(member) = members.get_mut(&order) {
                member.is_visible = is_visible;
            }
        });
    }

    /// Lets every other group that is ready come first.
    pub(crate) fn move_back(&mut self, group: &Arc<str>) {
        let turn = self.by_name.get_mut(group).and_then(|found| found.turn.as_mut());
        if let Some(turn) = turn
            && let Some(name) = self.ready.remove(turn)
        {
            *turn = self.next_turn;
            self.ready.insert(self.next_turn, name);
            self.next_turn += 1;
        }
    }

    /// What can be received, group by group, the group that has been ready for longest first: one receive takes as
    /// many messages of a group as there are.
    pub(crate) fn receivable(&self) -> impl Iterator<Item = u64> + '_ {
        // With a window of none it looks at nothing.
        let end = self.last + u64::from(self.inside > 0);
        self.ready.values().filter_map(|group| self.by_name.get(group)).flat_map(move |group| {
            let looked_at = group.members.range(..end);
            looked_at.take_while(|(_, member)| member.is_visible).map(|(_, member)| member.number)
        })
    }

    /// Every change goes through here, so that `ready` follows.
    fn edit(&mut self, group: &Arc<str>, change: impl FnOnce(&mut BTreeMap<u64, Member>)) {
        let found = self.by_name.entry(Arc::clone(group)).or_default();
        change(&mut found.members);
        let is_ready = found.members.first_key_value().is_some_and(|(_, first)| first.is_visible);
        match found.turn {
            Some(turn) if !is_ready => {
                self.ready.remove(&turn);
                found.turn = None;
            }
            None if is_ready => {
                found.turn = Some(self.next_turn);
                self.ready.insert(self.next_turn, Arc::clone(group));
                self.next_turn += 1;
            }
            _ => {}
        }
        if found.members.is_empty() {
            self.by_name.remove(group);
        }
    }
}
