//! The differences between the model and the servers of others that are known, each with what it rests on.
//!
//! `docs/servers.md` has them as a table, too.

use std::collections::BTreeSet;

use sqs_lease_sim::{ChangeAfterTimeout, OvertakenChange, Settings};

use super::answer::{Answer, Outcome, Received};
use super::duel::Standing;
use super::known::KNOWN;
use super::operation::{Operation, Shape};
use crate::servers::Kind;

/// A difference that has a name.
#[derive(Debug)]
pub(super) struct Difference {
    /// The servers that have it.
    pub(super) kinds: &'static [Kind],
    pub(super) name: &'static str,
    /// Whether the queues are no longer alike after it.
    pub(super) ends: bool,
    pub(super) is: fn(&Case<'_>, &Found<'_>) -> bool,
}

/// One operation and its answers.
pub(super) struct Case<'a> {
    pub(super) kind: Kind,
    pub(super) shape: Shape,
    pub(super) operation: &'a Operation,
    pub(super) standings: &'a [Standing],
    /// Whether the queue has been purged.
    pub(super) purged: bool,
    /// Whether a message has been made visible at once.
    pub(super) released: bool,
    /// Whether a deduplication id of the sender's own was used.
    pub(super) deduplicates: bool,
    pub(super) ours: &'a Answer,
    pub(super) theirs: &'a Answer,
}

/// What differs in it.
#[derive(Debug)]
pub(super) enum Found<'a> {
    Outcome {
        index: usize,
        ours: &'a Outcome,
        theirs: &'a Outcome,
    },
    /// Which messages were received.
    Messages {
        ours: BTreeSet<&'a str>,
        theirs: BTreeSet<&'a str>,
    },
    /// In which order, within a group.
    Order,
    /// What one of them carries.
    Message {
        ours: &'a Received,
        theirs: &'a Received,
    },
}

/// What the model is set to where sources disagree, and the server has chosen.
pub(super) fn settings(kind: Kind, settings: Settings) -> Settings {
    match kind {
        Kind::LocalStack => settings,
        _ => settings
            .change_after_timeout(ChangeAfterTimeout::Hides)
            .overtaken_change(OvertakenChange::Refused),
    }
}

/// The known differences that a case shows, or what is not known.
pub(super) fn explain(case: &Case<'_>) -> Result<Vec<&'static Difference>, String> {
    let mut known: Vec<&'static Difference> = Vec::new();
    for found in found(case) {
        let of_kind = KNOWN.iter().filter(|it| it.kinds.contains(&case.kind));
        let Some(difference) = of_kind.into_iter().find(|it| (it.is)(case, &found)) else {
            return Err(format!("{found:?}"));
        };
        known.push(difference);
        if difference.ends {
            break;
        }
    }
    Ok(known)
}

fn found<'a>(case: &Case<'a>) -> Vec<Found<'a>> {
    let (ours, theirs) = (case.ours, case.theirs);
    let mut found = Vec::new();
    // A batch that one side refuses as a whole is compared as a whole.
    for (index, ours) in ours.outcomes.iter().enumerate() {
        let Some(theirs) = theirs.outcomes.get(index).or(theirs.outcomes.first()) else { continue };
        if ours != theirs {
            found.push(Found::Outcome { index, ours, theirs });
        }
    }
    let labels = |messages: &'a [Received]| messages.iter().map(|it| &*it.label).collect::<BTreeSet<_>>();
    let (our_labels, their_labels) = (labels(&ours.received), labels(&theirs.received));
    if our_labels != their_labels {
        found.push(Found::Messages { ours: our_labels, theirs: their_labels });
        return found;
    }
    let in_group = |messages: &'a [Received], group: &str| {
        let members = messages.iter().filter(|it| it.group() == group);
        members.map(|it| &*it.label).collect::<Vec<_>>()
    };
    if ["a", "b"].iter().any(|group| in_group(&ours.received, group) != in_group(&theirs.received, group)) {
        found.push(Found::Order);
    }
    for ours in &ours.received {
        let same = theirs.received.iter().find(|theirs| theirs.label == ours.label);
        if let Some(theirs) = same.filter(|theirs| theirs.shown() != ours.shown()) {
            found.push(Found::Message { ours, theirs });
        }
    }
    found
}

impl Case<'_> {
    /// What the handle of an outcome was worth.
    pub(super) fn standing(&self, found: &Found<'_>) -> Option<Standing> {
        match found {
            Found::Outcome { index, .. } => self.standings.get(*index).copied(),
            _ => None,
        }
    }

    pub(super) fn is_change(&self) -> bool {
        matches!(self.operation, Operation::Change { .. })
    }

    pub(super) fn is_delete(&self) -> bool {
        matches!(self.operation, Operation::Delete { .. })
    }

    /// Whether a number beyond its range was asked for.
    pub(super) fn is_out_of_range(&self) -> bool {
        match self.operation {
            Operation::Change { entries, .. } => {
                entries.iter().any(|(.., secs)| !(0..=43_200).contains(secs))
            }
            Operation::SetTimeout(text) => !matches!(text.parse(), Ok(0..=43_200)),
            Operation::Receive { max, .. } => !(1..=10).contains(max),
            _ => false,
        }
    }
}

impl Outcome {
    pub(super) fn code(&self) -> &str {
        match self {
            Self::Done(_) => "",
            Self::Refused { code, .. } | Self::Failed { code, .. } => code,
        }
    }

    pub(super) fn text(&self) -> &str {
        match self {
            Self::Done(shown) => shown,
            Self::Refused { text, .. } | Self::Failed { text, .. } => text,
        }
    }

    pub(super) fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } => Some(*status),
            _ => None,
        }
    }
}

/// Both outcomes, where outcomes differ.
fn both<'a>(found: &Found<'a>) -> Option<(&'a Outcome, &'a Outcome)> {
    match found {
        Found::Outcome { ours, theirs, .. } => Some((ours, theirs)),
        _ => None,
    }
}

pub(super) fn outcomes(found: &Found<'_>, is: impl FnOnce(&Outcome, &Outcome) -> bool) -> bool {
    both(found).is_some_and(|(ours, theirs)| is(ours, theirs))
}

/// Whether the queues hold different messages.
pub(super) fn differs_in_what_is_there(found: &Found<'_>) -> bool {
    match found {
        Found::Messages { ours, theirs } => ours != theirs,
        Found::Outcome { ours, theirs, .. } => ours.is_done() && theirs.is_done(),
        _ => false,
    }
}

pub(super) const INVALID_HANDLE: &str = "ReceiptHandleIsInvalid";
