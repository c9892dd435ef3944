//! Rules about what we depend on: licences, and one version of each crate.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::Command,
    sync::LazyLock,
};

use serde_json::Value;

use crate::{
    files::{none, root},
    licences::is_permissive,
};

/// Crates that may be under MPL-2.0: the parser of HTML, when there is one.
const MPL: &[&str] = &[];

/// What cargo knows of the workspace and its dependencies on this platform.
pub(crate) fn metadata() -> Value {
    static METADATA: LazyLock<Value> = LazyLock::new(|| {
        let platform = host();
        let arguments = ["metadata", "--format-version=1", "--filter-platform"];
        let text = output(
            env!("CARGO"),
            &[arguments.as_slice(), &[&platform]].concat(),
        );
        serde_json::from_str(&text).unwrap()
    });
    METADATA.clone()
}

/// The crates of the workspace.
pub(crate) fn members(metadata: &Value) -> Vec<&Value> {
    packages(metadata)
        .filter(|one| one["source"].is_null())
        .collect()
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().unwrap().iter()
}

fn host() -> String {
    let text = output("rustc", &["-vV"]);
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.unwrap().to_owned()
}

fn output(program: &str, arguments: &[&str]) -> String {
    #[expect(clippy::disallowed_methods, reason = "tidy rules ask cargo")]
    let mut command = Command::new(program);
    let output = command
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {complaint}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_licence_is_permissive() {
    let metadata = metadata();
    let bad = packages(&metadata).filter_map(|one| {
        let name = one["name"].as_str().unwrap();
        let licence = one["license"].as_str().unwrap_or("none");
        let is_excused = MPL.contains(&name) && licence == "MPL-2.0";
        (!is_excused && !is_permissive(licence)).then(|| format!("{name}: {licence}"))
    });
    none("licences", bad.collect());
}

#[test]
fn the_list_of_duplicates_only_shrinks() {
    let metadata = metadata();
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for one in packages(&metadata) {
        let name = one["name"].as_str().unwrap();
        let version = one["version"].as_str().unwrap();
        versions.entry(name).or_default().insert(version);
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
        .filter(|(name, _)| !listed.contains(**name))
        .map(|(name, found)| format!("{name} comes in versions {found:?}"));
    let gone = listed
        .iter()
        .filter(|name| !doubled.contains_key(*name))
        .map(|name| format!("{name} is single: remove it from duplicates.txt"));
    none("one version of each crate", fresh.chain(gone).collect());
}
