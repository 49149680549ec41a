//! The guide's excerpts are the examples' own lines, and the examples stay as small as it says.

use std::fs;
use std::path::{Path, PathBuf};

const LOOPS: [&str; 3] = ["thread", "epoll", "executor"];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn example(name: &str) -> String {
    read(&folder().join(format!("examples/{name}.rs")))
}

fn without_indent(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

#[test]
fn each_loop_is_below_150_lines_and_names_nothing_of_the_family_but_the_core() {
    for name in LOOPS {
        let text = example(name);
        assert!(text.lines().count() < 150, "{name}: {} lines", text.lines().count());
        let names =
            text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|it| it.starts_with("sqs_lease_"));
        for used in names {
            assert!(["sqs_lease_core", "sqs_lease_embedding"].contains(&used), "{name} uses {used}");
        }
    }
}

/// A block that begins with `// FILE.rs` is a passage of that example; `// …` stands for lines that are left out.
#[test]
fn the_guide_quotes_the_examples_as_they_are() {
    let guide = read(&folder().join("../../docs/embedding.md"));
    let mut quoted = Vec::new();
    for block in guide.split("\n```rust").skip(1).map(|it| it.split("\n```").next().unwrap_or_default()) {
        let Some((info, code)) = block.split_once('\n') else { continue };
        let Some((first, passage)) = code.split_once('\n') else { continue };
        let Some(name) = first.strip_prefix("// ").and_then(|it| it.strip_suffix(".rs")) else { continue };
        assert_eq!(info, ",ignore", "a quotation of {name} is no program of its own");
        let text = example(name);
        let lines = without_indent(&text.lines().collect::<Vec<_>>());
        let mut from = 0;
        for part in passage.split("// …") {
            let wanted = without_indent(&part.lines().collect::<Vec<_>>());
            let found = lines[from..].windows(wanted.len().max(1)).position(|it| it == wanted);
            let at = found.unwrap_or_else(|| panic!("{name}.rs has no such lines in this order:\n{part}"));
            from += at + wanted.len();
        }
        quoted.push(name.to_owned());
    }
    for name in LOOPS {
        assert!(quoted.iter().any(|it| it == name), "the guide does not quote {name}.rs");
    }
}
