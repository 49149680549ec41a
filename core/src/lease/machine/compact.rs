//! A machine in a third of its room, as long as it keeps to the ordinary way.

use super::look::{extension_serial, held_until, plan};
use super::{InTurn, Machine, answer_by};
use crate::lease::state::{ExtensionInFlight, Plan, Renewal, Sent, SentExtension, Settle, Warning};
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
    /// How many were sent.
    extensions: u32,
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

    /// The machine made compact, where it keeps to the ordinary way. `terms` says which are its [`Terms`].
    #[inline]
    pub(crate) fn compact(&self, terms: u8) -> Option<Compact> {
        let is_ordinary = matches!(self.settle, Settle::None)
            && self.extension_failures == 0
            && self.settle_failures == 0
            && (self.denied, self.limit_near) == (Warning::None, Warning::None);
        if !is_ordinary {
            return None;
        }
        let (sent, state) = match self.renewal {
            Renewal::Middle(at) if at == self.end.minus_nanos(self.timeout.nanos() / 2) => {
                (Moment::ORIGIN, State::Resting)
            }
            Renewal::InFlight(ExtensionInFlight { call, by, counts, is_final: false, by_hand: false })
                if by == self.extension
                    && counts == self.extension
                    && call.answer_by == self.send(call.sent).answer_by =>
            {
                (call.sent, State::InFlight)
            }
            _ => return None,
        };
        let Self { end, limit, timeout, extension, counted, extensions, .. } = *self;
        Some(Compact { end, limit, sent, extensions, timeout, extension, counted, terms, state })
    }
}

/// An ordinary extension that was acknowledged.
pub(crate) struct Extended {
    pub(crate) held_until: Moment,
    /// Until when it was held before.
    pub(crate) was_held_until: Moment,
    /// When the next is due.
    pub(crate) middle: Moment,
}

/// The two steps that nearly all leases take nearly always, without expanding them. What they do is the machine's to
/// say: where there is any doubt they do nothing, and debug builds compare.
impl Compact {
    /// Sends the extension, where it is due or may go early, and is an ordinary one.
    #[inline]
    pub(crate) fn extend(&mut self, terms: Terms, now: Moment) -> Option<SentExtension> {
        let held_until = self.held_until(terms);
        if self.state != State::Resting || now >= held_until {
            return None;
        }
        let Plan::Extend(by) = plan(self.end, self.limit, self.extension, now) else { return None };
        let before = *self;
        (self.sent, self.extensions, self.state) = (now, self.extensions.wrapping_add(1), State::InFlight);
        let sent = Sent { serial: self.serial(), answer_by: answer_by(held_until, now) };
        debug_assert!(before.expands_to(self, terms, |machine| {
            let its = machine.take_extension(now);
            its.is_some_and(|its| (its.sent, its.by, its.is_final, its.warns) == (sent, by, false, false))
        }));
        Some(SentExtension { sent, by, is_final: false, warns: false })
    }

    /// Takes the acknowledgement of the extension in flight, where it is this one and comes in time.
    #[inline]
    pub(crate) fn extended(&mut self, terms: Terms, serial: u32, now: Moment) -> Option<Extended> {
        let was_held_until = self.held_until(terms);
        if self.state != State::InFlight || self.serial() != serial || now > was_held_until {
            return None;
        }
        let before = *self;
        self.end = self.sent.plus_nanos(self.extension.nanos());
        (self.timeout, self.counted, self.state) = (self.extension, self.extension, State::Resting);
        debug_assert!(before.expands_to(self, terms, |machine| machine.answer(serial, Ok(()), now)));
        let middle = self.sent.plus_nanos(self.extension.nanos() / 2);
        self.sent = Moment::ORIGIN;
        Some(Extended { held_until: self.held_until(terms), was_held_until, middle })
    }

    /// Whether a machine that takes this step becomes what `after` expands to.
    fn expands_to(&self, after: &Self, terms: Terms, step: impl FnOnce(&mut Machine) -> bool) -> bool {
        let mut machine = self.expand(terms);
        step(&mut machine) && machine == after.expand(terms)
    }

    #[inline]
    fn held_until(&self, terms: Terms) -> Moment {
        held_until(self.end, self.limit, terms.guard, self.span())
    }

    /// What the extension sent last is called, as by the machine.
    fn serial(&self) -> u32 {
        extension_serial(self.extensions)
    }

    /// As the machine's.
    #[inline]
    pub(crate) fn span(&self) -> u64 {
        self.timeout.min(self.counted).nanos()
    }

    #[inline]
    pub(crate) fn timeout(&self) -> Visibility {
        self.timeout
    }

    #[inline]
    pub(crate) fn wall(&self, terms: Terms) -> Moment {
        self.limit.plus_nanos(terms.beyond)
    }

    #[inline]
    pub(crate) fn terms(&self) -> u8 {
        self.terms
    }

    pub(crate) fn with_terms(self, terms: u8) -> Self {
        Self { terms, ..self }
    }

    #[inline]
    pub(crate) fn expand(&self, terms: Terms) -> Machine {
        let Self { end, limit, sent, extensions, timeout, extension, counted, state, terms: _ } = *self;
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
            extensions,
            extension_failures: 0,
            in_turn: InTurn::default(),
            settle_failures: 0,
            denied: Warning::None,
            limit_near: Warning::None,
        };
        if state == State::InFlight {
            let call = machine.send(sent);
            let (by, counts) = (extension, extension);
            machine.renewal =
                Renewal::InFlight(ExtensionInFlight { call, by, counts, is_final: false, by_hand: false });
        }
        machine
    }
}
