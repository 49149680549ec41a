//! What a consumer receives, starts and gives back. It reads no clock and does nothing by itself.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use sqs_lease_core::Moment;

use super::action::{Action, Arrival, Finish, Id};
use super::options::{ConsumerOptions, GRACE, LastReceive, Shutdown};

/// Decides for one consumer.
///
/// After any input take [`poll_action`](Self::poll_action) out until it is `None`; then wait for
/// [`poll_timeout`](Self::poll_timeout) or the next input. Late is harmless, early too.
#[derive(Debug)]
pub(crate) struct Plan {
    concurrency: usize,
    prefetch: usize,
    last_receive: LastReceive,
    next: u64,
    items: BTreeMap<Id, Item>,
    /// Those that could start now: alone, or the first of their group.
    ready: BTreeSet<Id>,
    running: usize,
    /// Who is in the process, by message id: a second delivery of the same message is not worked on.
    messages: HashMap<Arc<str>, Id>,
    /// The members of each group, in order; only the first may run.
    groups: HashMap<Arc<str>, VecDeque<Id>>,
    actions: VecDeque<Action>,
    is_receiving: bool,
    /// When the receive under way, or the last, was begun.
    received_from: Moment,
    /// Receives that failed one after another.
    failures: u32,
    retry_at: Option<Moment>,
    phase: Phase,
}

#[derive(Debug)]
struct Item {
    message_id: Arc<str>,
    group: Option<Arc<str>>,
    is_last: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Running,
    /// It is out of the order already and only waits for SQS.
    Returning,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Working,
    Stopping {
        how: Shutdown,
        deadline: Moment,
    },
    /// The grace time is over; what is left is being given back.
    Overdue {
        how: Shutdown,
        until: Moment,
    },
}

/// The most that SQS gives at once.
const BATCH: usize = 10;
/// The distances between receives that fail.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);
/// Between the begins of receives that bring nothing: a short poll answers at once, and each is paid for.
const EMPTY_PAUSE: Duration = Duration::from_secs(1);
/// How long the releases at the end of the grace time may take.
pub(crate) const LAST_CALLS: Duration = Duration::from_secs(10);

impl Plan {
    pub(crate) fn new(options: &ConsumerOptions) -> Self {
        Self {
            concurrency: options.concurrency,
            prefetch: options.prefetch,
            last_receive: options.last_receive,
            next: 0,
            items: BTreeMap::new(),
            ready: BTreeSet::new(),
            running: 0,
            messages: HashMap::new(),
            groups: HashMap::new(),
            actions: VecDeque::new(),
            is_receiving: false,
            received_from: Moment::ORIGIN,
            failures: 0,
            retry_at: None,
            phase: Phase::Working,
        }
    }

    /// Takes out what is to be done next.
    pub(crate) fn poll_action(&mut self, now: Moment) -> Option<Action> {
        if let Phase::Stopping { how, deadline } = self.phase
            && deadline <= now
        {
            self.phase = Phase::Overdue { how, until: deadline.max(now) + LAST_CALLS };
            self.let_all_go(how);
            if std::mem::take(&mut self.is_receiving) {
                self.actions.push_back(Action::AbandonReceive);
            }
        }
        if let Some(action) = self.actions.pop_front() {
            return Some(action);
        }
        if self.running < self.concurrency
            && let Some(id) = self.ready.pop_first()
        {
            self.running += 1;
            self.set(id, State::Running);
            return Some(Action::Start(id));
        }
        let room = self.room();
        if room == 0 || self.retry_at.is_some_and(|at| at > now) {
            return None;
        }
        (self.is_receiving, self.received_from) = (true, now);
        u8::try_from(room.min(BATCH)).ok().map(Action::Receive)
    }

    /// When to ask again although nothing came in.
    pub(crate) fn poll_timeout(&self) -> Option<Moment> {
        match self.phase {
            Phase::Working => self.retry_at.filter(|_| self.room() > 0),
            Phase::Stopping { deadline, .. } => Some(deadline),
            Phase::Overdue { until, .. } => Some(until),
        }
    }

    /// Whether nothing is left to wait for.
    pub(crate) fn is_over(&self, now: Moment) -> bool {
        match self.phase {
            Phase::Working => false,
            Phase::Stopping { .. } => self.items.is_empty() && !self.is_receiving,
            Phase::Overdue { until, .. } => self.items.is_empty() || until <= now,
        }
    }

    /// Whether a shutdown was asked for.
    pub(crate) fn is_stopping(&self) -> bool {
        self.phase != Phase::Working
    }

    /// How many deliveries could start, or may wait, beyond those that are there.
    ///
    /// What stands behind a running member of its group takes no room, else one group could keep all others out.
    /// SQS delivers no more of a group that is in flight, so at most nine stand behind each handler.
    fn room(&self) -> usize {
        if self.is_receiving || self.phase != Phase::Working {
            return 0;
        }
        self.concurrency.saturating_add(self.prefetch).saturating_sub(self.running + self.ready.len())
    }

    /// A receive brought these. Gives each its name, in order; `None` is a duplicate of one that is in work.
    pub(crate) fn handle_received(
        &mut self,
        arrivals: impl IntoIterator<Item = Arrival>,
        now: Moment,
    ) -> Vec<Option<Id>> {
        (self.is_receiving, self.failures, self.retry_at) = (false, 0, None);
        let mut behind: Vec<Id> = Vec::new();
        let mut blocked: Vec<Arc<str>> = Vec::new();
        let names: Vec<Option<Id>> = arrivals
            .into_iter()
            .map(|Arrival { message_id, group, is_last }| {
                if self.is_in_work(&message_id) {
                    blocked.extend(group);
                    return None;
                }
                let id = Id(self.next);
                self.next += 1;
                let is_behind = group.as_ref().is_some_and(|group| blocked.contains(group));
                self.insert(id, message_id, group, is_last);
                if is_behind {
                    behind.push(id);
                }
                Some(id)
            })
            .collect();
        if names.iter().all(Option::is_none) {
            self.retry_at = Some(self.received_from + EMPTY_PAUSE).filter(|at| *at > now);
        }
        // A member of its group is left: starting what stands behind it would turn the order round.
        self.let_go_from(&behind, Shutdown::ReleaseUnstarted);
        match self.phase {
            Phase::Working => {}
            // It came after the signal.
            Phase::Stopping { how: Shutdown::Drain, .. } => {
                let all: Vec<Id> = names.iter().flatten().copied().collect();
                self.release_unstarted(all);
            }
            Phase::Stopping { how, .. } | Phase::Overdue { how, .. } => self.let_waiting_go(how),
        }
        names
    }

    /// A receive failed for a reason that may pass. Gives when it is tried again.
    pub(crate) fn handle_receive_failed(&mut self, now: Moment) -> Moment {
        let distance = FIRST_RETRY.saturating_mul(1 << self.failures.min(10)).min(LAST_RETRY);
        let at = now + distance;
        (self.is_receiving, self.retry_at) = (false, Some(at));
        self.failures = self.failures.saturating_add(1);
        at
    }

    /// A receive failed for a reason that only a person can mend.
    pub(crate) fn handle_receive_denied(&mut self, now: Moment) {
        self.is_receiving = false;
        if self.phase == Phase::Working {
            self.shutdown(Shutdown::ReleaseUnstarted, GRACE, now);
        }
    }

    /// A delivery that was started is settled, lost or given up, or was not held any more. Whether that was news: one
    /// that is being given back is not over with its handler.
    pub(crate) fn handle_finished(&mut self, id: Id, finish: Finish) -> bool {
        if self.items.get(&id).is_none_or(|item| item.state != State::Running) {
            return false;
        }
        let group = self.remove(id).and_then(|item| item.group);
        let Some(members) = group.and_then(|group| self.groups.get(&group)) else { return true };
        let Some(&first) = members.front() else { return true };
        match finish {
            Finish::Done => {
                self.ready.insert(first);
            }
            Finish::Broken | Finish::Unconfirmed => {
                let members: Vec<Id> = members.iter().copied().collect();
                self.let_go_from(&members, Shutdown::ReleaseUnstarted);
            }
        }
        true
    }

    /// SQS has confirmed a release, or will not.
    pub(crate) fn handle_returned(&mut self, id: Id) {
        self.remove(id);
    }

    /// Stops receiving. A second one takes the place of the first; the grace time only gets shorter.
    pub(crate) fn shutdown(&mut self, how: Shutdown, grace: Duration, now: Moment) {
        let deadline = match self.phase {
            Phase::Working => now + grace,
            Phase::Stopping { deadline, .. } => deadline.min(now + grace),
            Phase::Overdue { .. } => return,
        };
        self.phase = Phase::Stopping { how, deadline };
        match how {
            Shutdown::Drain => {}
            Shutdown::ReleaseUnstarted => self.let_waiting_go(how),
            Shutdown::ReleaseAll | Shutdown::Leave => self.let_all_go(how),
        }
    }

    /// One that is being given back may come again before SQS has confirmed that.
    fn is_in_work(&self, message_id: &str) -> bool {
        let item = self.messages.get(message_id).and_then(|id| self.items.get(id));
        item.is_some_and(|item| item.state != State::Returning)
    }

    fn insert(&mut self, id: Id, message_id: Arc<str>, group: Option<Arc<str>>, is_last: bool) {
        if !message_id.is_empty() {
            self.messages.insert(Arc::clone(&message_id), id);
        }
        let is_first = group.as_ref().is_none_or(|group| {
            let members = self.groups.entry(Arc::clone(group)).or_default();
            members.push_back(id);
            members.len() == 1
        });
        if is_first {
            self.ready.insert(id);
        }
        self.items.insert(id, Item { message_id, group, is_last, state: State::Waiting });
    }

    fn remove(&mut self, id: Id) -> Option<Item> {
        self.leave_order(id);
        let item = self.items.remove(&id)?;
        if self.messages.get(&item.message_id) == Some(&id) {
            self.messages.remove(&item.message_id);
        }
        Some(item)
    }

    /// Takes it out of what may start, of what runs, and of its group.
    fn leave_order(&mut self, id: Id) {
        self.ready.remove(&id);
        let Some(item) = self.items.get(&id) else { return };
        if item.state == State::Running {
            self.running -= 1;
        }
        if let Some(group) = &item.group
            && let Some(members) = self.groups.get_mut(group)
        {
            members.retain(|member| *member != id);
            if members.is_empty() {
                self.groups.remove(group);
            }
        }
    }

    fn set(&mut self, id: Id, state: State) {
        if let Some(item) = self.items.get_mut(&id) {
            item.state = state;
        }
    }

    /// The last first: in a group what stands behind must never be visible before what stands ahead.
    fn let_all_go(&mut self, how: Shutdown) {
        let all: Vec<Id> = self.items.keys().copied().collect();
        self.let_go_from(&all, how);
    }

    fn let_waiting_go(&mut self, how: Shutdown) {
        let waiting = self.items.iter().filter(|(_, item)| item.state == State::Waiting);
        let waiting: Vec<Id> = waiting.map(|(id, _)| *id).collect();
        match (how, self.phase) {
            (Shutdown::ReleaseUnstarted, Phase::Stopping { .. }) => self.release_unstarted(waiting),
            _ => self.let_go_from(&waiting, how),
        }
    }

    /// Gives back those that wait, but works on what would go to the dead-letter queue where that is wanted: not behind
    /// a member of its group that goes back.
    fn release_unstarted(&mut self, mut ids: Vec<Id>) {
        let mut broken: Vec<Arc<str>> = Vec::new();
        ids.retain(|id| {
            let Some(item) = self.items.get(id) else { return false };
            let is_behind = item.group.as_ref().is_some_and(|group| broken.contains(group));
            let stays = self.last_receive == LastReceive::Handle && item.is_last && !is_behind;
            if !stays {
                broken.extend(item.group.clone());
            }
            !stays
        });
        self.let_go_from(&ids, Shutdown::ReleaseUnstarted);
    }

    fn let_go_from(&mut self, ids: &[Id], how: Shutdown) {
        for id in ids.iter().rev() {
            self.let_go(*id, how);
        }
    }

    fn let_go(&mut self, id: Id, how: Shutdown) {
        if self.items.get(&id).is_none_or(|item| item.state == State::Returning) {
            return;
        }
        if how == Shutdown::Leave {
            self.remove(id);
            self.actions.push_back(Action::Leave(id));
        } else {
            self.leave_order(id);
            self.set(id, State::Returning);
            self.actions.push_back(Action::Release(id));
        }
    }
}
