use sqs_lease_sim::{Model, Moment, Receive};

use super::{Call, Delivery, End, Kind, Timeline};
use crate::transcript::{Output, Transcript, Watched, watch};

/// How often another consumer asks, in a picture.
const POLLS: u64 = 24;

impl Timeline {
    /// What becomes of the delivery of a transcript. What the transcript expects does not matter.
    ///
    /// Calls that are acknowledged reach the simulated SQS as they are sent, others do not; another consumer asks it for
    /// the message all the time.
    ///
    /// # Errors
    /// It cannot be read, or has a clock that stands still, which SQS's does not.
    pub fn of_transcript(title: &str, text: &str) -> Result<Self, String> {
        let transcript = Transcript::parse(text).map_err(|error| error.to_string())?;
        if transcript.has_gap() {
            return Err("a clock that stands still cannot be drawn beside one that does not".to_owned());
        }
        let watched = watch(&transcript);
        let mut delivery = delivery(&transcript, &watched);
        let until = shown_until(&transcript, &delivery);
        delivery.calls.retain(|call| call.sent <= until);
        let (polls, rival) = rival(&transcript, &delivery, until);
        let limit = Some(watched.limit).filter(|limit| *limit <= until);
        let deliveries = std::iter::once(delivery).chain(rival).collect();
        Ok(Self { title: title.to_owned(), deliveries, polls, limit, until })
    }
}

fn delivery(transcript: &Transcript, watched: &Watched) -> Delivery {
    let received = transcript.received_at();
    let timeout = u64::from(transcript.timeout()) * 1_000_000_000;
    let mut timeouts = vec![(received, received + timeout)];
    let (mut calls, mut end) = (Vec::new(), None);
    for (index, said) in watched.said.iter().enumerate() {
        let kind = match said.output {
            Output::Extend(_) => Kind::Extension,
            Output::Final(_) => Kind::Final,
            Output::Delete => Kind::Delete,
            Output::Release(after) => Kind::Release(after),
            Output::Stop(reason) => {
                let is_lost = ["expired", "limit", "refused"].contains(&reason);
                let text = if is_lost { format!("told: lost ({reason})") } else { reason.to_owned() };
                end = Some((said.at, if is_lost { End::Lost } else { End::Settled }, text));
                continue;
            }
            Output::WarnLimit | Output::WarnDenied => continue,
        };
        // The answer that counted came before the next call of the kind, if one did.
        let is_extension = kind.is_extension();
        let next = watched.said.iter().skip(index + 1).find(|it| is_call(it.output) == Some(is_extension));
        let before = next.map_or(u64::MAX, |it| it.at);
        let mut answers = watched.answers.iter().filter(|(_, of_extension, _)| *of_extension == is_extension);
        let answer = answers.find(|(at, _, _)| *at >= said.at && *at <= before);
        let failed = match answer {
            Some((_, _, Ok(()))) => None,
            Some((at, _, Err(_))) => Some(*at),
            None => said.until,
        };
        if let (None, Output::Extend(by) | Output::Final(by)) = (failed, said.output) {
            timeouts.push((said.at, said.at + u64::from(by) * 1_000_000_000));
        }
        calls.push(Call { sent: said.at, kind, failed });
    }
    Delivery { who: "your handler".to_owned(), received, end, timeouts, calls }
}

/// Whether an output is a call, and then whether it is an extension.
fn is_call(output: Output) -> Option<bool> {
    match output {
        Output::Extend(_) | Output::Final(_) => Some(true),
        Output::Delete | Output::Release(_) => Some(false),
        _ => None,
    }
}

/// A little after the end, or after SQS may hand the message on, whichever is later.
fn shown_until(transcript: &Transcript, delivery: &Delivery) -> u64 {
    let Some((end, how, _)) = &delivery.end else { return transcript.end() };
    let last = match how {
        End::Lost => delivery.timeouts.iter().map(|(_, to)| *to).max().unwrap_or(*end).max(*end),
        End::Settled => *end,
    };
    (last + (last - delivery.received) / 7).min(transcript.end())
}

/// Another consumer asks until it gets the message. Its receives, and what it then has.
fn rival(transcript: &Transcript, delivery: &Delivery, until: u64) -> (Vec<(u64, bool)>, Option<Delivery>) {
    const QUEUE: &str = "jobs";
    // Far from the origin, and what comes first at an instant is the holder's.
    let at = |nanos: u64| Moment::from_secs(1_000_000) + std::time::Duration::from_nanos(nanos);
    let secs = |nanos: u64| i32::try_from(nanos / 1_000_000_000).unwrap_or(i32::MAX);
    let mut sqs = Model::default();
    let start = at(delivery.received);
    sqs.create_queue(QUEUE, &[], start).expect("a valid queue");
    sqs.send(QUEUE, "work", start).expect("a valid message");
    let receive = Receive::new().visibility(i32::try_from(transcript.timeout()).unwrap_or(0));
    let received = sqs.receive(QUEUE, &receive, start).expect("a queue").remove(0);
    let handle = received.receipt_handle;

    let step = (until - delivery.received) / POLLS;
    let mut polls = Vec::new();
    let mut extensions = delivery.timeouts.iter().skip(1).peekable();
    let mut settle = delivery.calls.iter().rfind(|it| !it.kind.is_extension() && it.failed.is_none());
    // Half a step off, so that it never asks at the very instant of a call.
    let mut poll = delivery.received + step / 2;
    while poll < until {
        while let Some((from, to)) = extensions.next_if(|(from, _)| *from <= poll) {
            let changed = sqs.change_visibility(QUEUE, &handle, secs(to - from), at(*from));
            changed.expect("what the lease asks for is within the limits");
        }
        if let Some(call) = settle.take_if(|call| call.sent <= poll) {
            match call.kind {
                Kind::Release(after) => {
                    let after = i32::try_from(after).unwrap_or(i32::MAX);
                    sqs.change_visibility(QUEUE, &handle, after, at(call.sent))
                }
                _ => sqs.delete(QUEUE, &handle, at(call.sent)),
            }
            .expect("it is held");
        }
        let got = !sqs.receive(QUEUE, &receive, at(poll)).expect("a queue").is_empty();
        polls.push((poll, got));
        if got {
            let timeouts = vec![(poll, poll + u64::from(transcript.timeout()) * 1_000_000_000)];
            let who = "another consumer has it".to_owned();
            return (polls, Some(Delivery { who, received: poll, end: None, timeouts, calls: Vec::new() }));
        }
        poll += step;
    }
    (polls, None)
}
