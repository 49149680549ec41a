//! What is told, and that nothing of it is lost.

use sqs_lease_core::{Answer, Event, Failure};

use super::{Set, call, drain, insert, ms};

#[test]
fn however_much_happens_at_once_all_of_it_is_told() {
    let mut set = Set::new(sqs_lease_core::SetPolicy::new());
    let keys: Vec<_> = (0..500).map(|_| insert(&mut set, 0, 30)).collect();
    let calls = drain(&mut set, 15_000).1;
    assert_eq!(calls.len(), 50);
    for call in calls {
        set.handle_answer(call.id, Answer::Failed(Failure::Gone), ms(15_000));
    }
    // A call of ten that is gone is not about its messages: they are tried until they are over.
    for _ in 0..500 {
        let event = set.poll_event(ms(15_000));
        assert!(matches!(event, Some(Event::Failed { .. })), "{event:?}");
    }
    let mut ended: Vec<_> = std::iter::from_fn(|| set.poll_event(ms(30_000)))
        .filter_map(|event| if let Event::Stopped { key, .. } = event { Some(key) } else { None })
        .collect();
    ended.sort_unstable();
    assert_eq!(ended, keys);
}

#[test]
fn what_happened_before_a_removal_is_still_told_and_nothing_after_it() {
    let mut set = Set::new(sqs_lease_core::SetPolicy::new());
    let key = insert(&mut set, 0, 30);
    let call = call(&mut set, 15_000);
    set.handle_answer(call.id, Answer::Done, ms(16_000));
    assert_eq!(set.remove(key), Some(30));
    assert!(matches!(set.poll_event(ms(16_000)), Some(Event::Extended { key: its, .. }) if its == key));
    assert_eq!(set.get(key), None);
    assert_eq!((set.poll_event(ms(90_000)), set.poll_timeout()), (None, None));
}
