//! A machine in a third of its room, as long as it keeps to the ordinary way.

use super::Machine;
use crate::lease::state::{ExtensionInFlight, Renewal, Settle, Untold, Warned};
use crate::policy::Guard;
use crate::time::Moment;
use crate::visibility::Visibility;

/// A machine that waits for the middle of its timeout, or for the answer to the first try of its extension.
///
/// Nearly every lease of a large set is one of these at any time. What it lacks is either as it was at the start or
/// follows from the rest; a machine of which that is not so is not compacted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compact {
    end: Moment,
    limit: Moment,
    /// When the extension in flight was sent.
    sent: Moment,
    /// Of the call made last.
    serial: u32,
    timeout: Visibility,
    extension: Visibility,
    counted: Visibility,
    terms: u8,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Resting,
    InFlight,
}

/// What leases with one policy have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    guard: Guard,
    /// How far the wall lies behind the limit.
    beyond: u64,
}

impl Machine {
    pub(crate) fn terms(&self) -> Terms {
        Terms { guard: self.guard, beyond: self.wall.nanos_since(self.limit) }
    }

    /// The machine made compact, where it keeps to the ordinary way. Its last call was `serial`; `terms` says which
    /// are its [`Terms`].
    #[inline]
    pub(crate) fn compact(&self, serial: u32, terms: u8) -> Option<Compact> {
        let is_ordinary = matches!(self.settle, Settle::None)
            && self.extension_failures == 0
            && self.settle_failures == 0
            && !(self.spent || self.by_hand || self.warned.any() || self.untold.any())
            && self.ended.is_none();
        if !is_ordinary {
            return None;
        }
        let (sent, state) = match self.renewal {
            Renewal::Middle(at) if at == self.end.minus_nanos(self.timeout.nanos() / 2) => {
                (Moment::ORIGIN, State::Resting)
            }
            Renewal::InFlight(ExtensionInFlight { call, by, counts, is_final: false })
                if by == self.extension
                    && counts == self.extension
                    && call.serial == serial
                    && call.answer_by == self.send(serial, call.sent).answer_by =>
            {
                (call.sent, State::InFlight)
            }
            _ => return None,
        };
        let Self { end, limit, timeout, extension, counted, .. } = *self;
        Some(Compact { end, limit, sent, serial, timeout, extension, counted, terms, state })
    }
}

impl Compact {
    pub(crate) fn terms(&self) -> u8 {
        self.terms
    }

    pub(crate) fn with_terms(self, terms: u8) -> Self {
        Self { terms, ..self }
    }

    /// The machine, and the serial of its last call.
    #[inline]
    pub(crate) fn expand(&self, terms: Terms) -> (Machine, u32) {
        let Self { end, limit, sent, serial, timeout, extension, counted, state, terms: _ } = *self;
        let mut machine = Machine {
            end,
            limit,
            wall: limit.plus_nanos(terms.beyond),
            guard: terms.guard,
            timeout,
            extension,
            counted,
            renewal: Renewal::Middle(end.minus_nanos(timeout.nanos() / 2)),
            settle: Settle::None,
            extension_failures: 0,
            settle_failures: 0,
            spent: false,
            by_hand: false,
            warned: Warned::default(),
            untold: Untold::default(),
            ended: None,
        };
        if state == State::InFlight {
            let call = machine.send(serial, sent);
            let (by, counts) = (extension, extension);
            machine.renewal = Renewal::InFlight(ExtensionInFlight { call, by, counts, is_final: false });
        }
        (machine, serial)
    }
}
