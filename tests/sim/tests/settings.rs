//! What SQS does at a pace or a size that a test may choose, and what standard queues do rarely.

use std::time::Duration;

use sqs_lease_sim::{Delivery, ErrorKind, FifoThrottling, Model, Moment, NewMessage, Receive, Settings};

const QUEUE: &str = "jobs";
const FIFO: &str = "jobs.fifo";

fn at(secs: u64) -> Moment {
    Moment::from_secs(secs)
}

fn model(settings: Settings) -> Model {
    let mut model = Model::new(settings);
    model.create_queue(QUEUE, &[("VisibilityTimeout", "10")], at(0)).unwrap();
    model.create_queue(FIFO, &[("FifoQueue", "true"), ("VisibilityTimeout", "10")], at(0)).unwrap();
    model
}

fn receive(model: &mut Model, queue: &str, now: Moment) -> Option<Delivery> {
    model.receive(queue, &Receive::new(), now).unwrap().pop()
}

fn send_fifo(model: &mut Model, group: &str, id: u32) {
    let message = NewMessage::new("work").group(group).deduplication_id(id.to_string());
    model.send(FIFO, message, at(0)).unwrap();
}

#[test]
fn a_fifo_queue_that_is_asked_too_often_is_throttled_by_either_code() {
    for (choice, code, status) in [
        (FifoThrottling::RequestThrottled, "RequestThrottled", 403),
        (FifoThrottling::ThrottlingException, "ThrottlingException", 400),
    ] {
        let mut model = model(Settings::default().fifo_calls_per_second(2).fifo_throttling(choice));
        let mut ask = |now| {
            model
                .receive(FIFO, &Receive::new(), now)
                .map_err(|error| (error.code().to_owned(), error.status()))
        };
        assert!(ask(at(1)).is_ok() && ask(at(1)).is_ok());
        assert_eq!(ask(Moment::from_millis(1_999)), Err((code.to_owned(), status)));
        assert!(ask(at(2)).is_ok(), "the next second");
        // Each operation for itself, an operation and its batches together.
        send_fifo(&mut model, "g", 1);
        let entries = [2, 3].map(|id| {
            let message = NewMessage::new("work").group("g").deduplication_id(id.to_string());
            sqs_lease_sim::Entry::new(id.to_string(), message)
        });
        let sent = model.send_batch(FIFO, &entries, at(2)).unwrap();
        assert!(sent.iter().all(|(_, outcome)| outcome.is_ok()), "a batch is one call");
        assert_eq!(model.send_batch(FIFO, &entries, at(2)).unwrap_err().code(), code);
        for _ in 0..5 {
            assert!(
                model.receive(QUEUE, &Receive::new(), at(2)).is_ok(),
                "standard queues know no such pace"
            );
        }
    }
}

#[test]
fn a_fifo_queue_looks_at_so_many_messages_for_free_groups() {
    let mut model = model(Settings::default().fifo_window(3));
    for (id, group) in ["a", "a", "a", "b", "c"].iter().enumerate() {
        send_fifo(&mut model, group, u32::try_from(id).unwrap());
    }
    let first = receive(&mut model, FIFO, at(0)).unwrap();
    assert_eq!(first.group.as_deref(), Some("a"));
    assert!(receive(&mut model, FIFO, at(1)).is_none(), "b is behind a backlog of a");
    model.delete(FIFO, &first.receipt_handle, at(2)).unwrap();
    let ten = model.receive(FIFO, &Receive::new().max(10), at(2)).unwrap();
    let groups: Vec<_> = ten.iter().filter_map(|it| it.group.as_deref()).collect();
    assert_eq!(groups, ["b", "a", "a"], "b has moved up, c not yet; a has had its turn");
}

#[test]
fn attributes_are_shown_at_once_and_acted_on_when_they_have_spread() {
    let minute = Duration::from_mins(1);
    let mut model = model(Settings::default().attributes_spread(minute));
    model.set_attributes(QUEUE, &[("VisibilityTimeout", "100")], at(0)).unwrap();
    model.set_attributes(QUEUE, &[("DelaySeconds", "1")], at(0)).unwrap();
    let shown = model.attributes(QUEUE, at(0)).unwrap();
    assert_eq!((&*shown["VisibilityTimeout"], &*shown["DelaySeconds"]), ("100", "1"));
    model.send(QUEUE, "work", at(0)).unwrap();
    assert_eq!(receive(&mut model, QUEUE, at(59)).unwrap().visible_at, at(69));
    assert_eq!(receive(&mut model, QUEUE, at(69)).unwrap().visible_at, at(169));
    let url = model.create_queue(QUEUE, &[("VisibilityTimeout", "100")], at(69)).unwrap();
    assert_eq!(model.queue_url(QUEUE).unwrap(), url, "the same queue, as it is now");
}

#[test]
fn a_forgotten_delete_brings_the_message_back_and_is_told_apart() {
    let mut model = model(Settings::default().lost_deletes(1_000));
    model.send(QUEUE, "work", at(0)).unwrap();
    let first = receive(&mut model, QUEUE, at(0)).unwrap();
    model.delete(QUEUE, &first.receipt_handle, at(1)).unwrap();
    let changed = model.change_visibility(QUEUE, &first.receipt_handle, 10, at(2));
    assert_eq!(changed.unwrap_err().kind(), ErrorKind::MessageGone, "for whoever deleted it");
    assert!(receive(&mut model, QUEUE, at(9)).is_none());
    let again = receive(&mut model, QUEUE, at(10)).unwrap();
    assert_eq!((again.message_id, again.receive_count), (first.message_id, 2));
    let last = model.history(again.message_id).last().unwrap().event.clone();
    assert!(matches!(last, sqs_lease_sim::Event::Received { is_injected: true, .. }), "{last:?}");
    assert_eq!(model.overlaps(), [], "its first handler was done");

    send_fifo(&mut model, "g", 1);
    let held = receive(&mut model, FIFO, at(20)).unwrap();
    model.delete(FIFO, &held.receipt_handle, at(20)).unwrap();
    assert!(receive(&mut model, FIFO, at(100)).is_none(), "a FIFO queue forgets none");
}

#[test]
fn a_short_poll_may_miss_what_a_long_one_finds() {
    let mut model = model(Settings::default().missed_polls(500));
    let mut found = 0;
    for _ in 0..200 {
        model.send(QUEUE, "work", at(0)).unwrap();
        found += u32::from(receive(&mut model, QUEUE, at(0)).is_some());
    }
    assert!((60..140).contains(&found), "half of them: {found}");
    while model.receive(QUEUE, &Receive::new().wait(1), at(0)).unwrap().pop().is_some() {
        found += 1;
    }
    assert_eq!(found, 200, "a long poll asks every server");
}
