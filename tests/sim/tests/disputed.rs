//! Each point where sources on SQS disagree, every way that its setting allows.

use sqs_lease_sim::{
    Change, ChangeAfterRetention, ChangeAfterTimeout, Delivery, Entry, EntryWithoutTimeout, ErrorKind,
    FifoChangeAfterTimeout, FifoOvertakenChange, HandleAge, InvalidHandleStatus, LimitEdge, LimitEntryCode,
    LimitFrom, Model, Moment, NewMessage, OutOfRange, OvertakenChange, OvertakenDelete, Receive, Settings,
    ZeroTimeout, redrive_policy,
};

const QUEUE: &str = "jobs";
const FIFO: &str = "jobs.fifo";

fn at(secs: u64) -> Moment {
    Moment::from_secs(secs)
}

/// A standard queue and a FIFO queue with a timeout of 10 seconds and a message each.
fn model(settings: Settings) -> Model {
    let mut model = Model::new(settings);
    model.create_queue(QUEUE, &[("VisibilityTimeout", "10")], at(0)).unwrap();
    model.send(QUEUE, "work", at(0)).unwrap();
    let fifo = [("FifoQueue", "true"), ("VisibilityTimeout", "10")];
    model.create_queue(FIFO, &fifo, at(0)).unwrap();
    model.send(FIFO, NewMessage::new("work").group("g").deduplication_id("1"), at(0)).unwrap();
    model
}

fn receive(model: &mut Model, queue: &str, now: Moment) -> Option<Delivery> {
    model.receive(queue, &Receive::new(), now).unwrap().pop()
}

fn change(
    model: &mut Model,
    queue: &str,
    delivery: &Delivery,
    secs: i32,
    now: Moment,
) -> Result<(), ErrorKind> {
    model.change_visibility(queue, &delivery.receipt_handle, secs, now).map_err(|error| error.kind())
}

#[test]
fn a_change_after_the_timeout_answers_well_and_hides_or_not() {
    assert_eq!(
        ChangeAfterTimeout::default(),
        ChangeAfterTimeout::NoEffect,
        "harder on whoever trusts the answer"
    );
    for (choice, is_hidden) in [(ChangeAfterTimeout::NoEffect, false), (ChangeAfterTimeout::Hides, true)] {
        let mut model = model(Settings::default().change_after_timeout(choice));
        let delivery = receive(&mut model, QUEUE, at(0)).unwrap();
        assert_eq!(change(&mut model, QUEUE, &delivery, 5, at(10)), Ok(()));
        assert_eq!(receive(&mut model, QUEUE, at(14)).is_none(), is_hidden, "{choice:?}");
        assert!(receive(&mut model, QUEUE, at(24)).is_some(), "{choice:?}");
    }
}

#[test]
fn an_old_handle_changes_the_new_holders_timeout_or_is_refused() {
    for (choice, answer, still_hidden) in [
        (OvertakenChange::Acts, Ok(()), false),
        (OvertakenChange::Refused, Err(ErrorKind::MessageGone), true),
        (OvertakenChange::NotInflight, Err(ErrorKind::NotInflight), true),
    ] {
        let mut model = model(Settings::default().overtaken_change(choice));
        let old = receive(&mut model, QUEUE, at(0)).unwrap();
        receive(&mut model, QUEUE, at(10)).unwrap();
        assert_eq!(change(&mut model, QUEUE, &old, 0, at(11)), answer, "{choice:?}");
        assert_eq!(receive(&mut model, QUEUE, at(11)).is_none(), still_hidden, "{choice:?}");
    }
}

#[test]
fn an_old_handle_deletes_under_the_new_holder_or_does_nothing() {
    for (choice, stays) in [(OvertakenDelete::Deletes, false), (OvertakenDelete::NoEffect, true)] {
        let mut model = model(Settings::default().overtaken_delete(choice));
        let old = receive(&mut model, QUEUE, at(0)).unwrap();
        let new = receive(&mut model, QUEUE, at(10)).unwrap();
        model.delete(QUEUE, &old.receipt_handle, at(11)).unwrap();
        assert_eq!(change(&mut model, QUEUE, &new, 30, at(12)).is_ok(), stays, "{choice:?}");
    }
}

#[test]
fn a_change_after_the_timeout_of_a_fifo_queue() {
    for (choice, answer) in [
        (FifoChangeAfterTimeout::Expired, Err(ErrorKind::HandleExpired)),
        (FifoChangeAfterTimeout::NotAvailable, Err(ErrorKind::MessageGone)),
        (FifoChangeAfterTimeout::Hides, Ok(())),
    ] {
        let mut model = model(Settings::default().fifo_change_after_timeout(choice));
        let old = receive(&mut model, FIFO, at(0)).unwrap();
        assert_eq!(change(&mut model, FIFO, &old, 5, at(10)), answer, "{choice:?}");
        assert_eq!(receive(&mut model, FIFO, at(11)).is_none(), answer.is_ok(), "{choice:?}");
        receive(&mut model, FIFO, at(15));
        assert!(change(&mut model, FIFO, &old, 5, at(16)).is_err(), "somebody else has it: {choice:?}");
    }
}

#[test]
fn the_twelve_hours_count_from_the_request_the_answer_or_the_first_request() {
    for (choice, polled, again) in [
        (LimitFrom::Request, 43_179, 43_179),
        (LimitFrom::Answer, 43_199, 43_199),
        (LimitFrom::FirstRequest, 43_179, 43_149),
    ] {
        let mut model = model(Settings::default().limit_from(choice));
        let poll = |model: &mut Model, requested, now| {
            let receive = Receive::new().wait(20).requested(at(requested));
            model.receive(QUEUE, &receive, at(now)).unwrap().remove(0)
        };
        let first = poll(&mut model, 0, 20);
        assert_eq!(
            change(&mut model, QUEUE, &first, polled + 1, at(20)),
            Err(ErrorKind::BeyondLimit),
            "{choice:?}"
        );
        assert_eq!(change(&mut model, QUEUE, &first, polled, at(20)), Ok(()), "{choice:?}");
        assert_eq!(change(&mut model, QUEUE, &first, 0, at(20)), Ok(()));
        let second = poll(&mut model, 30, 50);
        assert_eq!(
            change(&mut model, QUEUE, &second, again + 1, at(50)),
            Err(ErrorKind::BeyondLimit),
            "{choice:?}"
        );
        assert_eq!(change(&mut model, QUEUE, &second, again, at(50)), Ok(()), "{choice:?}");
    }
}

#[test]
fn the_very_edge_of_the_twelve_hours() {
    for (choice, answer) in [(LimitEdge::Refused, Err(ErrorKind::BeyondLimit)), (LimitEdge::Accepted, Ok(()))]
    {
        let mut model = model(Settings::default().limit_edge(choice));
        let delivery = receive(&mut model, QUEUE, at(0)).unwrap();
        assert_eq!(change(&mut model, QUEUE, &delivery, 43_200, at(0)), answer, "{choice:?}");
        assert_eq!(change(&mut model, QUEUE, &delivery, 43_195, at(4)), Ok(()), "{choice:?}");
        assert_eq!(change(&mut model, QUEUE, &delivery, 43_197, at(4)), Err(ErrorKind::BeyondLimit));
    }
}

#[test]
fn in_a_batch_the_limit_fails_its_entry_under_either_code() {
    for (choice, code) in [
        (LimitEntryCode::InvalidParameterValue, "InvalidParameterValue"),
        (LimitEntryCode::ReceiptHandleIsInvalid, "ReceiptHandleIsInvalid"),
    ] {
        let mut model = model(Settings::default().limit_entry_code(choice));
        let handle = receive(&mut model, QUEUE, at(0)).unwrap().receipt_handle;
        let entries = [43_200, 60].map(|secs| Entry::new(secs.to_string(), Change::new(&*handle, secs)));
        let outcomes = model.change_visibility_batch(QUEUE, &entries, at(1)).unwrap();
        let error = outcomes[0].1.as_ref().unwrap_err();
        assert_eq!((error.entry_code(), error.is_senders_fault()), (code, true));
        assert_eq!(
            error.entry_text(),
            "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]"
        );
        assert!(outcomes[1].1.is_ok());
        assert_eq!(error.code(), "InvalidParameterValue", "of a single call, whatever the setting");
    }
}

#[test]
fn an_entry_without_a_timeout_fails_or_means_the_queues_or_zero() {
    for (choice, visible_at) in [
        (EntryWithoutTimeout::Refused, Some(at(10))),
        (EntryWithoutTimeout::OfQueue, Some(at(15))),
        (EntryWithoutTimeout::Zero, None),
    ] {
        let mut model = model(Settings::default().entry_without_timeout(choice));
        let receipt_handle = receive(&mut model, QUEUE, at(0)).unwrap().receipt_handle;
        let entries = [Entry::new("0", Change { receipt_handle, secs: None })];
        let outcome = model.change_visibility_batch(QUEUE, &entries, at(5)).unwrap().remove(0).1;
        assert_eq!(outcome.is_err(), choice == EntryWithoutTimeout::Refused);
        assert_eq!(model.next_change(QUEUE, at(5)), visible_at, "{choice:?}");
    }
}

#[test]
fn a_change_too_soon_after_a_change_is_throttled_where_it_is_asked_for() {
    for (distance, answer) in [(0, Ok(())), (2, Err(ErrorKind::Throttled))] {
        let mut model = model(Settings::default().change_distance(std::time::Duration::from_secs(distance)));
        let delivery = receive(&mut model, QUEUE, at(0)).unwrap();
        assert_eq!(change(&mut model, QUEUE, &delivery, 30, at(1)), Ok(()), "after a receive it never is");
        assert_eq!(change(&mut model, QUEUE, &delivery, 0, at(2)), answer);
        assert_eq!(change(&mut model, QUEUE, &delivery, 30, at(3)), Ok(()));
    }
}

#[test]
fn a_change_with_an_old_handle_of_a_fifo_queue() {
    for (choice, answer) in [
        (FifoOvertakenChange::Expired, Err(ErrorKind::HandleExpired)),
        (FifoOvertakenChange::NotAvailable, Err(ErrorKind::MessageGone)),
        (FifoOvertakenChange::Acts, Ok(())),
    ] {
        let mut model = model(Settings::default().fifo_overtaken_change(choice));
        let old = receive(&mut model, FIFO, at(0)).unwrap();
        receive(&mut model, FIFO, at(10)).unwrap();
        assert_eq!(change(&mut model, FIFO, &old, 0, at(11)), answer, "{choice:?}");
        assert_eq!(receive(&mut model, FIFO, at(12)).is_some(), answer.is_ok(), "{choice:?}");
        assert!(model.delete(FIFO, &old.receipt_handle, at(13)).is_err(), "recorded, whatever a change does");
    }
}

#[test]
fn a_handle_of_twelve_hours_whose_message_is_visible_or_anothers() {
    for (choice, is_dead) in [(HandleAge::Dies, true), (HandleAge::DiesWhileHidden, false)] {
        for is_received_again in [false, true] {
            let mut model = model(Settings::default().handle_age(choice));
            let old = receive(&mut model, QUEUE, at(0)).unwrap();
            if is_received_again {
                receive(&mut model, QUEUE, at(43_195)).unwrap();
            }
            let deleted = model.delete(QUEUE, &old.receipt_handle, at(43_200)).map_err(|error| error.kind());
            assert_eq!(deleted, if is_dead { Err(ErrorKind::HandleExpired) } else { Ok(()) }, "{choice:?}");
            assert_eq!(receive(&mut model, QUEUE, at(50_000)).is_some(), is_dead, "{choice:?}");
        }
        // Kept hidden up to the end it dies in the same second, whatever is chosen.
        let mut model = model(Settings::default().handle_age(choice).limit_edge(LimitEdge::Accepted));
        let held = receive(&mut model, QUEUE, at(0)).unwrap();
        assert_eq!(change(&mut model, QUEUE, &held, 43_191, at(9)), Ok(()));
        let just_before = at(43_200) - std::time::Duration::from_nanos(1);
        assert_eq!(change(&mut model, QUEUE, &held, 0, just_before), Ok(()), "{choice:?}");
    }
}

#[test]
fn a_timeout_out_of_its_range_is_refused_by_either_text() {
    for (choice, kind, reason) in [
        (OutOfRange::Range, ErrorKind::InvalidParameter, "Must be >= 0 and <= 43200, if provided."),
        (
            OutOfRange::BeyondLimit,
            ErrorKind::BeyondLimit,
            "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]",
        ),
    ] {
        let mut model = model(Settings::default().out_of_range(choice));
        let handle = receive(&mut model, QUEUE, at(0)).unwrap().receipt_handle;
        let error = model.change_visibility(QUEUE, &handle, 43_201, at(0)).unwrap_err();
        assert_eq!((error.kind(), error.code()), (kind, "InvalidParameterValue"));
        assert_eq!(
            error.text(),
            format!("Value 43201 for parameter VisibilityTimeout is invalid. Reason: {reason}")
        );
        let error = model.change_visibility(QUEUE, &handle, -1, at(0)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParameter);
    }
}

#[test]
fn the_status_of_what_is_no_handle() {
    for (choice, status) in [(InvalidHandleStatus::NotFound, 404), (InvalidHandleStatus::BadRequest, 400)] {
        let mut model = model(Settings::default().invalid_handle_status(choice));
        let error = model.delete(QUEUE, "garbage", at(0)).unwrap_err();
        assert_eq!((error.code(), error.status()), ("ReceiptHandleIsInvalid", status));
    }
}

#[test]
fn a_change_after_the_retention_period() {
    for (choice, answer) in [
        (ChangeAfterRetention::Refused, Err(ErrorKind::MessageGone)),
        (ChangeAfterRetention::NoEffect, Ok(())),
    ] {
        let mut model = model(Settings::default().change_after_retention(choice));
        model.set_attributes(QUEUE, &[("MessageRetentionPeriod", "60")], at(0)).unwrap();
        model.send(QUEUE, "deleted, not outlived", at(0)).unwrap();
        let outlived = receive(&mut model, QUEUE, at(55)).unwrap();
        let deleted = receive(&mut model, QUEUE, at(55)).unwrap();
        model.delete(QUEUE, &deleted.receipt_handle, at(56)).unwrap();
        assert_eq!(change(&mut model, QUEUE, &outlived, 100, at(60)), answer, "{choice:?}");
        assert_eq!(
            change(&mut model, QUEUE, &deleted, 100, at(60)),
            Err(ErrorKind::MessageGone),
            "{choice:?}"
        );
        assert!(receive(&mut model, QUEUE, at(70)).is_none());
    }
}

#[test]
fn a_timeout_of_zero_may_give_a_message_several_times() {
    for (choice, counts) in [(ZeroTimeout::Once, vec![1, 1]), (ZeroTimeout::Repeated, vec![1, 1, 2, 2, 3])] {
        let mut model = model(Settings::default().zero_timeout(choice));
        model.send(QUEUE, "more", at(0)).unwrap();
        let five = model.receive(QUEUE, &Receive::new().visibility(0).max(5), at(0)).unwrap();
        assert_eq!(five.iter().map(|it| it.receive_count).collect::<Vec<_>>(), counts, "{choice:?}");
        let handles: std::collections::HashSet<_> = five.iter().map(|it| &it.receipt_handle).collect();
        assert_eq!(handles.len(), five.len(), "each under a handle of its own");
        assert!(model.receive(QUEUE, &Receive::new().max(5), at(0)).unwrap().len() == 2, "{choice:?}");
    }
    let mut model = model(Settings::default().zero_timeout(ZeroTimeout::Repeated));
    model.create_queue("dead", &[], at(0)).unwrap();
    let policy = redrive_policy(&model.queue_arn("dead").unwrap(), 2);
    model.set_attributes(QUEUE, &[("RedrivePolicy", &policy)], at(0)).unwrap();
    assert_eq!(model.receive(QUEUE, &Receive::new().visibility(0).max(10), at(0)).unwrap().len(), 2);
}

/// Whatever is chosen where sources disagree, what no source disputes holds.
#[test]
fn what_is_not_disputed_holds_every_way() {
    let mut ways = 0;
    for (point, choices) in Settings::disputed() {
        for way in choices {
            let mut model = model(Settings::default().choose(&point, way).unwrap());
            let held = receive(&mut model, QUEUE, at(1)).unwrap();
            assert!(receive(&mut model, QUEUE, at(10)).is_none(), "{point} {way}");
            assert_eq!(change(&mut model, QUEUE, &held, 30, at(10)), Ok(()), "{point} {way}");
            assert!(receive(&mut model, QUEUE, at(39)).is_none(), "{point} {way}");
            assert_eq!(
                change(&mut model, QUEUE, &held, 43_199, at(39)),
                Err(ErrorKind::BeyondLimit),
                "{point} {way}"
            );
            assert_eq!(receive(&mut model, QUEUE, at(40)).unwrap().receive_count, 2, "{point} {way}");
            ways += 1;
        }
    }
    assert_eq!(ways, 16 * 2 + 5, "16 points, five of them with a third way");
}
