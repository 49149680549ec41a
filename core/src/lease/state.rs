//! The states of one lease, and what goes in and out of them.

use crate::action::{Ended, StopReason};
use crate::time::Moment;
use crate::visibility::Visibility;

/// Something that the owner is told once in a lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Warning {
    #[default]
    None,
    /// It is to be told, and was not yet.
    Due,
    Told,
}

/// Where the extending stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Renewal {
    /// Due in the middle of the timeout.
    Middle(Moment),
    /// Due after a failure, or because it was asked for.
    Due(Moment),
    InFlight(ExtensionInFlight),
    /// No time is left for another try, or no sense in one.
    GivenUp,
    /// The final extension was acknowledged, or only warned of.
    Spent,
    /// The lease is over, and the owner has not been told yet.
    Ending(Ended),
    Ended(Ended),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ExtensionInFlight {
    pub(super) call: InFlight,
    pub(super) by: Visibility,
    /// The extension setting that this call stands for, lowered with it.
    pub(super) counts: Visibility,
    pub(super) is_final: bool,
    /// Another was asked for by hand since it was sent.
    pub(super) by_hand: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct InFlight {
    pub(super) sent: Moment,
    pub(super) answer_by: Moment,
}

/// Where the settling stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Settle {
    None,
    Due(Wish, Moment),
    InFlight(Wish, InFlight),
    /// No time is left for another try.
    GivenUp(Wish),
}

/// How the delivery is to be settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Wish {
    Delete,
    Release {
        after: Visibility,
        /// How many seconds less SQS's refusals have made it.
        less: u16,
    },
}

/// What the owner is to be told without being asked for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    WarnDenied,
    WarnLimit,
    Stop(StopReason),
}

/// A settle that can go now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DueSettle {
    Delete,
    Release,
}

/// What an extension at some instant would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    Extend(Visibility),
    Final(Visibility),
    /// It would shorten what is granted: due then.
    Wait(Moment),
    /// No extension could move the end any more.
    Warn,
}

/// A call that the machine handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) serial: u32,
    pub(crate) answer_by: Moment,
}

/// A settle that was handed out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentSettle {
    pub(crate) sent: Sent,
    /// In how many seconds the message is to be visible; `None` for a delete.
    pub(crate) after: Option<Visibility>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SentExtension {
    pub(crate) sent: Sent,
    pub(crate) by: Visibility,
    pub(crate) is_final: bool,
    pub(crate) warns: bool,
}

/// What of a lease waits for a call to take it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waiting {
    pub(crate) extension: bool,
    pub(crate) settle: bool,
}

impl Renewal {
    pub(super) fn ending(reason: StopReason, at: Moment) -> Self {
        Self::Ending(Ended { reason, at })
    }
}

impl Settle {
    pub(super) fn wish(self) -> Option<Wish> {
        match self {
            Self::None => None,
            Self::Due(wish, _) | Self::InFlight(wish, _) | Self::GivenUp(wish) => Some(wish),
        }
    }
}

impl Wish {
    /// What a call sent at `now` asks for: no longer than to the wall, and less what was refused; `None` for a delete.
    pub(super) fn after(self, now: Moment, wall: Moment) -> Option<Visibility> {
        match self {
            Self::Delete => None,
            Self::Release { after, less } => Some(after.min(Visibility::whole_between(now, wall)).less(less)),
        }
    }
}
