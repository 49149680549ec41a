//! A world with a consumer in it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sqs_lease_driver::{
    Consumer, ConsumerError, ConsumerOptions, Delivery, Keeper, Policy, Report, Settings, Shutdown, Stopper,
    Visibility,
};
use sqs_lease_suite::scripted::ScriptedQueue;
use sqs_lease_suite::source::{Brings, Failed, ScriptedSource};
use sqs_lease_suite::virtual_time::{VirtualTime, World};

pub(crate) type Ended = Result<Report, ConsumerError<Failed>>;

pub(crate) const fn seconds(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub(crate) fn secs(secs: u32) -> Visibility {
    Visibility::new(secs).unwrap()
}

/// A world with a consumer that is not run yet.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) time: VirtualTime,
    pub(crate) queue: ScriptedQueue,
    pub(crate) source: ScriptedSource,
    /// What handlers noted.
    pub(crate) notes: Notes,
}

#[derive(Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    pub(crate) fn push(&self, time: &VirtualTime, what: &str) {
        self.0.lock().unwrap().push(format!("{} {what}", time.millis()));
    }

    pub(crate) fn take(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

pub(crate) fn scene(timeout: u32) -> Scene {
    scene_of(timeout, |queue| queue)
}

pub(crate) fn scene_of(timeout: u32, queue: impl FnOnce(ScriptedQueue) -> ScriptedQueue) -> Scene {
    let world = World::new();
    let time = world.time();
    let queue = queue(ScriptedQueue::new(time.clone()));
    let settings = Settings::new().policy(Policy::new().guard(Duration::ZERO));
    let keeper = Keeper::new(queue.clone(), time.clone(), settings);
    let source = ScriptedSource::new(time.clone(), keeper, secs(timeout));
    Scene { world, time, queue, source, notes: Notes::default() }
}

impl Scene {
    pub(crate) fn receives(&self, after: u64, messages: &[&'static str]) {
        self.source.then([(seconds(after), Brings::Messages(messages.to_vec()))]);
    }

    /// A handler that notes its begin and works for as many seconds as the message is told to: `a 5`. It fails where
    /// the work is followed by `fails`, panics where by `panics`.
    pub(crate) fn consumer(
        &self,
        options: ConsumerOptions,
        work: impl Fn(&str) -> (u64, &'static str) + Send + Sync + 'static,
    ) -> Consumer<ScriptedSource> {
        let (time, notes, mailbox) = (self.time.clone(), self.notes.clone(), self.world.mailbox());
        let handler = move |delivery: Arc<Delivery<&'static str>>| {
            let (time, notes) = (time.clone(), notes.clone());
            let (takes, ends) = work(delivery.message());
            async move {
                notes.push(&time, &format!("begin {}", delivery.message()));
                let dropped = Dropped { time: &time, notes: &notes, name: delivery.message() };
                time.sleep(seconds(takes)).await;
                std::mem::forget(dropped);
                match ends {
                    "fails" => Err(()),
                    "panics" => panic!("the test wants it"),
                    "leaks" => {
                        std::mem::forget(delivery);
                        Err(())
                    }
                    "releases" => {
                        delivery.release(secs(7)).await.unwrap();
                        Err(())
                    }
                    _ => Ok(()),
                }
            }
        };
        Consumer::new(self.source.clone(), move |task| mailbox.spawn(task), options, handler)
    }

    /// Runs a consumer, and shuts it down after so many seconds.
    pub(crate) fn run(
        &mut self,
        consumer: Consumer<ScriptedSource>,
        after: u64,
        how: Shutdown,
        grace: u64,
    ) -> (Ended, u128) {
        self.run_with(consumer, move |time, stopper| async move {
            time.sleep(seconds(after)).await;
            stopper.shutdown(how, seconds(grace));
        })
    }

    pub(crate) fn run_with<F: Future<Output = ()> + 'static>(
        &mut self,
        consumer: Consumer<ScriptedSource>,
        stop: impl FnOnce(VirtualTime, Stopper) -> F,
    ) -> (Ended, u128) {
        let stopper = consumer.stopper();
        self.world.spawner().spawn(stop(self.time.clone(), stopper));
        let ended = self.world.run(consumer.run());
        (ended, self.time.millis())
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        self.queue.calls()
    }
}

/// Notes that a handler was dropped before its end.
struct Dropped<'a> {
    time: &'a VirtualTime,
    notes: &'a Notes,
    name: &'a str,
}

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.notes.push(self.time, &format!("dropped {}", self.name));
    }
}

pub(crate) fn at_a_time(concurrency: usize) -> ConsumerOptions {
    ConsumerOptions::new().concurrency(concurrency).unwrap()
}

pub(crate) fn names(names: &[&str]) -> Vec<Arc<str>> {
    names.iter().map(|name| Arc::from(*name)).collect()
}
