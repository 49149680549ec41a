//! The twelve hours, to their end and beyond, in virtual time: the driver and the simulated SQS.

use std::time::Duration;

use sqs_lease_driver::{Keeper, Moment, Settings, StopReason};
use sqs_lease_sim::{ModelQueue, redrive_policy};
use sqs_lease_suite::capture::Captured;
use sqs_lease_suite::virtual_time::{VirtualTime, World};

const HOUR: u32 = 3600;

fn hours(hours: u64) -> Duration {
    Duration::from_hours(hours)
}

/// A handler holds on to the end: one final extension, the warning in the log, the message goes to another consumer
/// with a receive count one higher, and after `maxReceiveCount` receives it is in the dead-letter queue.
#[test]
fn the_last_scene() {
    let (captured, _guard) = Captured::here();
    let mut world = World::new();
    let time = world.time();
    let dead = ModelQueue::new(time.clone(), "dead", Duration::from_millis(20), &[]).unwrap();
    let arn = dead.model(|model, _| model.queue_arn("dead").unwrap());
    let jobs = dead.sibling("jobs", &[("RedrivePolicy", &redrive_policy(&arn, 2))]).unwrap();
    let keeper = Keeper::new(jobs.clone(), time.clone(), Settings::new());
    world.spawner().spawn(keeper.run());
    jobs.send("a job without end").unwrap();

    let delivery = jobs.receive_into(&keeper, HOUR).unwrap().expect("the message");
    assert_eq!(delivery.receive_count(), 1);
    let id = delivery.message().message_id;
    let rival = jobs.clone();
    world.run(async move {
        // To the limit, and the handler does not stop by itself.
        let loss = delivery.keep(time.sleep(hours(20))).await.unwrap_err();
        assert_eq!(loss.reason, StopReason::Limit);
        let held = loss.at - VirtualTime::START;
        // 12 hours, less the margin of 5 s, the second that the guard takes, and what whole seconds leave.
        assert!(held + Duration::from_secs(8) > hours(12) && held < hours(12), "{held:?}");
        assert_eq!(delivery.receive_count(), 1);

        // Told before SQS hands the message on; then it goes to somebody else, and after that is dead.
        assert!(rival.receive(1).unwrap().is_none());
        time.sleep(Duration::from_secs(8)).await;
        let second = rival.receive(1).unwrap().expect("another consumer gets it");
        assert_eq!((second.message_id, second.receive_count), (id, 2));
        time.sleep(Duration::from_secs(2)).await;
        assert!(rival.receive(1).unwrap().is_none());
        let buried = dead.receive(1).unwrap().expect("it is in the dead-letter queue");
        assert_eq!((buried.message_id, buried.receive_count), (id, 3));
    });

    // Every extension by an hour in the middle of the hour, and one final one that is shorter.
    let history = jobs.model(|model, _| changes(model.history(id)));
    assert_eq!(history.len(), 21 + 1, "{history:?}");
    let (last, ordinary) = history.split_last().unwrap();
    assert!(ordinary.iter().all(|(at, to)| *to - *at == hours(1)), "{history:?}");
    assert!(last.1 - last.0 < hours(1), "{last:?}");
    let warnings: Vec<_> = captured.ours().into_iter().filter(|line| line.starts_with("WARN")).collect();
    assert_eq!(warnings.len(), 2, "{warnings:#?}");
    assert!(warnings[0].contains("final extension"), "{warnings:#?}");
    assert!(warnings[1].contains("lost") && warnings[1].contains("reason=\"limit\""), "{warnings:#?}");
}

fn changes(history: &[sqs_lease_sim::Recorded]) -> Vec<(Moment, Moment)> {
    history
        .iter()
        .filter_map(|recorded| match recorded.event {
            sqs_lease_sim::Event::Changed { to, .. } => Some((recorded.at, to)),
            _ => None,
        })
        .collect()
}

/// The other end: a handler that is done in time, however slow, deletes, and nobody else has seen the message.
#[test]
fn eleven_hours_and_then_deleted() {
    let mut world = World::new();
    let time = world.time();
    let jobs = ModelQueue::new(time.clone(), "jobs", Duration::from_millis(20), &[]).unwrap();
    let keeper = Keeper::new(jobs.clone(), time.clone(), Settings::new());
    world.spawner().spawn(keeper.run());
    jobs.send("a slow job").unwrap();
    let delivery = jobs.receive_into(&keeper, 30).unwrap().expect("the message");
    let rival = jobs.clone();
    world.spawner().spawn({
        let time = time.clone();
        async move {
            loop {
                assert!(rival.receive(30).unwrap().is_none(), "at {} ms a rival got it", time.millis());
                time.sleep(Duration::from_millis(977)).await;
            }
        }
    });
    world.run(async move {
        delivery.keep(time.sleep(hours(11))).await.unwrap();
        delivery.delete().await.unwrap();
        // Deleted, and not only hidden.
        time.sleep(hours(1)).await;
    });
}
