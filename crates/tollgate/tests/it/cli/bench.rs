//! `tollgate bench`: that it runs and what it prints; never how fast anything is.

use serde_json::Value;

use crate::support::TestEnv;

/// Every section, by how its title begins.
const SECTIONS: [&str; 4] = [
    "The whole path",
    "Sanitising",
    "A policy decision",
    "What is done once",
];

#[test]
fn a_quick_look_prints_tables_with_ratios_and_leaves_nothing_behind() {
    let env = TestEnv::new();
    let people = env.run(&["bench", "--quick"]).exits(0);
    for title in SECTIONS {
        let found = people.out.lines().any(|line| line.starts_with(title));
        assert!(found, "{title}: {}", people.out);
    }
    let row = |name: &str| {
        let found = people.out.lines().find(|line| line.starts_with(name));
        found.unwrap_or_else(|| panic!("{name}: {}", people.out))
    };
    // The first is what the others are compared with.
    assert!(row("  read ").contains(" 1.00x "), "{}", people.out);
    for name in [
        "  read, 100 tools",
        "  read, 1000 audit rows",
        "  cache hit",
        "  effect, synced",
    ] {
        let is_ratio = |cell: &str| {
            let number = cell.strip_suffix('x').map(str::parse::<f64>);
            number.is_some_and(|number| number.is_ok_and(|it| it > 0.0))
        };
        assert!(row(name).split_whitespace().any(is_ratio), "{}", people.out);
    }
    assert!(!people.out.contains("NaN"), "{}", people.out);
    assert_eq!(std::fs::read_dir(env.state_dir()).unwrap().count(), 0);
}

#[test]
fn programs_get_the_same_sections() {
    let env = TestEnv::new();
    let told = env.run(&["bench", "--quick", "--json"]).exits(0).json();
    let sections = told["sections"].as_array().unwrap();
    assert_eq!(sections.len(), SECTIONS.len());
    for (section, title) in sections.iter().zip(SECTIONS) {
        let said = section["title"].as_str().unwrap();
        assert!(said.starts_with(title), "{said}");
        let columns = section["head"].as_array().unwrap().len();
        let rows = section["rows"].as_array().unwrap();
        assert!(!rows.is_empty(), "{said}");
        let is_full = |row: &Value| row.as_array().unwrap().len() == columns;
        assert!(rows.iter().all(is_full), "{section}");
    }
}

#[test]
fn what_cannot_be_measured_is_a_usage_error() {
    let env = TestEnv::new();
    for wrong in [
        &["--seconds", "0"][..],
        &["--seconds", "601"],
        &["--seconds", "many"],
        &["--seconds"],
        &["--quick", "--seconds", "2"],
        &["--slow"],
        &["everything"],
    ] {
        let ran = env.run(&[&["bench"], wrong].concat()).exits(2);
        assert_eq!(ran.out, "", "{wrong:?}");
    }
    assert!(!env.state_dir().exists());
}
