//! Every order in which those who wait, a task made to drive, and the loop can meet at the engine, by loom.
//!
//! The file under test is taken in as it is, with loom's locks in place of the standard library's and an event of
//! its own over them. A wake-up that is lost shows as a thread that waits for ever, which loom reports.
#![allow(unreachable_pub, dead_code, reason = "the file under test is a module of another crate")]

use std::future::{Future, poll_fn};
use std::task::Poll;

use loom::future::block_on;
use loom::thread;

#[path = "../src/engine.rs"]
mod engine;

mod log {
    pub(crate) const TARGET: &str = "sqs_lease";
}

mod shared {
    use super::engine::Engine;

    pub(crate) struct Shared {
        pub(crate) engine: Engine,
    }
}

/// The parts of the engine, on loom's.
mod sync {
    use std::future::{Future, poll_fn};
    use std::pin::Pin;
    pub(crate) use std::sync::PoisonError;
    use std::task::{Poll, Waker};

    pub(crate) use loom::sync::{Arc, Mutex};

    /// As `event_listener::Event`: a listener hears what is notified after it was made.
    #[derive(Default)]
    pub(crate) struct Event {
        state: Arc<Mutex<State>>,
    }

    #[derive(Default)]
    struct State {
        notified: usize,
        waiting: Vec<Waker>,
    }

    impl Event {
        pub(crate) fn listen(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
            let state = Arc::clone(&self.state);
            let since = state.lock().unwrap().notified;
            Box::pin(poll_fn(move |cx| {
                let mut state = state.lock().unwrap();
                if state.notified > since {
                    return Poll::Ready(());
                }
                state.waiting.push(cx.waker().clone());
                Poll::Pending
            }))
        }

        pub(crate) fn notify(&self, _: usize) {
            let waiting = {
                let mut state = self.state.lock().unwrap();
                state.notified += 1;
                std::mem::take(&mut state.waiting)
            };
            waiting.into_iter().for_each(Waker::wake);
        }
    }
}

use shared::Shared;
use sync::{Arc, Event, Mutex};

/// Something that only the loop brings about.
#[derive(Clone, Default)]
struct Done {
    is_done: Arc<Mutex<bool>>,
    event: Arc<Event>,
}

impl Done {
    fn set(&self) {
        *self.is_done.lock().unwrap() = true;
        self.event.notify(usize::MAX);
    }

    async fn wait(self) {
        loop {
            let listener = self.event.listen();
            if *self.is_done.lock().unwrap() {
                return;
            }
            listener.await;
        }
    }
}

/// An engine whose loop is woken once before it does its work, and then goes on for ever.
fn engine(done: &Done) -> Arc<Shared> {
    let shared = Arc::new(Shared { engine: engine::Engine::default() });
    let done = done.clone();
    let mut polls = 0;
    shared.engine.park(poll_fn(move |cx| {
        polls += 1;
        match polls {
            1 => cx.waker().wake_by_ref(),
            _ => done.set(),
        }
        Poll::Pending
    }));
    shared
}

fn waits(shared: &Arc<Shared>, done: &Done) -> thread::JoinHandle<()> {
    let (shared, done) = (Arc::clone(shared), done.clone());
    thread::spawn(move || {
        let waited = block_on(shared.engine.drive_while(done.wait()));
        assert!(waited.is_ok(), "the loop has not ended");
    })
}

fn model(scene: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(scene);
}

/// Two wait and nobody else drives: whoever drives first leaves the seat to the other.
#[test]
fn two_who_wait_drive_for_each_other() {
    model(|| {
        let done = Done::default();
        let shared = engine(&done);
        let other = waits(&shared, &done);
        assert!(block_on(shared.engine.drive_while(done.wait())).is_ok());
        other.join().unwrap();
    });
}

/// A task made to drive comes while somebody drives, drives for a while, and is dropped.
#[test]
fn a_task_comes_and_goes() {
    model(|| {
        let done = Done::default();
        let shared = engine(&done);
        let other = waits(&shared, &done);
        let mut task = Box::pin(engine::Task::new(Arc::clone(&shared)).run());
        // Polled once, then cancelled, wherever that meets the other.
        block_on(poll_fn(|cx| Poll::Ready(task.as_mut().poll(cx).is_ready())));
        drop(task);
        other.join().unwrap();
    });
}

/// A task drives to the end of what is waited for.
#[test]
fn a_task_drives_for_who_waits() {
    model(|| {
        let done = Done::default();
        let shared = engine(&done);
        let other = waits(&shared, &done);
        let task = engine::Task::new(Arc::clone(&shared));
        let run = Box::pin(task.run());
        let both = futures_util::future::select(run, Box::pin(done.wait()));
        drop(block_on(both));
        other.join().unwrap();
    });
}

/// The loop ends: nobody waits for ever.
#[test]
fn the_end_of_the_loop_is_told() {
    model(|| {
        let shared = Arc::new(Shared { engine: engine::Engine::default() });
        shared.engine.park(std::future::ready(()));
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || block_on(shared.engine.drive_while(std::future::pending::<()>())).is_err())
        };
        assert!(block_on(shared.engine.drive_while(std::future::pending::<()>())).is_err());
        assert!(other.join().unwrap());
    });
}
