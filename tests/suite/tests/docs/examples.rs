//! Every public type, trait and function of a published crate has an example in its documentation.
//!
//! Sources are read with `syn`: what `lib.rs` defines as `pub`, and what it re-exports from its own modules. Methods are
//! not looked at. What a compiler or a test run says of an example is rustdoc's to say.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use syn::{Attribute, Expr, ExprLit, Ident, Item, ItemMacro, Lit, Meta, UseTree, Visibility};

use super::published::PUBLISHED;
use super::repository;

#[test]
fn every_public_type_trait_and_function_has_an_example() {
    let mut missing = Vec::new();
    let mut seen = 0;
    for folder in PUBLISHED {
        let sources = repository().join(folder).join("src");
        let items = public_items(&sources);
        assert!(!items.is_empty(), "{folder} has nothing public");
        seen += items.len();
        for (name, has_example) in items {
            if !has_example {
                missing.push(format!("{folder}: {name} has no example"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(seen > 100, "only {seen} items were found");
}

/// The names that a crate has at its root, each with whether its documentation has an example.
fn public_items(sources: &Path) -> BTreeMap<String, bool> {
    let root = parse(&sources.join("lib.rs"));
    let modules: BTreeSet<String> = root.iter().filter_map(module).collect();
    let mut exported = BTreeSet::new();
    for item in &root {
        if let Item::Use(item) = item
            && let (Visibility::Public(_), UseTree::Path(path)) = (&item.vis, &item.tree)
            && modules.contains(&path.ident.to_string())
        {
            names(&path.tree, &mut exported);
        }
    }
    let mut found: BTreeMap<String, bool> = root.iter().filter_map(documented).collect();
    let mut files = Vec::new();
    collect(sources, &mut files);
    for file in &files {
        let items = parse(file);
        found.extend(items.iter().filter_map(documented).filter(|(name, _)| exported.contains(name)));
        // Types that a macro of the same file declares.
        let of_macros =
            items.iter().filter_map(|item| if let Item::Macro(it) = item { Some(it) } else { None });
        let (rules, calls): (Vec<&ItemMacro>, Vec<&ItemMacro>) = of_macros.partition(|it| it.ident.is_some());
        for call in calls {
            let Some(name) = call.mac.path.get_ident() else { continue };
            let Some(rule) = rules.iter().find(|it| it.ident.as_ref() == Some(name)) else { continue };
            let of_types = rule.mac.tokens.to_string();
            let has_example = of_types.split("pub enum").next().is_some_and(|it| it.contains("```"));
            let words: BTreeSet<String> =
                idents(&call.mac.tokens.to_string()).chain(idents(declared(&of_types))).collect();
            found.extend(exported.intersection(&words).map(|name| (name.clone(), has_example)));
        }
    }
    for name in exported {
        assert!(found.contains_key(&name), "{name} is exported and was not found in {}", sources.display());
    }
    found
}

fn parse(file: &Path) -> Vec<Item> {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display())).items
}

fn collect(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            // Programs have no public items.
            if !path.ends_with("bin") {
                collect(&path, files);
            }
        } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("lib.rs") {
            files.push(path);
        }
    }
}

fn module(item: &Item) -> Option<String> {
    if let Item::Mod(item) = item { Some(item.ident.to_string()) } else { None }
}

fn names(tree: &UseTree, into: &mut BTreeSet<String>) {
    match tree {
        UseTree::Path(path) => names(&path.tree, into),
        UseTree::Name(name) => drop(into.insert(name.ident.to_string())),
        UseTree::Group(group) => group.items.iter().for_each(|tree| names(tree, into)),
        _ => panic!("a re-export by another name, or of everything, is not read here"),
    }
}

/// The name of a public type, trait or function, and whether it has an example.
fn documented(item: &Item) -> Option<(String, bool)> {
    let (visibility, attributes, name): (&Visibility, &[Attribute], &Ident) = match item {
        Item::Struct(it) => (&it.vis, &it.attrs, &it.ident),
        Item::Enum(it) => (&it.vis, &it.attrs, &it.ident),
        Item::Trait(it) => (&it.vis, &it.attrs, &it.ident),
        Item::Type(it) => (&it.vis, &it.attrs, &it.ident),
        Item::Fn(it) => (&it.vis, &it.attrs, &it.sig.ident),
        _ => return None,
    };
    let is_public = matches!(visibility, Visibility::Public(_));
    is_public.then(|| (name.to_string(), has_example(attributes)))
}

/// Whether one of the fences opens Rust that rustdoc compiles.
fn has_example(attributes: &[Attribute]) -> bool {
    let mut is_open = false;
    attributes.iter().filter_map(doc).any(|line| {
        let Some(language) = line.trim().strip_prefix("```") else { return false };
        is_open = !is_open;
        is_open && ["", "no_run", "should_panic", "compile_fail"].contains(&language)
    })
}

fn doc(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(it) = &attribute.meta else { return None };
    let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &it.value else { return None };
    it.path.is_ident("doc").then(|| text.value())
}

/// What comes first behind `pub enum`, where the macro names it itself.
fn declared(macro_rules: &str) -> &str {
    macro_rules.split("pub enum ").nth(1).and_then(|it| it.split(' ').next()).unwrap_or_default()
}

fn idents(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned)
}
