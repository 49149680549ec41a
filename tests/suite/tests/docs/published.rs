//! What each crate that is published has to bring along.

use std::fs;

use super::repository;

pub(crate) const PUBLISHED: [&str; 8] = [
    "core",
    "adapters/driver",
    "tests/sim",
    "adapters/sqs",
    "adapters/async-io",
    "adapters/tokio",
    "adapters/smol",
    "adapters/async-std",
];

#[test]
fn each_published_crate_says_what_it_is() {
    for name in PUBLISHED {
        let folder = repository().join(name);
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let package = manifest.split("[dependencies]").next().unwrap();
        for key in ["description", "license", "keywords", "categories", "rust-version", "readme"] {
            assert!(package.lines().any(|line| line.starts_with(key)), "{name} has no {key}");
        }
        for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            assert!(folder.join(file).exists(), "{name} has no {file}");
        }
    }
}

/// All others say that they are not.
#[test]
fn no_other_crate_is_published() {
    let workspace = fs::read_to_string(repository().join("Cargo.toml")).unwrap();
    let members = workspace.split("members = [").nth(1).unwrap().split(']').next().unwrap();
    for member in members.split('"').skip(1).step_by(2) {
        let manifest = fs::read_to_string(repository().join(member).join("Cargo.toml")).unwrap();
        let is_published = !manifest.contains("publish = false");
        assert_eq!(is_published, PUBLISHED.contains(&member), "{member}");
    }
}
