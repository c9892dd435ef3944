//! Rules about what we depend on: licences, and one version of each crate.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::Command,
};

use serde_json::Value;

use crate::{
    files::{none, root},
    licences::is_permissive,
};

/// Crates that may be under MPL-2.0: the parser of HTML, when there is one.
const MPL: &[&str] = &[];

/// What cargo knows of the workspace itself.
pub(crate) fn metadata() -> Value {
    let text = output(&["metadata", "--format-version=1", "--no-deps"]);
    serde_json::from_str(&text).unwrap()
}

/// The crates of the workspace.
pub(crate) fn members(metadata: &Value) -> Vec<&Value> {
    metadata["packages"].as_array().unwrap().iter().collect()
}

/// A crate that is really built on this platform, as the lock file alone cannot tell.
struct Built {
    name: String,
    version: String,
    licence: String,
}

fn built() -> Vec<Built> {
    let text = output(&[
        "tree",
        "--workspace",
        "--edges=normal,build,dev",
        "--prefix=none",
        "--format={p}|{l}",
    ]);
    text.lines().filter_map(parse).collect()
}

/// Reads a line such as `serde v1.0.1 (proc-macro)|MIT OR Apache-2.0 (*)`; some are blank.
fn parse(line: &str) -> Option<Built> {
    let (package, licence) = line.split_once('|')?;
    let mut words = package.split(' ');
    Some(Built {
        name: words.next()?.to_owned(),
        version: words.next()?.to_owned(),
        licence: licence.trim_end_matches(" (*)").to_owned(),
    })
}

fn output(arguments: &[&str]) -> String {
    #[expect(clippy::disallowed_methods, reason = "tidy rules ask cargo")]
    let mut command = Command::new(env!("CARGO"));
    let output = command
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo: {complaint}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_licence_is_permissive() {
    let bad: BTreeSet<String> = built()
        .into_iter()
        .filter(|one| !is_permissive(&one.licence))
        .filter(|one| one.licence != "MPL-2.0" || !MPL.contains(&one.name.as_str()))
        .map(|one| format!("{}: {}", one.name, one.licence))
        .collect();
    none("licences", bad.into_iter().collect());
}

#[test]
fn the_list_of_duplicates_only_shrinks() {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for one in built() {
        versions.entry(one.name).or_default().insert(one.version);
    }
    let text = fs::read_to_string(root().join("xtask/tests/duplicates.txt")).unwrap();
    let listed: BTreeSet<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let doubled = versions.iter().filter(|(_, found)| found.len() > 1);
    let doubled: BTreeMap<_, _> = doubled.collect();
    let fresh = doubled
        .iter()
        .filter(|(name, _)| !listed.contains(name.as_str()))
        .map(|(name, found)| format!("{name} comes in versions {found:?}"));
    let gone = listed
        .iter()
        .filter(|name| !doubled.contains_key(&(**name).to_owned()))
        .map(|name| format!("{name} is single: remove it from duplicates.txt"));
    none("one version of each crate", fresh.chain(gone).collect());
}
