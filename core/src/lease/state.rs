//! The states of one lease, and what goes in and out of them.

use crate::action::StopReason;
use crate::time::Moment;
use crate::visibility::Visibility;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Untold {
    pub(super) denied: bool,
    pub(super) limit: bool,
    pub(super) stop: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Warned {
    pub(super) denied: bool,
    pub(super) limit: bool,
}

/// Where the extending stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Renewal {
    /// Due in the middle of the timeout.
    Middle(Moment),
    /// Due after a failure, or because it was asked for.
    Due(Moment),
    InFlight(ExtensionInFlight),
    /// Nothing more is due.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ExtensionInFlight {
    pub(super) call: InFlight,
    pub(super) by: Visibility,
    /// The extension setting that this call stands for, lowered with it.
    pub(super) counts: Visibility,
    pub(super) is_final: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct InFlight {
    pub(super) serial: u32,
    pub(super) sent: Moment,
    pub(super) answer_by: Moment,
}

/// Where the settling stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Settle {
    None,
    Delete {
        call: SettleCall,
        /// A delete was sent at some time, so that SQS may say "gone" because of it.
        sent: bool,
    },
    Release {
        call: SettleCall,
        after: Visibility,
        /// How many seconds less SQS's refusals have made it.
        less: u16,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum SettleCall {
    Due(Moment),
    InFlight {
        call: InFlight,
        after: Visibility,
    },
    /// No time is left for another try.
    GivenUp,
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
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) serial: u32,
    pub(crate) answer_by: Moment,
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

impl Untold {
    pub(super) fn any(self) -> bool {
        self.denied || self.limit || self.stop
    }
}

impl Warned {
    pub(super) fn any(self) -> bool {
        self.denied || self.limit
    }
}

impl From<InFlight> for Sent {
    fn from(call: InFlight) -> Self {
        Self { serial: call.serial, answer_by: call.answer_by }
    }
}
