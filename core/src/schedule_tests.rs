use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::schedule::Schedule;
use crate::time::Moment;

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

/// As long as nothing was scheduled for another moment in between.
#[test]
fn what_comes_one_by_one_for_one_moment_is_taken_out_together() {
    let mut schedule = Schedule::default();
    for slot in 0..25 {
        schedule.push(slot, at(7));
    }
    let taken = core::iter::from_fn(|| schedule.pop_group_due(at(7), 10));
    let together: Vec<Vec<u32>> = taken.map(|it| it.iter().map(|it| it.slot).collect()).collect();
    let tens = [0..10, 10..20, 20..25];
    assert_eq!(together, tens.map(Vec::from_iter));
}

#[test]
fn what_is_put_back_is_taken_out_together_with_what_it_came_from() {
    let mut schedule = Schedule::default();
    schedule.push_all(&[4, 2, 0, 1, 3], at(7));
    let taken: Vec<_> = (0..3).map(|_| schedule.pop().unwrap()).collect();
    for &it in taken.iter().rev() {
        schedule.put_back(it);
    }
    let together = schedule.pop_group_due(at(7), 10).unwrap();
    assert_eq!(together.iter().map(|it| it.slot).collect::<Vec<_>>(), [4, 2, 0, 1, 3]);
}

#[test]
fn what_is_due_is_counted_only_as_far_as_is_asked() {
    let mut schedule = Schedule::default();
    for slot in 0..50 {
        schedule.push(slot, at(u64::from(slot)));
    }
    for enough in 1..50 {
        assert_eq!(schedule.due(at(100), enough), enough, "each is alone");
    }
    let mut schedule = Schedule::default();
    schedule.push_all(&(0..50).collect::<Vec<_>>(), at(7));
    for (enough, counted) in [(1, 10), (10, 10), (11, 20), (50, 50), (51, 50)] {
        assert_eq!(schedule.due(at(7), enough), counted, "ten at a time, where {enough} are enough");
    }
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
    assert!(schedule.is_bare(), "{schedule:?}");
}

/// Against a map, over many operations from a small generator of its own: moments and order, whatever goes together.
#[test]
fn agrees_with_a_sorted_map() {
    let mut schedule = Schedule::default();
    // By moment and turn, and back.
    let mut map = BTreeMap::new();
    let mut keys: BTreeMap<u32, (Moment, u32)> = BTreeMap::new();
    let mut turns = 0..;
    let mut state = 1_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((state >> 33) % below).unwrap()
    };
    for round in 0..60_000 {
        // Now many moments, now few.
        let moments = if round / 5_000 % 2 == 0 { 60 } else { 4 };
        let slot = u32::try_from(random(200)).unwrap();
        match random(6) {
            0 | 1 => {
                let moment = at(random(moments) as u64);
                schedule.set(slot, moment);
                if keys.get(&slot).is_none_or(|key| key.0 != moment) {
                    keys.insert(slot, (moment, turns.next().unwrap())).map(|key| map.remove(&key));
                    map.insert(keys[&slot], slot);
                }
            }
            2 => {
                let absent = (slot..200).filter(|slot| !keys.contains_key(slot));
                let absent: Vec<u32> = absent.take(random(13)).collect();
                let moment = at(random(moments) as u64);
                schedule.push_all(&absent, moment);
                for slot in absent {
                    keys.insert(slot, (moment, turns.next().unwrap()));
                    map.insert(keys[&slot], slot);
                }
            }
            3 => {
                let key = keys.remove(&slot);
                assert_eq!(schedule.remove(slot), key.is_some());
                key.map(|key| map.remove(&key));
            }
            _ => {
                // Some are taken out one after the other, alone or together, and the last of them put back.
                let mut taken = Vec::new();
                for _ in 0..random(4) {
                    let most = random(10) + 1;
                    let first = schedule.first_at();
                    assert_eq!(first, map.keys().next().map(|key| key.0));
                    let Some(group) = schedule.pop_group_due(at(30), most) else {
                        assert!(first.is_none_or(|first| first > at(30)));
                        break;
                    };
                    assert!((1..=most).contains(&group.iter().count()));
                    for it in group.iter() {
                        let (key, slot) = map.pop_first().unwrap();
                        assert_eq!((it.slot, it.at), (slot, key.0));
                        keys.remove(&slot);
                        taken.push((it, key));
                    }
                }
                for (it, key) in taken.drain(random(taken.len() as u64 + 1)..).rev() {
                    schedule.put_back(it);
                    keys.insert(it.slot, key);
                    map.insert(key, it.slot);
                }
            }
        }
        assert_eq!(schedule.len(), map.len());
        assert_eq!(schedule.due(at(25), usize::MAX), map.range(..(at(26), 0)).count());
        assert_eq!(schedule.at(slot), keys.get(&slot).map(|key| key.0));
    }
}
