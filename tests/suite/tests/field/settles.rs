//! A renewal meets a settle.

use std::time::Duration;

use sqs_lease_suite::capture::Captured;

use crate::scene::*;

/// The handler ends while an extension is on the wire: nothing is told that is not true.
#[test]
fn an_extension_on_the_wire_does_not_disturb_the_delete() {
    for seed in seeds() {
        let (captured, _guard) = Captured::here();
        let mut scene = Scene::new(seed);
        let delivery = scene.deliver();
        let (time, half) = (scene.time.clone(), scene.part(50));
        let after = Duration::from_micros(scene.dice.between(1, u64::from(scene.timeout) * 50_000));
        let line = scene.line.clone();
        scene.world.run(async move {
            delivery.keep(time.sleep(half + after)).await.unwrap();
            delivery.delete().await.unwrap();
            assert!(line.sent() >= 2, "an extension and a delete");
        });
        let bad: Vec<_> = captured.ours().into_iter().filter(|it| !it.starts_with("DEBUG")).collect();
        assert!(bad.is_empty(), "seed {seed}: {bad:#?}");
        assert_eq!(scene.truth(), [(1, true)], "seed {seed}");
    }
}

/// One delivery is deleted behind its handler's back: no other notices.
#[test]
fn one_refusal_takes_no_other_delivery_down() {
    for seed in seeds() {
        let mut scene = Scene::new(seed);
        let gone = scene.deliver();
        let others = [scene.deliver(), scene.deliver()];
        let handle = gone.message().receipt_handle.clone();
        let name = scene.model.name().to_owned();
        scene.model.model(|model, now| model.delete(&name, &handle, now)).unwrap();
        let (time, work) = (scene.time.clone(), scene.part(500));
        scene.world.run(async move {
            assert!(gone.keep(std::future::pending::<()>()).await.is_err());
            time.sleep(work).await;
            for delivery in &others {
                assert!(delivery.is_held());
                delivery.delete().await.unwrap();
            }
        });
        assert_eq!(scene.truth(), vec![(1, true); 3], "seed {seed}");
    }
}

/// Deletes fail for several timeouts: the work is done, and nobody does it again.
#[test]
fn a_message_is_kept_until_its_delete_is_confirmed() {
    for seed in seeds() {
        let mut scene = Scene::new(seed);
        scene.line.set(Some(Trouble::DeletesFail));
        let delivery = scene.deliver();
        let hundredths = scene.dice.between(50, 500);
        let (time, line, well_after) = (scene.time.clone(), scene.line.clone(), scene.part(hundredths));
        let wait = time.sleep(well_after);
        scene.world.spawner().spawn(async move {
            wait.await;
            line.set(None);
        });
        let deleted = scene.world.run(async move { delivery.delete().await });
        assert_eq!((deleted, scene.truth()), (Ok(()), vec![(1, true)]), "seed {seed}");
        assert!(scene.time.millis() >= well_after.as_millis(), "seed {seed}");
    }
}
