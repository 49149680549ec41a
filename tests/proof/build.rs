//! Makes the mutants: copies of the core's source, as modules, each with one mistake.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

include!("mistakes.rs");

fn main() {
    let core = Path::new("../../core/src");
    println!("cargo::rerun-if-changed={}", core.display());
    println!("cargo::rerun-if-changed=mistakes.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let mut modules = String::new();
    let mut not_found = Vec::new();
    for mistake in MISTAKES {
        let name = mistake.name;
        let folder = out.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).expect("a folder of ours");
        }
        if !copy(core, core, &folder, mistake) {
            not_found.push(name);
        }
        let path =
            folder.join("lib.rs").into_os_string().into_string().expect("a path that can be written down");
        writeln!(
            modules,
            "#[allow(warnings, clippy::all, clippy::pedantic)]\n#[path = {path:?}]\npub mod {name};"
        )
        .expect("a string");
        writeln!(modules, "crate::held::held!(crate::mutants::{name});").expect("a string");
    }
    let names: Vec<_> = MISTAKES.iter().map(|mistake| mistake.name).collect();
    writeln!(modules, "/// All of them.\npub const NAMES: &[&str] = &{names:?};").expect("a string");
    let doc = "/// Those whose text is not in the core, or not once: they are copies without a mistake.";
    writeln!(modules, "{doc}\npub const NOT_FOUND: &[&str] = &{not_found:?};").expect("a string");
    fs::write(out.join("mutants.rs"), modules).expect("to write the list");
}

/// Copies a folder; whether the mistake was put in once.
fn copy(root: &Path, from: &Path, to: &Path, mistake: &Mistake) -> bool {
    fs::create_dir_all(to).expect("to make a folder");
    let mut is_in = false;
    for entry in fs::read_dir(from).expect("the core's source") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("an entry has a name"));
        if path.is_dir() {
            is_in |= copy(root, &path, &target, mistake);
            continue;
        }
        let mut text = fs::read_to_string(&path).expect("source");
        if path.strip_prefix(root).is_ok_and(|it| it == Path::new(mistake.file)) {
            is_in = text.matches(mistake.text).count() == 1;
            text = text.replace(mistake.text, mistake.instead);
        }
        if path == root.join("lib.rs") {
            // What stands before the first module is about a crate.
            let modules = text.find("\nmod ").expect("it has modules");
            text.replace_range(..modules, "");
        }
        text = text.replace("crate::", &format!("crate::mutants::{}::", mistake.name));
        fs::write(&target, text).expect("to write a copy");
    }
    is_in
}
