//! Nobody waits for servers that a command does not need, and what was learned is remembered.

use std::fs;

use super::{section, with_script};
use crate::support::TestEnv;

/// A user whose one server notes that it was started, and fails.
fn failing() -> TestEnv {
    with_script("echo started >> \"$0.starts\"\necho worn out >&2\nexit 7")
}

fn starts(env: &TestEnv) -> usize {
    let noted = fs::read_to_string(env.path("start.sh.starts"));
    noted.map_or(0, |noted| noted.lines().count())
}

#[test]
fn a_call_of_our_own_starts_no_server() {
    let env = failing();
    env.ok("text.stats", r#"{"text":"hello"}"#);
    env.run(&["explain", "text.stats"]).exits(0);
    env.run(&["tools", "show", "text.stats"]).exits(0);
    let line = r#"{"id":1,"method":"text.stats","params":{"text":"hello"}}"#;
    env.feed(&["jsonl"], format!("{line}\n")).exits(0);
    assert_eq!(starts(&env), 0);
    env.call("mcp.other.echo", "{}", &[]).exits(2);
    assert_eq!(starts(&env), 0, "another server's tool");
}

const TEMPLATE: &str = "id: ID\nversion: 1.0.0\nname: Own\nsteps:\n  - {id: one, tool: STEP}\n";

#[test]
fn a_run_waits_only_for_the_servers_of_its_steps() {
    let env = failing();
    for (id, step) in [
        ("own", "text.stats, args: {text: hello}"),
        ("theirs", "mcp.s.echo"),
    ] {
        let file = format!("config/tollgate/templates/{id}.yaml");
        env.write(&file, TEMPLATE.replace("ID", id).replace("STEP", step));
    }
    env.ok("run_task_template", r#"{"templateId":"own"}"#);
    assert_eq!(starts(&env), 0);
    env.call("run_task_template", r#"{"templateId":"theirs"}"#, &[]);
    assert!(starts(&env) > 0, "a server of a step is asked");
}

#[test]
fn a_server_that_failed_is_not_waited_for_again_by_commands_that_only_list() {
    let env = failing();
    let first = env.run(&["tools", "list"]);
    assert!(first.err.contains("worn out"), "{first:#?}");
    let before = starts(&env);
    assert!(before > 0);
    for words in [&["tools", "list"][..], &["tools", "search", "echo"]] {
        env.run(words).exits(0);
    }
    let again = env.run(&["tools", "list"]);
    assert!(again.err.contains("worn out"), "{again:#?}");
    assert!(
        again.err.contains("`tollgate servers status` tries again"),
        "{again:#?}"
    );
    assert_eq!(starts(&env), before);
    // Whoever wants it in particular tries again, and so does its operator.
    let failed = env.call("mcp.s.echo", "{}", &[]).exits(1).json();
    let message = failed["error"]["message"].as_str().unwrap();
    assert!(message.contains("worn out"), "{message}");
    let called = starts(&env);
    assert!(called > before);
    env.run(&["mcp", "status"]).exits(1);
    assert!(starts(&env) > called);
}

#[test]
fn a_server_that_was_corrected_is_listed_at_once() {
    let env = TestEnv::with_config(&section("s", "exits", "trust_annotations = true"));
    let ran = env.run(&["tools", "list"]);
    assert!(ran.err.contains("no such file: config"), "{ran:#?}");
    env.configure(&section("s", "legacy", "trust_annotations = true"));
    let ran = env.run(&["tools", "list", "--json"]).exits(0);
    assert!(ran.out.contains("mcp.s.echo"), "{}", ran.out);
}

#[test]
fn a_tool_under_another_name_is_found_where_it_may_be() {
    let alias = "trust_annotations = true\n[mcp.servers.tools.echo]\nalias = \"say.again\"";
    let env = TestEnv::with_config(&section("s", "legacy", alias));
    env.ok("say.again", "{}");
    let env = TestEnv::with_config(&section("s", "legacy", "trust_annotations = true"));
    env.ok("tools.call", r#"{"name":"mcp.s.echo","arguments":{}}"#);
    let env = TestEnv::with_config(&section("s", "legacy", "trust_annotations = true"));
    env.ok("mcp_s_echo", "{}");
}

#[test]
fn the_first_list_does_not_wait_long_for_a_silent_server_and_names_it() {
    let env = with_script("exec sleep 60");
    let first = env.run(&["tools", "list"]).exits(0);
    assert!(first.out.contains("text.stats"), "{first:#?}");
    let said = first
        .err
        .lines()
        .find(|line| line.contains("did not say what it offers"));
    let said = said.unwrap_or_else(|| panic!("{first:#?}"));
    assert!(
        said.contains("mcp_s") && said.contains("within 3 s"),
        "{said}"
    );
    // The next one does not wait at all.
    let again = env.run(&["tools", "list"]).exits(0);
    assert!(
        again
            .err
            .contains("`tollgate servers status` waits longer (seen a short while ago)"),
        "{again:#?}"
    );
}
