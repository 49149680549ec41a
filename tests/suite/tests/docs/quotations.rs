//! Excerpts are lines of the files that they name.

use std::fs;

use super::repository;

/// A block that begins with `// FOLDER/FILE.rs` is passages of that file, in its order.
#[test]
fn excerpts_are_lines_of_their_files() {
    let mut quoted = 0;
    for entry in fs::read_dir(repository().join("docs")).unwrap() {
        let page = entry.unwrap().path();
        if page.extension().is_none_or(|it| it != "md") {
            continue;
        }
        let text = fs::read_to_string(&page).unwrap();
        for block in text.split("\n```rust").skip(1).filter_map(|it| it.split("\n```").next()) {
            let Some((name, excerpt)) = block.lines().nth(1).and_then(|name| {
                let path = name
                    .strip_prefix("// ")
                    .filter(|it| it.contains('/') && it.strip_suffix(".rs").is_some())?;
                Some((path, block.split_once(name)?.1.trim_start()))
            }) else {
                continue;
            };
            let file = fs::read_to_string(repository().join(name))
                .unwrap_or_else(|error| panic!("{}: {name}: {error}", page.display()));
            // A passage ends where the file has more between two items than the page.
            let mut from = 0;
            for item in excerpt.split("\n\n") {
                let found = file[from..].find(item);
                let at = found.unwrap_or_else(|| panic!("{}: {name} has not:\n{item}", page.display()));
                from += at + item.len();
            }
            quoted += 1;
        }
    }
    assert!(quoted >= 3, "only {quoted} excerpts were found");
}
