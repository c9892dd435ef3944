//! What people read: tables that fit a terminal, names and values instead of JSON, levels with
//! their meaning.

use serde_json::{Value, json};

use crate::support::{TestEnv, at_a_terminal, lines_at};

/// Columns that a line takes; the tests print no wide characters.
fn width(line: &str) -> usize {
    line.chars().count()
}

/// Commands that print tables, names and values, or texts.
const SHOWN: [&[&str]; 14] = [
    &["tools", "list"],
    &["tools", "search", "compare two products"],
    &["tools", "show", "keepa.products_get"],
    &["tools", "show", "sandbox.exec"],
    &["audit", "list"],
    &["audit", "show", "1"],
    &["doctor"],
    &["runs", "templates", "list"],
    &["skills", "list"],
    &["session", "list"],
    &["review", "list"],
    &["call", "text.stats", "--args", r#"{"text":"hello"}"#],
    &[
        "keepa",
        "products",
        "get",
        "B0KETTLE01",
        "--fixture",
        "product_kettle.json",
    ],
    &[
        "keepa",
        "categories",
        "search",
        "kettles",
        "--fixture",
        "category_search.json",
    ],
];

#[test]
fn what_is_printed_fits_a_terminal_of_80_and_of_120_columns() {
    let env = TestEnv::new();
    env.ok("text.stats", r#"{"text":"hello"}"#);
    env.call("session.forget", "{}", &[]).exits(3);
    for columns in [80, 120] {
        for words in SHOWN {
            let lines = lines_at(&env, words, columns);
            let wide = lines.iter().find(|line| width(line) > usize::from(columns));
            assert_eq!(wide, None, "{words:?} at {columns}");
        }
    }
}

#[test]
fn nothing_is_broken_or_left_out_where_output_goes_into_a_pipe() {
    let env = TestEnv::new();
    let listed = env.run(&["tools", "list"]).exits(0).out;
    let described = env.ok("tools.describe", r#"{"name":"keepa.products_get"}"#);
    let title = described["data"]["title"].as_str().unwrap();
    let row = listed
        .lines()
        .find(|line| line.starts_with("keepa.products_get "));
    let row = row.unwrap();
    assert!(row.contains("L0 (reads)") && row.contains("keepa"), "{row}");
    assert!(row.ends_with(title), "{row}");
    let rows = listed.lines().count() - 1;
    let tools = env.run(&["tools", "list", "--json"]).exits(0).json();
    assert_eq!(rows, tools["tools"].as_array().unwrap().len());
}

#[test]
fn levels_are_printed_with_their_meaning() {
    let env = TestEnv::new();
    let listed = env.run(&["tools", "list"]).exits(0).out;
    for level in ["L0 (reads)", "L1 (writes)", "L2 (runs code)"] {
        assert!(listed.contains(level), "{level}: {listed}");
    }
    let shown = env.run(&["tools", "show", "sandbox.exec"]).exits(0).out;
    assert!(shown.contains("L2 (runs code)"), "{shown}");
    let explained = env.run(&["explain", "text.stats", "{}"]).exits(0).out;
    assert!(explained.contains("allowed, L0 (reads)"), "{explained}");
    let code = json!({"language": "python", "code": "1"}).to_string();
    let asked = env.call("sandbox.exec", &code, &[]).exits(3).json();
    let id = asked["error"]["details"]["approval_id"].as_str().unwrap();
    let seen = at_a_terminal(&env, &["approve", id, "--deny"], str::to_owned);
    assert!(
        seen.shown.contains("can        L2 (runs code)"),
        "{}",
        seen.shown
    );
    let call = asked["meta"]["call_id"].as_str().unwrap();
    let recorded = env.run(&["audit", "show", call]).exits(0).out;
    assert!(recorded.contains("L2 (runs code)"), "{recorded}");
}

#[test]
fn a_tool_is_described_in_words_and_a_table() {
    let env = TestEnv::new();
    let shown = env.run(&["tools", "show", "text.stats"]).exits(0).out;
    assert!(!shown.contains('{'), "{shown}");
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("text.stats  "), "{shown}");
    let argument = lines.iter().find(|line| line.starts_with("text "));
    assert!(argument.unwrap().contains("string"), "{shown}");
    assert!(
        lines.iter().any(|line| line.starts_with("characters ")),
        "{shown}"
    );
    let json = env
        .run(&["tools", "show", "text.stats", "--json"])
        .exits(0)
        .json();
    assert!(json["data"]["input_schema"].is_object());
}

#[test]
fn an_entry_of_the_log_is_names_and_values() {
    let env = TestEnv::new();
    env.ok("text.stats", r#"{"text":"hello"}"#);
    let shown = env.run(&["audit", "show", "1"]).exits(0).out;
    assert!(shown.starts_with("main:1  ending  20"), "{shown}");
    let value = |name: &str| {
        let line = shown
            .lines()
            .find(|line| line.split(' ').next() == Some(name));
        line.map(|line| line[name.len()..].trim().to_owned())
    };
    assert_eq!(value("tool").as_deref(), Some("text.stats"));
    assert_eq!(value("capability").as_deref(), Some("L0 (reads)"));
    assert_eq!(value("error_code"), None, "{shown}");
}

#[test]
fn an_answer_is_names_and_values() {
    let env = TestEnv::new();
    let arguments = r#"{"text":"two words"}"#;
    let ran = env
        .run(&["call", "text.stats", "--args", arguments])
        .exits(0);
    assert_eq!(
        ran.out,
        "characters  9\nbytes       9\nwords       2\nlines       1\n"
    );
}

#[test]
fn a_report_is_printed_as_a_page() {
    let env = TestEnv::new();
    let inputs = json!({"query": "green tea water temperature", "max_sources": 3});
    let asked = json!({"templateId": "research_report", "inputs": inputs}).to_string();
    let ran = env.run(&["call", "run_task_template", "--args", &asked]);
    let title = "# Research report: green tea water temperature";
    assert!(ran.out.lines().any(|line| line.trim() == title), "{ran:#?}");
    assert!(
        !ran.out.contains("\\n") && !ran.out.contains("\": "),
        "{ran:#?}"
    );
}

/// Every id of an answer is printed: they were paid for.
#[track_caller]
fn prints_all(env: &TestEnv, words: &[&str], path: &str) {
    let shown = env.run(words).exits(0).out;
    assert!(!shown.contains('{'), "{shown}");
    let mut with_json = words.to_vec();
    with_json.push("--json");
    let json = env.run(&with_json).exits(0).json();
    let ids: Vec<&str> = json["data"]
        .pointer(path)
        .and_then(Value::as_array)
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(ids.len() > 1, "{json}");
    for id in ids {
        assert!(shown.contains(id), "{id}: {shown}");
    }
}

#[test]
fn lists_of_keepa_show_what_was_paid_for() {
    let env = TestEnv::new();
    for (words, path) in [
        (
            "bestsellers get 1055398 --fixture bestsellers.json",
            "/body/bestSellersList/asinList",
        ),
        (
            "topsellers list --fixture topsellers.json",
            "/body/sellerIdList",
        ),
        (
            "finder query --selection {} --fixture finder.json",
            "/body/asinList",
        ),
        (
            "tracking list --asins-only --fixture tracking_asins.json",
            "/body/asinList",
        ),
        (
            "tracking list-names --fixture tracking_names.json",
            "/body/trackingListNames",
        ),
        (
            "sellers get A1 --fixture sellers.json",
            "/body/sellers/A1SAMPLE0SHOP2/asinList",
        ),
    ] {
        let mut all = vec!["keepa"];
        all.extend(words.split(' '));
        prints_all(&env, &all, path);
    }
}
