use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use sqs_lease_core::Moment;

use crate::model::name_of;
use crate::model::{Delivery, Error, Model, Receive};

/// Receive requests that wait for a message, each known to its caller by a token `T`.
///
/// Sans-IO like the [`Model`]: park a request, and after everything that may have made a message visible (an operation,
/// or the passing of [`LongPolls::poll_timeout`]) take the answers out. Polls of one queue are served in the order in which
/// they came, so that the same run always ends the same.
///
/// ```
/// use sqs_lease_sim::{LongPolls, Model, Moment, Receive};
///
/// let mut model = Model::default();
/// let mut polls = LongPolls::new();
/// model.create_queue("jobs", &[], Moment::ORIGIN)?;
///
/// polls.park("jobs", Receive::new().wait(20), "consumer 1", &model, Moment::ORIGIN)?;
/// assert!(polls.poll_answer(&mut model, Moment::ORIGIN).is_none());
/// assert_eq!(polls.poll_timeout(&mut model), Some(Moment::from_secs(20)));
///
/// model.send("jobs", "work", Moment::from_secs(7))?;
/// let (token, answer) = polls.poll_answer(&mut model, Moment::from_secs(7)).unwrap();
/// assert_eq!((token, answer?.len()), ("consumer 1", 1));
/// # Ok::<(), sqs_lease_sim::Error>(())
/// ```
pub struct LongPolls<T> {
    /// By queue name, in the order of arrival. No queue without a poll is in here.
    waiting: BTreeMap<String, VecDeque<Poll<T>>>,
}

struct Poll<T> {
    receive: Receive,
    until: Moment,
    token: T,
}

impl<T> Default for LongPolls<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> LongPolls<T> {
    /// Nobody waits.
    pub fn new() -> Self {
        Self { waiting: BTreeMap::new() }
    }

    /// Takes a receive request in. It is answered when a message is visible, or when its waiting time is over:
    /// with a waiting time of zero by the next [`LongPolls::poll_answer`].
    ///
    /// The 12 hours of what it receives count from `now`.
    ///
    /// # Errors
    /// Those of [`Model::wait_of`]; the request is not parked then.
    pub fn park(
        &mut self,
        queue: &str,
        receive: Receive,
        token: T,
        model: &Model,
        now: Moment,
    ) -> Result<(), Error> {
        let until = now + model.wait_of(queue, &receive)?;
        let poll = Poll { receive: receive.requested(now), until, token };
        self.waiting.entry(name_of(queue).to_owned()).or_default().push_back(poll);
        Ok(())
    }

    /// The next answer there is now, if any: messages, or none for a poll whose time is over.
    pub fn poll_answer(
        &mut self,
        model: &mut Model,
        now: Moment,
    ) -> Option<(T, Result<Vec<Delivery>, Error>)> {
        for (queue, polls) in &mut self.waiting {
            // What the first does not get there is not for those behind it either: only their time can be over.
            let Some(first) = polls.front() else { continue };
            let answer = model.receive(queue, &first.receive, now);
            let answered = if answer.as_ref().is_ok_and(Vec::is_empty) {
                polls.iter().position(|poll| poll.until <= now)
            } else {
                Some(0)
            };
            if let Some(i) = answered {
                let poll = polls.remove(i)?;
                if polls.is_empty() {
                    let queue = queue.clone();
                    self.waiting.remove(&queue);
                }
                return Some((poll.token, answer));
            }
        }
        None
    }

    /// When there may be an answer without anything being done: a message becomes visible, or a poll's time is over.
    ///
    /// Looking late makes answers late; looking early costs nothing but the look.
    pub fn poll_timeout(&self, model: &mut Model) -> Option<Moment> {
        let now = model.latest();
        let of_queue = |(queue, polls): (&String, &VecDeque<Poll<T>>)| {
            let over = polls.iter().map(|poll| poll.until).min();
            over.into_iter().chain(model.next_change(queue, now)).min()
        };
        self.waiting.iter().filter_map(of_queue).min()
    }

    /// How many polls wait.
    pub fn len(&self) -> usize {
        self.waiting.values().map(VecDeque::len).sum()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Gives up the polls whose caller has gone.
    pub fn retain(&mut self, mut is_there: impl FnMut(&T) -> bool) {
        self.waiting.retain(|_, polls| {
            polls.retain(|poll| is_there(&poll.token));
            !polls.is_empty()
        });
    }
}

impl<T> fmt::Debug for LongPolls<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LongPolls").field("waiting", &self.len()).finish()
    }
}
