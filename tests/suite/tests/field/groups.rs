//! The order in a group of a FIFO queue.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sqs_lease_driver::{Consumer, ConsumerOptions, Delivery, OnFailure, Policy, Shutdown, Visibility};
use sqs_lease_sim::NewMessage;

use crate::scene::*;

/// Handlers fail, panic, and take longer than the timeout; every group is worked on in its order all the same.
#[test]
fn a_group_keeps_its_order_whatever_becomes_of_a_member() {
    for seed in seeds() {
        let attributes = [("FifoQueue", "true"), ("ContentBasedDeduplication", "true")];
        let mut scene = Scene::of(seed, "jobs.fifo", &attributes, |_| Policy::new());
        let (groups, members) = (scene.dice.between(1, 4), scene.dice.between(2, 12));
        for member in 0..members {
            for group in 0..groups {
                let message = NewMessage::new(format!("{group} {member}")).group(format!("{group}"));
                let name = scene.model.name().to_owned();
                scene.model.model(|model, now| model.send(&name, message, now)).unwrap();
            }
        }
        let dice = Mutex::new(Dice(seed + 1));
        let done: Arc<Mutex<HashMap<String, Vec<u64>>>> = Arc::default();
        let (noted, time, mailbox) = (Arc::clone(&done), scene.time.clone(), scene.world.mailbox());
        let tenth = scene.part(10);
        let handler = move |delivery: Arc<Delivery<String>>| {
            let mut dice = dice.lock().unwrap();
            let (works, ends) = (dice.between(1, 25), dice.between(0, 9));
            let (sleep, noted) = (time.sleep(tenth * u32::try_from(works).unwrap()), Arc::clone(&noted));
            async move {
                sleep.await;
                match ends {
                    0 => return Err(()),
                    1 => panic!("the test wants it"),
                    _ => {}
                }
                let (group, member) = delivery.message().split_once(' ').unwrap();
                let mut noted = noted.lock().unwrap();
                noted.entry(group.to_owned()).or_default().push(member.parse().unwrap());
                Ok(())
            }
        };
        let options = ConsumerOptions::new().concurrency(3).unwrap();
        let options = options.on_failure(OnFailure::Release(Visibility::ZERO));
        let consumer = Consumer::new(scene.source(None), move |task| mailbox.spawn(task), options, handler);
        let (stopper, time, all) = (consumer.stopper(), scene.time.clone(), Arc::clone(&done));
        let count = usize::try_from(groups * members).unwrap();
        scene.world.spawner().spawn(async move {
            while all.lock().unwrap().values().map(Vec::len).sum::<usize>() < count {
                time.sleep(Duration::from_secs(1)).await;
            }
            stopper.shutdown(Shutdown::Drain, Duration::from_mins(10));
        });
        scene.world.run(consumer.run()).unwrap();
        let expected: Vec<u64> = (0..members).collect();
        for (group, order) in done.lock().unwrap().iter() {
            assert_eq!(*order, expected, "seed {seed}, group {group}");
        }
        assert!(scene.truth().iter().all(|(_, deleted)| *deleted), "seed {seed}");
    }
}
