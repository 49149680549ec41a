use sqs_lease_sim::{AttributeValue, ErrorKind, Event, Model, NewMessage, Receive, redrive_policy};

use crate::{QUEUE, at, one_message, receive, refusal};

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
fn the_name_of_a_deleted_queue_is_taken_for_a_minute() {
    let mut model = one_message("30");
    model.delete_queue(QUEUE, at(5)).unwrap();
    let error = model.create_queue(QUEUE, &[], at(64)).unwrap_err();
    assert_eq!((error.code(), error.status()), ("AWS.SimpleQueueService.QueueDeletedRecently", 400));
    assert_eq!(
        error.text(),
        "You must wait 60 seconds after deleting a queue before you can create another with the same name."
    );
    model.create_queue("another", &[], at(64)).unwrap();
    model.create_queue(QUEUE, &[], at(65)).unwrap();
}

#[test]
fn one_kind_of_encryption_at_a_time() {
    let mut model = one_message("30");
    let both = [("KmsMasterKeyId", "key"), ("SqsManagedSseEnabled", "true")];
    let (kind, text) = refusal(model.set_attributes(QUEUE, &both, at(0)));
    assert_eq!(kind, ErrorKind::InvalidAttributeName);
    assert_eq!(
        text,
        "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE."
    );
    let one = [("KmsMasterKeyId", "key"), ("SqsManagedSseEnabled", "false")];
    model.set_attributes(QUEUE, &one, at(0)).unwrap();
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
fn a_queue_url_names_this_account_and_any_host() {
    let mut model = one_message("30");
    assert!(model.send("http://sqs.test:9324/000000000000/jobs", "work", at(0)).is_ok());
    for url in
        ["https://sqs.us-east-1.amazonaws.com/123456789012/jobs", "http://localhost/jobs", "http://jobs"]
    {
        let error = model.send(url, "work", at(0)).unwrap_err();
        assert_eq!((error.code(), error.status()), ("InvalidAddress", 404));
        assert_eq!(error.text(), format!("The address {url} is not valid for this endpoint."));
    }
}

#[test]
fn a_redrive_policy_names_the_whole_arn() {
    let mut model = one_message("30");
    model.create_queue("dead", &[], at(0)).unwrap();
    for (arn, reason) in [
        ("arn:aws:sqs:eu-west-1:000000000000:dead", "Dead letter target does not exist."),
        ("arn:aws:sqs:us-east-1:123456789012:dead", "Dead letter target does not exist."),
        ("dead", "Invalid value for deadLetterTargetArn."),
    ] {
        let policy = redrive_policy(arn, 3);
        let (kind, text) = refusal(model.set_attributes(QUEUE, &[("RedrivePolicy", &policy)], at(0)));
        assert!(kind == ErrorKind::InvalidParameter && text.ends_with(reason), "{text}");
    }
}

#[test]
fn a_redrive_allow_policy_is_checked() {
    let mut model = one_message("30");
    let set = |model: &mut Model, policy: &str| {
        model.set_attributes(QUEUE, &[("RedriveAllowPolicy", policy)], at(0))
    };
    let arns = |count: usize| vec!["\"arn:aws:sqs:us-east-1:000000000000:a\""; count].join(",");
    let by_queue =
        |count| format!(r#"{{"redrivePermission":"byQueue","sourceQueueArns":[{}]}}"#, arns(count));
    for policy in [
        "no json",
        "[]",
        "{}",
        r#"{"redrivePermission":"some"}"#,
        r#"{"redrivePermission":"byQueue"}"#,
        r#"{"redrivePermission":"byQueue","sourceQueueArns":"one"}"#,
        r#"{"redrivePermission":"denyAll","sourceQueueArns":["arn:aws:sqs:us-east-1:000000000000:a"]}"#,
        &by_queue(11),
    ] {
        assert_eq!(refusal(set(&mut model, policy)).0, ErrorKind::InvalidParameter, "{policy}");
    }
    for policy in
        [r#"{"redrivePermission":"allowAll"}"#, r#"{"redrivePermission":"denyAll"}"#, &by_queue(10), ""]
    {
        set(&mut model, policy).unwrap();
    }
}

#[test]
fn names_and_values_of_message_attributes_are_checked() {
    let mut model = one_message("30");
    let mut send = |name: &str, value: &str| {
        let message = NewMessage::new("work").attribute(name, AttributeValue::string(value));
        model.send(QUEUE, message, at(0))
    };
    send("attr.1\u{f8}\u{df}\u{e4}", "valid").unwrap();
    send(&"n".repeat(256), "valid").unwrap();
    let long = "n".repeat(257);
    for name in ["aWs.a", "AMAZON.a", ".a", "a.", "a..b", "a!", "a\"", "a\u{a7}", "a(", "a?", "", &long] {
        assert_eq!(refusal(send(name, "valid")).0, ErrorKind::InvalidParameter, "{name}");
    }
    assert_eq!(refusal(send("a", "\u{8}")).0, ErrorKind::InvalidParameter);
    assert_eq!(
        refusal(send("ErrorDetails", "")).1,
        "Message (user) attribute 'ErrorDetails' must contain a non-empty value of type 'String'."
    );
}
