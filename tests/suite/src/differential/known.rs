//! The differences that have a name. `docs/servers.md` says what each rests on.

use super::answer::Outcome;
use super::differences::{Difference, Found, INVALID_HANDLE, differs_in_what_is_there, outcomes};
use super::duel::Standing;
use super::operation::{Operation, Which};
use crate::servers::Kind;

pub(super) const KNOWN: &[Difference] = &[
    Difference {
        kinds: &[Kind::LocalStack],
        name: "ReceiptHandleIsInvalid has status 400, not 404",
        ends: false,
        is: |_, found| {
            outcomes(found, |ours, theirs| {
                (ours.code(), theirs.code()) == (INVALID_HANDLE, INVALID_HANDLE)
                    && (ours.status(), theirs.status()) == (Some(404), Some(400))
                    && (ours.text() == theirs.text() || ours.text().ends_with("not valid for this queue"))
            })
        },
    },
    Difference {
        kinds: &[Kind::LocalStack],
        name: "entries fail without SenderFault, and with code and text of a single call",
        ends: false,
        is: |_, found| {
            outcomes(found, |ours, theirs| match (ours, theirs) {
                (
                    Outcome::Failed { code, text, senders_fault: true },
                    Outcome::Failed { code: their_code, text: their_text, senders_fault: false },
                ) => {
                    let is_same = code == their_code
                        && (text == their_text || text.ends_with("not valid for this queue"));
                    let is_framed = their_code == "InvalidParameterValueException"
                        && (their_text.ends_with(&**text)
                            || their_text.ends_with("available for visibility timeout change"));
                    is_same || is_framed
                }
                _ => false,
            })
        },
    },
    Difference {
        kinds: &[Kind::LocalStack],
        name: "ranges are not checked before the handle",
        ends: false,
        is: |case, found| {
            case.is_out_of_range()
                && outcomes(found, |ours, theirs| ours.text().contains("Must be >= 0") && !theirs.is_done())
        },
    },
    Difference {
        kinds: &[Kind::LocalStack, Kind::Ministack],
        name: "ranges of timeouts are not checked",
        ends: true,
        is: |case, found| {
            case.is_out_of_range() && outcomes(found, |ours, theirs| !ours.is_done() && theirs.is_done())
        },
    },
    Difference {
        kinds: &[Kind::LocalStack],
        name: "errors of whole batches have no text",
        ends: false,
        is: |_, found| {
            outcomes(found, |ours, theirs| ours.code() == theirs.code() && theirs.text().is_empty())
        },
    },
    Difference {
        kinds: &[Kind::LocalStack, Kind::Ministack],
        name: "there are no 12 hours",
        ends: true,
        is: |case, found| {
            outcomes(found, |ours, theirs| {
                theirs.is_done()
                    && (ours.text().contains("beyond the limit")
                        || case.standing(found) == Some(Standing::TooOld))
            })
        },
    },
    Difference {
        kinds: &[Kind::LocalStack],
        name: "a FIFO queue takes a change with a handle that ran out or was overtaken",
        ends: true,
        is: |case, found| {
            let has_run_out =
                matches!(case.standing(found), Some(Standing::RanOut | Standing::Overtaken { .. }));
            case.shape.is_fifo
                && case.is_change()
                && has_run_out
                && outcomes(found, |ours, theirs| !ours.is_done() && theirs.is_done())
        },
    },
    Difference {
        kinds: &[Kind::LocalStack],
        name: "a change with the old queue's handle of a message in the dead-letter queue is accepted, of no effect",
        ends: false,
        is: |case, found| {
            case.is_change()
                && case.standing(found) == Some(Standing::Moved)
                && outcomes(found, |ours, theirs| !ours.is_done() && theirs.is_done())
        },
    },
    Difference {
        kinds: &[Kind::LocalStack, Kind::Ministack],
        name: "a queue can be purged again within 60 seconds",
        ends: true,
        is: |case, found| {
            *case.operation == Operation::Purge && outcomes(found, |_, theirs| theirs.is_done())
        },
    },
    Difference {
        kinds: &[Kind::LocalStack],
        name: "a FIFO queue refuses the delete of a message that is gone, once its timeout has run out",
        ends: false,
        is: |case, found| {
            case.shape.is_fifo
                && case.is_delete()
                && matches!(case.standing(found), Some(Standing::Gone { .. }))
                && outcomes(found, |ours, theirs| ours.is_done() && theirs.text().contains("has expired"))
        },
    },
    Difference {
        kinds: &[Kind::LocalStack, Kind::Ministack],
        name: "what is in flight outlives its retention period",
        ends: true,
        is: |case, found| {
            let is_change = matches!(case.standing(found), Some(Standing::Gone { is_deleted: false }))
                && outcomes(found, |ours, theirs| !ours.is_done() && theirs.is_done());
            case.shape.retention == 60 && (is_change || differs_in_what_is_there(found))
        },
    },
    Difference {
        kinds: &[Kind::LocalStack],
        name: "a FIFO queue takes a delete with an overtaken handle while the message is in flight",
        ends: true,
        is: |case, found| {
            case.shape.is_fifo
                && case.is_delete()
                && matches!(case.standing(found), Some(Standing::Overtaken { .. }))
                && outcomes(found, |ours, theirs| !ours.is_done() && theirs.is_done())
        },
    },
    Difference {
        kinds: &[Kind::Ministack],
        name: "a purge does not forget deduplication ids",
        ends: true,
        is: |case, found| case.purged && case.deduplicates && differs_in_what_is_there(found),
    },
    Difference {
        kinds: &[Kind::LocalStack],
        name: "a moved message keeps its deduplication id, and is received for the first time from the dead-letter queue",
        ends: false,
        is: |_, found| match found {
            Found::Message { ours, theirs } => {
                let names = ["ApproximateFirstReceiveTimestamp", "MessageDeduplicationId"];
                ours.is_moved() && ours.shown_without(&names) == theirs.shown_without(&names)
            }
            _ => false,
        },
    },
    Difference {
        kinds: &[Kind::LocalStack],
        name: "a message made visible at once frees its group, though others of it are hidden, and holds it back later",
        ends: true,
        is: |case, found| case.shape.is_fifo && case.released && differs_in_what_is_there(found),
    },
    Difference {
        kinds: &[Kind::LocalStack],
        name: "no handle dies at 12 hours",
        ends: false,
        is: |case, found| {
            case.standing(found) == Some(Standing::TooOld)
                && outcomes(found, |ours, theirs| ours.text().contains("has expired") && !theirs.is_done())
        },
    },
    Difference {
        kinds: &[Kind::Ministack],
        name: "a message that is moved to a FIFO dead-letter queue keeps its deduplication id",
        ends: false,
        is: |_, found| match found {
            Found::Message { ours, theirs } => {
                let names = ["MessageDeduplicationId"];
                ours.is_moved() && ours.shown_without(&names) == theirs.shown_without(&names)
            }
            _ => false,
        },
    },
    Difference {
        kinds: &[Kind::Ministack],
        name: "a FIFO dead-letter queue has no order",
        ends: true,
        is: |case, found| {
            let is_dead = matches!(case.operation, Operation::Receive { queue: Which::Dead, .. });
            is_dead && matches!(found, Found::Order)
        },
    },
    Difference {
        kinds: &[Kind::Ministack],
        name: "a hidden message holds back what is before it in its group, too",
        ends: true,
        is: |case, found| match found {
            Found::Messages { ours, theirs } => case.shape.is_fifo && theirs.is_subset(ours),
            _ => false,
        },
    },
    Difference {
        kinds: &[Kind::Ministack],
        name: "texts and statuses of its own",
        ends: false,
        is: |_, found| outcomes(found, |ours, theirs| !ours.is_done() && ours.code() == theirs.code()),
    },
    Difference {
        kinds: &[Kind::Ministack],
        name: "every handle that cannot be used is ReceiptHandleIsInvalid",
        ends: false,
        is: |_, found| {
            outcomes(found, |ours, theirs| {
                ours.code() == "InvalidParameterValue" && theirs.code() == INVALID_HANDLE
            })
        },
    },
    Difference {
        kinds: &[Kind::Ministack],
        name: "a second delete is refused, and one with the handle of a message that is gone or was moved",
        ends: false,
        is: |case, found| {
            let is_gone = matches!(case.standing(found), Some(Standing::Gone { .. } | Standing::Moved));
            case.is_delete()
                && is_gone
                && outcomes(found, |ours, theirs| ours.is_done() && theirs.code() == INVALID_HANDLE)
        },
    },
    Difference {
        kinds: &[Kind::Ministack],
        name: "a change with an overtaken handle is refused, also while the message is visible",
        ends: true,
        is: |case, found| {
            case.is_change()
                && case.standing(found) == Some(Standing::Overtaken { is_held: false })
                && outcomes(found, |ours, theirs| ours.is_done() && theirs.code() == INVALID_HANDLE)
        },
    },
    Difference {
        kinds: &[Kind::Ministack],
        name: "a delete with an overtaken handle is refused",
        ends: true,
        is: |case, found| {
            case.is_delete()
                && matches!(case.standing(found), Some(Standing::Overtaken { .. }))
                && outcomes(found, |ours, theirs| ours.is_done() && theirs.code() == INVALID_HANDLE)
        },
    },
    Difference {
        kinds: &[Kind::Ministack],
        name: "a FIFO queue takes a change and a delete with a handle that ran out",
        ends: true,
        is: |case, found| {
            case.shape.is_fifo
                && case.standing(found) == Some(Standing::RanOut)
                && outcomes(found, |ours, theirs| !ours.is_done() && theirs.is_done())
        },
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_difference_is_a_row_of_the_page_and_each_row_a_difference() {
        let page = include_str!("../../../../docs/servers.md");
        let table = page.lines().skip_while(|it| !it.starts_with("| difference |")).skip(2);
        let rows: BTreeSet<String> = table
            .take_while(|it| it.starts_with('|'))
            .map(|it| it.split('|').take(4).map(str::trim).collect::<Vec<_>>().join(" | "))
            .collect();
        let known: BTreeSet<String> = KNOWN
            .iter()
            .map(|it| {
                let on: Vec<_> = it.kinds.iter().map(|kind| format!("{kind:?}")[..1].to_owned()).collect();
                format!(" | {} | {} | {}", it.name, on.join(", "), if it.ends { "yes" } else { "" })
            })
            .collect();
        let show = |it: Vec<&String>| it.into_iter().map(String::as_str).collect::<Vec<_>>().join("\n");
        assert!(
            rows == known,
            "known, and not on the page:\n{}\n\non the page, and not known:\n{}",
            show(known.difference(&rows).collect()),
            show(rows.difference(&known).collect())
        );
    }
}
