//! Rules about single files.

use std::fs;

use crate::files::{Text, all, none, root, sources};

/// The hard cap on a source file, tests included. There are no exemptions.
const MAX_LINES: usize = 600;

/// Only these know MCP's types.
const KNOW_MCP: &[&str] = &[
    "bench/",
    "crates/tollgate/src/frontends/mcp/",
    "crates/tollgate/tests/",
    "crates/tollgate-providers/src/upstream/",
    "crates/tollgate-testkit/",
];

/// Only these may lift the lint against `Provider::call`: the call path, and a helper for tests of
/// providers.
const CALL_PROVIDERS: &[&str] = &[
    "crates/tollgate-engine/src/call/invoke.rs",
    "crates/tollgate-testkit/src/fakes/context.rs",
];

/// Every line of `files` that a rule finds fault with, with its place.
fn lines(files: &[Text], fault: impl Fn(&str) -> bool) -> Vec<String> {
    let in_file = |file: &Text| -> Vec<String> {
        let numbered = file.content.lines().enumerate();
        numbered
            .filter(|(_, line)| fault(line))
            .map(|(at, line)| format!("{}:{}: {}", file.path, at + 1, line.trim()))
            .collect()
    };
    files.iter().flat_map(in_file).collect()
}

#[test]
fn no_source_file_is_longer_than_the_cap() {
    let long = |file: &Text| {
        let lines = file.content.lines().count();
        (lines > MAX_LINES).then(|| format!("{}: {lines} lines", file.path))
    };
    let found = sources().iter().filter_map(long).collect();
    none("at most 600 lines a file", found);
}

#[test]
fn every_source_file_says_what_it_is_for() {
    let found = sources()
        .iter()
        .filter(|file| !file.content.starts_with("//!"))
        .map(|file| file.path.clone())
        .collect();
    none("a source file begins with `//!`", found);
}

#[test]
fn lints_are_expected_with_a_reason_never_allowed() {
    let allowed = ["[", "allow("].concat();
    let found = lines(&sources(), |line| line.contains(&allowed));
    none("write #[expect(…, reason = \"…\")]", found);
}

#[test]
fn unfinished_work_names_its_issue() {
    let marks = [["TO", "DO"].concat(), ["FIX", "ME"].concat()];
    let macros = [["todo", "!("].concat(), ["unimplemented", "!("].concat()];
    let found = lines(&all_but_locks(), |line| {
        let is_marked = marks.iter().any(|mark| has_word(line, mark));
        let is_named = line.contains("(#") || line.contains(" #");
        (is_marked && !is_named) || macros.iter().any(|name| line.contains(name))
    });
    none("unfinished work names an issue, as in `(#12)`", found);
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        !line[..at].ends_with(is_part) && !line[at + word.len()..].starts_with(is_part)
    })
}

#[test]
fn only_the_mcp_folders_know_mcp() {
    let crate_name = ["rm", "cp"].concat();
    let uses = [format!("use {crate_name}"), format!("{crate_name}::")];
    let others: Vec<Text> = sources()
        .into_iter()
        .filter(|file| !KNOW_MCP.iter().any(|folder| file.path.starts_with(folder)))
        .collect();
    let found = lines(&others, |line| uses.iter().any(|one| line.contains(one)));
    none("MCP's types stay in the MCP folders", found);
}

#[test]
fn providers_are_called_in_one_place() {
    let settings = fs::read_to_string(root().join("clippy.toml")).unwrap();
    let forbidden = "path = \"tollgate_core::provider::Provider::call\"";
    assert!(settings.contains(forbidden), "clippy.toml: {forbidden}");
    let lifts = |file: &Text| {
        file.path.contains("/src/")
            && file.content.contains("clippy::disallowed_methods")
            && file.content.contains(".call(")
    };
    let mut found: Vec<String> = sources()
        .into_iter()
        .filter(lifts)
        .map(|it| it.path)
        .collect();
    found.retain(|path| !CALL_PROVIDERS.contains(&path.as_str()));
    none("only the call path calls a provider", found);
}

#[test]
fn no_file_mentions_a_path_of_one_machine() {
    let mut machine = vec![["/ro", "ot/"].concat(), ["/wo", "rk/"].concat()];
    // A checkout right below `/` has too common a name to look for.
    if root().components().count() > 2 {
        machine.push(format!("{}/", root().display()));
    }
    let found = lines(&all_but_locks(), |line| {
        machine.iter().any(|path| mentions(line, path))
    });
    none("paths are relative to the repository", found);
}

/// Whether an absolute path begins here, rather than the middle of a longer one.
fn mentions(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '~' | '}');
        !line[..at].ends_with(is_part)
    })
}

#[test]
fn only_lock_files_name_a_package_registry() {
    let hosts = [
        ["crates", ".io"],
        ["npmjs", ".org"],
        ["npmjs", ".com"],
        ["pypi", ".org"],
        ["pythonhosted", ".org"],
    ]
    .map(|pieces| pieces.concat());
    let found = lines(&all_but_locks(), |line| {
        hosts.iter().any(|host| line.contains(host))
    });
    none("registries belong into Cargo.lock only", found);
}

fn all_but_locks() -> Vec<Text> {
    let is_lock = |file: &Text| file.path.ends_with("Cargo.lock");
    all().into_iter().filter(|file| !is_lock(file)).collect()
}
