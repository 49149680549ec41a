use std::time::Duration;

use sqs_lease_core::{
    Action, Answer, Ask, AttemptId, CallId, Event, Failure, Lease, LeaseKey, LeaseSet, Moment, Policy,
    Received, SetPolicy, SettleError, Visibility,
};

use super::{Output, Settings, With};
use crate::reference::{About, Reference, Time, Wish};

/// A lease of the kind that is to be played on.
pub(crate) fn new(settings: &Settings, received_at: Moment, with: With) -> Box<dyn Subject> {
    let policy = settings.policy().expect("checked when it was read");
    let timeout = Visibility::new(settings.timeout).expect("checked when it was read");
    let received = Received::new(received_at, timeout)
        .requested(received_at - Duration::from_nanos(settings.requested))
        .expect("not later than the receive");
    match with {
        With::Lease => Box::new(Lease::new(&policy, received)),
        With::Set => Box::new(SetOfOne::new(&policy, received, received_at)),
        With::Reference => Box::new(Reference::new(*settings, time(received_at))),
    }
}

fn time(moment: Moment) -> Time {
    Time::from(moment.as_nanos())
}

fn moment(time: Time) -> Moment {
    Moment::from_nanos(u64::try_from(time.max(0)).expect("within the clock"))
}

/// What transcripts are played on.
pub(crate) trait Subject {
    /// Drains everything that is due at `now`.
    fn drain(&mut self, now: Moment) -> Vec<Drained>;
    fn wake_up(&self) -> Option<Moment>;
    fn awaits(&self, call: CallRef) -> bool;
    fn answer(&mut self, call: CallRef, answer: Result<(), Failure>, now: Moment);
    fn want(&mut self, want: Want, now: Moment) -> Said;
    /// What is known of it: while it is held, or how it ended.
    fn look(&self, now: Moment) -> Look;
}

/// What is said to a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Taken,
    AlreadySettling,
    Ended { reason: &'static str, at: Moment },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Running {
        held_until: Moment,
        end: Moment,
        limit: Moment,
        timeout: u32,
        remaining: Duration,
        is_held: bool,
        is_settling: bool,
        /// When it will be extended, by what, and whether that is the final one.
        next: Option<(Moment, u32, bool)>,
    },
    Ended {
        reason: &'static str,
        at: Moment,
        /// What is left, and whether it is held.
        remaining: Duration,
        is_held: bool,
    },
}

/// One output, and the call that it makes if it makes one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drained {
    pub(crate) output: Output,
    pub(crate) call: Option<(Kind, CallRef, Moment)>,
    /// The call carries the warning that the limit is near.
    pub(crate) warns: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Extension,
    Settle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallRef {
    Attempt(AttemptId),
    Call(CallId),
    Reference(u32),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Want {
    Extension(Visibility),
    Delete,
    Release(Visibility),
    Leave,
    Gap(Duration),
}

impl Subject for Lease {
    fn look(&self, now: Moment) -> Look {
        let (remaining, is_held) = (self.remaining(now), self.is_held(now));
        match self.ended() {
            Some(ended) => Look::Ended { reason: ended.reason.as_str(), at: ended.at, remaining, is_held },
            None => Look::Running {
                held_until: self.held_until(),
                end: self.end(),
                limit: self.limit(),
                timeout: self.timeout().secs(),
                remaining,
                is_held,
                is_settling: self.is_settling(),
                next: self.next().map(|it| (it.at, it.by.secs(), it.is_final)),
            },
        }
    }

    fn drain(&mut self, now: Moment) -> Vec<Drained> {
        std::iter::from_fn(|| self.poll(now)).map(drained).collect()
    }

    fn wake_up(&self) -> Option<Moment> {
        self.poll_timeout()
    }

    fn awaits(&self, call: CallRef) -> bool {
        matches!(call, CallRef::Attempt(attempt) if Self::awaits(self, attempt))
    }

    fn answer(&mut self, call: CallRef, answer: Result<(), Failure>, now: Moment) {
        if let CallRef::Attempt(attempt) = call {
            self.handle_answer(attempt, answer, now);
        }
    }

    fn want(&mut self, want: Want, now: Moment) -> Said {
        said(match want {
            Want::Extension(by) => {
                self.extend(by, now).expect("checked when the transcript was read");
                Ok(())
            }
            Want::Delete => self.delete(now),
            Want::Release(after) => self.release(after, now),
            Want::Leave => self.leave(now),
            Want::Gap(gap) => {
                self.handle_gap(gap, now);
                Ok(())
            }
        })
    }
}

fn said(result: Result<(), SettleError>) -> Said {
    match result {
        Ok(()) => Said::Taken,
        Err(SettleError::AlreadySettling) => Said::AlreadySettling,
        Err(SettleError::Ended(ended)) => Said::Ended { reason: ended.reason.as_str(), at: ended.at },
        Err(other) => unreachable!("it is there, and yet: {other}"),
    }
}

fn drained(action: Action) -> Drained {
    let call = |kind, attempt: sqs_lease_core::Attempt| {
        Some((kind, CallRef::Attempt(attempt.id), attempt.answer_by))
    };
    match action {
        Action::Extend(it) => {
            let by = it.by.secs();
            let output = if it.is_final { Output::Final(by) } else { Output::Extend(by) };
            Drained { output, call: call(Kind::Extension, it.attempt), warns: it.warns }
        }
        Action::Delete(attempt) => {
            Drained { output: Output::Delete, call: call(Kind::Settle, attempt), warns: false }
        }
        Action::Release { attempt, after } => {
            let call = call(Kind::Settle, attempt);
            Drained { output: Output::Release(after.secs()), call, warns: false }
        }
        Action::WarnLimit => notice(Output::WarnLimit),
        Action::WarnDenied => notice(Output::WarnDenied),
        Action::Stop(reason) => notice(Output::Stop(reason.as_str())),
        other => unreachable!("a transcript has no word for {other:?}"),
    }
}

fn notice(output: Output) -> Drained {
    Drained { output, call: None, warns: false }
}

/// A set that holds one lease.
pub(crate) struct SetOfOne {
    set: LeaseSet<()>,
    key: LeaseKey,
}

impl SetOfOne {
    pub(crate) fn new(policy: &Policy, received: Received, now: Moment) -> Self {
        let mut set = LeaseSet::new(SetPolicy::new());
        let key = set.insert(policy, received, (), now);
        Self { set, key }
    }
}

impl Subject for SetOfOne {
    fn look(&self, now: Moment) -> Look {
        let view = self.set.lease(self.key).expect("it is never removed");
        let (remaining, is_held) = (view.remaining(now), view.is_held(now));
        match view.ended() {
            Some(ended) => Look::Ended { reason: ended.reason.as_str(), at: ended.at, remaining, is_held },
            None => Look::Running {
                held_until: view.held_until(),
                end: view.end(),
                limit: view.limit(),
                timeout: view.timeout().secs(),
                remaining,
                is_held,
                is_settling: view.is_settling(),
                next: view.next().map(|it| (it.at, it.by.secs(), it.is_final)),
            },
        }
    }

    fn drain(&mut self, now: Moment) -> Vec<Drained> {
        let mut drained = Vec::new();
        loop {
            drained.extend(std::iter::from_fn(|| self.set.poll_event(now)).filter_map(told));
            let Some(call) = self.set.poll_call(now) else {
                if self.set.poll_timeout().is_none_or(|at| at > now) {
                    return drained;
                }
                continue;
            };
            let [entry] = call.entries[..] else {
                unreachable!("one lease makes calls of one entry: {call:?}")
            };
            let (output, kind) = match entry.ask {
                Ask::Extend { by, is_final: true, .. } => (Output::Final(by.secs()), Kind::Extension),
                Ask::Extend { by, .. } => (Output::Extend(by.secs()), Kind::Extension),
                Ask::Release { after } => (Output::Release(after.secs()), Kind::Settle),
                Ask::Delete => (Output::Delete, Kind::Settle),
                other => unreachable!("a transcript has no word for {other:?}"),
            };
            let warns = matches!(entry.ask, Ask::Extend { warns: true, .. });
            let call = Some((kind, CallRef::Call(call.id), call.answer_by));
            drained.push(Drained { output, call, warns });
        }
    }

    fn wake_up(&self) -> Option<Moment> {
        self.set.poll_timeout()
    }

    fn awaits(&self, call: CallRef) -> bool {
        matches!(call, CallRef::Call(call) if self.set.awaits(call))
    }

    fn answer(&mut self, call: CallRef, answer: Result<(), Failure>, now: Moment) {
        if let CallRef::Call(call) = call {
            self.set.handle_answer(call, Answer::Entries(&[Some(answer)]), now);
        }
    }

    fn want(&mut self, want: Want, now: Moment) -> Said {
        said(match want {
            Want::Extension(by) => {
                self.set.extend(self.key, by, now).expect("checked when the transcript was read");
                Ok(())
            }
            Want::Delete => self.set.delete(self.key, now),
            Want::Release(after) => self.set.release(self.key, after, now),
            Want::Leave => self.set.leave(self.key, now),
            Want::Gap(gap) => {
                self.set.handle_gap(gap, now);
                Ok(())
            }
        })
    }
}

/// The events that transcripts know.
fn told(event: Event) -> Option<Drained> {
    let output = match event {
        Event::LimitNear { .. } => Output::WarnLimit,
        Event::Denied { .. } => Output::WarnDenied,
        Event::Stopped { ended, .. } => Output::Stop(ended.reason.as_str()),
        _ => return None,
    };
    Some(notice(output))
}

impl Subject for Reference {
    fn look(&self, now: Moment) -> Look {
        let remaining = Duration::from_nanos(moment(self.remaining(time(now))).as_nanos());
        let is_held = !remaining.is_zero();
        match self.ended() {
            Some((reason, at)) => Look::Ended { reason, at: moment(at), remaining, is_held },
            None => Look::Running {
                held_until: moment(self.held_until()),
                end: moment(self.end()),
                limit: moment(self.limit()),
                timeout: self.timeout(),
                remaining,
                is_held,
                is_settling: self.is_settling(),
                next: self.next().map(|(at, by, is_final)| (moment(at), by, is_final)),
            },
        }
    }

    fn drain(&mut self, now: Moment) -> Vec<Drained> {
        let called = |(output, asked): (Output, Option<crate::reference::Asked>)| Drained {
            output,
            warns: asked.is_some_and(|asked| asked.warns),
            call: asked.map(|asked| {
                let kind = match asked.about {
                    About::Extension => Kind::Extension,
                    About::Settle => Kind::Settle,
                };
                (kind, CallRef::Reference(asked.serial), moment(asked.wanted_by))
            }),
        };
        Self::drain(self, time(now)).into_iter().map(called).collect()
    }

    fn wake_up(&self) -> Option<Moment> {
        Self::wake_up(self).map(moment)
    }

    fn awaits(&self, call: CallRef) -> bool {
        matches!(call, CallRef::Reference(serial) if Self::awaits(self, serial))
    }

    fn answer(&mut self, call: CallRef, answer: Result<(), Failure>, now: Moment) {
        if let CallRef::Reference(serial) = call {
            Self::answer(self, serial, answer, time(now));
        }
    }

    fn want(&mut self, want: Want, now: Moment) -> Said {
        let now = time(now);
        let answer = match want {
            Want::Extension(by) => {
                self.extend(by.secs(), now);
                Wish::Taken
            }
            Want::Delete => self.delete(now),
            Want::Release(after) => self.release(after.secs(), now),
            Want::Leave => self.leave(now),
            Want::Gap(gap) => {
                self.gap(Time::try_from(gap.as_nanos()).expect("of this world"), now);
                Wish::Taken
            }
        };
        match answer {
            Wish::Taken => Said::Taken,
            Wish::SecondSettle => Said::AlreadySettling,
            Wish::TooLate { reason, at } => Said::Ended { reason, at: moment(at) },
        }
    }
}
