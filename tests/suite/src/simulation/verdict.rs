use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sqs_lease_sim::{Error, Event, MessageId, Model, Moment, Overlap, Receive, Recorded};

use super::client::Client;
use super::consumer::{End, Notes};
use super::run::{Outcome, dead_letter_queue};
use super::scenario::{Feature, Scenario};

/// Judges a run by what the model saw.
pub(crate) fn judge(
    scenario: &Scenario,
    model: &mut Model,
    name: &str,
    notes: &Notes,
    clients: &[Client],
    now: Moment,
) -> Outcome {
    let case = Case { scenario, notes, clients };
    let mut violations = Vec::new();
    case.overlaps(model, &mut violations);
    case.told_in_time(model, &mut violations);
    case.calls_after_the_end(&mut violations);
    case.hidden_for_nobody(model, &mut violations);
    let crashes = model.hidden_since_crash().len() as u64;
    let (mut changes, mut deleted) = (0, BTreeSet::new());
    let mut all = BTreeSet::new();
    for (id, events) in model.histories() {
        all.insert(id);
        changes += events.iter().filter(|it| matches!(it.event, Event::Changed { .. })).count() as u64;
        if events.iter().any(|it| matches!(it.event, Event::Deleted { .. })) {
            deleted.insert(id);
        }
    }
    let mut there = drain(model, name, now);
    there.extend(drain(model, &dead_letter_queue(name), now));
    for id in all.iter().filter(|id| !deleted.contains(id) && !there.contains(id)) {
        violations.push(format!("{id} is lost: neither deleted, nor visible, nor in the dead-letter queue"));
    }
    Outcome {
        violations,
        messages: all.len() as u64,
        deliveries: notes.holders.len() as u64,
        changes,
        change_calls: notes.change_calls,
        losses: notes.ends.values().filter(|end| end.by_clock).count() as u64,
        crashes,
    }
}

struct Case<'a> {
    scenario: &'a Scenario,
    notes: &'a Notes,
    clients: &'a [Client],
}

impl Case<'_> {
    /// No two handlers ever worked on one message at once. Nobody can be told while it is stopped; then it has to be
    /// told before it does anything else.
    fn overlaps(&self, model: &Model, violations: &mut Vec<String>) {
        if !self.scenario.is_orderly() {
            return;
        }
        for overlap in model.overlaps() {
            let Overlap { message_id, held, began, from, until, .. } = overlap;
            let stopped = self.client(message_id, held).is_some_and(|client| {
                let awake = client.awake_after(from);
                awake > from && until.is_some_and(|until| until <= awake)
            });
            if !stopped && !self.is_stirred(model.history(message_id), held, from) {
                let story = story(model.history(message_id));
                violations.push(format!(
                    "{message_id}: delivery {held} was still held when {began} began at {from}, until {until:?}{story}"
                ));
            }
        }
    }

    /// Every loss by the clock was told before SQS could hand the message on.
    fn told_in_time(&self, model: &Model, violations: &mut Vec<String>) {
        if !self.scenario.is_orderly() {
            return;
        }
        let by_handle: BTreeMap<_, _> =
            self.notes.holders.iter().map(|(key, (_, handle))| (handle, *key)).collect();
        for (handle, End { at, .. }) in self.notes.ends.iter().filter(|(_, end)| end.by_clock) {
            let Some(&(id, delivery)) = by_handle.get(handle) else { continue };
            let events = model.history(id);
            let Some(promised) = promise(events, delivery, *at) else { continue };
            let could = self.client(id, delivery).map_or(promised, |client| client.awake_after(promised));
            if *at > could && !self.is_stirred(events, delivery, *at) {
                let story = story(events);
                violations.push(format!(
                    "{id}: delivery {delivery} was told at {at}, SQS could hand it on at {promised}{story}"
                ));
            }
        }
    }

    /// No call for a lease after it was stopped, but for the one late delete.
    fn calls_after_the_end(&self, violations: &mut Vec<String>) {
        let mut late_deletes: BTreeMap<&str, usize> = BTreeMap::new();
        for call in &self.notes.calls {
            let Some(end) = self.notes.ends.get(&call.handle).filter(|end| call.at > end.at) else {
                continue;
            };
            let deletes = late_deletes.entry(&call.handle).or_default();
            *deletes += usize::from(call.is_delete);
            if (!call.is_delete && !end.is_released) || *deletes > end.deletes_after {
                let what = if call.is_delete { "delete" } else { "change" };
                violations
                    .push(format!("a {what} was sent at {} for a lease that ended at {}", call.at, end.at));
            }
        }
    }

    /// A crash hides a message for one timeout at most, and for what was on its way.
    fn hidden_for_nobody(&self, model: &Model, violations: &mut Vec<String>) {
        if !self.scenario.is_orderly() {
            return;
        }
        let longest = self.scenario.span() + self.scenario.longest_way();
        for hidden in model.hidden_since_crash().iter().filter(|it| it.hidden > longest) {
            let story = story(model.history(hidden.message_id));
            let id = hidden.message_id;
            violations.push(format!("{id} was hidden for {:?} after a crash{story}", hidden.hidden));
        }
    }

    fn client(&self, id: MessageId, delivery: u32) -> Option<&Client> {
        let (number, _) = self.notes.holders.get(&(id, delivery))?;
        self.clients.get(*number as usize)
    }

    /// Whether a call of an earlier holder that was seconds on its way has changed this delivery's deadline: nothing that
    /// this holder could know. Only where calls are slow.
    fn is_stirred(&self, events: &[Recorded], delivery: u32, before: Moment) -> bool {
        let by_another = |it: &Recorded| match it.event {
            Event::Changed { delivery: by, current, .. } => {
                current == delivery && by != delivery && it.at <= before
            }
            _ => false,
        };
        self.scenario.has(Feature::SlowCalls) && events.iter().any(by_another)
    }
}

/// Until when SQS had promised, at `at`, to hide the message for this delivery. None if it was deleted by then, or
/// handed on: that is an overlap.
fn promise(events: &[Recorded], delivery: u32, at: Moment) -> Option<Moment> {
    let mut promised = None;
    for it in events.iter().take_while(|it| it.at <= at) {
        match it.event {
            Event::Received { delivery: of, until, .. } => promised = (of == delivery).then_some(until),
            Event::Changed { current, to, .. } if current == delivery => promised = Some(to),
            Event::Deleted { .. } | Event::Moved { .. } => promised = None,
            _ => {}
        }
    }
    promised
}

/// What happened to a message, a line each.
fn story(events: &[Recorded]) -> String {
    events.iter().fold(String::new(), |story, it| story + &format!("\n    {} {:?}", it.at, it.event))
}

/// Everything that is visible in a queue; it is deleted on the way, so that a FIFO group gives all of it.
fn drain(model: &mut Model, queue: &str, now: Moment) -> BTreeSet<MessageId> {
    let mut there = BTreeSet::new();
    // A short poll may miss what is there.
    let all = Receive::new().max(10).wait(1);
    loop {
        let messages = paced(model, now, |model, now| model.receive(queue, &all, now));
        if messages.is_empty() {
            return there;
        }
        for message in messages {
            there.insert(message.message_id);
            paced(model, now, |model, now| model.delete(queue, &message.receipt_handle, now));
        }
    }
}

/// Asks at `now`, or at the latest moment if that is later, and again a second later where a queue has a pace.
fn paced<R>(model: &mut Model, now: Moment, ask: impl Fn(&mut Model, Moment) -> Result<R, Error>) -> R {
    let now = model.latest().max(now);
    let later = |model: &mut Model| ask(model, now + Duration::from_secs(1));
    ask(model, now).or_else(|_| later(model)).expect("no other refusal")
}
