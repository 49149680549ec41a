use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};

use futures_util::future::{Either, FutureExt, select};

use crate::log::TARGET;
use crate::shared::Shared;
use crate::sync::{Arc, Event, Mutex, PoisonError};

/// Where the loop is while nobody drives it.
///
/// A task of its own drives it as a rule. Where there is none, whoever waits for a lease drives it meanwhile,
/// and leaves the seat to the first task that is made for it: a handler that blocks its thread must not starve
/// the leases of others.
#[derive(Default)]
pub(crate) struct Engine {
    slot: Mutex<Slot>,
    /// The loop was put back, or is gone for good.
    free: Event,
    /// A task that was made to drive wants the seat.
    wanted: Event,
}

#[derive(Default)]
struct Slot {
    parked: Option<Loop>,
    /// The loop ended, or died of a panic: nobody will drive any more.
    over: bool,
    /// Tasks that were made to drive, polled yet or not.
    tasks: usize,
    /// No keeper and no delivery is left.
    abandoned: bool,
}

type Loop = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The loop ended before what was waited for came.
pub(crate) struct Over;

impl Engine {
    pub(crate) fn park(&self, it: impl Future<Output = ()> + Send + 'static) {
        // A loop that panicked must not be polled again; that is an end like another.
        let it = AssertUnwindSafe(it).catch_unwind().map(|ended| {
            if ended.is_err() {
                tracing::error!(target: TARGET, "the loop panicked: no delivery is kept any more");
            }
        });
        self.with(|slot| slot.parked = Some(Box::pin(it)));
    }

    /// Awaits something that only the loop can bring about, driving it where no task does.
    pub(crate) async fn drive_while<F: Future>(&self, awaited: F) -> Result<F::Output, Over> {
        let mut awaited = pin!(awaited);
        loop {
            let (free, wanted) = (self.free.listen(), self.wanted.listen());
            if let Some(mut seat) = self.take(|slot| slot.tasks == 0) {
                let driven = select(seat.as_mut(), wanted);
                match select(awaited.as_mut(), driven).await {
                    Either::Left((output, _)) => return Ok(output),
                    Either::Right((Either::Left(((), _)), _)) => seat.end(),
                    Either::Right((Either::Right(((), _)), _)) => {}
                }
            } else if self.is_over() {
                // What the loop did last may be what was awaited.
                return awaited.now_or_never().ok_or(Over);
            } else {
                match select(awaited.as_mut(), free).await {
                    Either::Left((output, _)) => return Ok(output),
                    Either::Right(_) => {}
                }
            }
        }
    }

    /// Drives until the loop ends.
    async fn run(&self) {
        while !self.is_over() {
            let free = self.free.listen();
            if let Some(mut seat) = self.take(|_| true) {
                seat.as_mut().await;
                seat.end();
            } else if !self.is_over() {
                free.await;
            }
        }
    }

    /// The last keeper or delivery is gone.
    pub(crate) fn abandoned(&self) {
        self.with(|slot| slot.abandoned = true);
        self.drop_if_abandoned();
    }

    fn is_over(&self) -> bool {
        self.with(|slot| slot.over)
    }

    fn take(&self, may: impl FnOnce(&Slot) -> bool) -> Option<Seat<'_>> {
        let it = self.with(|slot| if may(slot) { slot.parked.take() } else { None })?;
        Some(Seat { engine: self, it: Some(it) })
    }

    /// The loop holds what holds it; nobody else would ever take it out.
    fn drop_if_abandoned(&self) {
        let dropped =
            self.with(|slot| if slot.abandoned && slot.tasks == 0 { slot.parked.take() } else { None });
        drop(dropped);
    }

    fn with<R>(&self, work: impl FnOnce(&mut Slot) -> R) -> R {
        work(&mut self.slot.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A task that was made to drive, whether it is polled yet or not.
pub(crate) struct Task(Arc<Shared>);

impl Task {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        shared.engine.with(|slot| slot.tasks += 1);
        shared.engine.wanted.notify(usize::MAX);
        Self(shared)
    }

    pub(crate) async fn run(self) {
        self.0.engine.run().await;
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let engine = &self.0.engine;
        engine.with(|slot| slot.tasks -= 1);
        // Whoever waits drives again.
        engine.free.notify(usize::MAX);
        engine.drop_if_abandoned();
    }
}

/// Whoever holds it drives. It puts the loop back, unless the loop has ended.
struct Seat<'a> {
    engine: &'a Engine,
    it: Option<Loop>,
}

impl Seat<'_> {
    fn as_mut(&mut self) -> Pin<&mut (dyn Future<Output = ()> + Send)> {
        self.it.as_mut().expect("it is taken out only by `end` and drop").as_mut()
    }

    fn end(mut self) {
        self.it = None;
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        // Also where the handler beside it panics: the loop is none the worse for it.
        self.engine.with(|slot| match self.it.take() {
            Some(it) => slot.parked = Some(it),
            None => slot.over = true,
        });
        self.engine.free.notify(usize::MAX);
    }
}
