//! A world with the simulated SQS in it, from a seed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sqs_lease_driver::{
    ChangeVisibility, Delivery, Failure, Keeper, Moment, Policy, Queue, Receipt, ReceiptHandle, Refusal,
    Reply, Runtime, Settings, Source, Visibility,
};
use sqs_lease_sim::{Event, ModelQueue, Receive};
use sqs_lease_suite::virtual_time::{VirtualTime, World};

/// How many seeds each test plays; `FIELD_SEEDS=1000` plays more, `FIELD_SEEDS=17..18` one.
pub(crate) fn seeds() -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("FIELD_SEEDS") else { return 0..40 };
    let (from, to) = text.split_once("..").unwrap_or(("0", &text));
    from.parse().expect("a number")..to.parse().expect("a number")
}

/// What goes wrong between the keeper and SQS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Changes are never answered, and never arrive.
    ChangesHang,
    /// Changes are refused for now.
    ChangesFail,
    /// Deletes fail, and do not arrive.
    DeletesFail,
    /// Both.
    AllFails,
}

/// The queue of the model, with some trouble on the way.
#[derive(Clone)]
pub(crate) struct Line {
    queue: ModelQueue<VirtualTime>,
    trouble: Arc<Mutex<Option<Trouble>>>,
    /// Entries sent, changes and deletes.
    pub(crate) changes: Arc<AtomicUsize>,
    pub(crate) deletes: Arc<AtomicUsize>,
}

impl Line {
    pub(crate) fn set(&self, trouble: Option<Trouble>) {
        *self.trouble.lock().unwrap() = trouble;
    }

    fn has(&self, trouble: Trouble) -> bool {
        *self.trouble.lock().unwrap() == Some(trouble)
    }

    pub(crate) fn sent(&self) -> usize {
        self.changes.load(Ordering::Relaxed) + self.deletes.load(Ordering::Relaxed)
    }
}

impl Queue for Line {
    async fn change_visibility(&self, entries: Vec<ChangeVisibility>) -> Reply {
        self.changes.fetch_add(entries.len(), Ordering::Relaxed);
        if self.has(Trouble::ChangesHang) {
            return std::future::pending().await;
        }
        if self.has(Trouble::ChangesFail) || self.has(Trouble::AllFails) {
            return Reply::Failed(Refusal::new(Failure::Transient, "InternalError"));
        }
        self.queue.change_visibility(entries).await
    }

    async fn delete(&self, entries: Vec<ReceiptHandle>) -> Reply {
        self.deletes.fetch_add(entries.len(), Ordering::Relaxed);
        if self.has(Trouble::DeletesFail) || self.has(Trouble::AllFails) {
            return Reply::Failed(Refusal::new(Failure::Transient, "InternalError"));
        }
        self.queue.delete(entries).await
    }

    fn is_fifo(&self) -> bool {
        self.queue.is_fifo()
    }
}

/// Random numbers from a seed (splitmix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn between(&mut self, from: u64, to: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = self.0;
        it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        from + (it ^ (it >> 31)) % (to - from + 1)
    }
}

pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) time: VirtualTime,
    pub(crate) model: ModelQueue<VirtualTime>,
    pub(crate) line: Line,
    pub(crate) keeper: Keeper,
    pub(crate) dice: Dice,
    /// The visibility timeout, in seconds.
    pub(crate) timeout: u32,
}

impl Scene {
    pub(crate) fn new(seed: u64) -> Self {
        Self::of(seed, "jobs", &[], |_| Policy::new())
    }

    /// A queue of some timeout of 2 to 120 s, a round trip of up to a tenth of it, 6 s at most, away; the policy may know the timeout.
    pub(crate) fn of(
        seed: u64,
        name: &str,
        attributes: &[(&str, &str)],
        policy: impl FnOnce(u32) -> Policy,
    ) -> Self {
        let mut dice = Dice(seed);
        let timeout = u32::try_from(dice.between(2, 120)).unwrap();
        // An answer that takes longer than 10 s is not waited for.
        let latency = Duration::from_millis(dice.between(1, (u64::from(timeout) * 50).min(3_000)));
        let world = World::new();
        let time = world.time();
        let model = ModelQueue::new(time.clone(), name, latency, attributes).unwrap();
        let queue = model.clone();
        let line = Line { queue, trouble: Arc::default(), changes: Arc::default(), deletes: Arc::default() };
        let keeper = Keeper::new(line.clone(), time.clone(), Settings::new().policy(policy(timeout)));
        world.spawner().spawn(keeper.run());
        Self { world, time, model, line, keeper, dice, timeout }
    }

    /// Keeps the deliveries of another queue from here on.
    pub(crate) fn keep(&mut self, queue: ModelQueue<VirtualTime>) {
        self.line.queue = queue;
        self.keeper = Keeper::new(self.line.clone(), self.time.clone(), Settings::new());
        self.world.spawner().spawn(self.keeper.run());
    }

    /// This many hundredths of the timeout.
    pub(crate) fn part(&self, hundredths: u64) -> Duration {
        Duration::from_millis(u64::from(self.timeout) * hundredths * 10)
    }

    pub(crate) fn source(&self, most: Option<u32>) -> ModelSource {
        let (time, model, keeper) = (self.time.clone(), self.model.clone(), self.keeper.clone());
        ModelSource { time, model, keeper, timeout: self.timeout, most }
    }

    /// Sends a message, receives it, and holds it.
    pub(crate) fn deliver(&self) -> Delivery<sqs_lease_sim::Delivery> {
        self.model.send("a job").unwrap();
        self.model.receive_into(&self.keeper, self.timeout).unwrap().expect("it is visible")
    }

    /// How often each message was received, and whether it is gone.
    pub(crate) fn truth(&self) -> Vec<(usize, bool)> {
        self.model.model(|model, _| {
            let of = |events: &[sqs_lease_sim::Recorded]| {
                let receives = events.iter().filter(|it| matches!(it.event, Event::Received { .. })).count();
                (receives, events.iter().any(|it| matches!(it.event, Event::Deleted { .. })))
            };
            model.histories().map(|(_, events)| of(events)).collect()
        })
    }
}

/// Receives from the model, by long polls of a second, as an adapter does.
#[derive(Clone)]
pub(crate) struct ModelSource {
    time: VirtualTime,
    model: ModelQueue<VirtualTime>,
    keeper: Keeper,
    timeout: u32,
    most: Option<u32>,
}

impl ModelSource {
    fn poll(&self, max: u8) -> Vec<sqs_lease_sim::Delivery> {
        let receive = Receive::new().max(max.into()).visibility(i32::try_from(self.timeout).unwrap());
        self.model.model(|model, now| model.receive(self.model.name(), &receive, now).expect("received"))
    }
}

impl Source for ModelSource {
    type Message = String;
    type Error = std::convert::Infallible;

    fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    async fn receive(&self, max: u8) -> Result<Vec<Delivery<String>>, Self::Error> {
        let timeout = Visibility::new(self.timeout).expect("in range");
        let until: Moment = self.time.now() + Duration::from_secs(1);
        let long_poll = async {
            loop {
                let messages = self.poll(max);
                if !messages.is_empty() || self.time.now() >= until {
                    return messages;
                }
                self.time.sleep(Duration::from_millis(50)).await;
            }
        };
        let (messages, received) = self.keeper.receiving(timeout, long_poll).await;
        let hold = |message: sqs_lease_sim::Delivery| {
            let mut receipt = Receipt::new(message.receipt_handle.as_str(), received)
                .message_id(message.message_id.to_string())
                .receive_count(message.receive_count);
            if let Some(group) = &message.group {
                receipt = receipt.group(group.as_ref());
            }
            if let Some(most) = self.most {
                receipt = receipt.max_receive_count(most);
            }
            self.keeper.hold(receipt, message.body.to_string())
        };
        Ok(messages.into_iter().map(hold).collect())
    }

    fn is_transient(&self, error: &Self::Error) -> bool {
        match *error {}
    }

    fn name(&self) -> &str {
        self.model.name()
    }
}
