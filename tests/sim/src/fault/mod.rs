//! What goes wrong with requests, and which: the rules, and how they are said in JSON.

mod rule;

use std::time::Duration;

use serde_json::Value;

use crate::model::{Error, ErrorKind};
use crate::wire::{Action, Request};

/// Something that goes wrong with the requests a rule picks out.
///
/// A fault names its effect first, then the requests it hits: of one operation, for one queue, and which of those by
/// number. [`Fault::from_json`] reads one as a test in another language says it. Each fault counts the requests that match it from when it was injected. Several faults may hit one request.
///
/// ```no_run
/// use std::time::Duration;
/// use sqs_lease_sim::{Action, Fault, Server};
///
/// let server = Server::builder().start()?;
/// // The first three extensions are throttled, then every tenth delete loses its answer.
/// server.inject(Fault::throttle().on(Action::ChangeMessageVisibilityBatch).first(3));
/// server.inject(Fault::lose_answer().on(Action::DeleteMessage).every(10));
/// // From the sixth receive on, an answer takes two seconds.
/// server.inject(Fault::latency_after(Duration::from_secs(2)).on(Action::ReceiveMessage).skip(5));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fault {
    effect: Effect,
    action: Option<Action>,
    queue: Option<String>,
    skip: u64,
    first: u64,
    every: u64,
    seen: u64,
    hit: u64,
}

#[derive(Clone, Debug)]
enum Effect {
    Refuse(Error),
    Hang,
    Reset,
    LoseAnswer,
    Before(Duration),
    After(Duration),
    RefuseEntry(usize, Error),
}

impl Fault {
    /// Refused with `RequestThrottled`, HTTP status 403, and without effect.
    pub fn throttle() -> Self {
        Self::new(Effect::Refuse(Error::new(ErrorKind::Throttled, "Request is throttled.")))
    }

    /// Refused with `ThrottlingException`, HTTP status 400, and without effect: what AWS's FIFO guide names.
    pub fn rate_exceeded() -> Self {
        Self::refuse(400, "ThrottlingException", "Rate exceeded")
    }

    /// Failed with `InternalFailure`, HTTP status 500, and without effect.
    pub fn internal_failure() -> Self {
        Self::new(Effect::Refuse(internal_failure()))
    }

    /// Failed with `ServiceUnavailable`, HTTP status 503, and without effect.
    pub fn unavailable() -> Self {
        let text = "The service is unavailable.";
        Self::new(Effect::Refuse(Error::new(ErrorKind::ServiceUnavailable, text)))
    }

    /// Refused with any HTTP status, code and text, and without effect.
    pub fn refuse(status: u16, code: &str, text: &str) -> Self {
        Self::new(Effect::Refuse(Error::injected(status, code, text)))
    }

    /// Accepted and never answered, without effect, as if the request had been lost on its way.
    pub fn hang() -> Self {
        Self::new(Effect::Hang)
    }

    /// The connection is closed without an answer; the request has no effect.
    pub fn reset() -> Self {
        Self::new(Effect::Reset)
    }

    /// The request has its effect, and the connection is closed without an answer.
    pub fn lose_answer() -> Self {
        Self::new(Effect::LoseAnswer)
    }

    /// The effect comes so much later, and the answer with it: a slow way there.
    pub fn latency_before(delay: Duration) -> Self {
        Self::new(Effect::Before(delay))
    }

    /// The answer comes so much later than the effect: a slow way back.
    pub fn latency_after(delay: Duration) -> Self {
        Self::new(Effect::After(delay))
    }

    /// In a batch, the entry at this index (from 0) fails with this code and text, as the sender's fault and
    /// without effect. The other entries are carried out.
    pub fn refuse_entry(index: usize, code: &str, text: &str) -> Self {
        Self::new(Effect::RefuseEntry(index, Error::injected(400, code, text)))
    }

    /// In a batch, the entry at this index (from 0) fails with `InternalFailure`, as SQS's own fault and without
    /// effect. The other entries are carried out.
    pub fn internal_failure_entry(index: usize) -> Self {
        Self::new(Effect::RefuseEntry(index, internal_failure()))
    }

    /// Only requests of this operation. Without it, of all.
    #[must_use]
    pub fn on(mut self, action: Action) -> Self {
        self.action = Some(action);
        self
    }

    /// Only requests for the queue of this name. Without it, for all.
    #[must_use]
    pub fn queue(mut self, name: impl Into<String>) -> Self {
        self.queue = Some(name.into());
        self
    }

    /// Lets so many requests pass first.
    #[must_use]
    pub fn skip(mut self, requests: u64) -> Self {
        self.skip = requests;
        self
    }

    /// Hits so many requests, then no more. Without it, all.
    #[must_use]
    pub fn first(mut self, requests: u64) -> Self {
        self.first = requests;
        self
    }

    /// Hits every so-manieth request only; of those behind [`Fault::skip`], the `requests`-th is the first. Zero
    /// counts as one.
    #[must_use]
    pub fn every(mut self, requests: u64) -> Self {
        self.every = requests.max(1);
        self
    }

    fn new(effect: Effect) -> Self {
        Self { effect, action: None, queue: None, skip: 0, first: u64::MAX, every: 1, seen: 0, hit: 0 }
    }

    fn matches(&self, action: Action, queue: &str) -> bool {
        self.action.is_none_or(|only| only == action) && self.queue.as_ref().is_none_or(|only| only == queue)
    }

    /// Counts a request that matches, and says whether it is hit.
    fn hits(&mut self) -> bool {
        self.seen += 1;
        let behind = self.seen.saturating_sub(self.skip);
        let is_hit = behind > 0 && behind.is_multiple_of(self.every) && behind / self.every <= self.first;
        self.hit += u64::from(is_hit);
        is_hit
    }
}

/// The faults of a server, each under a number that is never used again.
#[derive(Default)]
pub(crate) struct Faults {
    by_id: Vec<(u64, Fault)>,
    next: u64,
}

impl Faults {
    /// So many rules, each of which every request is held against.
    pub(crate) const MOST: usize = 1_000;

    pub(crate) fn add(&mut self, fault: Fault) -> u64 {
        self.next += 1;
        self.by_id.push((self.next, fault));
        self.next
    }

    /// Whether there was one of this number.
    pub(crate) fn remove(&mut self, id: u64) -> bool {
        let before = self.by_id.len();
        self.by_id.retain(|(it, _)| *it != id);
        self.by_id.len() < before
    }

    pub(crate) fn clear(&mut self) {
        self.by_id.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Each as [`Fault::to_json`] shows it, with its number.
    pub(crate) fn show(&self) -> Value {
        let show = |(id, fault): &(u64, Fault)| {
            let mut rule = fault.to_json();
            rule["id"] = (*id).into();
            rule
        };
        self.by_id.iter().map(show).collect()
    }
}

fn internal_failure() -> Error {
    Error::new(ErrorKind::InternalFailure, "The request processing has failed because of an unknown error.")
}

/// What all faults together do to one request.
#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) before: Duration,
    pub(crate) after: Duration,
    pub(crate) refuse: Option<Error>,
    pub(crate) hang: bool,
    pub(crate) reset: bool,
    pub(crate) lose_answer: bool,
    pub(crate) refuse_entries: Vec<(usize, Error)>,
}

impl Plan {
    pub(crate) fn of(faults: &mut Faults, request: &Request) -> Self {
        let queue = request.queue.rsplit('/').next().unwrap_or_default();
        let mut plan = Self::default();
        for (_, fault) in &mut faults.by_id {
            if !(fault.matches(request.action, queue) && fault.hits()) {
                continue;
            }
            match &fault.effect {
                Effect::Refuse(error) => plan.refuse = Some(error.clone()),
                Effect::Hang => plan.hang = true,
                Effect::Reset => plan.reset = true,
                Effect::LoseAnswer => plan.lose_answer = true,
                Effect::Before(delay) => plan.before = plan.before.saturating_add(*delay),
                Effect::After(delay) => plan.after = plan.after.saturating_add(*delay),
                Effect::RefuseEntry(index, error) => plan.refuse_entries.push((*index, error.clone())),
            }
        }
        plan
    }

    /// Takes the entries out that are to fail.
    pub(crate) fn split<T: Clone>(&self, entries: &[T]) -> Vec<T> {
        let refused = |i: &usize| self.refuse_entries.iter().any(|(refused, _)| refused == i);
        entries.iter().enumerate().filter(|(i, _)| !refused(i)).map(|(_, entry)| entry.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(mut fault: Fault, requests: u64) -> Vec<u64> {
        (1..=requests).filter(|_| fault.hits()).collect()
    }

    #[test]
    fn picks_requests_by_number() {
        assert_eq!(hits(Fault::hang(), 3), [1, 2, 3]);
        assert_eq!(hits(Fault::hang().first(2), 4), [1, 2]);
        assert_eq!(hits(Fault::hang().skip(2).first(2), 6), [3, 4]);
        assert_eq!(hits(Fault::hang().every(3), 9), [3, 6, 9]);
        assert_eq!(hits(Fault::hang().every(3).first(2), 20), [3, 6]);
        assert_eq!(hits(Fault::hang().skip(1).every(2).first(2), 20), [3, 5]);
        assert_eq!(hits(Fault::hang().every(0).first(1), 4), [1]);
    }
}
