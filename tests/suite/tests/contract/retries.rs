//! The last tries before a lease is over.

use sqs_lease_core::{Action, Failure};

use super::{at, extension, lease};

/// Tries end a second before a lease of 30 s is over: a try that fails by then leaves one more, at once.
#[test]
fn a_failure_at_the_last_moment_leaves_one_try() {
    for (failed_at, has_another) in [(128_999, true), (129_000, true), (129_001, false)] {
        let mut lease = lease();
        let sent = extension(&mut lease, at(128_001));
        lease.handle_answer(sent.attempt.id, Err(Failure::Transient), at(failed_at));
        let another = lease.poll(at(failed_at.max(129_000)));
        assert_eq!(
            matches!(another, Some(Action::Extend(_))),
            has_another,
            "failed at {failed_at}: {another:?}"
        );
        let Some(Action::Extend(last)) = another else { continue };
        lease.handle_answer(last.attempt.id, Err(Failure::Transient), at(129_000));
        assert_eq!(lease.poll(at(129_000)), None, "no loop at one instant");
        assert_eq!(lease.poll_timeout(), Some(at(130_000)), "the end is all that is left");
    }
}
