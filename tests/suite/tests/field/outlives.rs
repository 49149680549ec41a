//! Work that outlives its visibility timeout.

use std::cell::Cell;
use std::rc::Rc;

use crate::scene::*;

#[test]
fn a_handler_longer_than_the_timeout_is_alone_with_its_message() {
    for seed in seeds() {
        let mut scene = Scene::new(seed);
        let delivery = scene.deliver();
        let hundredths = scene.dice.between(50, 900);
        let (work, step) = (scene.part(hundredths), scene.part(7));
        let (time, model, timeout) = (scene.time.clone(), scene.model.clone(), scene.timeout);
        scene.world.spawner().spawn(async move {
            // A rival polls all the while.
            loop {
                time.sleep(step).await;
                model.receive(timeout).unwrap();
            }
        });
        let time = scene.time.clone();
        let settled = scene.world.run(async move {
            let kept = delivery.keep(time.sleep(work)).await;
            (kept.is_ok(), delivery.delete().await)
        });
        assert_eq!(settled, (true, Ok(())), "seed {seed}");
        assert_eq!(scene.truth(), [(1, true)], "seed {seed}");
    }
}

/// Ten of one receive, worked on one after another: each is kept from the receive on.
#[test]
fn the_tail_of_a_batch_does_not_age() {
    for seed in seeds() {
        let mut scene = Scene::new(seed);
        let batch: Vec<_> = (0..10).map(|_| scene.deliver()).collect();
        let work = scene.part(33);
        let time = scene.time.clone();
        scene.world.run(async move {
            for delivery in batch {
                delivery.keep(time.sleep(work)).await.unwrap();
                delivery.delete().await.unwrap();
            }
        });
        assert_eq!(scene.truth(), vec![(1, true); 10], "seed {seed}");
    }
}

#[test]
fn what_was_lost_in_a_buffer_is_not_started() {
    for seed in seeds() {
        let mut scene = Scene::new(seed);
        scene.line.set(Some(Trouble::ChangesFail));
        let delivery = scene.deliver();
        let (time, wait) = (scene.time.clone(), scene.part(103));
        let started = Rc::new(Cell::new(false));
        let flag = Rc::clone(&started);
        let kept = scene.world.run(async move {
            time.sleep(wait).await;
            delivery.keep(async move { flag.set(true) }).await
        });
        assert!(kept.is_err() && !started.get(), "seed {seed}");
    }
}

#[test]
fn retries_inside_the_program_do_not_show() {
    for seed in seeds() {
        let mut scene = Scene::new(seed);
        let delivery = scene.deliver();
        let (time, attempt) = (scene.time.clone(), scene.part(60));
        scene.world.run(async move {
            let retries = async {
                for _ in 0..5 {
                    time.sleep(attempt).await;
                }
            };
            delivery.keep(retries).await.unwrap();
            delivery.delete().await.unwrap();
        });
        assert_eq!(scene.truth(), [(1, true)], "seed {seed}");
    }
}
