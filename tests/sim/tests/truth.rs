//! What the model knows and no consumer does: who held a message when, and how long it lay hidden for nobody.

use std::time::Duration;

use sqs_lease_sim::{Delivery, Model, Moment, Receive, Settings};

const QUEUE: &str = "jobs";

fn at(secs: u64) -> Moment {
    Moment::from_secs(secs)
}

fn one_message(settings: Settings) -> Model {
    let mut model = Model::new(settings);
    model.create_queue(QUEUE, &[("VisibilityTimeout", "10")], at(0)).unwrap();
    model.send(QUEUE, "work", at(0)).unwrap();
    model
}

fn receive(model: &mut Model, now: Moment) -> Option<Delivery> {
    model.receive(QUEUE, &Receive::new(), now).unwrap().pop()
}

#[test]
fn a_handler_that_was_told_in_time_overlaps_with_nobody() {
    let mut model = one_message(Settings::default());
    let first = receive(&mut model, at(0)).unwrap();
    model.let_go(QUEUE, &first.receipt_handle, at(10)).unwrap();
    let second = receive(&mut model, at(10)).unwrap();
    assert_eq!(model.overlaps(), []);
    model.delete(QUEUE, &second.receipt_handle, at(12)).unwrap();
    assert_eq!(model.overlaps(), []);
}

#[test]
fn the_same_moment_is_no_overlap_in_whichever_order() {
    let mut model = one_message(Settings::default());
    let first = receive(&mut model, at(0)).unwrap();
    receive(&mut model, at(10)).unwrap();
    assert_eq!(model.overlaps().len(), 1, "as far as is known");
    model.let_go(QUEUE, &first.receipt_handle, at(10)).unwrap();
    assert_eq!(model.overlaps(), []);
}

#[test]
fn three_holders_are_three_overlaps() {
    let mut model = one_message(Settings::default());
    for second in [0, 10, 20] {
        receive(&mut model, at(second)).unwrap();
    }
    let pairs: Vec<_> = model.overlaps().iter().map(|it| (it.held, it.began, it.until)).collect();
    assert_eq!(pairs, [(1, 2, None), (1, 3, None), (2, 3, None)]);
}

#[test]
fn a_delete_by_an_old_handle_ends_the_old_hold_alone() {
    let mut model = one_message(Settings::default());
    let first = receive(&mut model, at(0)).unwrap();
    receive(&mut model, at(10)).unwrap();
    model.delete(QUEUE, &first.receipt_handle, at(13)).unwrap();
    assert_eq!(model.overlaps()[0].until, Some(at(13)));
}

#[test]
fn hidden_for_nobody_from_the_crash_to_the_deadline_or_the_next_receive() {
    let mut model = one_message(Settings::default());
    let first = receive(&mut model, at(0)).unwrap();
    model.change_visibility(QUEUE, &first.receipt_handle, 10, at(5)).unwrap();
    model.crash(QUEUE, &first.receipt_handle, at(6)).unwrap();
    let hidden = |model: &Model| model.hidden_since_crash()[0].hidden;
    assert_eq!(hidden(&model), Duration::from_secs(9));
    // A change of its own that was under way when it died, and comes in late.
    model.change_visibility(QUEUE, &first.receipt_handle, 10, at(7)).unwrap();
    assert_eq!(hidden(&model), Duration::from_secs(11));
    receive(&mut model, at(40)).unwrap();
    assert_eq!(hidden(&model), Duration::from_secs(11), "visible since 17 s, though nobody came");
    assert_eq!(model.overlaps(), [], "the dead hold nothing");
}

#[test]
fn a_crash_after_the_timeout_hides_nothing() {
    let mut model = one_message(Settings::default());
    let first = receive(&mut model, at(0)).unwrap();
    model.crash(QUEUE, &first.receipt_handle, at(12)).unwrap();
    assert_eq!(model.hidden_since_crash()[0].hidden, Duration::ZERO);
    receive(&mut model, at(13)).unwrap();
    model.crash(QUEUE, &first.receipt_handle, at(14)).unwrap();
    assert_eq!(model.hidden_since_crash()[1].hidden, Duration::ZERO, "somebody else has it");
}

#[test]
fn duplicates_come_where_they_are_asked_for_and_are_told_apart() {
    let mut model = one_message(Settings::default().duplicates(1_000));
    let first = receive(&mut model, at(0)).unwrap();
    let second = receive(&mut model, at(1)).expect("a duplicate, while it is hidden");
    assert_eq!((second.message_id, second.receive_count), (first.message_id, 2));
    assert!(model.overlaps()[0].is_injected);
    assert!(receive(&mut one_message(Settings::default()), at(0)).is_some());
}

#[test]
fn early_and_late_ends_of_a_timeout() {
    let second = Duration::from_secs(1);
    for (early, late) in [(second, Duration::ZERO), (Duration::ZERO, second)] {
        let (mut first, mut last) = (at(100), at(0));
        for seed in 0..50 {
            let mut model = one_message(Settings::default().seed(seed).expiry(early, late));
            assert_eq!(receive(&mut model, at(0)).unwrap().visible_at, at(10), "SQS's promise");
            let ends = model.next_change(QUEUE, at(0)).unwrap();
            (first, last) = (first.min(ends), last.max(ends));
        }
        assert!(at(10) - early <= first && last <= at(10) + late, "{first} to {last}");
        assert!(last - first > second / 2, "{first} to {last}");
    }
}

#[test]
fn twenty_consumers_never_get_a_duplicate_that_was_not_asked_for() {
    let mut model = Model::default();
    model.create_queue(QUEUE, &[("VisibilityTimeout", "10")], at(0)).unwrap();
    for _ in 0..2_000 {
        model.send(QUEUE, "work", at(0)).unwrap();
    }
    let mut seen = std::collections::HashSet::new();
    for step in 0..200 {
        for _consumer in 0..20 {
            for delivery in model.receive(QUEUE, &Receive::new().max(1), Moment::from_millis(step)).unwrap() {
                assert!(seen.insert(delivery.message_id));
            }
        }
    }
    assert_eq!(seen.len(), 2_000);
}

#[test]
fn the_death_of_an_earlier_holder_ends_no_other_waiting() {
    let mut model = one_message(Settings::default());
    let first = receive(&mut model, at(0)).unwrap();
    let second = receive(&mut model, at(10)).unwrap();
    model.crash(QUEUE, &second.receipt_handle, at(12)).unwrap();
    model.crash(QUEUE, &first.receipt_handle, at(25)).unwrap();
    let mut hidden: Vec<_> =
        model.hidden_since_crash().iter().map(|it| (it.delivery, it.hidden.as_secs())).collect();
    hidden.sort_unstable();
    assert_eq!(hidden, [(1, 0), (2, 8)], "visible since 20 s, not until the other's death");
}
