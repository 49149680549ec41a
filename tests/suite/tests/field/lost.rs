//! A lease that is lost, and who learns of it.

use sqs_lease_driver::{LateDelete, Policy, Runtime, SettleError, StopReason};
use sqs_lease_sim::NewMessage;

use crate::scene::*;

#[test]
fn nothing_is_sent_with_a_refused_handle() {
    for seed in seeds() {
        let mut scene = Scene::new(seed);
        let delivery = scene.deliver();
        let name = scene.model.name().to_owned();
        scene.model.model(|model, now| model.purge(&name, now)).unwrap();
        let (time, long, line) = (scene.time.clone(), scene.part(1000), scene.line.clone());
        scene.world.run(async move {
            assert_eq!(delivery.lost().await.reason, StopReason::Refused);
            let sent = line.sent();
            time.sleep(long).await;
            let late = delivery.delete().await.unwrap_err();
            assert!(matches!(late, SettleError::Lost { late: LateDelete::NotSent, ago, .. } if ago >= long));
            assert_eq!(line.sent(), sent, "seed {seed}");
        });
    }
}

/// SQS says yes to a delete with an old handle, and the message may stay: the caller can tell.
#[test]
fn a_delete_after_the_loss_is_told_as_uncertain() {
    for seed in seeds() {
        let mut scene = Scene::new(seed);
        scene.line.set(Some(Trouble::ChangesFail));
        let delivery = scene.deliver();
        let (time, model, timeout) = (scene.time.clone(), scene.model.clone(), scene.timeout);
        let (over, rest) = (scene.part(101), scene.part(10));
        let deleted = scene.world.run(async move {
            time.sleep(over).await;
            assert!(model.receive(timeout).unwrap().is_some(), "a rival has it");
            time.sleep(rest).await;
            delivery.delete().await
        });
        let expected = StopReason::Expired;
        assert!(
            matches!(deleted, Err(SettleError::Lost { reason, .. }) if reason == expected),
            "seed {seed}: {deleted:?}"
        );
    }
}

#[test]
fn on_a_fifo_queue_a_lost_delivery_is_not_deleted_late() {
    for seed in seeds() {
        let attributes = [("FifoQueue", "true"), ("ContentBasedDeduplication", "true")];
        let mut scene = Scene::of(seed, "jobs.fifo", &attributes, |_| Policy::new());
        scene.line.set(Some(Trouble::ChangesFail));
        let name = scene.model.name().to_owned();
        let message = NewMessage::new("a job").group("g");
        scene.model.model(|model, now| model.send(&name, message, now)).unwrap();
        let delivery = scene.model.receive_into(&scene.keeper, scene.timeout).unwrap().unwrap();
        let (time, over, line) = (scene.time.clone(), scene.part(125), scene.line.clone());
        let deleted = scene.world.run(async move {
            time.sleep(over).await;
            delivery.delete().await
        });
        let late = LateDelete::NotSent;
        assert!(matches!(deleted, Err(SettleError::Lost { late: it, .. }) if it == late), "seed {seed}");
        assert_eq!(line.deletes.load(std::sync::atomic::Ordering::Relaxed), 0, "seed {seed}");
    }
}

/// No call returns any more: the handler is gone before anybody else can start.
#[test]
fn the_handler_is_told_before_another_can_start() {
    for seed in seeds() {
        let mut scene = Scene::new(seed);
        scene.line.set(Some(Trouble::ChangesHang));
        let delivery = scene.deliver();
        let visible = scene.part(100);
        let (time, model, timeout) = (scene.time.clone(), scene.model.clone(), scene.timeout);
        scene.world.run(async move {
            let begin = time.now();
            let loss = delivery.keep(std::future::pending::<()>()).await.unwrap_err();
            assert_eq!(loss.reason, StopReason::Expired);
            let passed = time.now() - begin;
            assert!(passed < visible && passed > visible * 9 / 10, "seed {seed}: {passed:?} of {visible:?}");
            assert!(model.receive(timeout).unwrap().is_none(), "seed {seed}: a rival could have it already");
        });
    }
}
