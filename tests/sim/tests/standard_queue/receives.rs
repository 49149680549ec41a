use std::time::Duration;

use sqs_lease_sim::{Change, Entry, ErrorKind, Model, NewMessage, Receive, Settings};

use crate::{QUEUE, at, one_message, receive, refusal};

#[test]
fn hidden_until_the_very_nanosecond_of_the_timeout() {
    let mut model = one_message("30");
    receive(&mut model, at(1)).unwrap();
    assert!(receive(&mut model, at(31) - Duration::from_nanos(1)).is_none());
    assert!(receive(&mut model, at(31)).is_some());
}

#[test]
fn every_receive_has_a_new_handle_and_a_count_one_higher() {
    let mut model = one_message("30");
    let first = receive(&mut model, at(1)).unwrap();
    let second = receive(&mut model, at(31)).unwrap();
    assert_ne!(first.receipt_handle, second.receipt_handle);
    assert_eq!((first.receive_count, second.receive_count), (1, 2));
    assert_eq!(first.message_id, second.message_id);
    assert_eq!((second.sent, second.first_received), (at(0), at(1)), "the first ever, not this one");
    assert!(!first.receipt_handle.contains(&first.message_id.to_string()));
}

#[test]
fn a_timeout_of_zero_hides_nothing_and_counts() {
    let mut model = one_message("30");
    let zero = Receive::new().visibility(0).max(10);
    assert_eq!(model.receive(QUEUE, &zero, at(1)).unwrap().len(), 1, "once in one answer");
    assert_eq!(receive(&mut model, at(1)).unwrap().receive_count, 2);
    assert!(receive(&mut model, at(2)).is_none(), "the queue's own timeout again");
}

#[test]
fn a_delayed_message_comes_later() {
    let mut model = one_message("30");
    receive(&mut model, at(0)).unwrap();
    model.send(QUEUE, NewMessage::new("later").delay(5), at(0)).unwrap();
    assert_eq!(model.attributes(QUEUE, at(0)).unwrap()["ApproximateNumberOfMessagesDelayed"], "1");
    assert_eq!(model.next_change(QUEUE, at(0)), Some(at(5)));
    assert!(receive(&mut model, at(4)).is_none());
    assert!(receive(&mut model, at(5)).is_some());
    let refused = model.send(QUEUE, NewMessage::new("never").delay(901), at(5));
    assert_eq!(refusal(refused).0, ErrorKind::InvalidParameter);
}

#[test]
fn being_in_flight_does_not_save_a_message_from_its_retention() {
    let mut model = one_message("60");
    model.set_attributes(QUEUE, &[("MessageRetentionPeriod", "60")], at(0)).unwrap();
    let delivery = receive(&mut model, at(5)).unwrap();
    let refused = model.change_visibility(QUEUE, &delivery.receipt_handle, 60, at(60));
    assert_eq!(refusal(refused).0, ErrorKind::MessageGone);
    model.delete(QUEUE, &delivery.receipt_handle, at(61)).unwrap();
    assert!(receive(&mut model, at(66)).is_none());
}

#[test]
fn at_the_in_flight_limit_a_short_poll_fails_and_a_long_one_finds_nothing() {
    let mut model = Model::new(Settings::default().in_flight_limit(2));
    model.create_queue(QUEUE, &[], at(0)).unwrap();
    for _ in 0..3 {
        model.send(QUEUE, "work", at(0)).unwrap();
    }
    let ten = Receive::new().max(10);
    assert_eq!(model.receive(QUEUE, &ten, at(0)).unwrap().len(), 2);
    let error = model.receive(QUEUE, &ten, at(1)).unwrap_err();
    assert_eq!((error.code(), error.status()), ("OverLimit", 403));
    assert!(model.receive(QUEUE, &ten.clone().wait(1), at(1)).unwrap().is_empty());
    assert_eq!(model.receive(QUEUE, &ten, at(30)).unwrap().len(), 2);
}

#[test]
fn nothing_that_prints_shows_a_handle_or_a_body() {
    let mut model = one_message("30");
    let delivery = receive(&mut model, at(0)).unwrap();
    let printed = format!(
        "{delivery:?} {model:?} {:?} {:?} {:?}",
        NewMessage::new("work"),
        Change::new(&*delivery.receipt_handle, 1),
        Entry::new("id", delivery.receipt_handle.clone()),
    );
    assert!(!printed.contains("AQEB") && !printed.contains("\"work\""), "{printed}");
}

#[test]
fn what_matters_stays_fast_with_120_000_in_flight() {
    let mut model = Model::default();
    model.create_queue(QUEUE, &[], at(0)).unwrap();
    let started = std::time::Instant::now();
    let mut handles = Vec::new();
    for _ in 0..12_000 {
        for _ in 0..10 {
            model.send(QUEUE, "work", at(0)).unwrap();
        }
        let deliveries = model.receive(QUEUE, &Receive::new().max(10).visibility(600), at(0)).unwrap();
        assert_eq!(deliveries.len(), 10);
        handles.extend(deliveries.into_iter().map(|delivery| delivery.receipt_handle));
    }
    for handle in &handles {
        model.change_visibility(QUEUE, handle, 600, at(1)).unwrap();
    }
    for handle in &handles {
        model.delete(QUEUE, handle, at(2)).unwrap();
    }
    // A scan of the queue at each call would take hours. The bound is for a busy machine and no optimization.
    assert!(started.elapsed() < Duration::from_mins(1), "{:?}", started.elapsed());
}

#[test]
fn a_message_that_comes_back_comes_before_what_was_sent_later() {
    let mut model = one_message("3");
    assert_eq!(&*receive(&mut model, at(0)).unwrap().body, "work");
    model.send(QUEUE, "later", at(1)).unwrap();
    assert_eq!(&*receive(&mut model, at(4)).unwrap().body, "work");
    assert_eq!(&*receive(&mut model, at(4)).unwrap().body, "later");
}
