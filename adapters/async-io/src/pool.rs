use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use async_io::Timer;
use async_lock::{Semaphore, SemaphoreGuardArc};

use crate::conn::{Conn, Facts, Unusable};
use crate::connect::Origin;
use crate::spawn::{Spawn, Task};

/// The connections that lie idle, and the count of those in use.
///
/// The only waiting in here is the semaphore's. Connections are always dropped outside of the lock, since
/// that closes sockets and wakes tasks.
pub(crate) struct Pool {
    limits: Limits,
    /// One permit per lease, where the number of connections is limited.
    permits: Option<Arc<Semaphore>>,
    spawn: Option<Arc<dyn Spawn>>,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) idle_time: Duration,
    pub(crate) idle_per_server: usize,
    pub(crate) connections: Option<usize>,
}

#[derive(Default)]
struct State {
    /// Per server, the one used last at the back.
    idle: HashMap<Arc<Origin>, VecDeque<Idle>>,
    idle_count: usize,
    leases: usize,
    /// When the first idle connection has been idle for too long; never later than that moment.
    next_expiry: Option<Instant>,
    /// A task is waiting for that moment.
    watched: bool,
}

struct Idle {
    conn: Conn,
    expires: Instant,
}

/// Servers that may be without a connection before the pool forgets about them.
const EMPTY_QUEUES: usize = 32;

impl Pool {
    pub(crate) fn new(limits: Limits, spawn: Option<Arc<dyn Spawn>>) -> Arc<Self> {
        let permits = limits.connections.map(|limit| Arc::new(Semaphore::new(limit)));
        Arc::new(Self { limits, permits, spawn, state: Mutex::default() })
    }

    pub(crate) fn spawn(&self) -> Option<&dyn Spawn> {
        self.spawn.as_deref()
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// Waits for the right to hold a connection to `origin`.
    pub(crate) async fn lease(self: &Arc<Self>, origin: Origin) -> Lease {
        let permit = match &self.permits {
            Some(permits) => Some(permits.acquire_arc().await),
            None => None,
        };
        let expired = {
            let mut state = self.lock();
            state.leases += 1;
            state.expire(Instant::now())
        };
        drop(expired);
        Lease { pool: Arc::clone(self), origin: Arc::new(origin), conn: None, permit }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics half-way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(self: &Arc<Self>, origin: &Arc<Origin>, conn: Conn) {
        let now = Instant::now();
        let expires = now.checked_add(self.limits.idle_time);
        let (Some(expires), 1..) = (expires, self.limits.idle_per_server) else {
            // No idling allowed, or for longer than the clock can tell, which is a setting of nobody's.
            return;
        };
        let mut gone = Vec::new();
        let watch = {
            let mut state = self.lock();
            state.expire_into(now, &mut gone);
            let queue = state.idle.entry(Arc::clone(origin)).or_default();
            let surplus = if queue.len() >= self.limits.idle_per_server { queue.pop_front() } else { None };
            queue.push_back(Idle { conn, expires });
            if surplus.is_none() {
                state.idle_count += 1;
            }
            gone.extend(surplus);
            state.next_expiry = Some(state.next_expiry.map_or(expires, |next| next.min(expires)));
            self.spawn.is_some() && !std::mem::replace(&mut state.watched, true)
        };
        drop(gone);
        if watch && let Some(spawn) = &self.spawn {
            spawn.spawn(Task::new(watch_idle(Arc::downgrade(self))));
        }
    }
}

impl State {
    fn pop(&mut self, origin: &Origin) -> Option<Conn> {
        let idle = self.idle.get_mut(origin)?.pop_back()?;
        self.idle_count -= 1;
        Some(idle.conn)
    }

    /// Takes out the connection that has been idle for longest, whoever's it is.
    fn pop_oldest(&mut self) -> Option<Idle> {
        let oldest = self
            .idle
            .values_mut()
            .filter(|queue| !queue.is_empty())
            .min_by_key(|queue| queue.front().map(|idle| idle.expires))?
            .pop_front()?;
        self.idle_count -= 1;
        Some(oldest)
    }

    fn expire(&mut self, now: Instant) -> Vec<Idle> {
        let mut gone = Vec::new();
        self.expire_into(now, &mut gone);
        gone
    }

    fn expire_into(&mut self, now: Instant, gone: &mut Vec<Idle>) {
        if self.next_expiry.is_none_or(|next| next > now) {
            return;
        }
        for queue in self.idle.values_mut() {
            while let Some(idle) = queue.pop_front_if(|idle| idle.expires <= now) {
                gone.push(idle);
            }
        }
        self.idle_count -= gone.len();
        self.next_expiry =
            self.idle.values().filter_map(|queue| queue.front()).map(|idle| idle.expires).min();
        if self.idle.len() > EMPTY_QUEUES {
            self.idle.retain(|_, queue| !queue.is_empty());
        }
    }
}

/// Closes connections when their idle time is over, until none is left.
///
/// Without an executor nobody can, and it is done when the pool is used next.
async fn watch_idle(pool: Weak<Pool>) {
    loop {
        let (gone, next) = {
            let Some(pool) = pool.upgrade() else { return };
            let mut state = pool.lock();
            let gone = state.expire(Instant::now());
            let next = state.next_expiry;
            state.watched = next.is_some();
            (gone, next)
        };
        drop(gone);
        match next {
            Some(next) => Timer::at(next).await,
            None => return,
        };
    }
}

/// The right to hold one connection to a server, and the connection once there is one.
///
/// Dropping it closes the connection.
pub(crate) struct Lease {
    pool: Arc<Pool>,
    origin: Arc<Origin>,
    conn: Option<Conn>,
    permit: Option<SemaphoreGuardArc>,
}

impl Lease {
    pub(crate) fn origin(&self) -> &Arc<Origin> {
        &self.origin
    }

    /// Takes up an idle connection that is still usable, the one used last first.
    pub(crate) async fn reuse(&mut self) -> Option<&mut Conn> {
        loop {
            // Apart from the `let`, or the lock would be held while the connection is looked at.
            let popped = self.pool.lock().pop(&self.origin);
            let mut conn = popped?;
            let usable = poll_fn(|cx| match conn.poll_reusable(cx) {
                Poll::Ready(Ok(())) => Poll::Ready(conn.is_quiet()),
                Poll::Ready(Err(Unusable)) | Poll::Pending => Poll::Ready(false),
            })
            .await;
            if usable {
                return Some(self.conn.insert(conn));
            }
        }
    }

    /// Makes sure that one more connection does not exceed the limit, by closing the oldest idle one if it must.
    pub(crate) fn make_room(&mut self) {
        let Some(limit) = self.pool.limits.connections else { return };
        let oldest = {
            let mut state = self.pool.lock();
            if state.idle_count + state.leases > limit { state.pop_oldest() } else { None }
        };
        drop(oldest);
    }

    /// Takes up a new connection, in place of whatever there was.
    pub(crate) fn hold(&mut self, conn: Conn) -> &mut Conn {
        self.conn.insert(conn)
    }

    /// Closes the connection, and keeps the right to another.
    pub(crate) fn close(&mut self) {
        self.conn = None;
    }

    pub(crate) fn conn(&mut self) -> Option<&mut Conn> {
        self.conn.as_mut()
    }

    /// What is known of the connection held.
    pub(crate) fn facts(&self) -> Option<&Arc<Facts>> {
        self.conn.as_ref().map(Conn::facts)
    }

    /// Gives the connection back for others to use, or closes it where that cannot be.
    ///
    /// Pending while the connection still finishes its last request.
    pub(crate) fn poll_give_back(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(conn) = &mut self.conn else { return Poll::Ready(()) };
        match conn.poll_reusable(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Err(Unusable)) => self.conn = None,
            Poll::Ready(Ok(())) => {
                if let Some(conn) = self.conn.take() {
                    self.pool.put(&self.origin, conn);
                }
            }
        }
        Poll::Ready(())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.conn = None;
        self.pool.lock().leases -= 1;
        // After the count: whoever is next reads it.
        self.permit = None;
    }
}
