//! A queue that only counts, and the loop whose wakes are counted.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sqs_lease_driver::{
    ChangeVisibility, Delivery, Keeper, Moment, Queue, Receipt, ReceiptHandle, Received, Reply, Runtime,
    Settings, Visibility,
};
use sqs_lease_suite::virtual_time::{VirtualTime, World};

pub(crate) const HALF: Duration = Duration::from_secs(15);

/// What went to the queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) calls: u64,
    pub(crate) entries: u64,
    /// When each lease is in the middle of its timeout.
    middles: Vec<Moment>,
    /// The most that an extension was after its middle, and before it.
    pub(crate) late: Duration,
    pub(crate) early: Duration,
}

pub(crate) struct Scene {
    pub(crate) time: VirtualTime,
    pub(crate) keeper: Keeper,
    pub(crate) wakes: Arc<AtomicU64>,
    counts: Arc<Mutex<Counts>>,
    timeout: Visibility,
}

impl Scene {
    /// A queue so far away, and a loop with the defaults.
    pub(crate) fn new(world: &World, timeout: u32, latency: Duration) -> Self {
        let time = world.time();
        Self::on(world, time, timeout, latency)
    }

    /// The same by another clock.
    pub(crate) fn on(world: &World, runtime: impl Runtime, timeout: u32, latency: Duration) -> Self {
        let (time, counts) = (world.time(), Arc::<Mutex<Counts>>::default());
        let queue = Counting { time: time.clone(), counts: Arc::clone(&counts), latency };
        let keeper = Keeper::new(queue, runtime, Settings::new());
        let wakes = Arc::new(AtomicU64::new(0));
        world.spawner().spawn(counted(keeper.run(), Arc::clone(&wakes)));
        Self { time, keeper, wakes, counts, timeout: Visibility::new(timeout).unwrap() }
    }

    /// Holds the delivery of the next number, received now.
    pub(crate) fn hold(&self) -> Delivery<()> {
        let number = {
            let mut counts = self.counts.lock().unwrap();
            counts.middles.push(self.time.now() + self.timeout.as_duration() / 2);
            counts.middles.len() - 1
        };
        let received = Received::new(self.time.now(), self.timeout);
        self.keeper.hold(Receipt::new(format!("{number}"), received), ())
    }

    /// So many, received in tens over half of the timeout.
    pub(crate) async fn hold_spread(&self, leases: u32) -> Vec<Delivery<()>> {
        let mut held = Vec::with_capacity(leases as usize);
        while held.len() < leases as usize {
            let together = (leases as usize - held.len()).min(10);
            held.extend((0..together).map(|_| self.hold()));
            self.time.sleep(HALF * 10 / leases.max(10)).await;
        }
        held
    }

    /// What went to the queue in this time, and how often the loop was woken.
    pub(crate) async fn count(&self, time: Duration) -> (Counts, u64) {
        let (before, wakes) = (self.counts.lock().unwrap().clone(), self.wakes.load(Relaxed));
        self.time.sleep(time).await;
        let after = self.counts.lock().unwrap().clone();
        let (calls, entries) = (after.calls - before.calls, after.entries - before.entries);
        (Counts { calls, entries, ..after }, self.wakes.load(Relaxed) - wakes)
    }

    pub(crate) fn calls(&self) -> u64 {
        self.counts.lock().unwrap().calls
    }
}

struct Counting {
    time: VirtualTime,
    counts: Arc<Mutex<Counts>>,
    latency: Duration,
}

impl Queue for Counting {
    async fn change_visibility(&self, entries: Vec<ChangeVisibility>) -> Reply {
        let now = self.time.now();
        {
            let mut counts = self.counts.lock().unwrap();
            counts.calls += 1;
            counts.entries += entries.len() as u64;
            for entry in &entries {
                let number: usize = entry.receipt_handle.expose().parse().unwrap();
                let middle = counts.middles[number];
                counts.late = counts.late.max(now - middle);
                counts.early = counts.early.max(middle - now);
                counts.middles[number] = now + entry.timeout.as_duration() / 2;
            }
        }
        if !self.latency.is_zero() {
            self.time.sleep(self.latency).await;
        }
        Reply::Done
    }

    async fn delete(&self, _: Vec<ReceiptHandle>) -> Reply {
        Reply::Done
    }
}

/// Virtual time that moves on a little whenever somebody looks at it, as a real clock does.
pub(crate) struct Running(pub(crate) VirtualTime);

impl Runtime for Running {
    fn now(&self) -> Moment {
        self.0.suspend(Duration::from_micros(1));
        self.0.now()
    }

    fn sleep_until(&self, at: Moment) -> impl Future<Output = ()> + Send + use<> {
        self.0.sleep_until(at)
    }
}

/// Counts how often a task is polled.
async fn counted(task: impl Future<Output = ()>, polls: Arc<AtomicU64>) {
    let mut task = pin!(task);
    poll_fn(|cx| {
        polls.fetch_add(1, Relaxed);
        task.as_mut().poll(cx)
    })
    .await;
}
