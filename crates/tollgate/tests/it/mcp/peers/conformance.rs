//! The public conformance suite: every check of both sets passes, and none is expected to fail.
//!
//! The suite is weak on meaning, since it takes an error for an answer here and there; what
//! the answers say is asserted by the other tests.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;

use super::{Peers, Served};
use crate::support::TestEnv;

/// Scenarios in which the suite checks nothing, and why that is so.
const UNCHECKED: [(&str, &str); 1] = [(
    "tasks-status-notifications",
    "the suite skips it by itself: it does not listen yet where these notices are sent",
)];

#[test]
fn every_check_of_2026_07_28_passes() {
    passes("2026-07-28", 50);
}

#[test]
fn every_check_of_2025_11_25_passes() {
    passes("2025-11-25", 33);
}

/// Runs one set of requirements, with what it lists but does not score.
fn passes(revision: &str, scenarios: usize) {
    let env = TestEnv::new();
    let served = Served::start(&env);
    passes_at(&env, &served.url, revision, scenarios, &[]);
}

/// The same for whatever is at an address; `beyond` names checks that it cannot pass, and
/// beginnings of scenarios, with a `-` at their end, that it does not offer.
pub(crate) fn passes_at(
    env: &TestEnv,
    url: &str,
    revision: &str,
    scenarios: usize,
    beyond: &[&str],
) {
    let peers = Peers::installed();
    let suite = peers.path("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let out = env.path("out");
    let ran = peers.node(
        env,
        &suite,
        &[
            "server",
            "--url",
            url,
            "--requirements",
            revision,
            "--output-dir",
            &out.to_string_lossy(),
        ],
    );
    let mut checks = checks(&out);
    let is_beyond = |scenario: &str| {
        let mut prefixes = beyond.iter().filter(|it| it.ends_with('-'));
        prefixes.any(|prefix| scenario.starts_with(*prefix))
    };
    checks.retain(|scenario, _| !is_beyond(scenario));
    for checks in checks.values_mut() {
        checks.retain(|check| !beyond.iter().any(|id| check["id"] == *id));
    }
    let names: Vec<_> = checks.keys().collect();
    assert_eq!(names.len(), scenarios, "{names:#?}\n{}", ran.err);
    let passes = |checks: &[Value]| checks.iter().any(|check| check["status"] == "SUCCESS");
    let idle = checks.iter().filter(|(_, checks)| !passes(checks));
    let idle: Vec<_> = idle.map(|(scenario, _)| scenario.as_str()).collect();
    let known = UNCHECKED.iter().map(|(scenario, _)| *scenario);
    let known: Vec<_> = known.filter(|it| checks.contains_key(*it)).collect();
    assert_eq!(
        idle, known,
        "a scenario without a check that passed has not passed"
    );
    let faults: Vec<_> = checks.iter().flat_map(faults).collect();
    assert!(
        faults.is_empty(),
        "{} checks of {revision} do not pass:\n{}",
        faults.len(),
        faults.join("\n")
    );
    let passed = checks
        .values()
        .flatten()
        .filter(|check| check["status"] == "SUCCESS");
    println!("{} checks of {revision} pass", passed.count());
}

/// What a run wrote down: the checks by scenario.
fn checks(out: &Path) -> BTreeMap<String, Vec<Value>> {
    let folders = fs::read_dir(out).expect("the suite wrote nothing");
    let read = folders.map(|folder| {
        let path = folder.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // `server-` before the scenario, the time after it.
        let name = name.strip_prefix("server-").unwrap();
        let name = name[..name.len() - "-2026-01-01T00-00-00-000Z".len()].to_owned();
        let text = fs::read_to_string(path.join("checks.json")).unwrap();
        (name, serde_json::from_str(&text).unwrap())
    });
    read.collect()
}

fn faults((scenario, checks): (&String, &Vec<Value>)) -> Vec<String> {
    let faulty = checks
        .iter()
        .filter(|check| check["status"] == "FAILURE" || check["status"] == "WARNING");
    faulty
        .map(|check| {
            format!(
                "{scenario}: {} {}: {}\n    {}",
                check["status"].as_str().unwrap_or_default(),
                check["id"].as_str().unwrap_or_default(),
                check["description"].as_str().unwrap_or_default(),
                check["errorMessage"].as_str().unwrap_or_default(),
            )
        })
        .collect()
}
