//! Links lead somewhere, on a code host and in the book.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::{page, repository};

/// The headings' anchors, and the targets of links and pictures.
#[derive(Default)]
struct Read {
    anchors: BTreeSet<String>,
    links: Vec<String>,
}

fn read(text: &str) -> Read {
    let mut read = Read::default();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let anchor = anchor(&heading.take().unwrap_or_default());
                assert!(read.anchors.insert(anchor.clone()), "two headings have the anchor #{anchor}");
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                read.links.push(dest_url.into_string());
            }
            _ => {}
        }
    }
    read
}

/// As code hosts and mdBook make it.
fn anchor(heading: &str) -> String {
    let kept = heading
        .trim()
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
        .collect::<String>();
    kept.replace(' ', "-")
}

fn pages() -> Vec<PathBuf> {
    let root = repository();
    let mut pages: Vec<PathBuf> = fs::read_dir(root.join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "md"))
        .collect();
    pages.sort();
    let crates = ["async-io", "async-std", "driver", "smol", "sqs", "tokio"]
        .map(|it| format!("adapters/{it}/README.md"));
    let others = crates
        .into_iter()
        .chain(["README.md", "SECURITY.md", "core/README.md", "tests/sim/README.md"].map(str::to_owned));
    pages.extend(others.map(|it| root.join(it)));
    pages
}

#[test]
fn the_summary_lists_every_page_once() {
    let listed: Vec<_> = read(&page("SUMMARY.md")).links;
    let set: BTreeSet<_> = listed.iter().cloned().collect();
    assert_eq!(listed.len(), set.len(), "a page is listed twice");
    let there: BTreeSet<_> = pages()
        .iter()
        .filter(|path| path.parent().is_some_and(|it| it.ends_with("docs")) && !path.ends_with("SUMMARY.md"))
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(set, there, "docs/SUMMARY.md and the pages in docs");
}

#[test]
fn every_link_and_anchor_leads_somewhere() {
    let mut broken = Vec::new();
    let mut followed = 0;
    for path in pages() {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let in_the_book = path.parent().is_some_and(|it| it.ends_with("docs"));
        for link in read(&text).links.iter().filter(|it| !it.contains("://") && !it.starts_with("mailto:")) {
            followed += 1;
            let (file, anchor) =
                link.split_once('#').map_or((&**link, None), |(file, anchor)| (file, Some(anchor)));
            let target = if file.is_empty() { path.clone() } else { path.with_file_name(file) };
            let mut fault = None;
            if in_the_book && file.starts_with("..") {
                fault = Some("leaves the book");
            } else if !target.exists() {
                fault = Some("is not there");
            } else if anchor.is_some_and(|it| !has_anchor(&target, it)) {
                fault = Some("has no such heading");
            }
            if let Some(fault) = fault {
                broken.push(format!("{}: {link} {fault}", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(followed > 50, "only {followed} links were found");
}

fn has_anchor(page: &Path, anchor: &str) -> bool {
    fs::read_to_string(page).is_ok_and(|text| read(&text).anchors.contains(anchor))
}
