use alloc::collections::VecDeque;
use core::time::Duration;

use crate::action::SettleError;
use crate::call::{Call, CallId, CallKind, Entries, Entry, LeaseKey};
use crate::clock::Clock;
use crate::lease::machine::Machine;
use crate::policy::{Policy, PolicyError, Received, checked_extension};
use crate::schedule::Schedule;
use crate::slots::Slots;
use crate::time::{Moment, NANOS_PER_SEC};
use crate::view::LeaseView;
use crate::visibility::Visibility;

mod advance;
mod answers;
mod chance;
mod denials;
mod event;
mod lane;
mod linger;
mod pace;
mod policy;
mod share;
mod store;

pub use event::{Acknowledged, Event, FailedCall};
pub use policy::{SetPolicy, SetPolicyError};

use denials::Denials;
use lane::{Closed, Lane};
use linger::Lingering;
use share::{Filling, Reach};
use store::Store;

/// The leases of one queue, behind one wake-up time, one stream of events, and calls of up to ten entries.
///
/// `T` is the caller's own, a receipt handle as a rule; the set never looks at it.
///
/// Its owner
///
/// 1. takes out [events](Self::poll_event) and [calls](Self::poll_call) until both are `None` (the *drain
///    rule*): then [`poll_timeout`](Self::poll_timeout) lies after `now`;
/// 2. sleeps until then, an answer, or news from a handler;
/// 3. puts that in ([`handle_answer`](Self::handle_answer), [`delete`](Self::delete), …) and begins again.
///
/// Breaking the drain rule makes things late, never wrong. What a single lease decides is in
/// [`Lease`](crate::Lease); the set adds how leases share calls: a call is made when some lease is due
/// ([or nearly](SetPolicy::lead)), and room that is left in it is filled with leases whose middle is near
/// ([`SetPolicy::coalesce`]).
///
/// ```
/// use sqs_lease_core::{Answer, Event, LeaseSet, Moment, Policy, Received, SetPolicy, Visibility};
///
/// let at = Moment::from_secs;
/// let policy = Policy::new();
/// let mut set = LeaseSet::new(SetPolicy::new());
/// for handle in ["handle a", "handle b", "handle c"] {
///     set.insert(&policy, Received::new(at(0), Visibility::new(30)?), handle, at(0));
/// }
/// assert_eq!(set.poll_timeout(), Some(at(15)));
///
/// // In the middle of the timeout one call carries all three.
/// assert_eq!(set.poll_event(at(15)), None);
/// let call = set.poll_call(at(15)).expect("three extensions are due");
/// assert_eq!(call.entries.len(), 3);
/// for entry in &call.entries {
///     let handle = set.get(entry.key).expect("it is in the set");
///     println!("hide {handle} for {}", entry.visibility().expect("an extension"));
/// }
/// assert_eq!(set.poll_call(at(15)), None);
///
/// set.handle_answer(call.id, Answer::Done, at(16));
/// assert!(matches!(set.poll_event(at(16)), Some(Event::Extended { .. })));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LeaseSet<T> {
    clock: Clock,
    policy: SetPolicy,
    reach: Reach,
    leases: Store<T>,
    /// Leases that do nothing before the middle of their timeout. Only these may be drawn forward.
    middles: Schedule,
    /// All others that have something to do.
    others: Schedule,
    deletes: Lane,
    changes: Lane,
    lingering: Lingering,
    calls: Slots<OpenCall, 8>,
    /// When open calls, or the first of their entries, are given up.
    closing: Schedule,
    /// Whether all whose middle had come at that instant found room in calls that might go then.
    fits: (Moment, bool),
    events: VecDeque<Event>,
    denials: Denials,
}

#[derive(Clone, Copy, Debug)]
struct OpenCall {
    kind: CallKind,
    sent: Moment,
    answer_by: Moment,
    entries: Entries,
}

/// How many events are made before they are taken out.
const ENOUGH: usize = 64;

/// No settle waits longer behind extensions.
const SETTLE_PATIENCE: u64 = NANOS_PER_SEC;

impl<T> LeaseSet<T> {
    /// An empty set.
    pub fn new(policy: SetPolicy) -> Self {
        Self {
            clock: Clock::default(),
            reach: Reach::of(&policy),
            policy,
            leases: Store::new(),
            middles: Schedule::default(),
            others: Schedule::default(),
            deletes: Lane::new(policy.deletes),
            changes: Lane::new(policy.changes),
            lingering: Lingering::default(),
            calls: Slots::new(),
            closing: Schedule::default(),
            fits: (Moment::ORIGIN, false),
            events: VecDeque::new(),
            denials: Denials::default(),
        }
    }

    // ---- Leases -----------------------------------------------------------------------------------------

    /// Adds the lease of a delivery. Each delivery is a lease of its own, also of a message that is in the set
    /// already.
    ///
    /// One with a visibility timeout of zero is stopped from the start, and its event says so.
    pub fn insert(&mut self, policy: &Policy, received: Received, value: T, now: Moment) -> LeaseKey {
        let now = self.clock.enter(now);
        let received = Received {
            at: self.clock.inner(received.at),
            requested: self.clock.inner(received.requested),
            ..received
        };
        let machine = Machine::new(policy, &received);
        let key = self.leases.insert(value, &machine);
        self.place(key, &machine, now);
        LeaseKey(key)
    }

    /// Takes a lease out, running or stopped, and gives back what it was kept with.
    ///
    /// Nothing more is sent for it, and nothing more happens to it; what is on the wire is not called back. What has
    /// happened to it before, and was not taken out yet, is still told, under a key that finds nothing.
    pub fn remove(&mut self, key: LeaseKey) -> Option<T> {
        let value = self.leases.remove(key.0)?;
        let slot = key.0.slot;
        self.middles.remove(slot);
        self.others.remove(slot);
        self.deletes.dequeue(slot);
        self.changes.dequeue(slot);
        self.lingering.remove(slot);
        Some(value)
    }

    /// What the lease was inserted with.
    pub fn get(&self, key: LeaseKey) -> Option<&T> {
        self.leases.value(key.0)
    }

    /// What the lease was inserted with.
    pub fn get_mut(&mut self, key: LeaseKey) -> Option<&mut T> {
        self.leases.value_mut(key.0)
    }

    /// A look at a lease.
    pub fn lease(&self, key: LeaseKey) -> Option<LeaseView<'_>> {
        let machine = self.leases.load(key.0)?;
        Some(LeaseView { clock: &self.clock, machine })
    }

    /// How many leases are in the set, stopped ones that were not removed included.
    pub fn len(&self) -> usize {
        self.leases.len()
    }

    /// Whether there is no lease in the set.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The leases, in no particular order. This looks at all of them.
    pub fn iter(&self) -> impl Iterator<Item = (LeaseKey, &T)> {
        self.leases.iter().map(|(key, value)| (LeaseKey(key), value))
    }

    // ---- Taking out -------------------------------------------------------------------------------------

    /// Takes out the next thing that has happened by `now`.
    #[inline]
    pub fn poll_event(&mut self, now: Moment) -> Option<Event> {
        let now = self.clock.enter(now);
        let at_hand = if self.denials.due_at().is_none() { self.events.pop_front() } else { None };
        at_hand.or_else(|| self.make_event(now))
    }

    fn make_event(&mut self, now: Moment) -> Option<Event> {
        // What is due first: of leases that are denied at the same instant one event tells.
        if self.events.is_empty() {
            while self.events.len() < ENOUGH && self.run_one(now) {}
        }
        if let Some(denied) = self.denials.take(now) {
            return Some(denied);
        }
        let event = self.events.pop_front();
        if event.is_none() && self.events.capacity() > ENOUGH * 2 {
            self.events = VecDeque::new();
        }
        event
    }

    /// Takes out the next call to send at `now`, within the bounds in flight.
    ///
    /// Sent late, its leases have less time left. Not sent at all, it counts as failed at its
    /// [`answer_by`](Call::answer_by). Asking may cause events, also where there is no call:
    /// [`poll_timeout`](Self::poll_timeout) then says at once.
    pub fn poll_call(&mut self, now: Moment) -> Option<Call> {
        let now = self.clock.enter(now);
        while self.run_one(now) {}
        let mut call = Filling::new(now);
        for kind in [CallKind::Delete, CallKind::ChangeVisibility] {
            self.fill(&mut call, kind, now);
            if !call.entries.is_empty() {
                let Filling { entries, first_by, answer_by, .. } = &call;
                let (first_by, answer_by) = (*first_by, *answer_by);
                self.lane(kind).sent(now);
                let id = self.calls.insert(OpenCall { kind, sent: now, answer_by, entries: *entries });
                self.closing.push(id.slot, first_by);
                let answer_by = self.clock.outer(answer_by);
                return Some(Call { id: CallId(id), kind, answer_by, entries: *entries });
            }
        }
        None
    }

    /// When the set is to be polled next; `None` where nothing is ever due.
    ///
    /// A moment that has passed means at once. It may come nearer with every input, so ask again after each.
    /// Polling early is harmless; late makes the calls late.
    pub fn poll_timeout(&self) -> Option<Moment> {
        let seen = self.clock.peek(Moment::ORIGIN);
        [
            (!self.events.is_empty()).then_some(seen),
            self.denials.due_at(),
            self.middles.first_at().map(|at| self.ahead_of(at, seen)),
            self.others.first_at(),
            self.closing.first_at(),
            self.lingering.due_at(),
            self.deletes.sendable_at(seen),
            self.changes.sendable_at(seen),
        ]
        .into_iter()
        .flatten()
        .min()
        .map(|at| self.clock.outer(at))
    }

    /// When to wake for a middle: ahead of it by the lead, unless that was tried.
    fn ahead_of(&self, middle: Moment, seen: Moment) -> Moment {
        let ahead = middle.minus_nanos(self.reach.lead);
        if ahead > seen { ahead } else { middle }
    }

    // ---- Putting in -------------------------------------------------------------------------------------

    /// What a call carries that is under way; nothing for one that was answered or given up.
    pub fn entries(&self, call: CallId) -> &[Entry] {
        self.calls.get(call.0).map_or(&[], |open| &open.entries)
    }

    /// Whether the answer of this call would still be taken.
    pub fn awaits(&self, call: CallId) -> bool {
        self.calls.get(call.0).is_some_and(|open| {
            open.entries.iter().any(|entry| {
                self.leases.load(entry.key.0).is_some_and(|machine| machine.awaits(entry.serial))
            })
        })
    }

    /// Says that the machine, and with it the caller's clock, stood still for `gap` until `now`.
    ///
    /// Only for clocks that do not count suspension. Everything that the leases have planned comes nearer.
    pub fn handle_gap(&mut self, gap: Duration, now: Moment) {
        self.clock.enter(now);
        self.clock.gap(gap);
    }

    /// Wants the message deleted: the handler has succeeded. See [`Lease::delete`](crate::Lease::delete).
    ///
    /// # Errors
    /// The lease is over, with how and when; a settle was asked for before; or it is not in the set.
    pub fn delete(&mut self, key: LeaseKey, now: Moment) -> Result<(), SettleError> {
        self.settle(key, now, Machine::delete)
    }

    /// Wants the message given back, visible again in `after`. See [`Lease::release`](crate::Lease::release).
    ///
    /// # Errors
    /// The lease is over, with how and when; a settle was asked for before; or it is not in the set.
    pub fn release(&mut self, key: LeaseKey, after: Visibility, now: Moment) -> Result<(), SettleError> {
        self.settle(key, now, |machine, now| machine.release(after, now))
    }

    /// Lets go without a call: the timeout runs out. See [`Lease::leave`](crate::Lease::leave).
    ///
    /// # Errors
    /// The lease is over, with how and when; a settle was asked for before; or it is not in the set.
    pub fn leave(&mut self, key: LeaseKey, now: Moment) -> Result<(), SettleError> {
        self.settle(key, now, Machine::leave)
    }

    /// Asks for extensions of this length from now on, the first at once. See
    /// [`Lease::extend`](crate::Lease::extend).
    ///
    /// # Errors
    /// Zero seconds.
    pub fn extend(&mut self, key: LeaseKey, extension: Visibility, now: Moment) -> Result<(), PolicyError> {
        checked_extension(extension)?;
        let now = self.clock.enter(now);
        if let Some(mut machine) = self.leases.load(key.0) {
            machine.extend(extension, now);
            self.put(key.0, &machine, now);
        }
        Ok(())
    }

    fn settle(
        &mut self,
        key: LeaseKey,
        now: Moment,
        settle: impl FnOnce(&mut Machine, Moment) -> Result<(), SettleError>,
    ) -> Result<(), SettleError> {
        let now = self.clock.enter(now);
        let mut machine = self.leases.load(key.0).ok_or(SettleError::Unknown)?;
        let result = settle(&mut machine, now);
        if result.is_ok() {
            self.linger(key.0, &machine, now);
        }
        self.put(key.0, &machine, now);
        result.map_err(|error| LeaseView { clock: &self.clock, machine }.outer_error(error))
    }

    // ---- Looking ----------------------------------------------------------------------------------------

    /// How many calls of a kind are under way.
    pub fn calls_in_flight(&self, kind: CallKind) -> usize {
        match kind {
            CallKind::ChangeVisibility => self.changes.in_flight(),
            CallKind::Delete => self.deletes.in_flight(),
        }
    }

    /// How many leases wait for a call of a kind because a bound holds it back.
    pub fn held_back(&self, kind: CallKind) -> usize {
        match kind {
            CallKind::ChangeVisibility => self.changes.waiting(),
            CallKind::Delete => self.deletes.waiting(),
        }
    }

    /// Whether there are more leases than one call takes.
    fn is_crowd(&self) -> bool {
        self.len() > Visibility::BATCH
    }

    fn closed(&mut self, kind: CallKind, sent: Moment, how: Closed, now: Moment) {
        let is_crowd = self.is_crowd();
        self.lane(kind).closed(now.nanos_since(sent), how, is_crowd, now);
    }

    fn lane(&mut self, kind: CallKind) -> &mut Lane {
        match kind {
            CallKind::ChangeVisibility => &mut self.changes,
            CallKind::Delete => &mut self.deletes,
        }
    }
}
