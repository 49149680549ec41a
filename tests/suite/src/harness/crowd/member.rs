//! What is known of one lease of a set from outside: its calls in flight, and the truth of SQS.

use sqs_lease_core::{Ask, CallId, CallKind, Failure};

use crate::reference::{About, Reference, Time};
use crate::transcript::{Output, Settings};

const SEC: u64 = 1_000_000_000;

/// A call's entry on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) call: CallId,
    pub(super) at: u64,
    pub(super) ask: Ask,
    pub(super) wanted_by: u64,
}

#[derive(Debug)]
pub(super) struct Member {
    pub(super) reference: Reference,
    extension: Option<Sent>,
    settle: Option<Sent>,
    /// The reference's names of its last calls.
    serials: [Option<u32>; 2],
    pub(super) releases: bool,
    /// Its extension failed, and is not tried again before.
    pub(super) not_before: u64,
    pub(super) is_stopped: bool,
    /// When SQS hands the message on, as SQS counts.
    pub(super) true_end: u64,
}

impl Member {
    pub(super) fn new(settings: Settings, received: u64, now: u64) -> Self {
        let mut reference = Reference::new(settings, Time::from(received));
        // It comes to know of the time that has passed when it is driven.
        reference.gap(0, Time::from(now));
        Self {
            reference,
            extension: None,
            settle: None,
            serials: [None; 2],
            releases: false,
            not_before: 0,
            is_stopped: false,
            true_end: received + u64::from(settings.timeout) * SEC,
        }
    }

    pub(super) fn gap(&mut self, gap: u64, now: u64) {
        self.reference.gap(Time::from(gap), Time::from(now));
        self.true_end -= gap;
        self.not_before = self.not_before.saturating_sub(gap);
        for sent in [&mut self.extension, &mut self.settle].into_iter().flatten() {
            sent.at -= gap;
            sent.wanted_by -= gap;
        }
    }

    /// A call is sent: none of its kind may be under way.
    pub(super) fn sent(&mut self, sent: Sent, kind: CallKind) -> Output {
        let (place, output) = match sent.ask {
            Ask::Extend { by, is_final, .. } => {
                assert!(!self.releases, "{sent:?} although a release is wanted: {self:?}");
                assert!(self.settle.is_none(), "{sent:?} while a settle is under way: {self:?}");
                let by = by.secs();
                (&mut self.extension, if is_final { Output::Final(by) } else { Output::Extend(by) })
            }
            Ask::Release { after } => {
                assert!(self.extension.is_none(), "{sent:?} while an extension is under way: {self:?}");
                (&mut self.settle, Output::Release(after.secs()))
            }
            Ask::Delete => (&mut self.settle, Output::Delete),
            other => unreachable!("nobody knows {other:?}"),
        };
        assert_eq!(kind == CallKind::Delete, sent.ask == Ask::Delete, "{sent:?} in a call of {kind:?}");
        assert!(place.is_none(), "{sent:?} while {place:?} is under way");
        *place = Some(sent);
        output
    }

    /// What is not answered by now is given up. Nobody knows whether it arrived: here it did not.
    pub(super) fn give_up(&mut self, now: u64) {
        for place in [&mut self.extension, &mut self.settle] {
            place.take_if(|sent| sent.wanted_by <= now);
        }
    }

    /// An answer came; `arrived` says whether a call of unknown outcome was done by SQS.
    pub(super) fn answered(&mut self, call: CallId, outcome: Result<(), Failure>, arrived: bool, now: u64) {
        for (place, serial) in [&mut self.extension, &mut self.settle].into_iter().zip(&mut self.serials) {
            let Some(sent) = place.take_if(|sent| sent.call == call) else { continue };
            let is_done = outcome.is_ok() || (outcome == Err(Failure::Transient) && arrived);
            if is_done {
                // SQS counts from the arrival, at the soonest the sending.
                match sent.ask {
                    Ask::Extend { by, .. } | Ask::Release { after: by } => {
                        self.true_end = sent.at + u64::from(by.secs()) * SEC;
                    }
                    _ => {}
                }
            }
            if outcome.is_ok() {
                self.not_before = 0;
            }
            if let Some(serial) = serial.take() {
                self.reference.answer(serial, outcome, Time::from(now));
            }
        }
    }

    /// What the reference does now.
    pub(super) fn drain(&mut self, now: u64) -> Vec<Output> {
        let mut outputs = Vec::new();
        for (output, asked) in self.reference.drain(Time::from(now)) {
            if let Some(asked) = asked {
                self.serials[usize::from(asked.about == About::Settle)] = Some(asked.serial);
            }
            // Told for many leases at once.
            if output != Output::WarnDenied {
                outputs.push(output);
            }
        }
        outputs
    }
}
