//! The log events on the pages are those of the code, by level and text.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{page, repository};

/// A level and a text.
type Told = (String, String);

#[test]
fn each_log_event_is_a_row_and_each_row_is_an_event() {
    let mut logged = BTreeSet::new();
    for sources in ["adapters/driver/src", "adapters/sqs/src"] {
        collect(&repository().join(sources), &mut logged);
    }
    assert!(logged.len() > 20, "only {} events were found", logged.len());
    let mut rows = BTreeSet::new();
    for (name, header) in [("adapters.md", "| level | message |"), ("consumer.md", "| level | event |")] {
        let text = page(name);
        let table = text.lines().skip_while(|line| !line.starts_with(header)).skip(2);
        for line in table.take_while(|line| line.starts_with('|')) {
            let (level, rest) = line.trim_start_matches("| ").split_once(" | ").expect("two columns");
            let text = rest.split(" | ").next().unwrap().trim_end_matches(" |").trim();
            let text = text.trim_start_matches('`').trim_end_matches('`').trim();
            assert!(rows.insert((level.to_owned(), text.to_owned())), "{text} is there twice");
        }
    }
    let show =
        |told: BTreeSet<&Told>| told.iter().map(|(l, t)| format!("{l}: {t}")).collect::<Vec<_>>().join("\n");
    assert!(
        logged == rows,
        "logged, and on no page:\n{}\n\non a page, and never logged:\n{}",
        show(logged.difference(&rows).collect()),
        show(rows.difference(&logged).collect())
    );
}

fn collect(folder: &Path, logged: &mut BTreeSet<Told>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, logged);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for level in ["debug", "info", "warn", "error"] {
            for call in text.split(&format!("tracing::{level}!(")).skip(1) {
                logged.insert((level.to_owned(), last_text(call)));
            }
        }
    }
}

/// The text of an event: the last literal of its macro, which ends where a line or an arm ends.
fn last_text(call: &str) -> String {
    let mut last = None;
    let mut rest = call;
    let mut depth = 1;
    while depth > 0 {
        let at = rest.find(['"', '(', ')']).expect("the macro has an end");
        let (found, after) = (rest.as_bytes()[at], &rest[at + 1..]);
        rest = after;
        match found {
            b'"' => {
                let (literal, after) = rest.split_once('"').expect("a literal has an end");
                (last, rest) = (Some(literal), after);
            }
            b'(' => depth += 1,
            _ => depth -= 1,
        }
    }
    // A literal may go on in the next line.
    last.expect("an event has a text").split("\\\n").map(str::trim_start).collect()
}
