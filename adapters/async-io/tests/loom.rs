//! Every order in which sleepers, their dropping and the shared alarm can meet, by loom.
//!
//! The file under test is taken in as it is, with loom's locks in place of the standard library's. That needs no
//! `--cfg loom`, which would build all dependencies a second time.
#![allow(unreachable_pub, reason = "the file under test is a module of another crate")]

#[path = "../src/timers.rs"]
mod timers;

/// The locks of `timers`.
mod sync {
    pub(crate) use loom::sync::{Mutex, MutexGuard};
    pub(crate) use std::sync::PoisonError;
}

use std::sync::Arc as StdArc;
use std::task::{Poll, Wake, Waker};

use loom::sync::Arc;
use loom::sync::Mutex;
use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use loom::thread;
use timers::{Alarm, Timers};

/// A clock that moves when it is told to, and the alarm that hangs on it.
#[derive(Clone)]
struct Clock {
    now: Arc<AtomicU64>,
    set_for: Arc<Mutex<Option<u64>>>,
}

impl Clock {
    fn new() -> Self {
        Self { now: Arc::new(AtomicU64::new(0)), set_for: Arc::new(Mutex::new(None)) }
    }

    /// What the reactor does: time passes, and an alarm that has become due rings, outside of all locks.
    fn move_to(&self, now: u64, timers: &Timers<Self>) {
        self.now.store(now, Ordering::SeqCst);
        self.ring_if_due(timers);
    }

    fn ring_if_due(&self, timers: &Timers<Self>) {
        let due =
            self.set_for.lock().expect("not poisoned").take_if(|at| *at <= self.now.load(Ordering::SeqCst));
        if due.is_some() {
            timers.ring();
        }
    }
}

impl Alarm for Clock {
    type Moment = u64;

    fn now(&self) -> u64 {
        self.now.load(Ordering::SeqCst)
    }

    fn set(&mut self, at: u64) -> Poll<()> {
        let mut set_for = self.set_for.lock().expect("not poisoned");
        if at <= self.now() {
            *set_for = None;
            return Poll::Ready(());
        }
        *set_for = Some(at);
        Poll::Pending
    }
}

/// Counts how often it was woken.
struct Woken(AtomicUsize);

impl Woken {
    fn new() -> StdArc<Self> {
        StdArc::new(Self(AtomicUsize::new(0)))
    }

    fn times(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Woken {
    fn wake(self: StdArc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A sleeper either sees that its time has come or is woken, however its poll falls in with the alarm.
#[test]
fn no_wake_up_is_lost_when_polling_meets_the_alarm() {
    loom::model(|| {
        let clock = Clock::new();
        let timers = Arc::new(Timers::new(clock.clone()));
        let sleeper = {
            let timers = Arc::clone(&timers);
            thread::spawn(move || {
                let woken = Woken::new();
                let waker = Waker::from(StdArc::clone(&woken));
                let polled = timers.poll(10, &mut None, &waker);
                (polled, woken)
            })
        };
        clock.move_to(10, &timers);
        let (polled, woken) = sleeper.join().expect("no panic");
        // Time that passes before the alarm is set rings it as soon as the reactor looks.
        clock.ring_if_due(&timers);
        assert!(polled.is_ready() || woken.times() > 0);
    });
}

/// The one due first is woken at its own time, whoever set the alarm before.
#[test]
fn the_alarm_is_set_for_whoever_is_first() {
    loom::model(|| {
        let clock = Clock::new();
        let timers = Arc::new(Timers::new(clock.clone()));
        let (late, early) = (Woken::new(), Woken::new());
        let other = {
            let (timers, late) = (Arc::clone(&timers), StdArc::clone(&late));
            thread::spawn(move || timers.poll(20, &mut None, &Waker::from(late)))
        };
        assert!(timers.poll(10, &mut None, &Waker::from(StdArc::clone(&early))).is_pending());
        assert!(other.join().expect("no panic").is_pending());
        clock.move_to(10, &timers);
        assert_eq!((early.times(), late.times()), (1, 0));
        clock.move_to(20, &timers);
        assert_eq!((early.times(), late.times()), (1, 1));
    });
}

/// A sleeper who leaves takes nobody's wake-up along, even when the alarm was set for it.
#[test]
fn a_dropped_sleeper_leaves_the_others_theirs() {
    loom::model(|| {
        let clock = Clock::new();
        let timers = Arc::new(Timers::new(clock.clone()));
        let (stays, goes) = (Woken::new(), Woken::new());
        let mut number = None;
        assert!(timers.poll(10, &mut number, &Waker::from(StdArc::clone(&goes))).is_pending());
        assert!(timers.poll(20, &mut None, &Waker::from(StdArc::clone(&stays))).is_pending());
        let other = {
            let timers = Arc::clone(&timers);
            thread::spawn(move || timers.remove(10, number.expect("it waits")))
        };
        clock.move_to(10, &timers);
        other.join().expect("no panic");
        clock.move_to(20, &timers);
        assert_eq!(stays.times(), 1);
        assert!(goes.times() <= 1);
    });
}

/// The waker that was handed over last is the one that is woken.
#[test]
fn a_sleeper_that_moves_to_another_task_is_woken_there() {
    loom::model(|| {
        let clock = Clock::new();
        let timers = Arc::new(Timers::new(clock.clone()));
        let (before, after) = (Woken::new(), Woken::new());
        let mut number = None;
        assert!(timers.poll(10, &mut number, &Waker::from(before)).is_pending());
        let mover = {
            let (timers, after) = (Arc::clone(&timers), StdArc::clone(&after));
            thread::spawn(move || timers.poll(10, &mut number, &Waker::from(after)))
        };
        clock.move_to(10, &timers);
        let polled = mover.join().expect("no panic");
        clock.ring_if_due(&timers);
        assert!(polled.is_ready() || after.times() > 0);
    });
}
