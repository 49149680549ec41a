//! A crate's page and its README are one text: the comment at the head of `lib.rs`.
//!
//! Links to items become plain code in the README, which a code host shows; pages of the book that the comment names
//! become links. `UPDATE_READMES=1 cargo test -p sqs-lease-suite --test docs` writes the READMEs anew.

use std::fmt::Write;
use std::fs;

use super::published::PUBLISHED;
use super::repository;

/// What a stranger asks of a page, in this order.
const SECTIONS: [&str; 6] =
    ["Do you want this crate?", EXAMPLE, "The contract", "Time", "Limits", "What it does not do"];
const EXAMPLE: &str = "an example";
const EXAMPLES: [&str; 3] = ["The loop", "Ten lines", "A program"];

#[test]
fn each_readme_is_the_page_of_its_crate() {
    let mut stale = Vec::new();
    for folder in PUBLISHED {
        let expected = readme(folder, &page(folder));
        let path = repository().join(folder).join("README.md");
        if fs::read_to_string(&path).unwrap() == expected {
            continue;
        }
        if std::env::var_os("UPDATE_READMES").is_some() {
            fs::write(&path, expected).unwrap();
        } else {
            stale.push(folder);
        }
    }
    assert!(
        stale.is_empty(),
        "src/lib.rs says something else than README.md in {stale:?}: change lib.rs, then run\n\
         UPDATE_READMES=1 cargo test -p sqs-lease-suite --test docs"
    );
}

#[test]
fn each_page_answers_what_a_stranger_asks() {
    for folder in PUBLISHED {
        let page = page(folder);
        let headings = page.iter().filter_map(|line| line.strip_prefix("# "));
        let mut wanted = SECTIONS.into_iter().peekable();
        for heading in headings {
            let heading = if EXAMPLES.contains(&heading) { EXAMPLE } else { heading };
            wanted.next_if_eq(&heading);
        }
        assert_eq!(wanted.next(), None, "{folder}: the page lacks this, or has it elsewhere");
    }
    let async_std = page("adapters/async-std");
    assert!(async_std[0].starts_with("**async-std is discontinued**"), "it has to be said first");
}

/// The comment at the head of `lib.rs`, without hidden lines of examples.
fn page(folder: &str) -> Vec<String> {
    let text = fs::read_to_string(repository().join(folder).join("src/lib.rs")).unwrap();
    let comment = text.lines().map_while(|line| line.strip_prefix("//!"));
    let mut in_code = false;
    let mut lines = Vec::new();
    for line in comment.map(|line| line.strip_prefix(' ').unwrap_or(line)) {
        if line.starts_with("```") {
            in_code = !in_code;
        } else if in_code && (line.trim() == "#" || line.trim().starts_with("# ")) {
            continue;
        }
        // A line that stood between hidden ones.
        let is_doubly_empty = line.is_empty() && lines.last().is_some_and(String::is_empty);
        if !is_doubly_empty {
            lines.push(line.to_owned());
        }
    }
    lines
}

fn readme(folder: &str, page: &[String]) -> String {
    let manifest = fs::read_to_string(repository().join(folder).join("Cargo.toml")).unwrap();
    let name = manifest.lines().find_map(|line| line.strip_prefix("name = ")).unwrap().trim_matches('"');
    let up = "../".repeat(folder.split('/').count());
    let mut text = format!("# {name}\n\n");
    // Outside of code the text is looked at as a whole: a link may go on in the next line.
    let mut prose = String::new();
    let mut in_code = false;
    for line in page {
        if let Some(language) = line.strip_prefix("```") {
            in_code = !in_code;
            text.push_str(&links(&std::mem::take(&mut prose), &up));
            let is_rust = in_code && ["", "no_run"].contains(&language);
            text.push_str(if is_rust { "```rust" } else { line });
            text.push('\n');
        } else if in_code {
            text.push_str(line);
            text.push('\n');
        } else {
            prose.push_str(if line.starts_with("# ") { "#" } else { "" });
            prose.push_str(line);
            prose.push('\n');
        }
    }
    text + &links(&prose, &up)
}

/// Links to items become their text, names of the book's pages become links.
fn links(prose: &str, up: &str) -> String {
    let mut text = String::new();
    let mut rest = prose;
    while let Some((before, after)) = rest.split_once('[') {
        text.push_str(before);
        let (label, after) = after.split_once(']').expect("a link has an end");
        match after.strip_prefix('(').and_then(|after| after.split_once(')')) {
            Some((target, after)) if target.contains("://") => {
                write!(text, "[{label}]({target})").expect("a string takes all");
                rest = after;
            }
            target => {
                text.push_str(label);
                rest = target.map_or(after, |(_, after)| after);
            }
        }
    }
    text.push_str(rest);
    while let Some((start, name)) = text.find("`docs/").and_then(|start| {
        let name = text[start + 1..].split('`').next()?;
        Some((start, name.to_owned()))
    }) {
        text.replace_range(start..start + name.len() + 2, &format!("[{name}]({up}{name})"));
    }
    text
}
