//! Every tool is in the policy matrix, and the shipped rules decide as it says.

use std::{collections::BTreeSet, fs};

use tollgate::wire;
use tollgate_engine::policy::Table;

use super::{defaults, repository, specs};
use crate::support::TestEnv;

const MATRIX: &str = include_str!("../../../fixtures/policy/matrix.toml");

#[tokio::test]
async fn every_tool_is_in_the_matrix() {
    let table = Table::parse(MATRIX).unwrap();
    let covered: BTreeSet<&str> = table.tools().collect();
    let uncovered = fs::read_to_string(repository("contracts/policy-uncovered.txt")).unwrap();
    let excused: BTreeSet<&str> = uncovered.lines().collect();
    let specs = specs().await;
    let all: BTreeSet<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    let missing: Vec<_> = all
        .difference(&covered)
        .filter(|name| !excused.contains(*name))
        .collect();
    assert!(
        missing.is_empty(),
        "not in fixtures/policy/matrix.toml: {missing:?}"
    );
    let gone: Vec<_> = covered.difference(&all).collect();
    assert!(gone.is_empty(), "in the matrix but no tool: {gone:?}");
    assert_eq!(uncovered, "", "every tool is covered; keep it so");
}

#[tokio::test]
async fn the_shipped_rules_decide_as_the_matrix_says() {
    let table = Table::parse(MATRIX).unwrap();
    let policies = wire::policies(&defaults()).unwrap();
    let specs = specs().await;
    let results = table.run(&policies, |name| {
        specs
            .iter()
            .find(|spec| spec.name.as_str() == name)
            .cloned()
    });
    let wrong: Vec<String> = results
        .into_iter()
        .filter_map(|result| {
            Some(format!(
                "line {}: {}: {}",
                result.line, result.name, result.problem?
            ))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_write_is_in_the_matrix_at_every_grade_of_consent() {
    let table: toml::Table = MATRIX.parse().unwrap();
    let cases = table["case"].as_array().unwrap();
    for spec in specs()
        .await
        .iter()
        .filter(|spec| !spec.annotations.read_only)
    {
        for consent in ["none", "agent", "human"] {
            let found = cases.iter().any(|case| {
                let given = case.get("consent").and_then(toml::Value::as_str);
                case["tool"].as_str() == Some(spec.name.as_str())
                    && given.unwrap_or("none") == consent
            });
            assert!(found, "{} with consent `{consent}`", spec.name);
        }
    }
}

#[test]
fn operators_can_run_the_matrix_themselves() {
    let env = TestEnv::with_config("[docs.roots]\nhandbook = \".\"\n");
    env.write("project/matrix.toml", MATRIX);
    let ran = env
        .run(&["policy", "test", "matrix.toml", "--json"])
        .exits(0)
        .json();
    assert_eq!(ran["failed"], 0);
}
