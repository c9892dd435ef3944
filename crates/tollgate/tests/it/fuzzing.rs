//! What the fuzz targets check, over their seeds and a few thousand small changes of them.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use tollgate_testkit::mutations::run_mutations;

/// Each target with how many changed seeds a test has time for, and what it checks.
type Target = (&'static str, usize, fn(&[u8]));

const TARGETS: [Target; 12] = [
    ("canonical", 20_000, tollgate_core::fuzzing::canonical),
    (
        "cedar_context",
        20_000,
        tollgate_engine::fuzzing::cedar_context,
    ),
    ("http_request", 20_000, tollgate::fuzzing::http_request),
    (
        "http_response",
        20_000,
        tollgate_providers::fuzzing::http_response,
    ),
    ("json_rpc", 20_000, tollgate::fuzzing::json_rpc),
    (
        "json_scanner",
        20_000,
        tollgate_sanitize::fuzzing::json_scanner,
    ),
    (
        "knowledge_reader",
        20_000,
        tollgate_knowledge::fuzzing::knowledge_reader,
    ),
    ("sanitizer", 1_000, tollgate_sanitize::fuzzing::sanitizer),
    (
        "schema_budget",
        10_000,
        tollgate_engine::fuzzing::schema_budget,
    ),
    (
        "spreadsheet",
        20_000,
        tollgate_knowledge::fuzzing::spreadsheet,
    ),
    ("sse", 20_000, tollgate_providers::fuzzing::sse),
    (
        "template_expression",
        20_000,
        tollgate_runs::fuzzing::template_expression,
    ),
];

/// A folder of the fuzz targets.
fn fuzz(below: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("fuzz").join(below)
}

fn smoke(name: &str) {
    let target = TARGETS.iter().find(|(known, ..)| *known == name);
    let (_, count, check) = target.unwrap();
    run_mutations(&fuzz("seeds").join(name), *count, *check).unwrap();
}

/// The names in a folder, without their endings.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let stem = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    paths.map(stem).collect()
}

macro_rules! smokes {
    ($($name:ident)*) => {
        const SMOKES: &[&str] = &[$(stringify!($name)),*];
        $(#[test] fn $name() { smoke(stringify!($name)); })*
    };
}

smokes! {
    canonical cedar_context http_request http_response json_rpc json_scanner
    knowledge_reader sanitizer schema_budget spreadsheet sse template_expression
}

#[test]
fn every_fuzz_target_has_seeds_and_a_smoke_test() {
    let targets = names(&fuzz("fuzz_targets"));
    let tested: BTreeSet<String> = SMOKES.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(targets, tested);
    assert_eq!(targets, names(&fuzz("seeds")));
    let manifest = fs::read_to_string(fuzz("Cargo.toml")).unwrap();
    for target in &targets {
        assert!(
            manifest.contains(&format!("name = \"{target}\"")),
            "{target}"
        );
        assert!(!names(&fuzz("seeds").join(target)).is_empty(), "{target}");
    }
}
