use sqs_lease_sim::{ErrorKind, Event, Receive};

use crate::{QUEUE, at, one_message, receive, refusal};

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
