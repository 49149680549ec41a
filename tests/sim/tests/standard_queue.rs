//! The rules of a standard queue, one test each, in virtual time.

use std::time::Duration;

use sqs_lease_sim::{
    Asked, Change, Delivery, Entry, Error, ErrorKind, Event, Model, Moment, NewMessage, Receive, Settings,
    redrive_policy,
};

const QUEUE: &str = "jobs";

fn at(secs: u64) -> Moment {
    Moment::from_secs(secs)
}

/// A queue with this visibility timeout and one message, sent at the origin.
fn one_message(visibility: &str) -> Model {
    let mut model = Model::default();
    model.create_queue(QUEUE, &[("VisibilityTimeout", visibility)], at(0)).unwrap();
    model.send(QUEUE, "work", at(0)).unwrap();
    model
}

fn receive(model: &mut Model, now: Moment) -> Option<Delivery> {
    model.receive(QUEUE, &Receive::new(), now).unwrap().pop()
}

fn refusal<T: std::fmt::Debug>(result: Result<T, Error>) -> (ErrorKind, String) {
    let error = result.unwrap_err();
    (error.kind(), error.text())
}

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
fn a_change_counts_from_the_call_and_adds_nothing() {
    let mut model = one_message("60");
    let delivery = receive(&mut model, at(0)).unwrap();
    model.change_visibility(QUEUE, &delivery.receipt_handle, 10, at(15)).unwrap();
    assert!(receive(&mut model, at(24)).is_none());
    let again = receive(&mut model, at(25)).unwrap();
    assert_eq!(again.visible_at, at(85), "a change is not kept for the next delivery");
    assert_eq!(again.receive_count, 2, "a change is no receive");
    assert_eq!(again.first_received, at(0));
}

#[test]
fn a_heartbeat_keeps_a_message_hidden() {
    let mut model = one_message("2");
    let delivery = receive(&mut model, at(0)).unwrap();
    for second in 1..100 {
        model.change_visibility(QUEUE, &delivery.receipt_handle, 2, at(second)).unwrap();
        assert!(receive(&mut model, at(second)).is_none());
    }
    assert_eq!(model.next_change(QUEUE, at(99)), Some(at(101)));
}

#[test]
fn a_change_to_zero_makes_it_visible_at_once_and_may_be_repeated() {
    let mut model = one_message("30");
    let delivery = receive(&mut model, at(1)).unwrap();
    model.change_visibility(QUEUE, &delivery.receipt_handle, 0, at(2)).unwrap();
    model.change_visibility(QUEUE, &delivery.receipt_handle, 0, at(2)).unwrap();
    assert!(receive(&mut model, at(2)).is_some());
}

#[test]
fn an_old_handle_acts_on_the_new_holder() {
    let mut model = one_message("2");
    let old = receive(&mut model, at(0)).unwrap();
    let new = receive(&mut model, at(2)).unwrap();
    model.change_visibility(QUEUE, &old.receipt_handle, 100, at(3)).unwrap();
    assert_eq!(model.next_change(QUEUE, at(3)), Some(at(103)), "prolongs it");
    model.change_visibility(QUEUE, &old.receipt_handle, 0, at(4)).unwrap();
    assert_eq!(receive(&mut model, at(4)).unwrap().receive_count, 3, "and ends it");
    let by_old = model
        .history(new.message_id)
        .iter()
        .filter(|recorded| matches!(recorded.event, Event::Changed { delivery: 1, current: 2, .. }));
    assert_eq!(by_old.count(), 2);
    model.delete(QUEUE, &old.receipt_handle, at(5)).unwrap();
    assert!(receive(&mut model, at(500)).is_none(), "and deletes it");
}

#[test]
fn the_limit_counts_from_the_receive_request_and_nothing_is_cut_short() {
    let mut model = one_message("30");
    let delivery = receive(&mut model, at(0)).unwrap();
    let handle = &delivery.receipt_handle;
    let moment = Moment::from_millis(1);
    let text = "Value 43200 for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for \
                the message is beyond the limit [43200 seconds]";
    assert_eq!(
        refusal(model.change_visibility(QUEUE, handle, 43_200, moment)),
        (ErrorKind::BeyondLimit, text.into())
    );
    assert_eq!(model.next_change(QUEUE, moment), Some(at(30)), "a refusal leaves the old deadline");
    model.change_visibility(QUEUE, handle, 43_189, at(10)).unwrap();
    assert_eq!(refusal(model.change_visibility(QUEUE, handle, 43_190, at(11))).0, ErrorKind::BeyondLimit);
    assert_eq!(model.next_change(QUEUE, at(11)), Some(at(43_199)));
}

#[test]
fn a_long_poll_has_spent_some_of_the_limit_when_it_is_answered() {
    let mut model = one_message("30");
    let polled = Receive::new().wait(20).requested(at(0));
    let delivery = model.receive(QUEUE, &polled, at(20)).unwrap().remove(0);
    assert_eq!(delivery.visible_at, at(50), "the timeout counts from the answer");
    let change =
        |model: &mut Model, secs| model.change_visibility(QUEUE, &delivery.receipt_handle, secs, at(20));
    assert_eq!(refusal(change(&mut model, 43_180)).0, ErrorKind::BeyondLimit);
    change(&mut model, 43_179).unwrap();
}

#[test]
fn another_receive_starts_the_limit_again() {
    let mut model = one_message("30");
    receive(&mut model, at(0)).unwrap();
    let second = receive(&mut model, at(1_000)).unwrap();
    model.change_visibility(QUEUE, &second.receipt_handle, 43_199, at(1_000)).unwrap();
}

#[test]
fn a_handle_is_dead_at_the_limit() {
    let mut model = one_message("43200");
    let delivery = receive(&mut model, at(0)).unwrap();
    let handle = &delivery.receipt_handle;
    let text = format!(
        "Value {handle} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired."
    );
    for refused in
        [model.change_visibility(QUEUE, handle, 0, at(43_200)), model.delete(QUEUE, handle, at(43_200))]
    {
        let error = refused.unwrap_err();
        assert_eq!((error.code(), error.text()), ("InvalidParameterValue", text.clone()));
        assert_eq!(error.json_type(), "com.amazon.coral.service#InvalidParameterValueException");
        assert_eq!(error.status(), 400);
        assert!(!format!("{error} {error:?}").contains(handle), "not for logs");
    }
    assert!(receive(&mut model, at(43_200)).is_some(), "it could not be deleted");
}

#[test]
fn the_limit_can_be_shortened() {
    let mut model = Model::new(Settings::default().limit(Duration::from_secs(5)));
    model.create_queue(QUEUE, &[("VisibilityTimeout", "2")], at(0)).unwrap();
    model.send(QUEUE, "work", at(0)).unwrap();
    let handle = receive(&mut model, at(0)).unwrap().receipt_handle;
    model.change_visibility(QUEUE, &handle, 2, at(1)).unwrap();
    let (kind, text) = refusal(model.change_visibility(QUEUE, &handle, 4, at(2)));
    assert_eq!(kind, ErrorKind::BeyondLimit);
    assert!(text.ends_with("beyond the limit [5 seconds]"), "{text}");
    assert_eq!(refusal(model.delete(QUEUE, &handle, at(5))).0, ErrorKind::HandleExpired);
}

#[test]
fn a_visibility_timeout_is_0_to_43200() {
    let mut model = one_message("30");
    let handle = receive(&mut model, at(0)).unwrap().receipt_handle;
    for secs in [-1, 43_201] {
        let (kind, text) = refusal(model.change_visibility(QUEUE, &handle, secs, at(0)));
        assert_eq!(kind, ErrorKind::InvalidParameter);
        assert!(text.starts_with(&format!("Value {secs} for parameter VisibilityTimeout is invalid.")));
        let receive = Receive::new().visibility(secs);
        assert_eq!(refusal(model.receive(QUEUE, &receive, at(0))).0, ErrorKind::InvalidParameter);
    }
    for max in [0, 11] {
        let receive = Receive::new().max(max);
        let text = format!(
            "Value {max} for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided."
        );
        assert_eq!(refusal(model.receive(QUEUE, &receive, at(0))), (ErrorKind::InvalidParameter, text));
    }
    assert_eq!(
        refusal(model.receive(QUEUE, &Receive::new().wait(21), at(0))).1,
        "Value 21 for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided."
    );
}

#[test]
fn a_change_after_the_delete_is_refused_with_its_own_text() {
    let mut model = one_message("30");
    let delivery = receive(&mut model, at(0)).unwrap();
    let handle = &delivery.receipt_handle;
    for _ in 0..3 {
        model.delete(QUEUE, handle, at(1)).unwrap();
    }
    let text = format!(
        "Value {handle} for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not \
         available for visibility timeout change."
    );
    assert_eq!(refusal(model.change_visibility(QUEUE, handle, 30, at(2))), (ErrorKind::MessageGone, text));
}

#[test]
fn a_delete_after_the_timeout_deletes() {
    let mut model = one_message("2");
    let handle = receive(&mut model, at(0)).unwrap().receipt_handle;
    model.delete(QUEUE, &handle, at(3)).unwrap();
    assert!(receive(&mut model, at(3)).is_none());
}

#[test]
fn only_a_handle_that_was_given_out_for_this_queue_is_one() {
    let mut model = one_message("30");
    model.create_queue("other", &[], at(0)).unwrap();
    let handle = receive(&mut model, at(0)).unwrap().receipt_handle;
    for (queue, handle) in [(QUEUE, "garbage"), ("other", &*handle)] {
        for refused in [model.change_visibility(queue, handle, 1, at(0)), model.delete(queue, handle, at(0))]
        {
            let error = refused.unwrap_err();
            assert_eq!((error.code(), error.status()), ("ReceiptHandleIsInvalid", 404));
        }
    }
}

#[test]
fn after_so_many_receives_a_message_moves_at_the_next() {
    let mut model = Model::default();
    model.create_queue("dead", &[], at(0)).unwrap();
    let arn = model.queue_arn("dead").unwrap();
    let policy = redrive_policy(&arn, 2);
    model.create_queue(QUEUE, &[("RedrivePolicy", &policy), ("VisibilityTimeout", "10")], at(0)).unwrap();
    model.send(QUEUE, "work", at(0)).unwrap();
    let first = receive(&mut model, at(0)).unwrap();
    receive(&mut model, at(10)).unwrap();
    assert!(model.receive("dead", &Receive::new(), at(25)).unwrap().is_empty(), "not when the timeout ends");
    assert!(receive(&mut model, at(30)).is_none());
    let dead = model.receive("dead", &Receive::new(), at(30)).unwrap().remove(0);
    assert_eq!(dead.receive_count, 3, "the count goes on");
    assert_eq!((dead.message_id, dead.sent), (first.message_id, at(0)));
    assert_eq!(dead.dead_letter_source.as_deref(), Some(&*model.queue_arn(QUEUE).unwrap()));
    let moved = Event::Moved { from: QUEUE.into(), to: "dead".into() };
    assert!(model.history(dead.message_id).iter().any(|recorded| recorded.event == moved));
    assert_eq!(
        refusal(model.change_visibility(QUEUE, &first.receipt_handle, 1, at(31))).0,
        ErrorKind::MessageGone
    );
}

#[test]
fn a_redrive_policy_is_checked() {
    let mut model = one_message("30");
    let missing = redrive_policy("arn:aws:sqs:us-east-1:000000000000:nowhere", 3);
    let own = model.queue_arn(QUEUE).unwrap();
    let never = redrive_policy(&own, 0);
    let too_often = redrive_policy(&own, 1_001);
    for policy in [&*missing, &*never, &*too_often, "{}", "no json"] {
        let refused = model.set_attributes(QUEUE, &[("RedrivePolicy", policy)], at(0));
        assert_eq!(refusal(refused).0, ErrorKind::InvalidParameter, "{policy}");
    }
}

#[test]
fn a_batch_is_refused_as_a_whole_or_each_entry_by_itself() {
    let mut model = one_message("30");
    let change = |id: &str| Entry::new(id, Change::new("garbage", 1));
    let long = "a".repeat(81);
    for (entries, code, text) in [
        (
            vec![],
            "AWS.SimpleQueueService.EmptyBatchRequest",
            "There should be at least one ChangeMessageVisibilityBatchRequestEntry in the request.",
        ),
        (
            (0..11).map(|i| change(&i.to_string())).collect(),
            "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
            "Maximum number of entries per request are 10. You have sent 11.",
        ),
        (
            vec![change("a"), change("b"), change("b"), change("a")],
            "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
            "Id b repeated.",
        ),
        (
            vec![change("")],
            "AWS.SimpleQueueService.InvalidBatchEntryId",
            "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.",
        ),
        (
            vec![change("a b")],
            "AWS.SimpleQueueService.InvalidBatchEntryId",
            "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.",
        ),
        (
            vec![change(&long)],
            "AWS.SimpleQueueService.InvalidBatchEntryId",
            "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.",
        ),
    ] {
        let error = model.change_visibility_batch(QUEUE, &entries, at(0)).unwrap_err();
        assert_eq!((error.code(), &*error.text(), error.status()), (code, text, 400));
    }
}

#[test]
fn an_entry_fails_with_a_code_of_its_own() {
    let mut model = one_message("30");
    model.send(QUEUE, "more", at(0)).unwrap();
    let deliveries = model.receive(QUEUE, &Receive::new().max(2), at(0)).unwrap();
    let [gone, held] = &*deliveries else { panic!("two messages") };
    model.delete(QUEUE, &gone.receipt_handle, at(1)).unwrap();
    let entries = [
        Entry::new("held", Change::new(&*held.receipt_handle, 60)),
        Entry::new("gone", Change::new(&*gone.receipt_handle, 60)),
        Entry::new("garbage", Change::new("garbage", 60)),
        Entry::new("limit", Change::new(&*held.receipt_handle, 43_200)),
        Entry::new("none", Change { receipt_handle: held.receipt_handle.clone(), secs: None }),
    ];
    let outcomes = model.change_visibility_batch(QUEUE, &entries, at(1)).unwrap();
    let seen: Vec<_> = outcomes
        .iter()
        .map(|(id, outcome)| {
            let error = outcome.as_ref().err();
            (&**id, error.map_or("", Error::entry_code), error.map(Error::entry_text).unwrap_or_default())
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("held", "", String::new()),
            (
                "gone",
                "ReceiptHandleIsInvalid",
                "Message does not exist or is not available for visibility timeout change".into()
            ),
            (
                "garbage",
                "ReceiptHandleIsInvalid",
                "The input receipt handle \"garbage\" is not a valid receipt handle.".into()
            ),
            (
                "limit",
                "InvalidParameterValue",
                "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]".into()
            ),
            ("none", "MissingParameter", "The request must contain the parameter VisibilityTimeout.".into()),
        ]
    );
    assert_eq!(model.next_change(QUEUE, at(1)), Some(at(61)));
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
fn attributes_take_whole_numbers_in_their_range() {
    let mut model = one_message("30");
    for (name, value) in [
        ("VisibilityTimeout", "43201"),
        ("VisibilityTimeout", "-1"),
        ("VisibilityTimeout", "abc"),
        ("VisibilityTimeout", "21600.0"),
        ("VisibilityTimeout", "+5"),
        ("MessageRetentionPeriod", "59"),
        ("ReceiveMessageWaitTimeSeconds", "21"),
        ("DelaySeconds", "901"),
    ] {
        let refused = model.set_attributes(QUEUE, &[(name, value)], at(0)).unwrap_err();
        assert_eq!(refused.code(), "InvalidAttributeValue");
        assert_eq!(refused.text(), format!("Invalid value for the parameter {name}."));
    }
    assert_eq!(
        refusal(model.set_attributes(QUEUE, &[("DelaySeconds", "1"), ("Colour", "red")], at(0))),
        (ErrorKind::InvalidAttributeName, "Unknown Attribute Colour.".into())
    );
    assert_eq!(model.attributes(QUEUE, at(0)).unwrap()["DelaySeconds"], "0", "all or nothing");
}

#[test]
fn a_queue_is_created_once() {
    let mut model = one_message("30");
    let url = model.create_queue(QUEUE, &[("VisibilityTimeout", "30")], at(0)).unwrap();
    assert_eq!(model.queue_url(QUEUE).unwrap(), url);
    assert!(model.send(&url, "a queue is known by its URL, too", at(0)).is_ok());
    let error = model.create_queue(QUEUE, &[("VisibilityTimeout", "31")], at(0)).unwrap_err();
    assert_eq!(error.code(), "QueueAlreadyExists");
    let error = model.send("nowhere", "work", at(0)).unwrap_err();
    assert_eq!(error.code(), "AWS.SimpleQueueService.NonExistentQueue");
    model.delete_queue(QUEUE, at(0)).unwrap();
    assert_eq!(refusal(model.queue_url(QUEUE)).0, ErrorKind::QueueDoesNotExist);
}

#[test]
fn a_purge_takes_what_is_in_flight_and_comes_once_a_minute() {
    let mut model = one_message("30");
    let handle = receive(&mut model, at(0)).unwrap().receipt_handle;
    model.purge(QUEUE, at(1)).unwrap();
    assert_eq!(refusal(model.change_visibility(QUEUE, &handle, 1, at(1))).0, ErrorKind::MessageGone);
    let error = model.purge(QUEUE, at(60)).unwrap_err();
    assert_eq!((error.code(), error.status()), ("AWS.SimpleQueueService.PurgeQueueInProgress", 403));
    model.purge(QUEUE, at(61)).unwrap();
}

#[test]
fn the_history_says_who_did_what() {
    let mut model = one_message("30");
    let delivery = receive(&mut model, at(1)).unwrap();
    let handle = &delivery.receipt_handle;
    model.change_visibility(QUEUE, handle, 30, at(16)).unwrap();
    model.change_visibility(QUEUE, handle, 43_200, at(17)).unwrap_err();
    model.delete(QUEUE, handle, at(20)).unwrap();
    let history: Vec<_> = model
        .history(delivery.message_id)
        .iter()
        .map(|recorded| (recorded.at, recorded.event.clone()))
        .collect();
    let refused = Event::Refused { delivery: 1, asked: Asked::Change(43_200), kind: ErrorKind::BeyondLimit };
    assert_eq!(
        history,
        [
            (at(0), Event::Sent { queue: QUEUE.into(), visible_at: at(0) }),
            (at(1), Event::Received { delivery: 1, requested: at(1), until: at(31), is_injected: false }),
            (at(16), Event::Changed { delivery: 1, current: 1, from: at(31), to: at(46) }),
            (at(17), refused),
            (at(20), Event::Deleted { delivery: 1, current: 1 }),
        ]
    );
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
