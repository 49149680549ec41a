//! Schedules to compare with.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::schedule::Schedule;
use crate::time::Moment;

/// What a schedule has to do.
pub trait Plan: Default {
    fn insert(&mut self, slot: u32, at: u64);
    /// When the first is due.
    fn next(&mut self) -> u64;
    /// Takes out up to ten that are due.
    fn take(&mut self, now: u64, call: &mut Vec<u32>);
    fn give(&mut self, call: &[u32], at: u64);
    fn cancel(&mut self, slot: u32);
    fn is_empty(&self) -> bool;
}

impl Plan for Schedule {
    fn insert(&mut self, slot: u32, at: u64) {
        self.set(slot, Moment::from_nanos(at));
    }

    fn next(&mut self) -> u64 {
        self.first_at().map_or(u64::MAX, Moment::as_nanos)
    }

    fn take(&mut self, now: u64, call: &mut Vec<u32>) {
        while call.len() < 10 {
            let Some(group) = self.pop_group_due(Moment::from_nanos(now), 10 - call.len()) else { break };
            call.extend(group.iter().map(|taken| taken.slot));
        }
    }

    fn give(&mut self, call: &[u32], at: u64) {
        self.push_all(call, Moment::from_nanos(at));
    }

    fn cancel(&mut self, slot: u32) {
        self.remove(slot);
    }

    fn is_empty(&self) -> bool {
        Self::is_empty(self)
    }
}

/// The standard library's heap. What was cancelled or moved stays in it until its moment.
#[derive(Default)]
pub struct Lazy {
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    /// For when each slot is scheduled; zero where it is not.
    at: Vec<u64>,
    len: usize,
}

impl Plan for Lazy {
    fn insert(&mut self, slot: u32, at: u64) {
        if self.at.len() <= slot as usize {
            self.at.resize(slot as usize + 1, 0);
        }
        self.at[slot as usize] = at;
        self.heap.push(Reverse((at, slot)));
        self.len += 1;
    }

    fn next(&mut self) -> u64 {
        while let Some(&Reverse((at, slot))) = self.heap.peek() {
            if self.at[slot as usize] == at {
                return at;
            }
            self.heap.pop();
        }
        u64::MAX
    }

    fn take(&mut self, now: u64, call: &mut Vec<u32>) {
        while call.len() < 10 && self.next() <= now {
            let Some(Reverse((_, slot))) = self.heap.pop() else { break };
            self.at[slot as usize] = 0;
            self.len -= 1;
            call.push(slot);
        }
    }

    fn give(&mut self, call: &[u32], at: u64) {
        for &slot in call {
            self.insert(slot, at);
        }
    }

    fn cancel(&mut self, slot: u32) {
        self.len -= usize::from(std::mem::take(&mut self.at[slot as usize]) != 0);
    }

    fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Buckets of four milliseconds, round and round: no order within a bucket.
pub struct Wheel {
    buckets: Vec<Vec<u32>>,
    /// In which bucket each slot is, and where; `u32::MAX`: in none.
    places: Vec<(u32, u32)>,
    /// The first tick that may have something.
    tick: u64,
    len: usize,
}

const TICK: u64 = 4_000_000;
const ROUND: usize = 8192;
const BUCKETS: u64 = ROUND as u64;

impl Default for Wheel {
    fn default() -> Self {
        Self { buckets: vec![Vec::new(); ROUND], places: Vec::new(), tick: 0, len: 0 }
    }
}

impl Plan for Wheel {
    fn insert(&mut self, slot: u32, at: u64) {
        if self.places.len() <= slot as usize {
            self.places.resize(slot as usize + 1, (u32::MAX, 0));
        }
        let bucket = u32::try_from(at / TICK % BUCKETS).unwrap();
        let its = &mut self.buckets[bucket as usize];
        self.places[slot as usize] = (bucket, u32::try_from(its.len()).unwrap());
        its.push(slot);
        self.len += 1;
    }

    fn next(&mut self) -> u64 {
        let found = (self.tick..self.tick + BUCKETS)
            .find(|tick| !self.buckets[usize::try_from(tick % BUCKETS).unwrap()].is_empty());
        // Those of a tick are due at its end: none of them goes early.
        found.map_or(u64::MAX, |tick| (tick + 1) * TICK)
    }

    fn take(&mut self, now: u64, call: &mut Vec<u32>) {
        while self.tick < now / TICK && call.len() < 10 {
            let bucket = &mut self.buckets[usize::try_from(self.tick % BUCKETS).unwrap()];
            let Some(slot) = bucket.pop() else {
                self.tick += 1;
                continue;
            };
            self.places[slot as usize].0 = u32::MAX;
            self.len -= 1;
            call.push(slot);
        }
    }

    fn give(&mut self, call: &[u32], at: u64) {
        for &slot in call {
            self.insert(slot, at);
        }
    }

    fn cancel(&mut self, slot: u32) {
        let (bucket, place) = self.places[slot as usize];
        let Some(its) = self.buckets.get_mut(bucket as usize) else { return };
        its.swap_remove(place as usize);
        if let Some(&moved) = its.get(place as usize) {
            self.places[moved as usize].1 = place;
        }
        self.places[slot as usize].0 = u32::MAX;
        self.len -= 1;
    }

    fn is_empty(&self) -> bool {
        self.len == 0
    }
}
