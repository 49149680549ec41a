use std::time::Duration;

use sqs_lease_sim::{ErrorKind, Model, Moment, Receive, Settings};

use crate::{QUEUE, at, one_message, receive, refusal};

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
