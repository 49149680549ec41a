//! A machine in a third of its room, as long as it keeps to the ordinary way.

use super::look::{extension_serial, held_until, plan};
use super::{InTurn, Machine, answer_by};
use crate::call::Ask;
use crate::lease::state::{ExtensionInFlight, Plan, Renewal, Sent, Settle, Warning};
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

/// All that decides what an extension of a compact lease is, and what its acknowledgement does.
///
/// Leases that were received and extended together have it in common: what is worked out for one holds for the next.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Common {
    end: Moment,
    limit: Moment,
    sent: Moment,
    /// The rest, in one number: it is compared for each extension.
    rest: u64,
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
        let compact = Compact { end, limit, sent, extensions, timeout, extension, counted, terms, state };
        debug_assert!(compact.expand(self.terms()) == *self);
        Some(compact)
    }
}

/// An ordinary extension to send, and of which leases it is the same at that instant.
#[derive(Clone, Copy)]
pub(crate) struct Extending {
    of: Common,
    pub(crate) ask: Ask,
    pub(crate) answer_by: Moment,
}

/// An ordinary extension that was acknowledged, and of which leases it is the same at that instant.
#[derive(Clone, Copy)]
pub(crate) struct Extended {
    of: Common,
    end: Moment,
    pub(crate) held_until: Moment,
    /// Until when it was held before.
    pub(crate) was_held_until: Moment,
    /// When the next is due.
    pub(crate) middle: Moment,
}

/// The two steps that nearly all leases take nearly always, without expanding them. What they do is the machine's to
/// say: where there is any doubt they do nothing, and debug builds compare.
impl Compact {
    /// What the extension would be, where it is due or may go early, and is an ordinary one.
    #[inline]
    pub(crate) fn extending(&self, terms: Terms, now: Moment) -> Option<Extending> {
        let held_until = self.held_until(terms);
        if self.state != State::Resting || now >= held_until {
            return None;
        }
        let Plan::Extend(by) = plan(self.end, self.limit, self.extension, now) else { return None };
        let ask = Ask::Extend { by, is_final: false, warns: false };
        Some(Extending { of: self.common(), ask, answer_by: answer_by(held_until, now) })
    }

    /// Whether that is the extension of this lease as well.
    #[inline]
    pub(crate) fn extends_as(&self, it: &Extending) -> bool {
        self.common() == it.of
    }

    /// Sends the extension that was worked out; its serial.
    #[inline]
    pub(crate) fn extend(&mut self, it: &Extending, terms: impl Fn() -> Option<Terms>, now: Moment) -> u32 {
        let before = *self;
        (self.sent, self.extensions, self.state) = (now, self.extensions.wrapping_add(1), State::InFlight);
        let serial = self.serial();
        debug_assert!(terms().is_some_and(|terms| before.expands_to(self, terms, |machine| {
            let its = machine.take_extension(now);
            let sent = Sent { serial, answer_by: it.answer_by };
            its.is_some_and(|its| {
                let ask = Ask::Extend { by: its.by, is_final: its.is_final, warns: its.warns };
                (its.sent, ask) == (sent, it.ask)
            })
        })));
        serial
    }

    /// What the acknowledgement of the extension in flight does, where it comes in time.
    #[inline]
    pub(crate) fn acknowledged(&self, terms: Terms, now: Moment) -> Option<Extended> {
        let was_held_until = self.held_until(terms);
        if self.state != State::InFlight || now > was_held_until {
            return None;
        }
        let end = self.sent.plus_nanos(self.extension.nanos());
        let span = self.extension.nanos();
        Some(Extended {
            of: self.common(),
            end,
            held_until: held_until(end, self.limit, terms.guard, span),
            was_held_until,
            middle: self.sent.plus_nanos(span / 2),
        })
    }

    /// Whether that is what it does to this lease as well.
    #[inline]
    pub(crate) fn is_extended_as(&self, it: &Extended) -> bool {
        self.common() == it.of
    }

    /// Takes the acknowledgement that was worked out, where it is of the extension in flight.
    #[inline]
    pub(crate) fn extended(
        &mut self,
        it: &Extended,
        terms: impl Fn() -> Option<Terms>,
        serial: u32,
        now: Moment,
    ) -> bool {
        if self.serial() != serial {
            return false;
        }
        let before = *self;
        (self.end, self.sent) = (it.end, Moment::ORIGIN);
        (self.timeout, self.counted, self.state) = (self.extension, self.extension, State::Resting);
        debug_assert!(terms().is_some_and(|terms| {
            before.expands_to(self, terms, |machine| machine.answer(serial, Ok(()), now))
        }));
        true
    }

    #[inline]
    fn common(&self) -> Common {
        let Self { end, limit, sent, extensions: _, timeout, extension, counted, terms, state } = *self;
        let secs = |it: Visibility| u64::from(it.secs());
        let rest = secs(timeout) << 48 | secs(extension) << 32 | secs(counted) << 16;
        let rest = rest | u64::from(terms) << 8 | u64::from(state == State::InFlight);
        Common { end, limit, sent, rest }
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
