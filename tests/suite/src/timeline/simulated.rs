use sqs_lease_sim::{Event, Moment, Recorded};

use super::{Call, Delivery, End, Kind, Timeline};
use crate::simulation::{Notes, Scenario, play};

impl Timeline {
    /// What became of a message of a simulation: of the one with the most deliveries.
    ///
    /// # Errors
    /// Nobody received anything in it.
    pub fn of_simulation(title: &str, scenario: &Scenario) -> Result<Self, String> {
        let mut deliveries = Vec::new();
        play(scenario, |model, notes| {
            let most = model.histories().map(|(id, events)| (id, received(events))).max_by_key(|(id, of)| {
                // The first of several, whatever its id.
                (of.len(), std::cmp::Reverse(model.history(*id).first().map(|it| it.at)))
            });
            if let Some((id, of)) = most {
                let events = model.history(id);
                let who =
                    |number| notes.holders.get(&(id, number)).map(|(who, handle)| (*who, handle.as_str()));
                deliveries =
                    of.iter().filter_map(|number| delivery(events, *number, who(*number)?, notes)).collect();
            }
        });
        let last =
            deliveries.iter().map(|it: &Delivery| it.end.as_ref().map_or(it.received, |(at, ..)| *at)).max();
        let first = deliveries.iter().map(|it| it.received).min();
        let (Some(first), Some(last)) = (first, last) else {
            return Err("nobody received anything".to_owned());
        };
        let until = last + (last - first) / 12;
        for it in &mut deliveries {
            it.calls.retain(|call| call.sent <= until);
        }
        Ok(Self { title: title.to_owned(), deliveries, polls: Vec::new(), limit: None, until })
    }
}

fn received(events: &[Recorded]) -> Vec<u32> {
    let number = |it: &Recorded| match it.event {
        Event::Received { delivery, .. } => Some(delivery),
        _ => None,
    };
    events.iter().filter_map(number).collect()
}

fn delivery(events: &[Recorded], number: u32, who: (u32, &str), notes: &Notes) -> Option<Delivery> {
    let (consumer, handle) = who;
    let mut timeouts: Vec<(u64, u64)> = Vec::new();
    let (mut end, mut done) = (None, Vec::new());
    for it in events {
        let at = it.at.as_nanos();
        match it.event {
            Event::Received { delivery, until, .. } if delivery == number => {
                timeouts.push((at, until.as_nanos()));
            }
            Event::Changed { delivery, current, to, .. } if delivery == number => {
                done.push(at);
                if current == number {
                    timeouts.push((at, to.as_nanos()));
                }
            }
            Event::Deleted { delivery, .. } if delivery == number => {
                done.push(at);
                end.get_or_insert((at, End::Settled, "deleted".to_owned()));
            }
            Event::Crashed { delivery } if delivery == number => {
                end.get_or_insert((at, End::Lost, "died".to_owned()));
            }
            Event::LetGo { delivery } if delivery == number => {
                let by_clock = notes.ends.get(handle).is_some_and(|it| it.by_clock);
                let (how, text) =
                    if by_clock { (End::Lost, "told: lost") } else { (End::Settled, "given back") };
                end.get_or_insert((at, how, text.to_owned()));
            }
            _ => {}
        }
    }
    let received = timeouts.first()?.0;
    let calls = calls(handle, &done, end.as_ref().map(|(at, ..)| *at), notes);
    Some(Delivery {
        who: format!("receive {number}, by consumer {}", consumer + 1),
        received,
        end,
        timeouts,
        calls,
    })
}

/// The calls for a delivery. One that SQS noted nothing of before the next has failed on its way.
fn calls(handle: &str, done: &[u64], let_go: Option<u64>, notes: &Notes) -> Vec<Call> {
    let of_handle = || notes.calls.iter().filter(|it| it.handle == handle);
    let sent = |at: Moment| at.as_nanos();
    let mut calls: Vec<_> = of_handle()
        .map(|it| {
            let kind = match (it.is_delete, let_go.is_some_and(|at| sent(it.at) >= at)) {
                (true, _) => Kind::Delete,
                (false, true) => Kind::Release(0),
                (false, false) => Kind::Extension,
            };
            Call { sent: sent(it.at), kind, failed: None }
        })
        .collect();
    for index in 0..calls.len() {
        let (from, next) = (calls[index].sent, calls.get(index + 1).map_or(u64::MAX, |it| it.sent));
        if !done.iter().any(|at| (from..next).contains(at)) {
            calls[index].failed = Some(from);
        }
    }
    calls
}
