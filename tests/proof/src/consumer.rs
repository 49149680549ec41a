//! A consumer with one lease at most, driven as the contract asks: whenever it wants, and after each input.

use crate::held::{Ask, Held, Time, Told, Why};
use crate::message::SEC;
use crate::properties::Broken;
use crate::setups::Setup;

/// What the handler has asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Want {
    /// It goes on working.
    Work,
    /// It has succeeded.
    Delete,
    /// It gives the message back, visible in so many seconds.
    Release(u32),
    /// It lets go.
    Leave,
}

/// A call that went out, and by when its answer is wanted, on the consumer's clock.
type Awaited<Id> = Option<(Id, Time)>;

/// A consumer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "what was seen of it, not states of a machine")]
pub struct Consumer<L: Held> {
    /// The handle of its delivery; 0: none yet.
    pub handle: u8,
    /// The lease of its delivery.
    pub lease: Option<L>,
    /// What its handler has asked for.
    pub want: Want,
    /// It was told that the lease is over; whether as a loss.
    pub told: Option<bool>,
    /// Since when it stands still, if it does, and whether its clock does too.
    pub paused: Option<(Time, bool)>,
    /// How long its clock has stood still.
    pub behind: Time,
    /// An extension of other than the usual length was asked for.
    pub by_hand: bool,
    extension: Awaited<L::Id>,
    settle: Awaited<L::Id>,
    /// Extensions that failed in a row.
    failed: u8,
    /// Deletes that failed.
    undeleted: u8,
    /// An extension was acknowledged since a delete was tried last, while one is wanted.
    untried: bool,
    /// An answer has come after the end.
    overdue: bool,
    /// A release of it has come to SQS.
    pub released: bool,
}

/// More things than a lease may want at one instant.
const AT_ONCE: usize = 16;
/// Back-off doubles: more failures in a row do not fit into any timeout here.
const IN_A_ROW: u8 = 10;

impl<L: Held> Consumer<L> {
    pub(crate) fn new() -> Self {
        Self {
            handle: 0,
            lease: None,
            want: Want::Work,
            told: None,
            paused: None,
            behind: 0,
            by_hand: false,
            extension: None,
            settle: None,
            failed: 0,
            undeleted: 0,
            untried: false,
            overdue: false,
            released: false,
        }
    }

    /// Its own clock.
    pub(crate) fn clock(&self, now: Time) -> Time {
        match self.paused {
            Some((since, true)) => since - self.behind,
            _ => now - self.behind,
        }
    }

    /// It runs, and its lease is not over as far as it was told.
    pub fn is_live(&self) -> bool {
        self.lease.is_some() && self.told.is_none()
    }

    /// A handler works on the message, believing that nobody else does.
    ///
    /// One that stands still does nothing, and one that has given the message back is done with it.
    pub fn believes(&self, now: Time) -> bool {
        let works = matches!(self.want, Want::Work | Want::Delete);
        let holds = self.lease.as_ref().is_some_and(|lease| lease.is_held(self.clock(now)));
        self.is_live() && self.paused.is_none() && works && holds
    }

    pub(crate) fn received(&mut self, setup: &Setup, handle: u8, requested: Time, now: Time) {
        let behind = self.behind;
        let lease = L::new(&setup.terms, now - behind, requested - behind);
        *self = Self { handle, lease: Some(lease), behind, ..Self::new() };
    }

    /// When it is to be driven next.
    pub(crate) fn wake_up(&self) -> Option<Time> {
        if self.paused.is_some() {
            return None;
        }
        Some(self.lease.as_ref()?.wake_up()? + self.behind)
    }

    // ---- Inputs -----------------------------------------------------------------------------------------

    pub(crate) fn asks(&mut self, want: Want, now: Time) -> Result<(), Broken> {
        let clock = self.clock(now);
        let Some(lease) = &mut self.lease else { return Ok(()) };
        let taken = match want {
            Want::Work => return Ok(()),
            Want::Delete => lease.delete(clock),
            Want::Release(after) => lease.release(after, clock),
            Want::Leave => lease.leave(clock),
        };
        // Nothing is over that was not told: it was driven when it wanted to be.
        if !taken {
            return Err(Broken::SettleRefused);
        }
        self.want = want;
        Ok(())
    }

    pub(crate) fn asks_for_more(&mut self, by: u32, now: Time) {
        let clock = self.clock(now);
        if let Some(lease) = &mut self.lease {
            lease.extend(by, clock);
            self.by_hand = true;
        }
    }

    pub(crate) fn answered(&mut self, handle: u8, id: L::Id, answer: Result<(), Why>, now: Time) {
        let clock = self.clock(now);
        let Some(lease) = self.lease.as_mut().filter(|_| self.handle == handle) else { return };
        let in_time = clock <= lease.held_until();
        lease.answer(id, answer, clock);
        if self.extension.take_if(|(it, _)| in_time && *it == id).is_some() {
            match answer {
                Ok(()) => {
                    self.failed = 0;
                    self.untried = self.want == Want::Delete && self.settle.is_none();
                }
                Err(_) => self.failed += 1,
            }
        }
        if self.settle.take_if(|(it, _)| in_time && *it == id).is_some() {
            self.undeleted += 1;
        }
        self.overdue = !in_time;
    }

    pub(crate) fn resumes(&mut self, now: Time) {
        if let Some((since, true)) = self.paused.take() {
            self.behind += now - since;
            let clock = self.clock(now);
            if let Some(lease) = &mut self.lease {
                lease.gap(now - since, clock);
                // What it waits for it waits for on the clock that has counted on.
                for (_, until) in [&mut self.extension, &mut self.settle].into_iter().flatten() {
                    *until = until.saturating_sub(now - since);
                }
            }
        }
    }

    // ---- Driving ----------------------------------------------------------------------------------------

    /// Takes out all that is due, and looks at it.
    pub(crate) fn drive(&mut self, now: Time) -> Result<Vec<(L::Id, Ask, Time)>, Broken> {
        let clock = self.clock(now);
        let mut calls = Vec::new();
        let Some(mut lease) = self.lease.take() else { return Ok(calls) };
        for (place, is_extension) in [(&mut self.extension, true), (&mut self.settle, false)] {
            let given_up = place.take_if(|(_, until)| *until <= clock);
            if given_up.is_some() {
                let failed = if is_extension { &mut self.failed } else { &mut self.undeleted };
                *failed += 1;
            }
        }
        let was_over = clock >= lease.held_until() || std::mem::take(&mut self.overdue);
        for nth in 0.. {
            let before = lease.clone();
            let Some(told) = lease.poll(clock) else { break };
            if nth > AT_ONCE {
                return Err(Broken::NeverDrained);
            }
            match told {
                Told::Warning => {}
                Told::Stop { is_loss } => {
                    if self.told.replace(is_loss).is_some() {
                        return Err(Broken::SpokeAfterTheEnd);
                    }
                }
                Told::Send(id, ask, until) => {
                    // A suspended holder learns of its loss before anything else.
                    if self.told.is_some() || was_over {
                        return Err(Broken::SentAfterTheEnd);
                    }
                    self.sends(&before, id, ask, until, clock)?;
                    calls.push((id, ask, until));
                }
            }
        }
        if was_over && self.told.is_none() {
            return Err(Broken::LossNotTold);
        }
        let wake_up = lease.wake_up();
        let is_right = match self.told {
            Some(_) => wake_up.is_none(),
            None => wake_up.is_some_and(|at| at > clock && at <= lease.held_until()),
        };
        self.lease = Some(lease);
        if is_right { Ok(calls) } else { Err(Broken::WaitsForEver) }
    }

    fn sends(&mut self, lease: &L, id: L::Id, ask: Ask, until: Time, clock: Time) -> Result<(), Broken> {
        let place = match ask {
            Ask::Extend(by) => {
                if matches!(self.want, Want::Release(_) | Want::Leave) {
                    return Err(Broken::ExtendedAfterRelease);
                }
                if self.settle.is_some() {
                    return Err(Broken::ExtendedDuringDelete);
                }
                if clock + Time::from(by) * SEC > lease.limit() {
                    return Err(Broken::BeyondTheLimit);
                }
                let unit = (Time::from(lease.timeout()) * SEC / 30).clamp(SEC / 20, SEC);
                let is_late = clock > lease.held_until() - unit;
                // One that a delete has held up may be late.
                let is_plain = self.want == Want::Work && !self.by_hand;
                if self.failed > IN_A_ROW || (self.failed > 0 && is_plain && is_late) {
                    return Err(Broken::RetriedWithoutBound);
                }
                // Four failures make a pause that an extension may fall into.
                if self.untried && self.undeleted < 4 && self.settle.is_none() {
                    return Err(Broken::DeleteForgotten);
                }
                &mut self.extension
            }
            Ask::Release(_) if self.extension.is_some() => return Err(Broken::ReleaseOvertook),
            Ask::Release(_) | Ask::Delete => {
                self.untried = false;
                &mut self.settle
            }
        };
        if place.replace((id, until)).is_some() {
            return Err(Broken::SentTwice);
        }
        Ok(())
    }
}
