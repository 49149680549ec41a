//! The model as the driver's queue, on Tokio's clock, which is paused: it jumps from timer to timer.

use std::time::Duration;

use sqs_lease_driver::{
    ChangeVisibility, Failure, Keeper, Moment, Queue, ReceiptHandle, Reply, Runtime, Settings, StopReason,
    Visibility,
};
use sqs_lease_sim::{ErrorKind, Event, ModelQueue, NewMessage, Settings as ModelSettings, redrive_policy};
use tokio::time::{Instant, sleep, sleep_until, timeout};

const LATENCY: Duration = Duration::from_millis(20);

#[derive(Clone)]
struct TokioClock(Instant);

impl Runtime for TokioClock {
    fn now(&self) -> Moment {
        Moment::ORIGIN + self.0.elapsed()
    }

    fn sleep_until(&self, at: Moment) -> impl Future<Output = ()> + Send + use<> {
        sleep_until(self.0 + (at - Moment::ORIGIN))
    }
}

fn at(millis: u64) -> Moment {
    Moment::ORIGIN + Duration::from_millis(millis)
}

fn jobs() -> ModelQueue<TokioClock> {
    ModelQueue::new(TokioClock(Instant::now()), "jobs", LATENCY, &[]).unwrap()
}

fn change(handle: &str, secs: u32) -> Vec<ChangeVisibility> {
    vec![ChangeVisibility { receipt_handle: handle.into(), timeout: Visibility::new(secs).unwrap() }]
}

#[tokio::test(start_paused = true)]
async fn a_call_arrives_after_the_latency_and_its_answer_takes_as_long() {
    let jobs = jobs();
    let sent = jobs.send("work").unwrap();
    let job = jobs.receive(30).unwrap().unwrap();
    let began = Instant::now();
    let reply = jobs.change_visibility(change(&job.receipt_handle, 60)).await;
    assert_eq!(reply, Reply::Entries(vec![Some(Ok(()))]));
    assert_eq!(began.elapsed(), 2 * LATENCY);
    let changed: Vec<_> = jobs.model(|model, _| {
        let changes = model.history(sent.message_id).iter().filter_map(|it| match it.event {
            Event::Changed { to, .. } => Some((it.at, to)),
            _ => None,
        });
        changes.collect()
    });
    assert_eq!(changed, [(at(20), at(60_020))]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_arrives_or_not_by_when_that_was() {
    for (given_up, is_gone) in [(Duration::from_millis(10), false), (Duration::from_millis(30), true)] {
        let jobs = jobs();
        jobs.send("work").unwrap();
        let handle = jobs.receive(30).unwrap().unwrap().receipt_handle;
        let delete = jobs.delete(vec![ReceiptHandle::from(handle)]);
        timeout(given_up, delete).await.unwrap_err();
        sleep(Duration::from_secs(31)).await;
        assert_eq!(jobs.receive(30).unwrap().is_none(), is_gone, "{given_up:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_reads_as_that_of_sqs() {
    let jobs = jobs();
    jobs.send("work").unwrap();
    let job = jobs.receive(30).unwrap().unwrap();
    let Reply::Entries(entries) = jobs.change_visibility(change(&job.receipt_handle, 43_200)).await else {
        panic!("the call itself is in order")
    };
    let [Some(Err(refusal))] = &entries[..] else { panic!("{entries:?}") };
    assert_eq!(refusal.failure, Failure::Limit);
    // The queue is gone: the call as a whole is refused.
    jobs.model(|model, now| model.delete_queue("jobs", now)).unwrap();
    let Reply::Failed(refusal) = jobs.delete(vec![job.receipt_handle.into()]).await else {
        panic!("there is no such queue")
    };
    assert_eq!(refusal.failure, Failure::Denied);
}

#[tokio::test(start_paused = true)]
async fn what_sqs_refuses_is_an_error() {
    let clock = TokioClock(Instant::now());
    let beyond = &[("VisibilityTimeout", "43201")];
    let refused = ModelQueue::new(clock.clone(), "jobs", LATENCY, beyond).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidAttributeValue);
    let jobs = jobs();
    assert_eq!(jobs.sibling("dead", beyond).unwrap_err().kind(), ErrorKind::InvalidAttributeValue);
    assert_eq!(jobs.send("").unwrap_err().kind(), ErrorKind::MissingParameter);
    let keeper = Keeper::new(jobs.clone(), clock, Settings::new());
    for beyond in [43_201, u32::MAX] {
        assert_eq!(jobs.receive(beyond).unwrap_err().kind(), ErrorKind::InvalidParameter);
        assert_eq!(jobs.receive_into(&keeper, beyond).unwrap_err().kind(), ErrorKind::InvalidParameter);
    }
    assert!(jobs.receive_into(&keeper, 43_200).unwrap().is_none(), "the longest is in order");
}

#[tokio::test(start_paused = true)]
async fn a_sibling_is_in_the_same_model() {
    let dead = ModelQueue::new(TokioClock(Instant::now()), "dead", LATENCY, &[]).unwrap();
    let arn = dead.model(|model, _| model.queue_arn("dead")).unwrap();
    let jobs = dead.sibling("jobs", &[("RedrivePolicy", &redrive_policy(&arn, 1))]).unwrap();
    assert_eq!((dead.name(), jobs.name()), ("dead", "jobs"));
    let sent = jobs.send("work").unwrap();
    assert!(jobs.receive(0).unwrap().is_some());
    assert!(jobs.receive(0).unwrap().is_none());
    assert_eq!(dead.receive(0).unwrap().unwrap().message_id, sent.message_id);
}

#[tokio::test(start_paused = true)]
async fn only_a_fifo_queue_has_groups_to_keep_in_order() {
    let fifo = [("FifoQueue", "true"), ("ContentBasedDeduplication", "true")];
    for (name, attributes, group) in [("jobs", &[][..], None), ("jobs.fifo", &fifo[..], Some("a"))] {
        let clock = TokioClock(Instant::now());
        let jobs = ModelQueue::new(clock.clone(), name, LATENCY, attributes).unwrap();
        let keeper = Keeper::new(jobs.clone(), clock, Settings::new());
        jobs.send(NewMessage::new("work").group("a")).unwrap();
        let delivery = jobs.receive_into(&keeper, 30).unwrap().unwrap();
        assert_eq!(delivery.group(), group, "{name}");
        assert_eq!(delivery.receive_count(), 1);
        assert_eq!(delivery.message_id(), delivery.message().message_id.to_string());
    }
}

#[tokio::test(start_paused = true)]
async fn the_model_is_as_the_settings_say() {
    let clock = TokioClock(Instant::now());
    let settings = ModelSettings::default().limit(Duration::from_mins(1));
    let jobs = ModelQueue::with_settings(clock.clone(), "jobs", LATENCY, &[], settings).unwrap();
    let keeper = Keeper::new(jobs.clone(), clock, Settings::new());
    tokio::spawn(keeper.run());
    jobs.send("work").unwrap();
    let delivery = jobs.receive_into(&keeper, 30).unwrap().unwrap();
    let loss = delivery.keep(sleep(Duration::from_hours(1))).await.unwrap_err();
    // The driver counts on 12 hours: SQS ends it after a minute.
    assert_eq!(loss.reason, StopReason::Limit);
    assert!(loss.at <= at(60_000), "{loss:?}");
}
