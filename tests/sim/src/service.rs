//! Requests in, answers out, with long polls and faults in between: everything of the server but the sockets,
//! the threads and the clock.

use std::collections::{BTreeMap, VecDeque};

use sqs_lease_core::Moment;

use crate::fault::{Faults, Plan};
use crate::model::{Entry, Error, Model, Outcomes};
use crate::polls::LongPolls;
use crate::wire::{Action, Answer, Page, Request, What};

/// Who waits for an answer.
pub(crate) trait Caller {
    /// Whether nobody waits any more. Nothing is handed out to such a caller.
    fn is_gone(&self) -> bool;
}

pub(crate) enum Reply {
    Answer(Result<Answer, Error>),
    /// Close the connection without an answer.
    Close,
}

pub(crate) struct Service<C> {
    pub(crate) model: Model,
    pub(crate) faults: Faults,
    calls: BTreeMap<Action, u64>,
    polls: LongPolls<Poller<C>>,
    /// What a latency holds back, in the order of time; the number keeps apart what is due at once.
    later: BTreeMap<(Moment, u64), Later<C>>,
    next_later: u64,
    /// Callers that are never answered: their connections stay open as long as they wait.
    hung: Vec<C>,
    replies: VecDeque<(C, Reply)>,
}

struct Poller<C> {
    caller: C,
    plan: Plan,
}

enum Later<C> {
    Effect(Request, Plan, C),
    Reply(Reply, C),
}

impl<C: Caller> Service<C> {
    pub(crate) fn new(model: Model) -> Self {
        Self {
            model,
            faults: Faults::default(),
            calls: BTreeMap::new(),
            polls: LongPolls::new(),
            later: BTreeMap::new(),
            next_later: 0,
            hung: Vec::new(),
            replies: VecDeque::new(),
        }
    }

    /// Takes a request in; its answer comes out of [`Service::poll_reply`], now or later.
    pub(crate) fn handle_request(&mut self, request: Request, caller: C, now: Moment) {
        *self.calls.entry(request.action).or_default() += 1;
        let plan = Plan::of(&mut self.faults, &request);
        if plan.before.is_zero() {
            self.carry_out(request, plan, caller, now);
        } else {
            let at = now + plan.before;
            self.put_off(at, Later::Effect(request, plan, caller));
        }
        self.serve_polls(now);
    }

    /// Does what is due, and looks for messages for those who wait for some. To be called when
    /// [`Service::poll_timeout`] has passed, and after the model was changed from outside.
    pub(crate) fn handle_timeout(&mut self, now: Moment) {
        while let Some(entry) = self.later.first_entry()
            && entry.key().0 <= now
        {
            match entry.remove() {
                Later::Effect(request, plan, caller) => self.carry_out(request, plan, caller, now),
                Later::Reply(reply, caller) => self.replies.push_back((caller, reply)),
            }
        }
        self.serve_polls(now);
    }

    /// When [`Service::handle_timeout`] has something to do next.
    pub(crate) fn poll_timeout(&mut self) -> Option<Moment> {
        let later = self.later.first_key_value().map(|(&(at, _), _)| at);
        later.into_iter().chain(self.polls.poll_timeout(&mut self.model)).min()
    }

    pub(crate) fn poll_reply(&mut self) -> Option<(C, Reply)> {
        self.replies.pop_front()
    }

    pub(crate) fn calls(&self, action: Action) -> u64 {
        self.calls.get(&action).copied().unwrap_or_default()
    }

    /// Every operation that has been asked for, and how often.
    pub(crate) fn all_calls(&self) -> impl Iterator<Item = (Action, u64)> {
        self.calls.iter().map(|(action, calls)| (*action, *calls))
    }

    fn carry_out(&mut self, request: Request, plan: Plan, caller: C, now: Moment) {
        if plan.hang {
            self.hung.retain(|caller| !caller.is_gone());
            self.hung.push(caller);
        } else if plan.reset {
            self.replies.push_back((caller, Reply::Close));
        } else if let Some(error) = &plan.refuse {
            self.reply(Err(error.clone()), &plan, caller, now);
        } else if let What::Receive(receive) = request.what {
            if let Err(error) = self.model.wait_of(&request.queue, &receive) {
                return self.reply(Err(error), &plan, caller, now);
            }
            // The same check has just passed.
            let _ = self.polls.park(&request.queue, receive, Poller { caller, plan }, &self.model, now);
        } else {
            let result = answer(&mut self.model, &request, &plan, now);
            self.reply(result, &plan, caller, now);
        }
    }

    fn reply(&mut self, result: Result<Answer, Error>, plan: &Plan, caller: C, now: Moment) {
        let reply = if plan.lose_answer { Reply::Close } else { Reply::Answer(result) };
        if plan.after.is_zero() {
            self.replies.push_back((caller, reply));
        } else {
            self.put_off(now + plan.after, Later::Reply(reply, caller));
        }
    }

    fn serve_polls(&mut self, now: Moment) {
        if self.polls.is_empty() {
            return;
        }
        self.polls.retain(|poller| !poller.caller.is_gone());
        while let Some((Poller { caller, plan }, result)) = self.polls.poll_answer(&mut self.model, now) {
            self.reply(result.map(Answer::Received), &plan, caller, now);
        }
    }

    fn put_off(&mut self, at: Moment, later: Later<C>) {
        self.later.insert((at, self.next_later), later);
        self.next_later += 1;
    }
}

fn answer(model: &mut Model, request: &Request, plan: &Plan, now: Moment) -> Result<Answer, Error> {
    let queue = &*request.queue;
    Ok(match &request.what {
        What::Create { attributes, tags } => {
            let url = model.create_queue(queue, &borrowed(attributes), now)?;
            model.tags(queue)?.extend(tags.clone());
            Answer::Url(url)
        }
        What::Url { owner } => Answer::Url(model.queue_url_of(queue, owner.as_deref())?),
        What::List { prefix, page } => {
            let (urls, next) = cut(model.queue_urls(prefix), page);
            Answer::Urls(urls, next)
        }
        What::Sources(page) => {
            let (urls, next) = cut(model.dead_letter_sources(queue)?, page);
            Answer::Sources(urls, next)
        }
        What::StartMove { source, destination, per_second } => {
            Answer::MoveStarted(model.start_move(source, destination.as_deref(), *per_second, now)?)
        }
        What::CancelMove(handle) => Answer::MoveCancelled(model.cancel_move(handle, now)?),
        What::Moves(source, max) => Answer::Moves(model.moves(source, *max, now)?, model.unix_origin()),
        What::DeleteQueue => model.delete_queue(queue, now).map(|()| Answer::Done)?,
        What::Attributes { names } => Answer::Attributes(model.named_attributes(queue, names, now)?),
        What::SetAttributes(attributes) => {
            model.set_attributes(queue, &borrowed(attributes), now).map(|()| Answer::Done)?
        }
        What::Tag(tags) => {
            model.tags(queue)?.extend(tags.clone());
            Answer::Done
        }
        What::Untag(keys) => {
            model.tags(queue)?.retain(|key, _| !keys.contains(key));
            Answer::Done
        }
        What::Tags => Answer::Tags(model.tags(queue)?.clone()),
        What::Purge => model.purge(queue, now).map(|()| Answer::Done)?,
        What::Send(message) => Answer::Sent(model.send(queue, message.clone(), now)?),
        What::SendBatch(entries) => {
            Answer::SentBatch(batch(plan, entries, |entries| model.send_batch(queue, entries, now))?)
        }
        What::Receive(receive) => Answer::Received(model.receive(queue, receive, now)?),
        What::Delete(handle) => model.delete(queue, handle, now).map(|()| Answer::Done)?,
        What::DeleteBatch(entries) => {
            Answer::Batch(batch(plan, entries, |entries| model.delete_batch(queue, entries, now))?)
        }
        What::Change(handle, secs) => {
            model.change_visibility(queue, handle, *secs, now).map(|()| Answer::Done)?
        }
        What::ChangeBatch(entries) => {
            Answer::Batch(batch(plan, entries, |entries| model.change_visibility_batch(queue, entries, now))?)
        }
    })
}

/// A page of a list, and where the next one begins: only whoever asks for so many gets pages.
fn cut(mut urls: Vec<String>, page: &Page) -> (Vec<String>, Option<String>) {
    if let Some(after) = &page.after {
        urls.retain(|url| url > after);
    }
    let max = page.max.unwrap_or(1_000);
    let next = (page.max.is_some() && urls.len() > max).then(|| urls[max - 1].clone());
    urls.truncate(max);
    (urls, next)
}

/// Carries a batch out without the entries that a fault refuses.
fn batch<T: Clone, R>(
    plan: &Plan,
    entries: &[Entry<T>],
    carry_out: impl FnOnce(&[Entry<T>]) -> Result<Outcomes<R>, Error>,
) -> Result<Outcomes<R>, Error> {
    let refused: Vec<_> = plan
        .refuse_entries
        .iter()
        .filter_map(|(i, error)| Some((entries.get(*i)?.id.clone(), Err(error.clone()))))
        .collect();
    if refused.is_empty() {
        return carry_out(entries);
    }
    let rest = plan.split(entries);
    let mut outcomes = if rest.is_empty() { Vec::new() } else { carry_out(&rest)? };
    outcomes.extend(refused);
    Ok(outcomes)
}

fn borrowed(attributes: &[(String, String)]) -> Vec<(&str, &str)> {
    attributes.iter().map(|(name, value)| (&**name, &**value)).collect()
}
