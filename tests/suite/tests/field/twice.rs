//! The same message twice in one process. A second delivery of what is in work is in the consumer's own tests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sqs_lease_driver::{Consumer, ConsumerOptions, Delivery, Shutdown};

use crate::scene::*;

/// The work is done, and no call arrives until the message is lost: it is offered again, says so, and ends deleted. Not in
/// the dead-letter queue, and not worked on for nothing.
#[test]
fn what_was_handled_is_offered_again_and_says_so() {
    for seed in seeds() {
        let mut scene = Scene::new(seed);
        scene.model.send("a job").unwrap();
        scene.line.set(Some(Trouble::AllFails));
        let noted: Arc<Mutex<Vec<(u32, bool)>>> = Arc::default();
        let (offers, line, mailbox) = (Arc::clone(&noted), scene.line.clone(), scene.world.mailbox());
        let handler = move |delivery: Arc<Delivery<String>>| {
            offers.lock().unwrap().push((delivery.receive_count(), delivery.was_handled()));
            if delivery.receive_count() == 2 {
                line.set(None);
            }
            std::future::ready(Ok::<(), ()>(()))
        };
        let options = ConsumerOptions::new().concurrency(2).unwrap();
        let consumer = Consumer::new(scene.source(None), move |task| mailbox.spawn(task), options, handler);
        let (stopper, wait) = (consumer.stopper(), scene.time.sleep(scene.part(300)));
        scene.world.spawner().spawn(async move {
            wait.await;
            stopper.shutdown(Shutdown::Drain, Duration::from_mins(1));
        });
        scene.world.run(consumer.run()).unwrap();
        assert_eq!(*noted.lock().unwrap(), [(1, false), (2, true)], "seed {seed}");
        assert_eq!(scene.truth(), [(2, true)], "seed {seed}");
    }
}
