use alloc::vec::Vec;

/// Values behind generational keys: a key outlives its value harmlessly.
///
/// A slot that is used again gets a new generation, so an old key finds nothing. Generations wrap after 2^32
/// uses of one slot.
#[derive(Clone, Debug)]
pub(crate) struct Slots<V> {
    all: Vec<Slot<V>>,
    /// The first vacant slot; each vacant slot names the next.
    vacant: Option<u32>,
    len: usize,
}

#[derive(Clone, Debug)]
struct Slot<V> {
    generation: u32,
    content: Content<V>,
}

#[derive(Clone, Debug)]
enum Content<V> {
    Full(V),
    Vacant { next: Option<u32> },
}

/// Where a value is, and which of the slot's values it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl<V> Slots<V> {
    pub(crate) const fn new() -> Self {
        Self { all: Vec::new(), vacant: None, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn insert(&mut self, value: V) -> Key {
        self.len = self.len.saturating_add(1);
        if let Some(slot) = self.vacant {
            if let Some(it) = self.all.get_mut(slot as usize) {
                if let Content::Vacant { next } = it.content {
                    self.vacant = next;
                }
                it.content = Content::Full(value);
                return Key { slot, generation: it.generation };
            }
        }
        // 2^32 values of a few bytes each do not fit into memory before they run out of keys.
        let slot = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.all.push(Slot { generation: 0, content: Content::Full(value) });
        Key { slot, generation: 0 }
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<V> {
        let it = self.all.get_mut(key.slot as usize).filter(|it| it.generation == key.generation)?;
        if matches!(it.content, Content::Vacant { .. }) {
            return None;
        }
        it.generation = it.generation.wrapping_add(1);
        let content = core::mem::replace(&mut it.content, Content::Vacant { next: self.vacant });
        self.vacant = Some(key.slot);
        self.len = self.len.saturating_sub(1);
        match content {
            Content::Full(value) => Some(value),
            Content::Vacant { .. } => None,
        }
    }

    pub(crate) fn get(&self, key: Key) -> Option<&V> {
        match self.all.get(key.slot as usize)? {
            Slot { generation, content: Content::Full(value) } if *generation == key.generation => {
                Some(value)
            }
            _ => None,
        }
    }

    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut V> {
        match self.all.get_mut(key.slot as usize)? {
            Slot { generation, content: Content::Full(value) } if *generation == key.generation => {
                Some(value)
            }
            _ => None,
        }
    }

    /// The value in a slot, whichever it is.
    pub(crate) fn at(&self, slot: u32) -> Option<&V> {
        match &self.all.get(slot as usize)?.content {
            Content::Full(value) => Some(value),
            Content::Vacant { .. } => None,
        }
    }

    /// The value in a slot, whichever it is, with its key.
    pub(crate) fn at_mut(&mut self, slot: u32) -> Option<(Key, &mut V)> {
        match self.all.get_mut(slot as usize)? {
            Slot { generation, content: Content::Full(value) } => {
                Some((Key { slot, generation: *generation }, value))
            }
            Slot { .. } => None,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Key, &V)> {
        (0_u32..).zip(&self.all).filter_map(|(slot, it)| match &it.content {
            Content::Full(value) => Some((Key { slot, generation: it.generation }, value)),
            Content::Vacant { .. } => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_key_finds_nothing() {
        let mut slots = Slots::new();
        let first = slots.insert('a');
        assert_eq!(slots.remove(first), Some('a'));
        let second = slots.insert('b');
        assert_eq!(second.slot, first.slot);
        assert_eq!(slots.get(first), None);
        assert_eq!(slots.remove(first), None);
        assert_eq!(slots.get(second), Some(&'b'));
        assert_eq!(slots.len(), 1);
    }

    #[test]
    fn vacant_slots_are_used_again() {
        let mut slots = Slots::new();
        let keys: Vec<Key> = (0..4).map(|value| slots.insert(value)).collect();
        for key in &keys {
            slots.remove(*key);
        }
        for value in 0..4 {
            assert!(slots.insert(value).slot < 4);
        }
        assert_eq!(slots.iter().count(), 4);
    }
}
