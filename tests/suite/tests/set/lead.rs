//! Waking a little before a middle, for timers that are late.

use std::time::Duration;

use sqs_lease_core::{Answer, Failure, SetPolicy};

use super::{Set, call, calls, insert, keys, ms};

fn leading(millis: u64) -> SetPolicy {
    SetPolicy::new().lead(Duration::from_millis(millis))
}

#[test]
fn with_a_lead_the_first_goes_so_much_before_its_middle() {
    let mut set = Set::new(leading(2));
    insert(&mut set, 0, 30);
    assert_eq!(set.poll_timeout(), Some(ms(14_998)));
    assert_eq!(calls(&mut set, 14_997), [], "the timer was early");
    let first = call(&mut set, 14_998);
    set.handle_answer(first.id, Answer::Done, ms(15_000));
    assert_eq!(calls(&mut set, 15_000), []);
    assert_eq!(set.poll_timeout(), Some(ms(14_998 + 15_000 - 2)), "counted from the call");
}

#[test]
fn a_lead_reaches_no_farther_than_the_slack() {
    let mut set = Set::new(leading(10_000));
    insert(&mut set, 0, 30);
    assert_eq!(set.poll_timeout(), Some(ms(14_950)));
    call(&mut set, 14_950);
    // A hundredth of a lease of two seconds is less: nothing goes before, and it is not asked for again and again.
    let mut short = Set::new(leading(10_000));
    insert(&mut short, 0, 2);
    assert_eq!(calls(&mut short, 950), []);
    assert_eq!(short.poll_timeout(), Some(ms(1_000)));
    call(&mut short, 1_000);
}

#[test]
fn exact_extensions_have_no_lead() {
    let mut set = Set::new(leading(2).coalesce(0).unwrap());
    insert(&mut set, 0, 30);
    assert_eq!(set.poll_timeout(), Some(ms(15_000)));
    assert_eq!(calls(&mut set, 14_999), []);
    call(&mut set, 15_000);
}

#[test]
fn a_lead_is_no_way_past_the_bound() {
    let mut set = Set::new(leading(2).changes_in_flight(1).unwrap());
    for received in [0, 1_000] {
        for _ in 0..10 {
            insert(&mut set, received, 30);
        }
    }
    let first = call(&mut set, 14_998);
    // No answer yet, and the next ten are ahead of their middle.
    assert_eq!(calls(&mut set, 15_998), []);
    assert_eq!(set.poll_timeout(), Some(ms(16_000)));
    set.handle_answer(first.id, Answer::Failed(Failure::Transient), ms(15_999));
    assert_eq!(call(&mut set, 15_999).entries.len(), 10);
}

#[test]
fn a_lead_of_the_settings_stands_before_that_of_an_adapter() {
    assert_eq!(leading(1).or_lead(Duration::from_millis(2)), leading(1));
    assert_eq!(SetPolicy::new().or_lead(Duration::from_millis(2)), leading(2));
}

/// A hundredth of the short one is 40 ms, a tenth 400.
#[test]
fn with_a_lead_one_that_may_begin_takes_along_another_of_its_moment() {
    let mut set = Set::new(leading(45));
    let both = [insert(&mut set, 0, 30), insert(&mut set, 13_000, 4)];
    assert_eq!(keys(&call(&mut set, 14_955)), both);
}
