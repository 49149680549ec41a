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
    by_name: HashMap<Arc<str>, BTreeMap<u64, Member>>,
    /// The groups whose first message is visible, by that message's place in the queue.
    ready: BTreeMap<u64, Arc<str>>,
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

    /// What can be received, group by group, the group with the oldest first message first: one receive takes as
    /// many messages of a group as there are.
    pub(crate) fn receivable(&self) -> impl Iterator<Item = u64> + '_ {
        // With a window of none it looks at nothing.
        let looked_at = self.ready.range(..self.last + u64::from(self.inside > 0));
        looked_at.filter_map(|(_, group)| self.by_name.get(group)).flat_map(|members| {
            let looked_at = members.range(..=self.last);
            looked_at.take_while(|(_, member)| member.is_visible).map(|(_, member)| member.number)
        })
    }

    /// Every change goes through here, so that `ready` follows.
    fn edit(&mut self, group: &Arc<str>, change: impl FnOnce(&mut BTreeMap<u64, Member>)) {
        let members = self.by_name.entry(Arc::clone(group)).or_default();
        let before = first_visible(members);
        change(members);
        let after = first_visible(members);
        if members.is_empty() {
            self.by_name.remove(group);
        }
        if before != after {
            before.map(|order| self.ready.remove(&order));
            after.map(|order| self.ready.insert(order, Arc::clone(group)));
        }
    }
}

fn first_visible(members: &BTreeMap<u64, Member>) -> Option<u64> {
    members.first_key_value().filter(|(_, member)| member.is_visible).map(|(&order, _)| order)
}
