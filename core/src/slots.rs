use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// Values behind generational keys: a key outlives its value harmlessly.
///
/// Each value gets a new generation, so an old key finds nothing. Generations wrap after 2^32 values.
///
/// They lie in pages, so that growing copies nothing, and a page that is empty is given back.
#[derive(Clone, Debug)]
pub(crate) struct Slots<V, const PAGE: usize = 64> {
    pages: Vec<Option<Box<Page<V, PAGE>>>>,
    /// Pages with room. The lowest is filled first, so that the others become empty.
    room: BTreeSet<u32>,
    /// Numbers of pages that were given back.
    gone: BTreeSet<u32>,
    len: usize,
    generation: u32,
}

#[derive(Clone, Debug)]
struct Page<V, const PAGE: usize> {
    /// A bit for each place that has a value: a page has 64 places at most.
    taken: u64,
    places: [Place<V>; PAGE],
}

/// A generation lies beside its value: whoever looks for one finds both in the same cache line.
#[derive(Clone, Debug)]
struct Place<V> {
    generation: u32,
    value: Option<V>,
}

/// Where a value is, and which of the slot's values it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl<V, const PAGE: usize> Slots<V, PAGE> {
    const FULL: u64 = {
        assert!(PAGE > 0 && PAGE <= 64, "a bit for each place");
        u64::MAX >> (64 - PAGE)
    };

    pub(crate) const fn new() -> Self {
        Self { pages: Vec::new(), room: BTreeSet::new(), gone: BTreeSet::new(), len: 0, generation: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn insert(&mut self, value: V) -> Key {
        let number = self.page_with_room();
        self.generation = self.generation.wrapping_add(1);
        let generation = self.generation;
        let mut place = 0;
        if let Some(Some(page)) = self.pages.get_mut(number as usize) {
            place = page.taken.trailing_ones();
            if let Some(it) = page.places.get_mut(place as usize) {
                *it = Place { generation, value: Some(value) };
                page.taken |= 1 << place;
            }
            if page.taken == Self::FULL {
                self.room.remove(&number);
            }
        }
        self.len = self.len.saturating_add(1);
        // 2^32 values of a few bytes each do not fit into memory before they run out of slots.
        Key { slot: number.saturating_mul(Self::PLACES).saturating_add(place), generation }
    }

    fn page_with_room(&mut self) -> u32 {
        if let Some(&number) = self.room.first() {
            return number;
        }
        let places = core::array::from_fn(|_| Place { generation: 0, value: None });
        let page = Page { taken: 0, places };
        let page = Some(Box::new(page));
        let number = if let Some(number) = self.gone.pop_first() {
            if let Some(it) = self.pages.get_mut(number as usize) {
                *it = page;
            }
            number
        } else {
            self.pages.push(page);
            u32::try_from(self.pages.len()).unwrap_or(u32::MAX).saturating_sub(1)
        };
        self.room.insert(number);
        number
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<V> {
        let value = self.place_mut(key)?.take()?;
        self.vacated(key.slot);
        Some(value)
    }

    /// Drops a value where it is; whether it was there.
    pub(crate) fn discard(&mut self, key: Key) -> bool {
        let Some(place @ Some(_)) = self.place_mut(key) else { return false };
        *place = None;
        self.vacated(key.slot);
        true
    }

    #[inline]
    fn place_mut(&mut self, key: Key) -> Option<&mut Option<V>> {
        let (number, place) = Self::split(key.slot);
        self.pages.get_mut(number)?.as_mut()?.places.get_mut(place)?.of_mut(key.generation)
    }

    /// A slot has become vacant.
    fn vacated(&mut self, slot: u32) {
        let (number, place) = Self::split(slot);
        let Some(Some(page)) = self.pages.get_mut(number) else { return };
        let was_full = page.taken == Self::FULL;
        page.taken &= !(1 << place);
        let is_empty = page.taken == 0;
        self.len = self.len.saturating_sub(1);
        let number = slot / Self::PLACES;
        if was_full {
            self.room.insert(number);
        }
        // One page with room stays, for the next value.
        if is_empty && self.room.len() > 1 {
            self.give_back(number);
        }
    }

    fn give_back(&mut self, number: u32) {
        self.room.remove(&number);
        self.gone.insert(number);
        if let Some(it) = self.pages.get_mut(number as usize) {
            *it = None;
        }
        while let Some(None) = self.pages.last() {
            self.pages.pop();
            self.gone.pop_last();
        }
    }

    #[inline]
    pub(crate) fn get(&self, key: Key) -> Option<&V> {
        let (number, place) = Self::split(key.slot);
        let place = self.pages.get(number)?.as_ref()?.places.get(place)?;
        place.value.as_ref().filter(|_| place.generation == key.generation)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut V> {
        self.place_mut(key)?.as_mut()
    }

    /// The value in a slot, whichever it is.
    #[inline]
    pub(crate) fn at(&self, slot: u32) -> Option<&V> {
        let (number, place) = Self::split(slot);
        self.pages.get(number)?.as_ref()?.places.get(place)?.value.as_ref()
    }

    /// The value in a slot, whichever it is.
    #[inline]
    pub(crate) fn at_mut(&mut self, slot: u32) -> Option<&mut V> {
        let (number, place) = Self::split(slot);
        self.pages.get_mut(number)?.as_mut()?.places.get_mut(place)?.value.as_mut()
    }

    /// The value in a slot, whichever it is, with its key.
    #[inline]
    pub(crate) fn entry_mut(&mut self, slot: u32) -> Option<(Key, &mut V)> {
        let (number, place) = Self::split(slot);
        let place = self.pages.get_mut(number)?.as_mut()?.places.get_mut(place)?;
        Some((Key { slot, generation: place.generation }, place.value.as_mut()?))
    }

    /// The key of the value in a slot, whichever it is.
    #[inline]
    pub(crate) fn key(&self, slot: u32) -> Option<Key> {
        let (number, place) = Self::split(slot);
        let place = self.pages.get(number)?.as_ref()?.places.get(place)?;
        place.value.as_ref()?;
        Some(Key { slot, generation: place.generation })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Key, &V)> {
        let pages = (0..).zip(&self.pages).filter_map(|(number, page)| Some((number, page.as_ref()?)));
        pages.flat_map(|(number, page): (usize, _)| {
            let first = u32::try_from(number.saturating_mul(PAGE)).unwrap_or(u32::MAX);
            (first..).zip(&page.places).filter_map(|(slot, place)| {
                Some((Key { slot, generation: place.generation }, place.value.as_ref()?))
            })
        })
    }

    #[expect(clippy::cast_possible_truncation, reason = "64 at most")]
    const PLACES: u32 = PAGE as u32;

    #[inline]
    const fn split(slot: u32) -> (usize, usize) {
        (slot as usize / PAGE, slot as usize % PAGE)
    }
}

impl<V> Place<V> {
    /// The value where it is of this generation.
    #[inline]
    fn of_mut(&mut self, generation: u32) -> Option<&mut Option<V>> {
        (self.generation == generation).then_some(&mut self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_key_finds_nothing() {
        let mut slots: Slots<_> = Slots::new();
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
        let mut slots: Slots<_> = Slots::new();
        let keys: Vec<Key> = (0..4).map(|value| slots.insert(value)).collect();
        for key in &keys {
            slots.remove(*key);
        }
        for value in 0..4 {
            assert!(slots.insert(value).slot < 4);
        }
        assert_eq!(slots.iter().count(), 4);
    }

    #[test]
    fn an_old_key_finds_nothing_in_a_page_that_is_new() {
        let mut slots: Slots<_, 2> = Slots::new();
        let keys: Vec<Key> = (0..6).map(|value| slots.insert(value)).collect();
        for key in &keys {
            slots.remove(*key);
        }
        assert!(slots.pages.len() <= 2, "empty pages are given back");
        let again: Vec<Key> = (0..6).map(|value| slots.insert(value)).collect();
        for (old, new) in keys.iter().zip(&again) {
            assert_eq!((old.slot, slots.get(*old)), (new.slot, None));
        }
    }

    #[test]
    fn the_lowest_page_is_filled_first() {
        let mut slots: Slots<_, 2> = Slots::new();
        let keys: Vec<Key> = (0..8).map(|value| slots.insert(value)).collect();
        slots.remove(keys[6]);
        slots.remove(keys[1]);
        assert_eq!(slots.insert(9).slot, 1);
        slots.remove(keys[7]);
        assert_eq!(slots.pages.len(), 4, "one page with room stays");
        slots.remove(keys[2]);
        slots.remove(keys[3]);
        assert!(slots.pages[1].is_none());
        assert_eq!(slots.iter().map(|(key, _)| key.slot).collect::<Vec<_>>(), [0, 1, 4, 5]);
    }
}
