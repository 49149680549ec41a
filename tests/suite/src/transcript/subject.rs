use std::time::Duration;

use sqs_lease_core::{
    Action, Answer, Ask, AttemptId, CallId, Event, Failure, Lease, LeaseKey, LeaseSet, Moment, Policy,
    Received, SetPolicy, Visibility,
};

use super::{Output, Settings, With};
use crate::reference::{About, Reference, Time};

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
    fn want(&mut self, want: Want, now: Moment);
    /// What is known of it, while it is held.
    fn look(&self) -> Option<Look>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) held_until: Moment,
    pub(crate) end: Moment,
    pub(crate) limit: Moment,
    pub(crate) timeout: u32,
}

/// One output, and the call that it makes if it makes one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drained {
    pub(crate) output: Output,
    pub(crate) call: Option<(Kind, CallRef, Moment)>,
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
    fn look(&self) -> Option<Look> {
        let (held_until, end, limit) = (self.held_until(), self.end(), self.limit());
        let timeout = self.timeout().secs();
        self.ended().is_none().then_some(Look { held_until, end, limit, timeout })
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

    fn want(&mut self, want: Want, now: Moment) {
        // A settle that comes too late, or second, is refused; a transcript asserts that nothing follows.
        let _ = match want {
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
        };
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
            Drained { output, call: call(Kind::Extension, it.attempt) }
        }
        Action::Delete(attempt) => Drained { output: Output::Delete, call: call(Kind::Settle, attempt) },
        Action::Release { attempt, after } => {
            Drained { output: Output::Release(after.secs()), call: call(Kind::Settle, attempt) }
        }
        Action::WarnLimit => Drained { output: Output::WarnLimit, call: None },
        Action::WarnDenied => Drained { output: Output::WarnDenied, call: None },
        Action::Stop(reason) => Drained { output: Output::Stop(reason.as_str()), call: None },
        other => unreachable!("a transcript has no word for {other:?}"),
    }
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
    fn look(&self) -> Option<Look> {
        let view = self.set.lease(self.key).expect("it is never removed");
        let (held_until, end, limit) = (view.held_until(), view.end(), view.limit());
        let timeout = view.timeout().secs();
        view.ended().is_none().then_some(Look { held_until, end, limit, timeout })
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
            drained.push(Drained { output, call: Some((kind, CallRef::Call(call.id), call.answer_by)) });
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

    fn want(&mut self, want: Want, now: Moment) {
        // As above.
        let _ = match want {
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
        };
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
    Some(Drained { output, call: None })
}

impl Subject for Reference {
    fn look(&self) -> Option<Look> {
        let [held_until, end, limit] = [self.held_until(), self.end(), self.limit()].map(moment);
        (!self.is_over()).then_some(Look { held_until, end, limit, timeout: self.timeout() })
    }

    fn drain(&mut self, now: Moment) -> Vec<Drained> {
        let called = |(output, asked): (Output, Option<crate::reference::Asked>)| Drained {
            output,
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

    fn want(&mut self, want: Want, now: Moment) {
        let now = time(now);
        match want {
            Want::Extension(by) => self.extend(by.secs(), now),
            Want::Delete => self.delete(now),
            Want::Release(after) => self.release(after.secs(), now),
            Want::Leave => self.leave(now),
            Want::Gap(gap) => {
                let gap = Time::try_from(gap.as_nanos()).expect("of this world");
                self.gap(gap, now);
            }
        }
    }
}
