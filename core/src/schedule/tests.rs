use super::*;
use alloc::collections::BTreeMap;

fn at(nanos: u64) -> Moment {
    Moment::from_nanos(nanos)
}

#[test]
fn of_one_moment_what_was_scheduled_first_comes_first() {
    let mut schedule = Schedule::default();
    for slot in [3, 1, 2] {
        schedule.set(slot, at(7));
    }
    let order: Vec<u32> = core::iter::from_fn(|| schedule.pop()).map(|node| node.slot).collect();
    assert_eq!(order, [3, 1, 2]);
}

#[test]
fn a_node_put_back_keeps_its_turn() {
    let mut schedule = Schedule::default();
    for slot in 0..3 {
        schedule.set(slot, at(7));
    }
    let first = schedule.pop().unwrap();
    schedule.put_back(first);
    assert_eq!(schedule.pop().map(|node| node.slot), Some(0));
}

#[test]
fn what_is_put_back_in_reverse_is_as_it_was() {
    let mut schedule = Schedule::default();
    for (slot, moment) in [(0, 7), (1, 7), (2, 9), (3, 8), (4, 9), (5, 9)] {
        schedule.set(slot, at(moment));
    }
    for count in 1..=6 {
        let taken: Vec<_> = (0..count).map(|_| schedule.pop().unwrap()).collect();
        for &it in taken.iter().rev() {
            schedule.put_back(it);
        }
    }
    let order: Vec<u32> = core::iter::from_fn(|| schedule.pop()).map(|it| it.slot).collect();
    assert_eq!(order, [0, 1, 3, 2, 4, 5]);
}

#[test]
fn memory_is_given_back() {
    let mut schedule = Schedule::default();
    for slot in 0..10_000 {
        schedule.set(slot, at(u64::from(slot)));
    }
    for slot in 0..10_000 {
        schedule.remove(slot);
    }
    assert!(schedule.heap.capacity() <= SMALL, "{}", schedule.heap.capacity());
    assert_eq!(schedule.groups.len(), 0);
}

/// Against a map that is searched, over many operations from a small generator of its own.
#[test]
fn agrees_with_a_searched_map() {
    let mut schedule = Schedule::default();
    let mut map = BTreeMap::new();
    let mut state = 1_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for _ in 0..20_000 {
        let slot = u32::try_from(random(200)).unwrap();
        match random(4) {
            0 | 1 => {
                let moment = at(random(50));
                schedule.set(slot, moment);
                map.insert(slot, moment);
            }
            2 => assert_eq!(schedule.remove(slot), map.remove(&slot).is_some()),
            _ => {
                let first = schedule.pop();
                assert_eq!(first.map(|node| node.at), map.values().min().copied());
                if let Some(node) = first {
                    assert_eq!(map.remove(&node.slot), Some(node.at));
                }
            }
        }
        assert_eq!(schedule.len(), map.len());
        let due = map.values().filter(|moment| **moment <= at(25)).count();
        assert_eq!(schedule.due(at(25), usize::MAX), due);
        assert_eq!(schedule.at(slot), map.get(&slot).copied());
    }
}
