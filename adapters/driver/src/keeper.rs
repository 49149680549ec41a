use std::fmt;
use std::future::Future;
use std::sync::Arc;

use event_listener::Event;
use sqs_lease_core::{Moment, Policy, SetPolicy, Visibility};

use crate::delivery::Delivery;
use crate::drive::drive;
use crate::engine::Task;
use crate::queue::Queue;
use crate::receipt::Receipt;
use crate::runtime::Runtime;
use crate::shared::{Kept, Shared, Sleep, User};
use crate::stats::Stats;

/// Keeps the deliveries of one queue.
///
/// Make one for each queue, spawn [`run`](Self::run) as a task, and give each delivery to
/// [`hold`](Self::hold). Clones keep the same deliveries.
///
/// ```
/// # async fn example(queue: impl sqs_lease_driver::Queue, runtime: impl sqs_lease_driver::Runtime) {
/// use sqs_lease_driver::{Keeper, Receipt, Received, Settings, Visibility};
///
/// let keeper = Keeper::new(queue, runtime, Settings::default());
/// # fn spawn(_: impl std::future::Future) {}
/// spawn(keeper.run());
///
/// let received = Received::new(keeper.now(), Visibility::new(30).expect("30 s"));
/// let delivery = keeper.hold(Receipt::new("AQEB…", received), "the message");
/// // As long as this handler works, no other consumer gets the message.
/// match delivery.keep(async { /* slow work */ }).await {
///     Ok(()) => delivery.delete().await.expect("deleted"),
///     Err(loss) => println!("given up: {loss}"),
/// }
/// # }
/// ```
#[derive(Clone)]
pub struct Keeper {
    user: User,
    settings: Arc<Settings>,
}

/// How a [`Keeper`] keeps deliveries.
///
/// ```
/// use sqs_lease_driver::{OnDrop, Policy, SetPolicy, Settings, Visibility};
///
/// let settings = Settings::new()
///     .policy(Policy::new().extension(Visibility::new(120)?)?)
///     .calls(SetPolicy::new().coalesce(25)?)
///     .on_drop(OnDrop::Release(Visibility::new(10)?));
/// # let _ = settings;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// What leases ask for.
    pub policy: Policy,
    /// How leases share calls.
    pub calls: SetPolicy,
    /// What becomes of a delivery whose handle is dropped.
    pub on_drop: OnDrop,
}

impl Settings {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// What leases ask for.
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// How leases share calls.
    #[must_use]
    pub fn calls(self, calls: SetPolicy) -> Self {
        Self { calls, ..self }
    }

    /// What becomes of a delivery whose handle is dropped.
    #[must_use]
    pub fn on_drop(self, on_drop: OnDrop) -> Self {
        Self { on_drop, ..self }
    }
}

/// What becomes of a delivery whose handle is dropped without a settle, a panic of its handler included.
///
/// ```
/// use sqs_lease_driver::{OnDrop, Settings, Visibility};
///
/// // A handler that panics gives its message back, ten seconds later.
/// let settings = Settings::new().on_drop(OnDrop::Release(Visibility::new(10)?));
/// # let _ = settings;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnDrop {
    /// Its timeout runs out by itself.
    #[default]
    Leave,
    /// It is given back, visible again in this many seconds. Each release uses up a receive of the redrive
    /// policy's `maxReceiveCount`, so a release after zero seconds of a message that always fails sends it to the
    /// dead-letter queue fast.
    Release(Visibility),
}

impl Keeper {
    /// A keeper of one queue's deliveries.
    pub fn new<Q: Queue, R: Runtime>(queue: Q, runtime: R, settings: Settings) -> Self {
        let runtime = Arc::new(runtime);
        let (clock, timer) = (Arc::clone(&runtime), Arc::clone(&runtime));
        let calls = settings.calls.or_lead(runtime.timer_step());
        let shared = Shared::new(calls, queue.is_fifo(), move || clock.now());
        let shared = Arc::new(shared.sleeping(move |at| Box::pin(timer.sleep_until(at))));
        shared.engine.park(drive(Arc::new(queue), runtime, Arc::clone(&shared)));
        Self { user: User::new(&shared), settings: Arc::new(settings) }
    }

    /// The loop that sends the calls; spawn it.
    ///
    /// It ends when the last keeper and the last delivery are gone and nothing is left to send. Dropping it loses
    /// nothing: it can be run again, and whoever awaits something of a delivery drives meanwhile. Once made it has
    /// to be polled: as long as it is there, nobody else drives.
    pub fn run(&self) -> impl Future<Output = ()> + Send + use<> {
        Task::new(Arc::clone(&self.user.0)).run()
    }

    /// Keeps a delivery from now on, with the keeper's policy.
    ///
    /// The lease counts from the receive, not from here: hold at once what was received, also what waits for a
    /// free handler.
    pub fn hold<M>(&self, receipt: Receipt, message: M) -> Delivery<M> {
        self.hold_with(&self.settings.policy, receipt, message)
    }

    /// Keeps a delivery with a policy of its own.
    pub fn hold_with<M>(&self, policy: &Policy, receipt: Receipt, message: M) -> Delivery<M> {
        let Receipt { receipt_handle, received, about } = receipt;
        let about = about.shared();
        let kept = Kept {
            receipt_handle,
            about: about.clone(),
            ended: Event::new(),
            detached: false,
            started: false,
        };
        // The latest time that the set has seen will do: what is due by now is done when the loop looks.
        let key = self.user.0.timeless(|state| state.set.insert(policy, received, kept, Moment::ORIGIN));
        Delivery::new(self.user.clone(), key, self.settings.on_drop, about, message)
    }

    /// The time on the clock that leases live by.
    pub fn now(&self) -> Moment {
        self.user.0.now()
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.settings.policy
    }

    /// Sleeps by the runtime's timer; it may wake early.
    pub(crate) fn sleep_until(&self, at: Moment) -> Sleep {
        (self.user.0.sleep)(at)
    }

    /// What it has done so far, in numbers. Looks at each lease once: cheap every few seconds, not in a loop.
    pub fn stats(&self) -> Stats {
        let now = self.now();
        let state = self.user.0.lock();
        let mut snapshot = state.stats.clone();
        for lease in state.set.iter().filter_map(|(key, _)| state.set.lease(key)) {
            if lease.ended().is_none() && lease.is_held(now) {
                snapshot.leases_held += 1;
                let left = lease.limit() - now;
                snapshot.time_to_limit = Some(snapshot.time_to_limit.map_or(left, |it| it.min(left)));
            }
        }
        snapshot
    }

    /// How many deliveries it keeps, those that have ended but whose handles are still there included.
    pub fn len(&self) -> usize {
        self.user.0.lock().set.len()
    }

    /// Whether it keeps none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper")
            .field("settings", &self.settings)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
