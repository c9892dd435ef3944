//! What the documentation shows works as shown.

use super::{super::Table, *};

const PAGE: &str = include_str!("../../../../../docs/policy.md");

fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    PAGE.split(fence.as_str())
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect()
}

#[test]
fn every_recipe_compiles_and_the_sample_table_holds() {
    let recipes = blocks("cedar");
    assert!(recipes.len() >= 8);
    let policies = beside_default(&recipes.join("\n"));
    let tables = blocks("toml");
    assert_eq!(tables.len(), 1);
    for table in tables {
        let results = Table::parse(table)
            .unwrap()
            .run(&policies, |name| Some(writer(name)));
        assert_eq!(results.len(), 2);
        for result in results {
            assert!(result.passed(), "{result:?}");
        }
    }
}

#[test]
fn every_shipped_rule_and_every_attribute_is_documented() {
    let policies = Policies::shipped().unwrap();
    for rule in &policies.rules {
        assert!(PAGE.contains(&format!("`{}`", rule.id)), "{}", rule.id);
    }
    let schema = include_str!("../../../policies/tollgate.cedarschema");
    let attributes = schema.lines().filter_map(|line| {
        let (name, _) = line.trim().split_once(": ")?;
        (!name.contains(' ')).then(|| name.trim_end_matches('?'))
    });
    let mut count = 0;
    for name in attributes.filter(|name| !["principal", "resource", "context"].contains(name)) {
        assert!(PAGE.contains(&format!("{name}`")), "{name}");
        count += 1;
    }
    assert!(count > 25, "{count}");
}
