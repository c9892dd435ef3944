//! Rules about the crates: who may use whom, and what every manifest says.

use std::{collections::BTreeSet, fs};

use serde_json::Value;

use crate::{
    dependencies::{members, metadata},
    files::{all, none, root},
};

/// What each crate may use of the workspace, and what its tests may use besides.
///
/// Adding an edge is a visible change of this table.
const EDGES: &[(&str, &[&str], &[&str])] = &[
    (
        "tollgate",
        &[
            "tollgate-core",
            "tollgate-engine",
            "tollgate-keepa",
            "tollgate-knowledge",
            "tollgate-providers",
            "tollgate-runs",
            "tollgate-sanitize",
            "tollgate-store",
            "tollgate-text",
        ],
        &["tollgate-testkit"],
    ),
    ("tollgate-browser", &["tollgate-sandbox"], &[]),
    ("tollgate-core", &[], &[]),
    (
        "tollgate-engine",
        &[
            "tollgate-core",
            "tollgate-runs",
            "tollgate-sanitize",
            "tollgate-text",
        ],
        &["tollgate-store", "tollgate-testkit"],
    ),
    ("tollgate-keepa", &["tollgate-text"], &[]),
    ("tollgate-knowledge", &["tollgate-text"], &[]),
    (
        "tollgate-providers",
        &[
            "tollgate-browser",
            "tollgate-core",
            "tollgate-keepa",
            "tollgate-knowledge",
            "tollgate-sandbox",
            "tollgate-sanitize",
            "tollgate-web",
        ],
        &["tollgate-testkit"],
    ),
    ("tollgate-runs", &[], &[]),
    ("tollgate-sandbox", &[], &[]),
    ("tollgate-sanitize", &[], &[]),
    ("tollgate-store", &["tollgate-core"], &["tollgate-testkit"]),
    ("tollgate-testkit", &["tollgate-core"], &[]),
    ("tollgate-text", &[], &[]),
    ("tollgate-web", &[], &[]),
    ("xtask", &[], &[]),
];

/// The one crate that may hold `unsafe` blocks, each with its reason.
const MAY_BE_UNSAFE: &str = "tollgate-sandbox";

#[test]
fn crates_use_only_whom_they_may() {
    let metadata = metadata();
    let members = members(&metadata);
    let names: BTreeSet<&str> = members.iter().filter_map(|m| m["name"].as_str()).collect();
    let known: BTreeSet<&str> = EDGES.iter().map(|(name, _, _)| *name).collect();
    let mut found: Vec<String> = names
        .symmetric_difference(&known)
        .map(|name| format!("{name} is not in the workspace and the table both"))
        .collect();
    for member in members {
        let name = member["name"].as_str().unwrap();
        let Some((_, normal, dev)) = EDGES.iter().find(|(known, _, _)| *known == name) else {
            continue;
        };
        for edge in member["dependencies"].as_array().unwrap() {
            let target = edge["name"].as_str().unwrap();
            let is_dev = edge["kind"] == "dev";
            let is_allowed = normal.contains(&target) || (is_dev && dev.contains(&target));
            if names.contains(target) && !is_allowed {
                found.push(format!("{name} must not use {target}"));
            }
        }
    }
    none("crate edges", found);
}

#[test]
fn every_crate_but_one_forbids_unsafe_code() {
    let metadata = metadata();
    let mut found = Vec::new();
    for member in members(&metadata) {
        for target in member["targets"].as_array().unwrap() {
            let is_root = ["lib", "bin"].iter().any(|kind| target["kind"][0] == *kind);
            let file = target["src_path"].as_str().unwrap();
            let text = fs::read_to_string(file).unwrap_or_default();
            let may = member["name"] == MAY_BE_UNSAFE;
            if is_root && !may && !text.contains("#![forbid(unsafe_code)]") {
                found.push(format!("{}: {}", member["name"], target["name"]));
            }
        }
    }
    none("#![forbid(unsafe_code)] is missing", found);
}

#[test]
fn every_manifest_follows_the_workspace() {
    let mut found = Vec::new();
    for file in all() {
        if !file.path.ends_with("/Cargo.toml") {
            continue;
        }
        let manifest: toml::Table = file.content.parse().unwrap();
        let manifest = serde_json::to_value(manifest).unwrap();
        if manifest["lints"]["workspace"] != true {
            found.push(format!("{}: [lints] workspace = true", file.path));
        }
        for key in ["version", "edition", "rust-version", "license", "publish"] {
            if manifest["package"][key]["workspace"] != true {
                found.push(format!("{}: {key}.workspace = true", file.path));
            }
        }
        for name in unpinned(&manifest) {
            let path = &file.path;
            found.push(format!(
                "{path}: {name}: its version belongs to the workspace"
            ));
        }
    }
    none("manifests follow the workspace", found);
}

/// Dependencies that do not take their version from the workspace.
fn unpinned(manifest: &Value) -> Vec<String> {
    let targets = manifest["target"].as_object().into_iter().flatten();
    let tables = targets.map(|(_, table)| table).chain([manifest]);
    let sections = tables.flat_map(|table| {
        ["dependencies", "dev-dependencies", "build-dependencies"]
            .into_iter()
            .filter_map(|section| table[section].as_object())
    });
    sections
        .flatten()
        .filter(|(_, how)| how["workspace"] != true)
        .map(|(name, _)| name.clone())
        .collect()
}

#[test]
fn dependencies_are_sorted() {
    let mut found = Vec::new();
    for file in all() {
        if !file.path.ends_with("Cargo.toml") {
            continue;
        }
        let mut section = "";
        let mut before = "";
        for line in file.content.lines() {
            if line.starts_with('[') {
                section = line;
                before = "";
            } else if line.trim().is_empty() {
                before = "";
            } else if section.contains("dependencies") && !line.starts_with('#') {
                let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
                if name < before {
                    found.push(format!("{}: {name} comes before {before}", file.path));
                }
                before = name;
            }
        }
    }
    none("dependencies are sorted within each paragraph", found);
}

#[test]
fn the_toolchain_is_pinned() {
    let text = fs::read_to_string(root().join("rust-toolchain.toml")).unwrap();
    let file: toml::Table = text.parse().unwrap();
    let channel = file["toolchain"]["channel"].as_str().unwrap();
    let is_exact = channel.split('.').count() == 3 && channel.starts_with(char::is_numeric);
    assert!(is_exact, "{channel} is not an exact version");
}
