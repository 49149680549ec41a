//! Tests of a handler as a user without a runtime writes them: on the simulated SQS, with the driver itself, in virtual
//! time. The page on testing shows the same under Tokio.

use std::error::Error;
use std::time::{Duration, Instant};

use sqs_lease_driver::{Keeper, Settings, StopReason};
use sqs_lease_sim::ModelQueue;
use sqs_lease_suite::virtual_time::World;

const TIMEOUT: u32 = 600;

/// The latency of the simulated network, each way.
const LATENCY: Duration = Duration::from_millis(20);

#[test]
fn a_handler_of_almost_twelve_hours_keeps_its_message() -> Result<(), Box<dyn Error>> {
    let started = Instant::now();
    let mut world = World::new();
    let time = world.time();
    let jobs = ModelQueue::new(time.clone(), "jobs", LATENCY, &[])?;
    let keeper = Keeper::new(jobs.clone(), time.clone(), Settings::new());
    world.spawner().spawn(keeper.run());
    jobs.send("render the film")?;
    let delivery = jobs.receive_into(&keeper, TIMEOUT)?.expect("the message");
    let rival = jobs.clone();
    world.run(async move {
        let work = async {
            for _ in 0..11 {
                time.sleep(Duration::from_hours(1)).await;
                assert_eq!(rival.receive(TIMEOUT), Ok(None), "nobody else gets it meanwhile");
            }
        };
        delivery.keep(work).await.expect("held to the end of the work");
        delivery.delete().await.expect("deleted, and confirmed");
    });
    jobs.model(|model, _| {
        assert_eq!(model.overlaps(), []);
        assert_eq!(model.histories().count(), 1);
    });
    // In a debug build, beside other tests: the aim is a tenth of this.
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    Ok(())
}

#[test]
fn a_handler_that_loses_its_lease_is_told_before_anybody_else_gets_the_message() -> Result<(), Box<dyn Error>>
{
    let mut world = World::new();
    let time = world.time();
    // So far away that no extension arrives in time.
    let jobs = ModelQueue::new(time.clone(), "jobs", Duration::from_secs(20), &[])?;
    let keeper = Keeper::new(jobs.clone(), time.clone(), Settings::new());
    world.spawner().spawn(keeper.run());
    jobs.send("work")?;
    let delivery = jobs.receive_into(&keeper, 30)?.expect("the message");
    let queue = jobs.clone();
    world.run(async move {
        let lost = delivery.keep(time.sleep(Duration::from_hours(1))).await.expect_err("the work is cut off");
        assert_eq!(lost.reason, StopReason::Expired);
        // The handler has stopped: SQS does not learn of it, and the model has to be told.
        let handle = &delivery.message().receipt_handle;
        queue.model(|model, now| model.let_go("jobs", handle, now)).expect("noted");
        time.sleep(Duration::from_secs(1)).await;
        assert_eq!(
            queue.receive(30).expect("received").expect("the message, for the next consumer").receive_count,
            2
        );
    });
    jobs.model(|model, _| assert_eq!(model.overlaps(), []));
    Ok(())
}
