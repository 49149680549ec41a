//! Each setting is on the pages, with the default that the code has.

use std::fs;

use sqs_lease_core::{Policy, SetPolicy};
use sqs_lease_driver::ConsumerOptions;

use super::{page, repository};

/// The names of the methods that give a changed value back: `pub fn guard(self, …) -> Self`.
fn setters(source: &str) -> Vec<String> {
    let text = fs::read_to_string(repository().join(source)).unwrap();
    let found = text.lines().filter_map(|line| {
        let (before, after) = line.trim_start().split_once("fn ")?;
        let (name, arguments) = after.split_once('(')?;
        (before.starts_with("pub ") && arguments.starts_with("self, ")).then(|| name.to_owned())
    });
    found.filter(|name| !name.starts_with("or_")).collect()
}

#[test]
fn what_turns_a_rule_names_every_setting_of_the_core() {
    let text = page("what-rests-on-what.md");
    let policy = setters("core/src/policy.rs");
    let set = setters("core/src/set/policy.rs");
    assert_eq!((policy.len(), set.len()), (5, 7), "{policy:?} {set:?}");
    for name in policy.iter().chain(&set) {
        assert!(
            text.contains(&format!("::{name}`")) || text.contains(&format!("`{name}`")),
            "no rule names {name}"
        );
    }
}

#[test]
fn defaults_are_those_of_the_code() {
    let (policy, set) = (format!("{:?}", Policy::new()), format!("{:?}", SetPolicy::new()));
    let consumer = format!("{:?}", ConsumerOptions::new());
    for (code, default, name, sentence) in [
        (&policy, "extension: None", "state-machine.md", "| extension | `Policy::extension` | the timeout |"),
        (&policy, "guard: default", "state-machine.md", "| a twentieth of the span, at most 1 s |"),
        (&policy, "limit_margin: 5s", "state-machine.md", "| limit margin | `Policy::limit_margin` | 5 s |"),
        (&policy, "max_hold: None", "state-machine.md", "| longest hold | `Policy::max_hold` | none |"),
        (
            &set,
            "coalesce: 10,",
            "state-machine.md",
            "within `coalesce` percent of their timeout (10 by default",
        ),
        (&set, "slack: 50ms,", "state-machine.md", "within `slack` of a wake (50 ms,"),
        (&set, "lead: 0ns,", "state-machine.md", "With a `lead` (0 by default;"),
        (&set, "linger: 0ns,", "state-machine.md", "With `linger(d)` (0 by default, at most 10 s)"),
        (
            &set,
            "changes: 128, deletes: 64,",
            "state-machine.md",
            "At most 128 visibility calls and 64 delete calls",
        ),
        (&set, "same_receive: false", "state-machine.md", "With `same_receive` (off by default)"),
        (&consumer, "concurrency: 10,", "consumer.md", "| `concurrency(n)` | 10 |"),
        (&consumer, "prefetch: 0,", "consumer.md", "| `prefetch(n)` | 0 |"),
        (&consumer, "on_failure: Leave,", "consumer.md", "| `on_failure(…)` | `OnFailure::Leave` |"),
        (&consumer, "last_receive: Handle", "consumer.md", "| `last_receive(…)` | `LastReceive::Handle` |"),
    ] {
        assert!(code.contains(default), "{code} has no {default}; docs/{name} says: {sentence}");
        assert!(page(name).contains(sentence), "docs/{name} does not say: {sentence}");
    }
}
