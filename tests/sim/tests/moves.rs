//! Out of a dead-letter queue again: which queues have one, and the tasks that move messages back.

use sqs_lease_sim::{Delivery, ErrorKind, Model, Moment, MoveStatus, Receive, redrive_policy};

fn at(secs: u64) -> Moment {
    Moment::from_secs(secs)
}

/// A queue that allows one receive, its dead-letter queue, and so many dead messages.
fn dead(messages: usize) -> (Model, String) {
    let mut model = Model::default();
    model.create_queue("dead", &[], at(0)).unwrap();
    let arn = model.queue_arn("dead").unwrap();
    let policy = redrive_policy(&arn, 1);
    model.create_queue("jobs", &[("RedrivePolicy", &policy), ("VisibilityTimeout", "0")], at(0)).unwrap();
    for i in 0..messages {
        model.send("jobs", format!("work {i}"), at(0)).unwrap();
        assert!(receive(&mut model, "jobs", at(0)).is_some());
        assert!(receive(&mut model, "jobs", at(0)).is_none());
    }
    (model, arn)
}

fn receive(model: &mut Model, queue: &str, now: Moment) -> Option<Delivery> {
    model.receive(queue, &Receive::new(), now).unwrap().pop()
}

fn available(model: &mut Model, queue: &str, now: Moment) -> String {
    model.attributes(queue, now).unwrap()["ApproximateNumberOfMessages"].clone()
}

#[test]
fn the_queues_of_a_dead_letter_queue_are_listed() {
    let (mut model, arn) = dead(0);
    model.create_queue("also", &[("RedrivePolicy", &redrive_policy(&arn, 3))], at(0)).unwrap();
    model.create_queue("without", &[], at(0)).unwrap();
    let urls = ["also", "jobs"].map(|name| model.queue_url(name).unwrap());
    assert_eq!(model.dead_letter_sources("dead").unwrap(), urls);
    assert!(model.dead_letter_sources("jobs").unwrap().is_empty());
    assert_eq!(model.dead_letter_sources("none").unwrap_err().kind(), ErrorKind::QueueDoesNotExist);
}

#[test]
fn messages_go_back_to_where_they_came_from_and_are_new_ones() {
    let (mut model, arn) = dead(3);
    let before: Vec<_> = model.histories().map(|(id, _)| id).collect();
    model.start_move(&arn, None, None, at(50)).unwrap();
    let task = model.moves(&arn, None, at(50)).unwrap().remove(0);
    assert_eq!((task.status, task.moved, task.to_move), (MoveStatus::Completed, 3, 3));
    assert_eq!(available(&mut model, "dead", at(50)), "0");
    let back = receive(&mut model, "jobs", at(60)).unwrap();
    assert_eq!(
        (&*back.body, back.receive_count, back.sent, back.first_received),
        ("work 0", 1, at(50), at(60))
    );
    assert!(!before.contains(&back.message_id));
    assert_eq!(back.dead_letter_source, None);
}

#[test]
fn with_a_pace_each_message_comes_at_its_moment() {
    let (mut model, arn) = dead(3);
    model.create_queue("other", &[], at(0)).unwrap();
    let other = model.queue_arn("other").unwrap();
    let handle = model.start_move(&arn, Some(&other), Some(2), at(50)).unwrap();
    assert_eq!(available(&mut model, "other", at(50)), "1");
    let error = model.start_move(&arn, None, None, at(50)).unwrap_err();
    assert!(error.text().starts_with("There is already a task running."), "{error}");
    assert_eq!(model.next_change("other", at(50)), Some(Moment::from_millis(50_500)));
    assert_eq!(available(&mut model, "other", Moment::from_millis(50_500)), "2");
    assert_eq!(model.cancel_move(&handle, Moment::from_millis(50_600)).unwrap(), 2);
    assert_eq!(
        (&*available(&mut model, "other", at(90)), &*available(&mut model, "dead", at(90))),
        ("2", "1")
    );
    let task = model.moves(&arn, None, at(90)).unwrap().remove(0);
    assert_eq!((task.status, task.moved, task.per_second), (MoveStatus::Cancelled, 2, Some(2)));
    let error = model.cancel_move(&handle, at(90)).unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::UnsupportedOperation, 400));
    model.start_move(&arn, None, None, at(91)).unwrap();
    let statuses: Vec<_> = model.moves(&arn, Some(10), at(91)).unwrap().iter().map(|it| it.status).collect();
    assert_eq!(statuses, [MoveStatus::Completed, MoveStatus::Cancelled]);
}

#[test]
fn a_message_that_has_nowhere_to_go_fails_its_task() {
    let (mut model, arn) = dead(1);
    let policy = redrive_policy(&arn, 1);
    model.create_queue("also", &[("RedrivePolicy", &policy)], at(0)).unwrap();
    model.delete_queue("jobs", at(1)).unwrap();
    model.start_move(&arn, None, None, at(2)).unwrap();
    let task = model.moves(&arn, None, at(2)).unwrap().remove(0);
    assert_eq!((task.status, task.moved), (MoveStatus::Failed, 0));
    assert_eq!(available(&mut model, "dead", at(2)), "1", "it stays where it was");
}

#[test]
fn messages_that_move_in_a_circle_come_to_an_end() {
    let (mut model, arn) = dead(2);
    model.start_move(&arn, Some(&arn), None, at(1)).unwrap();
    assert_eq!(model.moves(&arn, None, at(1)).unwrap()[0].moved, 2);
}

#[test]
fn what_is_no_task_is_refused() {
    let (mut model, arn) = dead(1);
    model.create_queue("jobs.fifo", &[("FifoQueue", "true")], at(0)).unwrap();
    let fifo = model.queue_arn("jobs.fifo").unwrap();
    let jobs = model.queue_arn("jobs").unwrap();
    let nowhere = "arn:aws:sqs:us-east-1:000000000000:nowhere";
    for (source, destination, rate, code, text) in [
        (
            nowhere,
            None,
            None,
            "ResourceNotFoundException",
            "The resource that you specified for the SourceArn parameter doesn't exist.",
        ),
        (
            &jobs,
            None,
            None,
            "InvalidParameterValue",
            "Source queue must be configured as a Dead Letter Queue.",
        ),
        (
            &arn,
            Some(nowhere),
            None,
            "ResourceNotFoundException",
            "The resource that you specified for the DestinationArn parameter doesn't exist.",
        ),
        (
            &arn,
            Some(&*fifo),
            None,
            "InvalidParameterValue",
            "The source queue and destination queue must be of the same queue type.",
        ),
        (
            &arn,
            None,
            Some(501),
            "InvalidParameterValue",
            "Value 501 for parameter MaxNumberOfMessagesPerSecond is invalid. Reason: Must be between 1 and 500, if provided.",
        ),
    ] {
        let error = model.start_move(source, destination, rate, at(1)).unwrap_err();
        assert_eq!((error.code(), &*error.text()), (code, text));
        assert_eq!(error.status(), if code == "ResourceNotFoundException" { 404 } else { 400 });
    }
    let handle = model.start_move(&arn, None, Some(1), at(1)).unwrap();
    let (mut other, _) = dead(1);
    for (model, handle, code, text) in [
        (&mut model, "none", "InvalidParameterValue", "Value for parameter TaskHandle is invalid."),
        (&mut other, &*handle, "ResourceNotFoundException", "Task does not exist."),
        (
            &mut Model::default(),
            &*handle,
            "ResourceNotFoundException",
            "The resource that you specified for the SourceArn parameter doesn't exist.",
        ),
    ] {
        let error = model.cancel_move(handle, at(1)).unwrap_err();
        assert_eq!((error.code(), &*error.text()), (code, text));
    }
    assert_eq!(model.moves(nowhere, None, at(1)).unwrap_err().kind(), ErrorKind::ResourceNotFound);
    assert_eq!(model.moves(&arn, Some(11), at(1)).unwrap_err().kind(), ErrorKind::InvalidParameter);
}

#[test]
fn a_task_whose_destination_is_deleted_fails_with_that_reason() {
    let (mut model, arn) = dead(3);
    model.create_queue("other", &[], at(0)).unwrap();
    let other = model.queue_arn("other").unwrap();
    model.start_move(&arn, Some(&other), Some(1), at(50)).unwrap();
    model.delete_queue("other", at(50)).unwrap();
    let task = model.moves(&arn, None, at(52)).unwrap().remove(0);
    assert_eq!(
        (task.status, task.failure),
        (MoveStatus::Failed, Some("AWS.SimpleQueueService.NonExistentQueue"))
    );
    assert_eq!(available(&mut model, "dead", at(52)), "2");
}
