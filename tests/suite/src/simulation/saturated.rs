use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqs_lease_driver::{Keeper, Receipt, Received, Runtime as _, Settings, Visibility};
use sqs_lease_sim::{ClientClock, Model, Network, Receive, Weather};

use super::client::Client;
use super::consumer::{FarQueue, Notes, QUEUE};
use super::scenario::Scenario;
use super::wire::Wire;
use crate::virtual_time::{VirtualTime, World};

/// What many leases cost where nothing goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saturated {
    /// Extensions that were asked for.
    pub extensions: usize,
    /// Calls that carried them.
    pub calls: u64,
}

/// Keeps so many deliveries of 30 seconds for an hour, received one by one at moments of the seed's choosing.
///
/// # Panics
/// A lease was lost, though nothing went wrong.
pub fn saturated(leases: u32, seed: u64) -> Saturated {
    let mut world = World::new();
    let time = world.time();
    let mut model = Model::default();
    model.create_queue(QUEUE, &[("VisibilityTimeout", "30")], time.now()).expect("a valid queue");
    for _ in 0..leases {
        model.send(QUEUE, "work", time.now()).expect("a valid message");
    }
    let wire = Wire::new(time.clone(), model);
    let notes = Arc::new(Mutex::new(Notes::default()));
    let client = Client::new(time.clone(), ClientClock::new(VirtualTime::START));
    let weather = Weather::calm().latency(Duration::from_millis(5), Duration::from_millis(80));
    let queue = FarQueue {
        client: client.clone(),
        wire: wire.clone(),
        network: Mutex::new(Network::new(weather, seed)),
        notes: Arc::clone(&notes),
        name: QUEUE.into(),
    };
    let keeper = Keeper::new(queue, client, Settings::new());
    world.spawner().spawn(wire.clone().deliver());
    world.spawner().spawn(keeper.run());
    let mut dice = Scenario { seed, messages: leases, consumers: 1, features: Vec::new() }.dice(0);
    let held = world.run(async move {
        let mut held = Vec::new();
        for _ in 0..leases {
            time.sleep(dice.up_to(Duration::from_secs(30) / leases)).await;
            let message = wire
                .model(|model, now| model.receive(QUEUE, &Receive::new(), now))
                .expect("received")
                .remove(0);
            let received = Received::new(time.now(), Visibility::new(30).expect("30 s"));
            held.push(keeper.hold(Receipt::new(message.receipt_handle.as_str(), received), ()));
        }
        time.sleep(Duration::from_hours(1)).await;
        assert!(wire.model(|model, _| model.overlaps()).is_empty());
        held.iter().filter(|delivery| delivery.is_held()).count()
    });
    assert_eq!(held, leases as usize);
    let notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
    Saturated { extensions: notes.calls.len(), calls: notes.change_calls }
}
