//! Virtual time: tasks on one thread, and a clock that jumps to the next timer when none can go on.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_executor::{LocalPool, LocalSpawner};
use futures_util::task::LocalSpawnExt;
use sqs_lease_driver::{Moment, Runtime};

/// A clock whose time moves only in [`World::run`]. Clones share the time.
#[derive(Clone, Debug)]
pub struct VirtualTime(Arc<Mutex<Timers>>);

#[derive(Debug)]
struct Timers {
    now: Moment,
    next: u64,
    sleepers: BTreeMap<(Moment, u64), Waker>,
    /// How often a sleep was begun.
    sleeps: u64,
}

impl VirtualTime {
    /// The time at which every world begins, so that something may have happened before.
    pub const START: Moment = Moment::from_secs(100_000);

    fn new() -> Self {
        Self(Arc::new(Mutex::new(Timers { now: Self::START, next: 0, sleepers: BTreeMap::new(), sleeps: 0 })))
    }

    /// Milliseconds since the start.
    pub fn millis(&self) -> u128 {
        (self.now() - Self::START).as_millis()
    }

    /// Sleeps for a while.
    pub fn sleep(&self, time: Duration) -> impl Future<Output = ()> + Send + use<> {
        self.sleep_until(self.now() + time)
    }

    /// Lets time pass without waking anybody, as a suspension of the machine does.
    pub fn suspend(&self, time: Duration) {
        self.with(|timers| timers.now += time);
    }

    /// How often a sleep was begun so far.
    pub fn sleeps(&self) -> u64 {
        self.with(|timers| timers.sleeps)
    }

    /// Moves to the next timer and wakes its sleepers; whether there was one.
    fn advance(&self) -> bool {
        let woken = self.with(|timers| {
            let (&(at, _), _) = timers.sleepers.first_key_value()?;
            timers.now = timers.now.max(at);
            let mut woken = Vec::new();
            while let Some(first) = timers.sleepers.first_entry() {
                if first.key().0 > timers.now {
                    break;
                }
                woken.push(first.remove());
            }
            Some(woken)
        });
        let Some(woken) = woken else { return false };
        woken.into_iter().for_each(Waker::wake);
        true
    }

    fn with<R>(&self, work: impl FnOnce(&mut Timers) -> R) -> R {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Runtime for VirtualTime {
    fn now(&self) -> Moment {
        self.with(|timers| timers.now)
    }

    fn sleep_until(&self, at: Moment) -> impl Future<Output = ()> + Send + use<> {
        let id = self.with(|timers| {
            timers.next += 1;
            timers.sleeps += 1;
            timers.next
        });
        VirtualSleep { time: self.clone(), at, id }
    }
}

struct VirtualSleep {
    time: VirtualTime,
    at: Moment,
    id: u64,
}

impl Future for VirtualSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.time.with(|timers| {
            if timers.now >= self.at {
                return Poll::Ready(());
            }
            timers.sleepers.insert((self.at, self.id), cx.waker().clone());
            Poll::Pending
        })
    }
}

impl Drop for VirtualSleep {
    fn drop(&mut self) {
        self.time.with(|timers| timers.sleepers.remove(&(self.at, self.id)));
    }
}

/// Tasks on one thread in virtual time.
#[derive(Debug)]
pub struct World {
    pool: LocalPool,
    time: VirtualTime,
    mailbox: Mailbox,
}

type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Spawns tasks into a [`World`] from anywhere.
#[derive(Clone, Default)]
pub struct Mailbox(Arc<Mutex<Vec<Boxed>>>);

impl Mailbox {
    /// Spawns a task. It is begun before time moves on.
    pub fn spawn(&self, task: Boxed) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(task);
    }

    fn take(&self) -> Vec<Boxed> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox").finish_non_exhaustive()
    }
}

impl World {
    /// A world at [`VirtualTime::START`].
    pub fn new() -> Self {
        Self { pool: LocalPool::new(), time: VirtualTime::new(), mailbox: Mailbox::default() }
    }

    /// Its time.
    pub fn time(&self) -> VirtualTime {
        self.time.clone()
    }

    /// Spawns tasks into it.
    pub fn spawner(&self) -> Spawner {
        Spawner(self.pool.spawner())
    }

    /// Spawns tasks into it from anywhere, also from other tasks that are `Send`.
    pub fn mailbox(&self) -> Mailbox {
        self.mailbox.clone()
    }

    /// Runs all tasks until this one is done. What else is spawned stays where it is.
    ///
    /// # Panics
    /// Nothing can go on and no timer is set: the tasks wait for each other.
    pub fn run<F: Future + 'static>(&mut self, task: F) -> F::Output
    where
        F::Output: 'static,
    {
        let output = Rc::new(RefCell::new(None));
        let slot = Rc::clone(&output);
        self.spawner().spawn(async move {
            let done = task.await;
            *slot.borrow_mut() = Some(done);
        });
        loop {
            self.pool.run_until_stalled();
            let posted = self.mailbox.take();
            if !posted.is_empty() {
                for task in posted {
                    self.spawner().spawn(task);
                }
                continue;
            }
            if let Some(done) = output.borrow_mut().take() {
                return done;
            }
            assert!(
                self.time.advance(),
                "at {} ms nothing can go on and no timer is set",
                self.time.millis()
            );
        }
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

/// Spawns tasks into a [`World`].
#[derive(Clone, Debug)]
pub struct Spawner(LocalSpawner);

impl Spawner {
    /// Spawns a task.
    ///
    /// # Panics
    /// The world is gone.
    pub fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.0.spawn_local(task).expect("the world is there");
    }
}
