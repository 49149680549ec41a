use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqs_lease_driver::{Keeper, Runtime as _};
use sqs_lease_sim::{Model, Network, NewMessage, redrive_policy};

use super::client::Client;
use super::consumer::{Consumer, FarQueue, Notes, crash};
use super::scenario::{Feature, Scenario};
use super::verdict::judge;
use super::wire::Wire;
use crate::virtual_time::{VirtualTime, World};

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What should never have happened, in words.
    pub violations: Vec<String>,
    /// How many messages were sent, and how many deliveries of them were held.
    pub messages: u64,
    /// How many deliveries were held.
    pub deliveries: u64,
    /// How many changes of visibility SQS took, and in how many calls all of them were asked for.
    pub changes: u64,
    /// How many calls of `ChangeMessageVisibilityBatch` were sent.
    pub change_calls: u64,
    /// How many deliveries were lost by their holders.
    pub losses: u64,
    /// How many messages were hidden by a holder that died.
    pub crashes: u64,
}

impl Outcome {
    pub(crate) fn add(&mut self, other: Self) {
        self.violations.extend(other.violations);
        self.messages += other.messages;
        self.deliveries += other.deliveries;
        self.changes += other.changes;
        self.change_calls += other.change_calls;
        self.losses += other.losses;
        self.crashes += other.crashes;
    }
}

pub(crate) const DEAD: &str = "dead";

/// Plays a scenario and judges it.
pub fn run(scenario: &Scenario) -> Outcome {
    let played = catch_unwind(AssertUnwindSafe(|| play(scenario, |_, _| {})));
    let mut outcome = played.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("?");
        Outcome { violations: vec![format!("panicked: {text}")], ..Outcome::default() }
    });
    for violation in &mut outcome.violations {
        *violation = format!("{scenario}: {violation}");
    }
    outcome
}

/// Plays a scenario, and looks at what was recorded before it is judged.
pub(crate) fn play(scenario: &Scenario, look: impl FnOnce(&Model, &Notes)) -> Outcome {
    let mut world = World::new();
    let time = world.time();
    let name: Arc<str> = if scenario.has(Feature::Fifo) { "jobs.fifo" } else { "jobs" }.into();
    let wire = Wire::new(time.clone(), model(scenario, &name));
    let notes = Arc::new(Mutex::new(Notes::default()));
    let shared = Rc::new(scenario.clone());
    let spawner = world.spawner();
    spawner.spawn(wire.clone().deliver());
    spawner.spawn(send(scenario.clone(), time.clone(), wire.clone(), Arc::clone(&name)));
    let mut clients = Vec::new();
    for number in 0..scenario.consumers {
        let client = Client::new(time.clone(), scenario.clock(number));
        clients.push(client.clone());
        let network = Network::new(scenario.weather(number), scenario.dice(600 + u64::from(number)).next());
        let queue = FarQueue {
            client: client.clone(),
            wire: wire.clone(),
            network: Mutex::new(network),
            notes: Arc::clone(&notes),
            name: Arc::clone(&name),
        };
        let keeper = Keeper::new(queue, client.clone(), Consumer::settings(scenario, number));
        let consumer = Consumer {
            number,
            scenario: Rc::clone(&shared),
            client: client.clone(),
            wire: wire.clone(),
            keeper: keeper.clone(),
            notes: Arc::clone(&notes),
            name: Arc::clone(&name),
            spawner: spawner.clone(),
        };
        let death = scenario.crash(number);
        let (loops, of_loop) = (keeper.run(), client.clone());
        spawner.spawn(async move {
            crash::unless(&of_loop, death, loops).await;
        });
        spawner.spawn(async move {
            crash::unless(&client, death, consumer.consume()).await;
        });
    }
    let end = scenario.end_at();
    world.run(async move { time.sleep_until(end).await });
    // The tasks that still run hold the notes, too.
    let notes = std::mem::take(&mut *notes.lock().unwrap_or_else(PoisonError::into_inner));
    wire.model(|model, _| look(model, &notes));
    wire.model(|model, now| judge(scenario, model, &name, &notes, &clients, now))
}

fn model(scenario: &Scenario, name: &str) -> Model {
    let mut model = Model::new(scenario.settings());
    let now = VirtualTime::START;
    let fifo: &[_] = if scenario.has(Feature::Fifo) { &[("FifoQueue", "true")] } else { &[] };
    let dead = dead_letter_queue(name);
    model.create_queue(&dead, fifo, now).expect("a valid queue");
    let policy = scenario
        .max_receives()
        .map(|count| redrive_policy(&model.queue_arn(&dead).expect("it was just created"), count));
    let mut attributes = fifo.to_vec();
    attributes.extend(policy.as_deref().map(|policy| ("RedrivePolicy", policy)));
    model.create_queue(name, &attributes, now).expect("a valid queue");
    model
}

pub(crate) fn dead_letter_queue(name: &str) -> String {
    name.replace(super::consumer::QUEUE, DEAD)
}

/// Sends the messages, most of them at the beginning.
async fn send(scenario: Scenario, time: VirtualTime, wire: Wire, name: Arc<str>) {
    let mut dice = scenario.dice(700);
    for number in 0..scenario.messages {
        if dice.below(3) == 0 {
            time.sleep(dice.up_to(scenario.span())).await;
        }
        let mut message = NewMessage::new(format!("work {number}"));
        if scenario.has(Feature::Fifo) {
            message = message
                .group(format!("group {}", dice.below(8)).replace(' ', "-"))
                .deduplication_id(number.to_string());
        }
        // A queue with a pace takes it a second later.
        while wire.model(|model, now| model.send(&name, message.clone(), now)).is_err() {
            time.sleep(Duration::from_secs(1)).await;
        }
    }
}
