//! What the model tells of each message: every delivery, change and refusal, without taking anything out of a queue.

use sqs_lease_sim::{
    Asked, Delivery, ErrorKind, Event, MessageId, Model, Moment, NewMessage, Receive, Settings,
    redrive_policy,
};

const QUEUE: &str = "jobs";
const FIFO: &str = "jobs.fifo";

fn at(secs: u64) -> Moment {
    Moment::from_secs(secs)
}

fn model() -> Model {
    let mut model = Model::default();
    model.create_queue(QUEUE, &[("VisibilityTimeout", "10")], at(0)).unwrap();
    model
}

fn receive(model: &mut Model, queue: &str, now: Moment) -> Option<Delivery> {
    model.receive(queue, &Receive::new(), now).unwrap().pop()
}

fn history(model: &Model, id: MessageId) -> Vec<(Moment, Event)> {
    model.history(id).iter().map(|it| (it.at, it.event.clone())).collect()
}

fn received(delivery: u32, now: u64, until: u64) -> (Moment, Event) {
    (at(now), Event::Received { delivery, requested: at(now), until: at(until), is_injected: false })
}

fn sent(queue: &str, now: u64) -> (Moment, Event) {
    (at(now), Event::Sent { queue: queue.into(), visible_at: at(now) })
}

#[test]
fn deliveries_changes_and_refusals_are_told_with_both_deadlines_and_whose_handle_it_was() {
    let mut model = model();
    let id = model.send(QUEUE, "work", at(0)).unwrap().message_id;
    let old = receive(&mut model, QUEUE, at(1)).unwrap();
    model.change_visibility(QUEUE, &old.receipt_handle, 20, at(6)).unwrap();
    model.change_visibility(QUEUE, &old.receipt_handle, 43_200, at(7)).unwrap_err();
    let new = receive(&mut model, QUEUE, at(26)).unwrap();
    // A stale holder shortens what another has.
    model.change_visibility(QUEUE, &old.receipt_handle, 2, at(28)).unwrap();
    model.let_go(QUEUE, &old.receipt_handle, at(29)).unwrap();
    model.crash(QUEUE, &new.receipt_handle, at(29)).unwrap();
    model.delete(QUEUE, &old.receipt_handle, at(30)).unwrap();
    model.change_visibility(QUEUE, &new.receipt_handle, 5, at(31)).unwrap_err();
    model.delete(QUEUE, &new.receipt_handle, at(26 + 43_200)).unwrap_err();
    let refused = |now, delivery, asked, kind| (at(now), Event::Refused { delivery, asked, kind });
    assert_eq!(
        history(&model, id),
        [
            sent(QUEUE, 0),
            received(1, 1, 11),
            (at(6), Event::Changed { delivery: 1, current: 1, from: at(11), to: at(26) }),
            refused(7, 1, Asked::Change(43_200), ErrorKind::BeyondLimit),
            received(2, 26, 36),
            (at(28), Event::Changed { delivery: 1, current: 2, from: at(36), to: at(30) }),
            (at(29), Event::LetGo { delivery: 1 }),
            (at(29), Event::Crashed { delivery: 2 }),
            (at(30), Event::Deleted { delivery: 1, current: 2 }),
            refused(31, 2, Asked::Change(5), ErrorKind::MessageGone),
            refused(43_226, 2, Asked::Delete, ErrorKind::HandleExpired),
        ]
    );
}

#[test]
fn a_change_without_effect_is_told_with_the_deadline_that_stays() {
    let mut model = model();
    let id = model.send(QUEUE, "work", at(0)).unwrap().message_id;
    let delivery = receive(&mut model, QUEUE, at(0)).unwrap();
    model.change_visibility(QUEUE, &delivery.receipt_handle, 5, at(12)).unwrap();
    let last = history(&model, id).pop().unwrap().1;
    assert_eq!(last, Event::Changed { delivery: 1, current: 1, from: at(10), to: at(10) });
}

#[test]
fn each_end_of_a_message_is_told() {
    let mut model = model();
    model.create_queue("dead", &[], at(0)).unwrap();
    let send = |model: &mut Model, now| model.send(QUEUE, "work", now).unwrap().message_id;

    let purged = send(&mut model, at(0));
    model.purge(QUEUE, at(1)).unwrap();
    assert_eq!(history(&model, purged)[1..], [(at(1), Event::Purged)]);

    model.set_attributes(QUEUE, &[("MessageRetentionPeriod", "60")], at(1)).unwrap();
    let outlived = send(&mut model, at(2));
    assert!(receive(&mut model, QUEUE, at(100)).is_none());
    assert_eq!(
        history(&model, outlived)[1..],
        [(at(62), Event::Expired)],
        "when it was, not when it was seen"
    );

    let policy = redrive_policy(&model.queue_arn("dead").unwrap(), 1);
    model.set_attributes(QUEUE, &[("RedrivePolicy", &policy)], at(100)).unwrap();
    let moved = send(&mut model, at(100));
    receive(&mut model, QUEUE, at(100)).unwrap();
    assert!(receive(&mut model, QUEUE, at(110)).is_none());
    let to_dead = (at(110), Event::Moved { from: QUEUE.into(), to: "dead".into() });
    assert_eq!(history(&model, moved)[1..], [received(1, 100, 110), to_dead]);

    let arn = model.queue_arn("dead").unwrap();
    model.start_move(&arn, None, None, at(120)).unwrap();
    let (_, Event::Redriven { from, to, anew }) = history(&model, moved).pop().unwrap() else {
        panic!("redriven")
    };
    assert_eq!((&*from, &*to), ("dead", QUEUE));
    assert_eq!(history(&model, anew), [sent(QUEUE, 120)]);

    model.delete_queue(QUEUE, at(130)).unwrap();
    assert_eq!(history(&model, anew).pop(), Some((at(130), Event::Purged)), "with its queue");
}

#[test]
fn a_repeated_receive_is_told_as_one() {
    let mut model = model();
    model.create_queue(FIFO, &[("FifoQueue", "true")], at(0)).unwrap();
    let id =
        model.send(FIFO, NewMessage::new("work").group("g").deduplication_id("1"), at(0)).unwrap().message_id;
    for now in [1, 5] {
        model.receive(FIFO, &Receive::new().attempt_id("try"), at(now)).unwrap();
    }
    assert_eq!(
        history(&model, id)[1..],
        [received(1, 1, 31), (at(5), Event::Repeated { delivery: 1, until: at(35) })]
    );
}

#[test]
fn looking_takes_nothing_and_changes_nothing() {
    let mut looked = model();
    let mut not_looked = model();
    let mut answers = Vec::new();
    for (model, looks) in [(&mut looked, true), (&mut not_looked, false)] {
        let id = model.send(QUEUE, "work", at(0)).unwrap().message_id;
        let mut seen = Vec::new();
        for now in (0..60).step_by(5) {
            if looks {
                let _ = (model.history(id).len(), model.overlaps(), model.hidden_since_crash());
                assert_eq!(model.histories().count(), 1);
            }
            seen.push(receive(model, QUEUE, at(now)).map(|it| (it.receipt_handle, it.receive_count)));
        }
        answers.push((seen, history(model, id)));
    }
    assert_eq!(answers[0], answers[1]);
}

#[test]
fn what_is_recorded_has_an_end_where_it_is_asked_for() {
    let mut model = Model::new(Settings::default().record_at_most(5));
    model.create_queue(QUEUE, &[("VisibilityTimeout", "10")], at(0)).unwrap();
    let ids: Vec<_> = (0..3).map(|_| model.send(QUEUE, "work", at(0)).unwrap().message_id).collect();
    for _ in 0..3 {
        receive(&mut model, QUEUE, at(0)).unwrap();
    }
    // Six events by now: the first message's two made room.
    assert_eq!((model.history(ids[0]).len(), model.forgotten()), (0, 1));
    assert_eq!(
        model.histories().map(|(id, events)| (id, events.len())).collect::<Vec<_>>(),
        [(ids[1], 2), (ids[2], 2)]
    );
    receive(&mut model, QUEUE, at(10)).unwrap();
    assert!(model.history(ids[0]).is_empty(), "half a story is none");
    assert_eq!(model.overlaps(), [], "of what is forgotten nothing is told");

    model.forget();
    assert_eq!((model.histories().count(), model.forgotten()), (0, 3));
    let mut silent = Model::new(Settings::default().record(false));
    silent.create_queue(QUEUE, &[], at(0)).unwrap();
    let id = silent.send(QUEUE, "work", at(0)).unwrap().message_id;
    assert!(silent.history(id).is_empty() && silent.histories().next().is_none());
}
