//! The rules of a FIFO queue, one test each, in virtual time.

use std::time::Duration;

use sqs_lease_sim::{
    Delivery, Entry, Error, ErrorKind, LongPolls, Model, Moment, NewMessage, Receive, Sent, Settings,
    redrive_policy,
};

const QUEUE: &str = "jobs.fifo";

fn at(secs: u64) -> Moment {
    Moment::from_secs(secs)
}

fn queue(attributes: &[(&str, &str)]) -> Model {
    let mut model = Model::default();
    let attributes: Vec<_> = [("FifoQueue", "true")].iter().chain(attributes).copied().collect();
    model.create_queue(QUEUE, &attributes, at(0)).unwrap();
    model
}

fn send(model: &mut Model, group: &str, body: &str, now: Moment) -> Sent {
    let message = NewMessage::new(body).group(group).deduplication_id(body);
    model.send(QUEUE, message, now).unwrap()
}

/// A queue with a timeout of 10 seconds and these messages, `group` + number each.
fn holding(messages: &[&str]) -> Model {
    let mut model = queue(&[("VisibilityTimeout", "10")]);
    for body in messages {
        send(&mut model, &body[..1], body, at(0));
    }
    model
}

fn receive(model: &mut Model, max: i32, now: Moment) -> Vec<Delivery> {
    model.receive(QUEUE, &Receive::new().max(max), now).unwrap()
}

fn bodies(deliveries: &[Delivery]) -> String {
    deliveries.iter().map(|delivery| &*delivery.body).collect::<Vec<_>>().join(" ")
}

fn kind<T: std::fmt::Debug>(result: Result<T, Error>) -> ErrorKind {
    result.unwrap_err().kind()
}

#[test]
fn a_hidden_message_holds_back_what_is_behind_it_in_its_group() {
    let mut model = holding(&["a1", "b1", "a2", "b2"]);
    let first = receive(&mut model, 1, at(0));
    assert_eq!(bodies(&first), "a1");
    assert_eq!(bodies(&receive(&mut model, 10, at(1))), "b1 b2", "another group goes on");
    send(&mut model, "a", "a3", at(2));
    assert!(receive(&mut model, 10, at(2)).is_empty(), "a send does not free the group");
    model.delete(QUEUE, &first[0].receipt_handle, at(3)).unwrap();
    assert_eq!(bodies(&receive(&mut model, 10, at(3))), "a2 a3", "a delete does, at once");
}

#[test]
fn one_receive_takes_a_group_in_its_order_and_then_the_next_group() {
    let mut model = holding(&["a1", "b1", "a2", "b2", "a3"]);
    assert_eq!(bodies(&receive(&mut model, 4, at(0))), "a1 a2 a3 b1");
    assert!(receive(&mut model, 10, at(0)).is_empty());
    assert_eq!(bodies(&receive(&mut model, 10, at(10))), "a1 a2 a3 b1 b2", "the order survives a timeout");
}

/// As AWS was recorded in November 2025: what is before the extended message comes back, it and what is behind it
/// do not.
#[test]
fn an_extended_message_shields_those_behind_it_never_those_before_it() {
    for (extended, back) in [(0, ""), (1, "a1"), (2, "a1 a2")] {
        let mut model = holding(&["a1", "a2", "a3"]);
        let deliveries = receive(&mut model, 10, at(0));
        model.change_visibility(QUEUE, &deliveries[extended].receipt_handle, 40, at(5)).unwrap();
        assert_eq!(bodies(&receive(&mut model, 10, at(25))), back);
    }
}

#[test]
fn a_release_brings_the_first_back_while_the_second_is_held() {
    let mut model = holding(&["a1", "a2", "a3"]);
    let deliveries = receive(&mut model, 2, at(0));
    model.change_visibility(QUEUE, &deliveries[0].receipt_handle, 0, at(1)).unwrap();
    assert_eq!(bodies(&receive(&mut model, 10, at(1))), "a1");
    model.delete(QUEUE, &deliveries[1].receipt_handle, at(2)).unwrap();
    assert!(receive(&mut model, 10, at(2)).is_empty(), "a1 still blocks its group");
}

#[test]
fn after_the_timeout_the_handle_neither_deletes_nor_changes() {
    let mut model = holding(&["a1"]);
    let first = receive(&mut model, 1, at(0)).remove(0);
    model.change_visibility(QUEUE, &first.receipt_handle, 10, at(5)).unwrap();
    let error = model.delete(QUEUE, &first.receipt_handle, at(15)).unwrap_err();
    let text = format!(
        "Value {} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.",
        first.receipt_handle
    );
    assert_eq!((error.code(), error.status(), error.text()), ("InvalidParameterValue", 400, text));
    assert_eq!(
        (error.entry_code(), &*error.entry_text()),
        ("ReceiptHandleIsInvalid", "The receipt handle has expired")
    );
    let second = receive(&mut model, 1, at(16)).remove(0);
    assert_eq!(kind(model.delete(QUEUE, &first.receipt_handle, at(17))), ErrorKind::HandleExpired);
    assert_eq!(
        kind(model.change_visibility(QUEUE, &first.receipt_handle, 10, at(17))),
        ErrorKind::HandleExpired
    );
    model.change_visibility(QUEUE, &second.receipt_handle, 60, at(20)).unwrap();
    model.delete(QUEUE, &second.receipt_handle, at(40)).unwrap();
    model.delete(QUEUE, &second.receipt_handle, at(41)).unwrap();
}

#[test]
fn with_a_timeout_of_zero_a_delete_has_the_rest_of_the_millisecond() {
    for (after, is_deleted) in [(Duration::from_micros(900), true), (Duration::from_millis(1), false)] {
        let mut model = holding(&["a1"]);
        let receive = Receive::new().visibility(0);
        let delivery = model.receive(QUEUE, &receive, at(1)).unwrap().remove(0);
        assert_eq!(model.delete(QUEUE, &delivery.receipt_handle, at(1) + after).is_ok(), is_deleted);
    }
}

#[test]
fn a_message_is_sent_once_in_five_minutes() {
    let mut model = queue(&[]);
    let first = send(&mut model, "a", "once", at(0));
    let delivery = receive(&mut model, 1, at(1)).remove(0);
    model.delete(QUEUE, &delivery.receipt_handle, at(1)).unwrap();
    let again = send(&mut model, "b", "once", at(299));
    assert_eq!((again.message_id, again.sequence_number), (first.message_id, first.sequence_number));
    assert!(receive(&mut model, 1, at(299)).is_empty(), "though it was deleted");
    let later = send(&mut model, "a", "once", at(300));
    assert_ne!(later.message_id, first.message_id);
    assert_eq!(receive(&mut model, 1, at(300)).len(), 1);
}

#[test]
fn deduplication_by_group_and_by_content() {
    let mut model = queue(&[("DeduplicationScope", "messageGroup"), ("ContentBasedDeduplication", "true")]);
    for (group, body) in [("a", "same"), ("b", "same"), ("a", "same"), ("a", "other")] {
        model.send(QUEUE, NewMessage::new(body).group(group), at(0)).unwrap();
    }
    let deliveries = receive(&mut model, 10, at(0));
    assert_eq!(bodies(&deliveries), "same other same");
    let attributes = model.attributes(QUEUE, at(0)).unwrap();
    assert_eq!(attributes["DeduplicationScope"], "messageGroup");
    assert_eq!((&*attributes["FifoQueue"], &*attributes["ContentBasedDeduplication"]), ("true", "true"));
    assert_eq!(attributes["FifoThroughputLimit"], "perQueue");
}

#[test]
fn sequence_numbers_grow_and_have_twenty_digits() {
    let mut model = queue(&[]);
    let sent = ["1", "2", "3"].map(|body| send(&mut model, "a", body, at(0)).sequence_number.unwrap());
    assert!(sent.is_sorted() && sent[0] != sent[1], "{sent:?}");
    assert!(sent.iter().all(|number| number.to_string().len() == 20));
    let received: Vec<_> = receive(&mut model, 3, at(0)).iter().filter_map(|it| it.sequence_number).collect();
    assert_eq!(received, sent);
}

#[test]
fn a_send_needs_a_group_and_a_deduplication_id_and_has_no_delay_of_its_own() {
    let mut model = queue(&[]);
    let error = model.send(QUEUE, "no group", at(0)).unwrap_err();
    assert_eq!(
        (error.kind(), &*error.text()),
        (ErrorKind::MissingParameter, "The request must contain the parameter MessageGroupId.")
    );
    let error = model.send(QUEUE, NewMessage::new("no id").group("a"), at(0)).unwrap_err();
    let text = "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided \
                explicitly";
    assert_eq!((error.kind(), &*error.text()), (ErrorKind::InvalidParameter, text));
    let message = NewMessage::new("m").group("a").deduplication_id("1");
    assert_eq!(kind(model.send(QUEUE, message.clone().delay(5), at(0))), ErrorKind::InvalidParameter);
    assert_eq!(
        kind(model.send(QUEUE, message.clone().group("with space"), at(0))),
        ErrorKind::InvalidParameter
    );
    assert_eq!(
        kind(model.send(QUEUE, message.clone().deduplication_id("é"), at(0))),
        ErrorKind::InvalidParameter
    );
    model.send(QUEUE, message.delay(0), at(0)).unwrap();
    let error =
        model.send(QUEUE, NewMessage::new("m").group("a").deduplication_id("2").delay(2), at(0)).unwrap_err();
    assert_eq!(
        error.text(),
        "Value 2 for parameter DelaySeconds is invalid. Reason: The request include parameter that is not valid for \
         this queue type."
    );
}

#[test]
fn one_entry_without_a_group_or_an_id_fails_the_batch() {
    let mut model = queue(&[]);
    let whole = NewMessage::new("m").group("a").deduplication_id("1");
    for (message, text) in [
        (
            NewMessage::new("m").deduplication_id("2"),
            "The request must contain the parameter MessageGroupId.",
        ),
        (
            NewMessage::new("m").group("a"),
            "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly",
        ),
    ] {
        let entries = [Entry::new("1", whole.clone()), Entry::new("2", message)];
        let error = model.send_batch(QUEUE, &entries, at(0)).unwrap_err();
        assert_eq!((error.code(), &*error.text()), ("InvalidParameterValue", text));
    }
    assert!(receive(&mut model, 10, at(0)).is_empty(), "nothing was sent");
}

#[test]
fn a_group_that_was_received_from_comes_after_the_others() {
    let all = ["a1", "b1", "b2", "c1", "a2"];
    let mut model = holding(&all);
    let three = model.receive(QUEUE, &Receive::new().max(3).visibility(0), at(0)).unwrap();
    assert_eq!(bodies(&three), "a1 a2 b1");
    assert_eq!(bodies(&receive(&mut model, 10, at(0))), "c1 a1 a2 b1 b2");
    let mut model = holding(&["a1", "a2", "b1"]);
    let first = receive(&mut model, 2, at(0)).remove(0);
    model.change_visibility(QUEUE, &first.receipt_handle, 0, at(1)).unwrap();
    assert_eq!(bodies(&receive(&mut model, 3, at(1))), "b1 a1");
}

#[test]
fn a_purge_ends_deduplication() {
    let mut model = queue(&[]);
    let message = |body| NewMessage::new(body).group("a").deduplication_id("1");
    model.send(QUEUE, message("before"), at(0)).unwrap();
    model.purge(QUEUE, at(1)).unwrap();
    model.send(QUEUE, message("after"), at(2)).unwrap();
    model.send(QUEUE, message("again"), at(3)).unwrap();
    assert_eq!(bodies(&receive(&mut model, 10, at(4))), "after");
}

#[test]
fn what_kind_a_queue_is_stays() {
    let mut model = queue(&[]);
    model.set_attributes(QUEUE, &[("FifoQueue", "true")], at(0)).unwrap();
    let error = model.set_attributes(QUEUE, &[("FifoQueue", "false")], at(0)).unwrap_err();
    assert_eq!(
        (error.code(), &*error.text()),
        (
            "InvalidAttributeValue",
            "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported."
        )
    );
}

#[test]
fn a_delayed_queue_keeps_the_order() {
    let mut model = queue(&[("DelaySeconds", "5")]);
    send(&mut model, "a", "1", at(0));
    send(&mut model, "a", "2", at(1));
    assert!(receive(&mut model, 10, at(4)).is_empty());
    assert_eq!(bodies(&receive(&mut model, 10, at(5))), "1");
}

#[test]
fn the_name_and_the_kind_of_a_queue_belong_together() {
    let mut model = Model::default();
    let fifo: &[_] = &[("FifoQueue", "true")];
    for (name, attributes) in [("jobs", fifo), (".fifo", fifo), ("jobs.fifo", &[]), ("jo.bs.fifo", fifo)] {
        assert_eq!(kind(model.create_queue(name, attributes, at(0))), ErrorKind::InvalidParameter, "{name}");
    }
    let error = model.create_queue("jobs.fifo", &[("FifoQueue", "false")], at(0)).unwrap_err();
    assert_eq!(error.text(), "Unknown Attribute FifoQueue.");
    model.create_queue("jobs", &[], at(0)).unwrap();
    let refused = model.set_attributes("jobs", &[("ContentBasedDeduplication", "true")], at(0));
    assert_eq!(kind(refused), ErrorKind::InvalidAttributeName);
    model.create_queue("jobs.fifo", fifo, at(0)).unwrap();
    let refused = model.set_attributes("jobs.fifo", &[("FifoThroughputLimit", "perMessageGroupId")], at(0));
    assert_eq!(kind(refused), ErrorKind::InvalidAttributeValue, "it wants a scope of messageGroup");
    let both = [("FifoThroughputLimit", "perMessageGroupId"), ("DeduplicationScope", "messageGroup")];
    model.set_attributes("jobs.fifo", &both, at(0)).unwrap();
}

#[test]
fn a_dead_letter_queue_is_of_the_same_kind() {
    let mut model = queue(&[]);
    model.create_queue("standard", &[], at(0)).unwrap();
    let fifo_arn = model.queue_arn(QUEUE).unwrap();
    let standard_arn = model.queue_arn("standard").unwrap();
    for (queue, dead) in [(QUEUE, &standard_arn), ("standard", &fifo_arn)] {
        let policy = redrive_policy(dead, 3);
        let refused = model.set_attributes(queue, &[("RedrivePolicy", &policy)], at(0));
        assert_eq!(kind(refused), ErrorKind::InvalidParameter, "{queue}");
    }
    model.create_queue("dead.fifo", &[("FifoQueue", "true")], at(0)).unwrap();
    let policy = redrive_policy(&model.queue_arn("dead.fifo").unwrap(), 3);
    model
        .set_attributes("dead.fifo", &[("RedriveAllowPolicy", r#"{"redrivePermission":"denyAll"}"#)], at(0))
        .unwrap();
    let refused = model.set_attributes(QUEUE, &[("RedrivePolicy", &policy)], at(0));
    assert_eq!(kind(refused), ErrorKind::InvalidParameter, "denied");
    let allow = format!(r#"{{"redrivePermission":"byQueue","sourceQueueArns":["{fifo_arn}"]}}"#);
    model.set_attributes("dead.fifo", &[("RedriveAllowPolicy", &allow)], at(0)).unwrap();
    model.set_attributes(QUEUE, &[("RedrivePolicy", &policy)], at(0)).unwrap();
}

#[test]
fn a_dead_message_frees_its_group_keeps_its_count_and_starts_its_retention_again() {
    let mut model = queue(&[("VisibilityTimeout", "10")]);
    model
        .create_queue("dead.fifo", &[("FifoQueue", "true"), ("MessageRetentionPeriod", "60")], at(0))
        .unwrap();
    let policy = redrive_policy(&model.queue_arn("dead.fifo").unwrap(), 1);
    model.set_attributes(QUEUE, &[("RedrivePolicy", &policy)], at(0)).unwrap();
    send(&mut model, "a", "1", at(0));
    send(&mut model, "a", "2", at(0));
    assert_eq!(bodies(&receive(&mut model, 1, at(0))), "1");
    assert_eq!(bodies(&receive(&mut model, 1, at(50))), "2", "the first is dead, the second free");
    let dead = model.receive("dead.fifo", &Receive::new().visibility(1), at(100)).unwrap().remove(0);
    assert_eq!((&*dead.body, dead.receive_count, dead.sent), ("1", 2, at(0)));
    assert!(model.receive("dead.fifo", &Receive::new(), at(110)).unwrap().is_empty(), "60 s after the move");
}

#[test]
fn a_repeated_receive_gets_the_same_handles_until_one_of_them_is_used() {
    let mut model = holding(&["a1", "a2", "b1"]);
    let twice = Receive::new().max(2).attempt_id("try-1");
    let first = model.receive(QUEUE, &twice, at(0)).unwrap();
    let again = model.receive(QUEUE, &twice, at(4)).unwrap();
    let handles = |it: &[Delivery]| it.iter().map(|it| it.receipt_handle.clone()).collect::<Vec<_>>();
    assert_eq!(handles(&again), handles(&first));
    assert_eq!(
        (again[0].receive_count, again[0].visible_at),
        (1, at(14)),
        "hidden anew, and no receive more"
    );
    model.change_visibility(QUEUE, &first[0].receipt_handle, 30, at(5)).unwrap();
    assert_eq!(bodies(&model.receive(QUEUE, &twice, at(6)).unwrap()), "b1", "a receive like any other");
    let mut standard = Model::default();
    standard.create_queue("jobs", &[], at(0)).unwrap();
    assert_eq!(kind(standard.receive("jobs", &twice, at(0))), ErrorKind::InvalidParameter);
}

#[test]
fn a_repeat_is_known_for_five_minutes() {
    let mut model = holding(&["a1"]);
    let once = Receive::new().visibility(1_000).attempt_id("try-1");
    assert_eq!(model.receive(QUEUE, &once, at(0)).unwrap().len(), 1);
    assert_eq!(model.receive(QUEUE, &once, at(299)).unwrap().len(), 1);
    assert!(model.receive(QUEUE, &once, at(300)).unwrap().is_empty());
}

#[test]
fn at_the_in_flight_limit_there_is_nothing_and_no_error() {
    let mut model = Model::new(Settings::default().in_flight_limit(1));
    model.create_queue(QUEUE, &[("FifoQueue", "true")], at(0)).unwrap();
    send(&mut model, "a", "1", at(0));
    send(&mut model, "b", "2", at(0));
    assert_eq!(receive(&mut model, 10, at(0)).len(), 1);
    assert!(receive(&mut model, 10, at(1)).is_empty());
}

#[test]
fn a_long_poll_wakes_when_its_group_is_freed() {
    let mut model = holding(&["a1", "a2"]);
    let first = receive(&mut model, 1, at(0)).remove(0);
    let mut polls = LongPolls::new();
    polls.park(QUEUE, Receive::new().wait(20), (), &model, at(1)).unwrap();
    assert!(polls.poll_answer(&mut model, at(1)).is_none());
    model.delete(QUEUE, &first.receipt_handle, at(2)).unwrap();
    let ((), answer) = polls.poll_answer(&mut model, at(2)).unwrap();
    assert_eq!(bodies(&answer.unwrap()), "a2");
}

#[test]
fn what_matters_stays_fast_in_one_large_group_and_in_many() {
    for groups in [1, 20_000] {
        let mut model = Model::new(Settings::default().record(false));
        model.create_queue(QUEUE, &[("FifoQueue", "true")], at(0)).unwrap();
        for i in 0..40_000 {
            let message =
                NewMessage::new("work").group(format!("g{}", i % groups)).deduplication_id(i.to_string());
            model.send(QUEUE, message, at(0)).unwrap();
        }
        let started = std::time::Instant::now();
        let mut received = 0;
        while received < 40_000 {
            for delivery in receive(&mut model, 10, at(1)) {
                model.change_visibility(QUEUE, &delivery.receipt_handle, 60, at(2)).unwrap();
                model.delete(QUEUE, &delivery.receipt_handle, at(3)).unwrap();
                received += 1;
            }
        }
        assert!(started.elapsed() < Duration::from_secs(30), "{groups} groups: {:?}", started.elapsed());
    }
}
