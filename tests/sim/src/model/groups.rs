use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The messages of a FIFO queue, by group and in the order in which they came.
///
/// A message can be received if it is visible and everything before it in its group is: what is hidden holds back
/// what is behind it, never what is before it.
#[derive(Default)]
pub(crate) struct Groups {
    groups: HashMap<Arc<str>, BTreeMap<u64, Member>>,
    /// The groups whose first message is visible, by that message's place in the queue.
    ready: BTreeMap<u64, Arc<str>>,
}

#[derive(Clone, Copy)]
struct Member {
    number: u64,
    is_visible: bool,
}

impl Groups {
    pub(crate) fn insert(&mut self, group: &Arc<str>, order: u64, number: u64, is_visible: bool) {
        self.edit(group, |members| {
            members.insert(order, Member { number, is_visible });
        });
    }

    pub(crate) fn remove(&mut self, group: &Arc<str>, order: u64) {
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
        self.ready.values().filter_map(|group| self.groups.get(group)).flat_map(|members| {
            members.values().take_while(|member| member.is_visible).map(|member| member.number)
        })
    }

    /// Every change goes through here, so that `ready` follows.
    fn edit(&mut self, group: &Arc<str>, change: impl FnOnce(&mut BTreeMap<u64, Member>)) {
        let members = self.groups.entry(Arc::clone(group)).or_default();
        let before = first_visible(members);
        change(members);
        let after = first_visible(members);
        if members.is_empty() {
            self.groups.remove(group);
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
