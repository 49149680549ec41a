//! How a set keeps its leases: nearly all of them compact, the others aside.

use alloc::vec::Vec;

use crate::lease::machine::Machine;
use crate::lease::machine::compact::{Compact, Terms};
use crate::slots::{Key, Slots};

/// Leases, and what each was inserted with.
#[derive(Clone, Debug)]
pub(super) struct Store<T> {
    leases: Slots<Held<T>>,
    /// Those that do not keep to the ordinary way.
    aside: Slots<Machine, 16>,
    terms: Vec<Shared>,
}

#[derive(Clone, Debug)]
struct Held<T> {
    value: T,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Compact(Compact),
    Aside(Key),
}

/// Terms, and how many compact leases have them.
#[derive(Clone, Copy, Debug)]
struct Shared {
    terms: Terms,
    leases: u32,
}

/// The terms that leases share.
#[derive(Clone, Copy)]
pub(super) struct AllTerms<'a>(&'a [Shared]);

impl AllTerms<'_> {
    #[inline]
    pub(super) fn of(self, compact: &Compact) -> Option<Terms> {
        self.0.get(usize::from(compact.terms())).map(|it| it.terms)
    }
}

/// Leases of more policies than this at once are kept aside.
const MOST_TERMS: usize = 16;

impl<T> Store<T> {
    pub(super) const fn new() -> Self {
        Self { leases: Slots::new(), aside: Slots::new(), terms: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.leases.len()
    }

    pub(super) fn insert(&mut self, value: T, machine: &Machine) -> Key {
        let state = self.pack(machine, None);
        self.leases.insert(Held { value, state })
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<T> {
        let Held { value, state } = self.leases.remove(key)?;
        match state {
            State::Compact(compact) => self.forgo(compact.terms()),
            State::Aside(aside) => {
                self.aside.remove(aside);
            }
        }
        Some(value)
    }

    pub(super) fn value(&self, key: Key) -> Option<&T> {
        self.leases.get(key).map(|held| &held.value)
    }

    pub(super) fn value_mut(&mut self, key: Key) -> Option<&mut T> {
        self.leases.get_mut(key).map(|held| &mut held.value)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        self.leases.iter().map(|(key, held)| (key, &held.value))
    }

    /// The key of the lease in a slot, whichever it is.
    pub(super) fn key(&self, slot: u32) -> Option<Key> {
        self.leases.key(slot)
    }

    /// A lease's machine.
    #[inline]
    pub(super) fn load(&self, key: Key) -> Option<Machine> {
        match &self.leases.get(key)?.state {
            State::Compact(compact) => {
                Some(compact.expand(self.terms.get(usize::from(compact.terms()))?.terms))
            }
            State::Aside(aside) => self.aside.get(*aside).copied(),
        }
    }

    /// The lease in a slot where it is compact, whichever it is, and the terms there are.
    #[inline]
    pub(super) fn compact_at(&mut self, slot: u32) -> Option<(Key, &mut Compact, AllTerms<'_>)> {
        let (key, held) = self.leases.entry_mut(slot)?;
        let State::Compact(compact) = &mut held.state else { return None };
        Some((key, compact, AllTerms(&self.terms)))
    }

    /// A lease, where it is compact, and the terms there are.
    #[inline]
    pub(super) fn compact(&mut self, key: Key) -> Option<(&mut Compact, AllTerms<'_>)> {
        let State::Compact(compact) = &mut self.leases.get_mut(key)?.state else { return None };
        Some((compact, AllTerms(&self.terms)))
    }

    /// Puts back what [`load`](Self::load) gave, changed.
    #[inline]
    pub(super) fn save(&mut self, key: Key, machine: &Machine) {
        let Some(before) = self.leases.get(key).map(|held| held.state) else { return };
        let after = self.pack(machine, Some(before));
        if let Some(held) = self.leases.get_mut(key) {
            held.state = after;
        }
    }

    #[inline]
    fn pack(&mut self, machine: &Machine, before: Option<State>) -> State {
        let terms = machine.terms();
        let had = match before {
            Some(State::Compact(compact)) => Some(compact.terms()),
            _ => None,
        };
        let has = had.filter(|&has| self.terms.get(usize::from(has)).is_some_and(|it| it.terms == terms));
        if let Some(compact) = has.and_then(|has| machine.compact(has)) {
            return State::Compact(compact);
        }
        self.pack_anew(machine, before, had)
    }

    fn pack_anew(&mut self, machine: &Machine, before: Option<State>, had: Option<u8>) -> State {
        if let Some(had) = had {
            self.forgo(had);
        }
        let compact = machine.compact(0).and_then(|compact| {
            let terms = self.share(machine.terms())?;
            Some(State::Compact(compact.with_terms(terms)))
        });
        match (compact, before) {
            (Some(compact), Some(State::Aside(key))) => {
                self.aside.remove(key);
                compact
            }
            (Some(compact), _) => compact,
            (None, Some(State::Aside(key))) => {
                if let Some(it) = self.aside.get_mut(key) {
                    *it = *machine;
                }
                State::Aside(key)
            }
            (None, _) => State::Aside(self.aside.insert(*machine)),
        }
    }

    /// The number of these terms, for one lease more; `None` where too many others are in use.
    fn share(&mut self, terms: Terms) -> Option<u8> {
        let place = self.terms.iter().position(|it| it.terms == terms);
        let place = place.or_else(|| self.terms.iter().position(|it| it.leases == 0));
        let place = place.unwrap_or(self.terms.len());
        if place >= MOST_TERMS {
            return None;
        }
        if place == self.terms.len() {
            self.terms.push(Shared { terms, leases: 0 });
        }
        let it = self.terms.get_mut(place)?;
        *it = Shared { terms, leases: it.leases.saturating_add(1) };
        u8::try_from(place).ok()
    }

    fn forgo(&mut self, terms: u8) {
        if let Some(it) = self.terms.get_mut(usize::from(terms)) {
            it.leases = it.leases.saturating_sub(1);
        }
    }
}
