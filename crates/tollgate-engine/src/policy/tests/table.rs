//! A table says what rules must decide, and nothing it says is overlooked.

use super::{
    super::{Table, TableError},
    *,
};

fn lookup(name: &str) -> Option<ToolSpec> {
    match name {
        "text.stats" => Some(reader(name)),
        "file.write" => Some(writer(name)),
        _ => None,
    }
}

fn outcome(policies: &Policies, text: &str) -> Vec<Option<String>> {
    let table = Table::parse(text).unwrap();
    let results = table.run(policies, lookup);
    results.into_iter().map(|result| result.problem).collect()
}

#[test]
fn cases_that_hold_pass() {
    let policies = beside_default(
        r#"
        @id("home") forbid (principal, action, resource == Tool::"file.write")
        unless { context.arguments.path like "/home/*" };
        @id("poor") forbid (principal, action, resource)
        when { context has budget_left && context.budget_left < context.worst_case };
        @id("remote") forbid (principal, action, resource)
        when { context.trust == "remote" && principal.kind == "anonymous" };"#,
    );
    let text = r#"
[[case]]
name = "reading is free"
tool = "text.stats"
expect = "allow"
rule = "default.read"

[[case]]
tool = "text.stats"
cost_confirm = true
expect = "needs_agent"

[[case]]
tool = "file.write"
arguments = { path = "/home/a", size = 3, when = 2026-01-01T00:00:00Z, ratio = 0.5 }
expect = "needs_human"
rule = "default.write"

[[case]]
tool = "file.write"
arguments = '{"path": "/home/a", "size": 123456789012345678901234567890}'
consent = "human"
expect = "allow"

[[case]]
tool = "file.write"
arguments.path = "/etc/passwd"
consent = "human"
expect = "deny"
rule = "home"

[[case]]
tool = "file.write"
expect = "error"
rule = "home"

[[case]]
tool = "text.stats"
budget_left = 10
worst_case = 11
expect = "deny"
rule = "poor"

[[case]]
tool = "text.stats"
action = "get_prompt"
principal = "anonymous"
trust = "remote"
surface = "mcp"
profile = "p"
skill = "s"
session = "x"
tainted = true
estimated = 1
expect = "deny"
rule = "remote"
"#;
    assert_eq!(outcome(&policies, text), vec![None; 8]);
}

#[test]
fn cases_that_do_not_hold_say_why() {
    let policies = Policies::shipped().unwrap();
    let text = r#"
[[case]]
tool = "file.write"
expect = "allow"

[[case]]
tool = "text.stats"
expect = "allow"
rule = "default.write"

[[case]]
tool = "text.stat"
expect = "deny"
"#;
    let table = Table::parse(text).unwrap();
    assert_eq!(
        table.tools().collect::<Vec<_>>(),
        ["file.write", "text.stats", "text.stat"]
    );
    let results = table.run(&policies, lookup);
    let lines: Vec<String> = results
        .iter()
        .map(|result| {
            let problem = result.problem.as_deref().unwrap_or("ok");
            format!("{} {}: {problem}", result.line, result.name)
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    2 file.write: expected allow, got needs_human by default.write
    6 text.stats: allow as expected, but by default.read, not by default.write
    11 text.stat: no tool is named `text.stat`
    "#);
}

#[test]
fn a_table_that_cannot_be_read_names_its_line() {
    let cases = [
        "[[case]]\ntool = \"a\"\nexpect = \"allow\"\nconsnt = \"human\"\n",
        "[[case]]\ntool = \"a\"\nexpect = \"maybe\"\n",
        "[[case]]\ntool = \"a\"\n",
        "[[cases]]\ntool = \"a\"\nexpect = \"allow\"\n",
        "[[case]]\ntool = \"a\"\nexpect = \"allow\"\nconsent = 2\n",
        "[[case]]\ntool = \"a\"\nexpect = \"allow\"\narguments = '{\"a\":'\n",
        "[[case]]\ntool = \"a\"\nexpect = \"allow\"\narguments = [1]\n",
        "[[case]\n",
    ];
    let found: Vec<String> = cases
        .iter()
        .map(|text| {
            let error: TableError = Table::parse(text).unwrap_err();
            error.to_string()
        })
        .collect();
    insta::assert_snapshot!(found.join("\n"), @r#"
    line 4: unknown field `consnt`, expected one of `name`, `tool`, `arguments`, `action`, `principal`, `consent`, `trust`, `surface`, `profile`, `skill`, `session`, `budget_left`, `estimated`, `worst_case`, `cost_confirm`, `tainted`, `expect`, `rule`
    line 3: unknown variant `maybe`, expected one of `allow`, `deny`, `needs_agent`, `needs_human`, `error`
    line 1: missing field `expect`
    line 1: unknown field `cases`, expected `case`
    line 4: wanted string or table
    line 4: `arguments` is not valid JSON: EOF while parsing a value at line 1 column 5
    line 4: `arguments` is neither a table nor JSON text
    line 1: unclosed array table, expected `]`
    "#);
}
