//! What others rely on equals what is committed: `contracts/` and the generated pages.
//!
//! `cargo xtask bless` sets `TOLLGATE_BLESS`, which rewrites what follows; the difference is
//! for a human to read.

mod commands;
mod examples;
mod inputs;
mod knowledge;
mod matrix;
mod mcp;
mod pages;
mod runs;
mod surfaces;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use tollgate::{
    config::{Config, Environment, Flags},
    wire,
};
use tollgate_core::ToolSpec;

/// Everything at the top of `contracts/`; whatever else lies there belongs to nobody.
const PARTS: &[&str] = &[
    "README.md",
    "audit",
    "cli",
    "config.schema.json",
    "envelope",
    "errors.txt",
    "jsonl",
    "knowledge",
    "log",
    "mcp",
    "policy",
    "policy-uncovered.txt",
    "sql",
    "tools",
    "warnings.txt",
];

/// Contents by path.
type Files = BTreeMap<String, String>;

#[test]
fn nothing_else_lies_in_contracts() {
    for entry in fs::read_dir(repository("contracts")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(PARTS.contains(&name.as_str()), "contracts/{name}");
    }
}

/// A path seen from the root of the repository.
fn repository(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(below)
}

fn blessing() -> bool {
    let environment = Environment::from_process().unwrap();
    environment.text("TOLLGATE_BLESS").is_some()
}

/// Holds one committed file against what it must say.
#[track_caller]
fn check_file(path: &str, expected: &str) {
    let file = repository(path);
    if blessing() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, expected).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    if committed != expected {
        let differing = committed
            .lines()
            .zip(expected.lines())
            .find(|(a, b)| a != b);
        panic!("{path} is out of date, first at {differing:?}: run `cargo xtask bless`");
    }
}

/// Holds a committed folder against what it must hold: no more and no less.
#[track_caller]
fn check_folder(folder: &str, expected: &Files) {
    let mut committed = BTreeSet::new();
    collect(&repository(folder), "", &mut committed);
    for stale in committed
        .iter()
        .filter(|name| !expected.contains_key(*name))
    {
        if blessing() {
            fs::remove_file(repository(folder).join(stale)).unwrap();
        } else {
            panic!("{folder}/{stale} belongs to nothing any more: run `cargo xtask bless`");
        }
    }
    for (name, content) in expected {
        check_file(&format!("{folder}/{name}"), content);
    }
}

fn collect(folder: &Path, below: &str, found: &mut BTreeSet<String>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let entry = entry.unwrap();
        let name = format!("{below}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), &format!("{name}/"), found);
        } else {
            found.insert(name);
        }
    }
}

/// The configuration of somebody who wrote none.
fn defaults() -> Config {
    let home = tempfile::tempdir().unwrap();
    let environment = Environment {
        home: Some(home.path().to_owned()),
        current_dir: home.path().to_owned(),
        ..Environment::default()
    };
    Config::load(&environment, &Flags::default()).unwrap()
}

/// Every tool the program has without any configuration but folders to edit, in order.
async fn specs() -> Vec<ToolSpec> {
    let mut config = defaults();
    config.docs.roots = [("handbook".to_owned(), PathBuf::from("."))].into();
    let catalog = wire::listed(&config, &Environment::default())
        .await
        .unwrap();
    assert!(catalog.problems().is_empty());
    let specs = catalog.listings().map(|listing| (*listing.spec).clone());
    specs.collect()
}

/// Every page for people: its name and its text.
fn documents() -> Vec<(String, String)> {
    let folder = fs::read_dir(repository("docs")).unwrap();
    let pages = folder.map(|entry| entry.unwrap().path());
    let roots = [
        "README.md",
        "SECURITY.md",
        "CONTRIBUTING.md",
        "ARCHITECTURE.md",
    ];
    pages
        .chain(roots.map(repository))
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(&path).unwrap())
        })
        .collect()
}

/// The fenced examples of a page in one of these languages: the line and the text.
fn fenced(page: &str, languages: &[&str]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, bool, String)> = None;
    for (at, line) in page.lines().enumerate() {
        let fence = line.trim().strip_prefix("```");
        match (&mut open, fence) {
            (None, Some(language)) => {
                open = Some((at + 2, languages.contains(&language), String::new()));
            }
            (Some(_), Some(_)) => {
                let (start, wanted, text) = open.take().unwrap();
                if wanted {
                    found.push((start, text));
                }
            }
            (Some((_, _, text)), None) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    found
}

fn pretty(value: &impl serde::Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap();
    text.push('\n');
    text
}
