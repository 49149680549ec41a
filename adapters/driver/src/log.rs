use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use sqs_lease_core::{Entry, Event, FailedCall, Failure, LeaseKey, LeaseSet, Moment, StopReason, Visibility};
use tracing::Level;

use crate::queue::Reply;
use crate::receipt::About;
use crate::shared::Kept;

/// The target of all events: filter by `sqs_lease=debug`.
pub(crate) const TARGET: &str = "sqs_lease";

/// Gathers what is to be logged under the lock, and logs it when the lock is gone: a subscriber is the user's.
#[derive(Default)]
pub(crate) struct Log {
    lines: Vec<Line>,
    /// The codes of the failures in the replies that were put in since events were last noted.
    codes: Vec<(LeaseKey, FailedCall, Cow<'static, str>)>,
    /// The call and the code that were denied last.
    denied: Option<(FailedCall, Cow<'static, str>)>,
    /// Whether anybody listens at debug, and so reads of extensions; asked without the lock.
    pub(crate) wants_debug: bool,
}

struct Line {
    about: Option<Arc<About>>,
    remaining: Duration,
    what: What,
}

enum What {
    Extended {
        attempt: u32,
    },
    Retry {
        call: FailedCall,
        attempt: u32,
        failure: Failure,
        code: Cow<'static, str>,
        after: Option<Duration>,
    },
    Final {
        by: u32,
    },
    LimitNear,
    Denied {
        leases: u32,
        action: &'static str,
        code: Cow<'static, str>,
    },
    Lost(StopReason),
    Ended(StopReason),
}

impl Log {
    /// Remembers the codes of a reply until the events that it causes are noted.
    pub(crate) fn note_codes(&mut self, entries: &[Entry], reply: &Reply) {
        if matches!(reply, Reply::Done) {
            return;
        }
        for (index, entry) in entries.iter().enumerate() {
            let Some(code) = reply.code(index) else { continue };
            let code: Cow<'static, str> = Cow::Owned(code.to_owned());
            if reply.of(index) == Err(Failure::Denied) {
                self.denied = Some((entry.ask.into(), code.clone()));
            }
            self.codes.push((entry.key, entry.ask.into(), code));
        }
    }

    /// Asks the subscriber what it wants. It is the user's, so not while the lock is held.
    pub(crate) fn begin(&mut self) {
        self.wants_debug = tracing::enabled!(target: TARGET, Level::DEBUG);
    }

    pub(crate) fn note(&mut self, event: &Event, set: &LeaseSet<Kept>, now: Moment) {
        let (key, what) = match *event {
            Event::Extended { key, attempt, .. } => (key, What::Extended { attempt }),
            Event::Failed { key, call, failure, attempt, retry_at, .. } => {
                let code = self.code(key, call);
                let after = retry_at.map(|at| at - now);
                (key, What::Retry { call, attempt, failure, code, after })
            }
            Event::LimitNear { key } => (key, What::LimitNear),
            Event::Denied { key, leases } => {
                let (call, code) =
                    self.denied.clone().unwrap_or((FailedCall::Extension, Cow::Borrowed("unknown")));
                (key, What::Denied { leases, action: iam_action(call), code })
            }
            Event::Stopped { key, ended } if ended.reason.is_loss() => (key, What::Lost(ended.reason)),
            Event::Stopped { key, ended } => (key, What::Ended(ended.reason)),
            _ => return,
        };
        self.push(key, what, set, now);
    }

    /// Notes a final extension: the warning travels on it.
    pub(crate) fn note_final(&mut self, key: LeaseKey, by: Visibility, set: &LeaseSet<Kept>, now: Moment) {
        self.push(key, What::Final { by: by.secs() }, set, now);
    }

    fn push(&mut self, key: LeaseKey, what: What, set: &LeaseSet<Kept>, now: Moment) {
        let (Some(kept), Some(lease)) = (set.get(key), set.lease(key)) else { return };
        self.lines.push(Line { about: kept.about.clone(), remaining: lease.remaining(now), what });
    }

    fn code(&self, key: LeaseKey, call: FailedCall) -> Cow<'static, str> {
        let found = self.codes.iter().find(|(its, of, _)| (*its, *of) == (key, call));
        found.map_or(Cow::Borrowed("no answer in time"), |(_, _, code)| code.clone())
    }

    pub(crate) fn emit(&mut self) {
        self.codes.clear();
        if self.lines.is_empty() {
            return;
        }
        for line in self.lines.drain(..) {
            line.emit();
        }
    }
}

impl Line {
    fn emit(self) {
        let Self { about, remaining, what } = self;
        let about = about.as_deref();
        let message_id = about.and_then(|it| it.message_id.as_deref()).unwrap_or_default();
        let receive_count = about.map_or(0, |it| it.receive_count);
        match what {
            What::Extended { attempt } => {
                tracing::debug!(target: TARGET, message_id, receive_count, ?remaining, attempt, "extended");
            }
            What::Retry { call, attempt, failure, code, after } => {
                let (call, reason, code) = (call.as_str(), failure.as_str(), &*code);
                if let Some(after) = after {
                    tracing::info!(
                        target: TARGET,
                        message_id, receive_count, ?remaining, attempt, reason, code, call, retry_in = ?after,
                        "call failed, will be tried again"
                    );
                } else {
                    tracing::info!(
                        target: TARGET,
                        message_id, receive_count, ?remaining, attempt, reason, code, call,
                        "call failed, no time is left to try it again"
                    );
                }
            }
            What::Final { by } => tracing::warn!(
                target: TARGET,
                message_id, receive_count, ?remaining, by,
                "final extension: the limit is near, then the queue gives the message away"
            ),
            What::LimitNear => tracing::warn!(
                target: TARGET,
                message_id, receive_count, ?remaining,
                "the limit is near and nothing is left to extend, then the queue gives the message away"
            ),
            What::Denied { leases, action, code } => tracing::error!(
                target: TARGET,
                message_id, receive_count, ?remaining, leases, action, code = &*code,
                "SQS denies the call: check the queue's URL, the credentials, and the permission for this action"
            ),
            What::Lost(reason) if about.is_some_and(About::is_last_receive) => tracing::warn!(
                target: TARGET,
                message_id, receive_count, remaining = ?Duration::ZERO, reason = reason.as_str(),
                "lost on its last receive: SQS moves the message to the dead-letter queue"
            ),
            What::Lost(reason) => tracing::warn!(
                target: TARGET,
                message_id, receive_count, remaining = ?Duration::ZERO, reason = reason.as_str(),
                "lost: the message may be handed to somebody else"
            ),
            What::Ended(reason) => tracing::debug!(
                target: TARGET,
                message_id, receive_count, remaining = ?Duration::ZERO, reason = reason.as_str(),
                "ended"
            ),
        }
    }
}

/// The permission that a call needs; a batch needs that of the single call.
fn iam_action(call: FailedCall) -> &'static str {
    match call {
        FailedCall::Delete => "sqs:DeleteMessage",
        _ => "sqs:ChangeMessageVisibility",
    }
}
