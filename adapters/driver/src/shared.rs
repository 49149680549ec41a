use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use atomic_waker::AtomicWaker;
use event_listener::Event;
use sqs_lease_core::{Acknowledged, Ask, Call, CallId, CallKind, LeaseKey, LeaseSet, Moment, SetPolicy};

use crate::engine::Engine;
use crate::late::Late;
use crate::log::Log;
use crate::queue::{ChangeVisibility, Reply};
use crate::receipt::{About, ReceiptHandle};
use crate::stats::Stats;

/// What handles and the loop share. The lock is never held across an await, a wake or a log event.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// The task that drives.
    pub(crate) waker: AtomicWaker,
    pub(crate) engine: Engine,
    /// Keepers and deliveries.
    users: AtomicUsize,
    now: Box<dyn Fn() -> Moment + Send + Sync>,
    pub(crate) sleep: Box<dyn Fn(Moment) -> Sleep + Send + Sync>,
    pub(crate) is_fifo: bool,
}

pub(crate) type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(crate) struct State {
    pub(crate) set: LeaseSet<Kept>,
    /// Until when the loop sleeps; `None`: until it is woken.
    armed: Option<Moment>,
    /// Deletes of deliveries that have no lease any more.
    pub(crate) late: VecDeque<Arc<Late>>,
    /// The late delete of each delivery that has asked for one.
    pub(crate) late_of: HashMap<LeaseKey, Arc<Late>>,
    late_in_flight: usize,
    pub(crate) stats: Stats,
}

/// What the set keeps with each lease.
pub(crate) struct Kept {
    pub(crate) receipt_handle: ReceiptHandle,
    /// `None`: nothing is told of it.
    pub(crate) about: Option<Arc<About>>,
    /// Tells those who wait that the lease has ended.
    pub(crate) ended: Event,
    /// Its handle is gone; it only waits for a settle.
    pub(crate) detached: bool,
    /// A handler was started.
    pub(crate) started: bool,
}

/// A call to send.
pub(crate) struct Outgoing {
    pub(crate) carries: Carries,
    pub(crate) answer_by: Moment,
    pub(crate) of: Of,
}

pub(crate) enum Carries {
    Changes(Vec<ChangeVisibility>),
    Deletes(Vec<ReceiptHandle>),
}

/// Whom a call's answer is for.
pub(crate) enum Of {
    Leases(CallId),
    Late(Vec<Arc<Late>>),
}

/// How many calls of late deletes may be under way at once.
const LATE_CALLS: usize = 8;
const BATCH: usize = 10;

impl Shared {
    pub(crate) fn new(
        calls: SetPolicy,
        is_fifo: bool,
        now: impl Fn() -> Moment + Send + Sync + 'static,
    ) -> Self {
        let set = LeaseSet::new(calls);
        Self {
            state: Mutex::new(State {
                set,
                armed: None,
                late: VecDeque::new(),
                late_of: HashMap::new(),
                late_in_flight: 0,
                stats: Stats::default(),
            }),
            waker: AtomicWaker::new(),
            engine: Engine::default(),
            users: AtomicUsize::new(0),
            now: Box::new(now),
            sleep: Box::new(|_| Box::pin(std::future::pending())),
            is_fifo,
        }
    }

    pub(crate) fn sleeping(self, sleep: impl Fn(Moment) -> Sleep + Send + Sync + 'static) -> Self {
        Self { sleep: Box::new(sleep), ..self }
    }

    pub(crate) fn now(&self) -> Moment {
        (self.now)()
    }

    /// Works on the state, and wakes the loop if it now sleeps too long.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut State, Moment) -> R) -> R {
        let now = self.now();
        self.timeless(|state| work(state, now))
    }

    /// The same without a look at the clock.
    pub(crate) fn timeless<R>(&self, work: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.lock();
        let result = work(&mut state);
        let nearer = match (state.wake_up(), state.armed) {
            (Some(next), Some(armed)) => next < armed,
            (next, None) => next.is_some(),
            (None, Some(_)) => false,
        };
        drop(state);
        if nearer {
            self.waker.wake();
        }
        result
    }

    /// Takes out what has happened, for the log, and the next call to send.
    pub(crate) fn take_out(&self, now: Moment, log: &mut Log) -> Option<Outgoing> {
        let mut ended = Vec::new();
        let mut state = self.lock();
        let call = state.take_out(now, log, &mut ended);
        drop(state);
        // Handlers first: a subscriber may take its time.
        for event in ended {
            event.notify(usize::MAX);
        }
        log.emit();
        call
    }

    /// Puts in the reply of a call.
    pub(crate) fn put_in(&self, of: Of, reply: &Reply, log: &mut Log, now: Moment) {
        match of {
            Of::Leases(call) => {
                let mut outcomes = [None; BATCH];
                let answer = reply.answer(&mut outcomes);
                let mut state = self.lock();
                let State { set, stats, .. } = &mut *state;
                log.note_codes(set.entries(call), reply);
                if log.wants_debug {
                    set.handle_answer(call, answer, now);
                } else {
                    // Nearly all there is to tell are extensions, and nearly nobody wants to read of them.
                    let count = |those: Acknowledged<'_>| {
                        stats.extended(those.entries.len() as u64, 1, those.margin);
                    };
                    set.handle_answer_with(call, answer, count, now);
                }
            }
            Of::Late(deletes) => {
                self.lock().late_in_flight -= 1;
                for (index, delete) in deletes.iter().enumerate() {
                    delete.answered(reply.of(index));
                }
            }
        }
    }

    /// Notes until when the loop is going to sleep; not beyond the moment given, which may be the last there is.
    pub(crate) fn arm(&self, at_most: Moment) -> Option<Moment> {
        let mut state = self.lock();
        let at_most = Some(at_most).filter(|at| *at < Moment::MAX);
        state.armed = [state.wake_up(), at_most].into_iter().flatten().min();
        state.armed
    }

    /// Whether nobody is left to keep a lease for, and nothing is left to send.
    pub(crate) fn is_done(&self) -> bool {
        self.users.load(Ordering::Acquire) == 0 && {
            let state = self.lock();
            state.set.is_empty() && state.late.is_empty() && state.late_in_flight == 0
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing of ours panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn wake_up(&self) -> Option<Moment> {
        if !self.late.is_empty() && self.late_in_flight < LATE_CALLS {
            return Some(Moment::ORIGIN);
        }
        self.set.poll_timeout()
    }

    fn take_out(&mut self, now: Moment, log: &mut Log, ended: &mut Vec<Event>) -> Option<Outgoing> {
        loop {
            while let Some(event) = self.set.poll_event(now) {
                if let sqs_lease_core::Event::Extended { attempt, margin, .. } = event {
                    self.stats.extended(1, attempt, margin);
                    if !log.wants_debug {
                        continue;
                    }
                }
                log.note(&event, &self.set, now);
                if let sqs_lease_core::Event::Stopped { key, ended: how } = event {
                    let started = self.set.get(key).is_some_and(|kept| kept.started);
                    self.stats.stopped(how.reason, started);
                    self.stopped(key, ended);
                }
            }
            if let Some(call) = self.set.poll_call(now) {
                self.stats.called(call.kind, call.entries.len());
                let answer_by = call.answer_by;
                let carries = self.carries(&call, log, now);
                return Some(Outgoing { carries, answer_by, of: Of::Leases(call.id) });
            }
            if self.set.poll_timeout().is_none_or(|at| at > now) {
                return self.take_late(now);
            }
        }
    }

    fn stopped(&mut self, key: LeaseKey, ended: &mut Vec<Event>) {
        let Some(kept) = self.set.get_mut(key) else { return };
        ended.push(std::mem::take(&mut kept.ended));
        if kept.detached {
            self.set.remove(key);
        }
    }

    fn carries(&self, call: &Call, log: &mut Log, now: Moment) -> Carries {
        // A lease that is in a call just taken is in the set.
        let handle = |key| Some(self.set.get(key)?.receipt_handle.clone());
        if call.kind == CallKind::Delete {
            let mut handles = Vec::with_capacity(call.entries.len());
            handles.extend(call.entries.iter().filter_map(|entry| handle(entry.key)));
            return Carries::Deletes(handles);
        }
        let mut changes = Vec::with_capacity(call.entries.len());
        for entry in &call.entries {
            let timeout = match entry.ask {
                Ask::Extend { by, warns, .. } => {
                    if warns {
                        log.note_final(entry.key, by, &self.set, now);
                    }
                    by
                }
                Ask::Release { after } => after,
                _ => continue,
            };
            if let Some(kept) = self.set.get(entry.key) {
                changes.push(ChangeVisibility { receipt_handle: kept.receipt_handle.clone(), timeout });
            }
        }
        Carries::Changes(changes)
    }

    fn take_late(&mut self, now: Moment) -> Option<Outgoing> {
        if self.late.is_empty() || self.late_in_flight >= LATE_CALLS {
            return None;
        }
        self.late_in_flight += 1;
        let count = self.late.len().min(BATCH);
        let deletes: Vec<Arc<Late>> = self.late.drain(..count).collect();
        self.stats.called(CallKind::Delete, deletes.len());
        let handles = deletes.iter().map(|late| late.receipt_handle.clone()).collect();
        let answer_by = now + Late::PATIENCE;
        Some(Outgoing { carries: Carries::Deletes(handles), answer_by, of: Of::Late(deletes) })
    }
}

/// Counts a keeper or a delivery: the loop ends when the last is gone and nothing is left to send.
pub(crate) struct User(pub(crate) Arc<Shared>);

impl User {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        shared.users.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(shared))
    }
}

impl Clone for User {
    fn clone(&self) -> Self {
        Self::new(&self.0)
    }
}

impl Drop for User {
    fn drop(&mut self) {
        if self.0.users.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.waker.wake();
            self.0.engine.abandoned();
        }
    }
}
