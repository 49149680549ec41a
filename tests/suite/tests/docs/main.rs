//! What the pages say is what the code does: links, tables of numbers, transitions.

mod costs;
mod crate_pages;
mod examples;
mod links;
mod log_events;
mod published;
mod quotations;
mod settings;
mod transitions;

use std::fs;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    let path = repository().join("docs").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The rows of the table that begins with this header.
fn table(page: &str, header: &str) -> Vec<Vec<String>> {
    let rows =
        page.lines().skip_while(|line| *line != header).skip(2).take_while(|line| line.starts_with('|'));
    let cells = |line: &str| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
    let rows: Vec<_> = rows.map(cells).collect();
    assert!(!rows.is_empty(), "there is no table {header}");
    rows
}
