use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::task::{Poll, Waker};

// By way of the parent, so that a model checker's test can take this file in with its own locks.
use super::sync::{Mutex, MutexGuard, PoisonError};

/// The one timer that all sleepers share.
pub(crate) trait Alarm {
    /// A point on its clock.
    type Moment: Copy + Ord;

    fn now(&self) -> Self::Moment;

    /// Has [`Timers::ring`] called at that moment, instead of any set before; ready where it has passed.
    fn set(&mut self, at: Self::Moment) -> Poll<()>;
}

/// Many sleepers behind one alarm.
///
/// A request of the SDK's starts several timeouts, nearly all of which end unused. Each of them registered with the
/// reactor would interrupt its wait, in favour of a moment seconds away. Here it costs an entry in a map: the alarm is
/// set anew only for a sleeper who is due before all others. It is left alone when its sleeper goes, and then rings once for nobody.
pub(crate) struct Timers<A: Alarm> {
    state: Mutex<State<A>>,
}

struct State<A: Alarm> {
    alarm: A,
    set_for: Option<A::Moment>,
    /// By when they are due; the number tells those apart that are due at once.
    sleepers: BTreeMap<(A::Moment, u64), Waker>,
    next_number: u64,
}

impl<A: Alarm> Timers<A> {
    pub(crate) fn new(alarm: A) -> Self {
        let state = State { alarm, set_for: None, sleepers: BTreeMap::new(), next_number: 0 };
        Self { state: Mutex::new(state) }
    }

    /// Ready once `deadline` has passed; until then `waker` is kept under `number`, and woken when it has.
    pub(crate) fn poll(&self, deadline: A::Moment, number: &mut Option<u64>, waker: &Waker) -> Poll<()> {
        // Wakers are woken and dropped outside of the lock: both may run others' code.
        let mut due = Vec::new();
        let mut replaced = None;
        {
            let mut state = self.lock();
            if deadline <= state.alarm.now() {
                if let Some(number) = number.take() {
                    replaced = state.sleepers.remove(&(deadline, number));
                }
                drop(state);
                drop(replaced);
                return Poll::Ready(());
            }
            let number = *number.get_or_insert_with(|| state.number());
            match state.sleepers.entry((deadline, number)) {
                Entry::Occupied(mut sleeper) if !sleeper.get().will_wake(waker) => {
                    replaced = Some(sleeper.insert(waker.clone()));
                }
                Entry::Occupied(_) => {}
                Entry::Vacant(place) => {
                    place.insert(waker.clone());
                }
            }
            if state.set_for.is_none_or(|set_for| deadline < set_for) {
                state.set_alarm(&mut due);
            }
        }
        drop(replaced);
        wake(due);
        Poll::Pending
    }

    /// Forgets a sleeper.
    pub(crate) fn remove(&self, deadline: A::Moment, number: u64) {
        let removed = self.lock().sleepers.remove(&(deadline, number));
        drop(removed);
    }

    /// What the alarm calls; at any other time it does no harm.
    pub(crate) fn ring(&self) {
        let mut due = Vec::new();
        {
            let mut state = self.lock();
            state.take_due(&mut due);
            state.set_alarm(&mut due);
        }
        wake(due);
    }

    fn lock(&self) -> MutexGuard<'_, State<A>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A: Alarm> State<A> {
    fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    fn take_due(&mut self, due: &mut Vec<Waker>) {
        let now = self.alarm.now();
        while let Some(first) = self.sleepers.first_entry()
            && first.key().0 <= now
        {
            due.push(first.remove());
        }
    }

    /// Sets the alarm for the first sleeper, passing over those who have become due meanwhile.
    fn set_alarm(&mut self, due: &mut Vec<Waker>) {
        loop {
            self.set_for = self.sleepers.first_key_value().map(|((deadline, _), _)| *deadline);
            match self.set_for {
                Some(deadline) if self.alarm.set(deadline).is_ready() => self.take_due(due),
                _ => return,
            }
        }
    }
}

fn wake(due: Vec<Waker>) {
    for waker in due {
        // One that panics is not to cost the others, who are strangers to it, their wake-up.
        let _ = std::panic::catch_unwind(|| waker.wake());
    }
}
