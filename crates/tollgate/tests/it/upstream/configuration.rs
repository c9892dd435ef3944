//! Where servers may be named, and what happens to bad names.

use super::{Session, section, with_script};
use crate::support::TestEnv;

fn program(name: &str) -> String {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/upstream_server.py");
    format!(r#"{{"name":"{name}","cmd":["python3","{file}","legacy"]}}"#)
}

fn listed(env: &TestEnv) -> String {
    env.run(&["tools", "list", "--json"]).exits(0).out
}

#[test]
fn servers_can_come_from_one_variable() {
    let mut env = TestEnv::new();
    let long = "x".repeat(1000);
    let items = format!(
        r#"[{},{},{{"name":"No Way","cmd":["x"]}},{{"name":"empty","cmd":[]}},{{"name":"{long}"}}]"#,
        program("one"),
        program("one"),
    );
    env.set("MCP_SERVERS_JSON", &items);
    env.set("MCP_SERVER_CMD", "ignored");
    let ran = env.run(&["tools", "list", "--json"]).exits(0);
    assert!(ran.out.contains("mcp.one.echo"));
    assert!(!ran.out.contains("mcp_srv"));
    for said in ["two servers `one`", "No Way", "its command is empty"] {
        let line = ran.err.lines().find(|line| line.contains(said));
        let line = line.unwrap_or_else(|| panic!("{said}: {}", ran.err));
        assert!(line.contains("MCP_SERVERS_JSON"), "{line}");
    }
    assert!(!ran.err.contains(&long), "a warning is cut");
}

#[test]
fn an_entry_of_the_variable_may_be_a_line_with_a_folder_and_an_environment() {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
    let line = r#"sh -c 'test "$ERA" = legacy && exec python3 upstream_server.py "$ERA"'"#;
    let entry = serde_json::json!(
        [{"name": "one", "cmd": line, "cwd": fixtures, "env": {"ERA": "legacy"}}]
    );
    let mut env = TestEnv::new();
    env.set("MCP_SERVERS_JSON", &entry.to_string());
    assert!(listed(&env).contains("mcp.one.echo"));
}

#[test]
fn a_server_starts_in_its_own_folder() {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
    let env = TestEnv::with_config(&format!(
        "[[mcp.servers]]\nname = \"s\"\ncommand = \"python3\"\n\
         args = [\"-I\", \"-S\", \"upstream_server.py\", \"legacy\"]\ncwd = {fixtures:?}\n"
    ));
    assert!(listed(&env).contains("mcp.s.echo"));
}

#[test]
fn a_server_that_is_known_is_started_when_it_is_called() {
    let env = with_script("echo started >> \"$0.log\"\nexec python3 \"$@\" bare");
    let starts = || {
        let log = std::fs::read_to_string(env.path("start.sh.log")).unwrap();
        log.lines().count()
    };
    assert!(listed(&env).contains("mcp.s.echo"));
    assert_eq!(starts(), 1);
    assert!(listed(&env).contains("mcp.s.echo"));
    let mut session = Session::start(&env);
    assert!(session.tool("mcp.s.echo").is_some());
    assert_eq!(starts(), 1, "what is known is listed without it");
    session.call("mcp.s.echo", serde_json::json!({}));
    assert_eq!(starts(), 2);
}

#[test]
fn what_a_known_server_offers_is_listed_without_it_and_starts_it_when_it_is_wanted() {
    use serde_json::json;

    let env = with_script("echo started >> \"$0.log\"\nexec python3 \"$@\"");
    let starts = || {
        let log = std::fs::read_to_string(env.path("start.sh.log")).unwrap();
        log.lines().count()
    };
    assert!(listed(&env).contains("mcp.s.echo"));
    let uri = "mcp://s/test://one";
    let prompt = "mcp.s.greet";
    let about = json!({"type": "ref/prompt", "name": prompt});
    let wants = [
        ("resources/read", json!({"uri": uri})),
        ("prompts/get", json!({"name": prompt})),
        ("resources/subscribe", json!({"uri": uri})),
        (
            "completion/complete",
            json!({"ref": about, "argument": {"name": "id", "value": "4"}}),
        ),
    ];
    for (before, (method, params)) in (1..).zip(wants) {
        let mut session = Session::start(&env);
        for (list, wanted) in [
            ("tools/list", "mcp.s.echo"),
            ("resources/list", uri),
            ("resources/templates/list", "mcp://s/test://many/{id}"),
            ("prompts/list", prompt),
        ] {
            let listed = session.ask(list, json!({"allow_tools": ["mcp.s.echo"]}));
            assert!(listed.to_string().contains(wanted), "{listed:#}");
        }
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert_eq!(starts(), before, "what is known is listed without it");
        let answer = session.ask(method, params);
        assert!(answer["result"].is_object(), "{method}: {answer:#}");
        while starts() == before {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(starts(), before + 1, "{method}");
    }
}

#[test]
fn a_broken_variable_is_told_and_a_single_server_still_counts() {
    let mut env = TestEnv::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/upstream_server.py");
    env.set("MCP_SERVERS_JSON", "{not json");
    env.set("MCP_SERVER_NAME", "lone");
    env.set("MCP_SERVER_CMD", "python3");
    env.set("MCP_SERVER_ARGS_JSON", &format!(r#"["{file}","legacy"]"#));
    env.set("MCP_SERVER_ARGS", "never used");
    let ran = env.run(&["tools", "list", "--json"]).exits(0);
    assert!(ran.err.contains("MCP_SERVERS_JSON") && ran.err.contains("{not json"));
    assert!(ran.out.contains("mcp.lone.echo"));
}

#[test]
fn the_file_comes_before_the_variables() {
    let mut env = TestEnv::with_config(&section("filed", "legacy", ""));
    env.set("MCP_SERVERS_JSON", &format!("[{}]", program("varied")));
    env.set("MCP_SERVER_CMD", "python3");
    let ran = env.run(&["tools", "list", "--json"]).exits(0);
    assert!(ran.out.contains("mcp.filed.echo"));
    assert!(!ran.out.contains("mcp.varied") && !ran.out.contains("mcp.srv"));
    for unused in ["MCP_SERVERS_JSON", "MCP_SERVER_CMD"] {
        let told = |line: &&str| line.contains(unused) && line.contains("not used");
        assert!(ran.err.lines().any(|line| told(&line)), "{}", ran.err);
    }
}

#[test]
fn a_list_without_a_good_entry_is_still_the_list() {
    let mut env = TestEnv::new();
    env.set("MCP_SERVERS_JSON", r#"[{"name":"No Way","cmd":["x"]}]"#);
    env.set("MCP_SERVER_CMD", "python3");
    let ran = env.run(&["mcp", "list", "--json"]).exits(0);
    assert_eq!(ran.json()["servers"], serde_json::json!([]));
    assert!(ran.err.contains("No Way"), "{}", ran.err);
}

#[test]
fn what_an_entry_gives_to_a_server_is_not_told() {
    let key = "correct horse battery staple";
    for given in ["headers", "env"] {
        let mut env = TestEnv::new();
        let item = serde_json::json!([{"name": "No Way", "url": "http://x.example", given: {"X-Word": key}}]);
        env.set("MCP_SERVERS_JSON", &item.to_string());
        let ran = env.run(&["mcp", "list", "--json"]).exits(0);
        assert!(ran.err.contains("No Way"), "{}", ran.err);
        assert!(!ran.err.contains("horse"), "{}", ran.err);
    }
}

#[test]
fn the_variables_of_a_single_server_are_read_as_a_shell_would() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/upstream_server.py");
    let single = |more: &[(&str, &str)]| {
        let mut env = TestEnv::new();
        env.set("MCP_SERVER_CMD", "python3");
        for (name, value) in more {
            env.set(name, value);
        }
        env
    };
    let env = single(&[("MCP_SERVER_ARGS", &format!("'{file}' \"legacy\""))]);
    assert!(listed(&env).contains("mcp.srv.echo"), "its usual name");
    // A list that cannot be read is told, and the words count.
    let words = format!("{file} legacy");
    let env = single(&[("MCP_SERVER_ARGS_JSON", "[5]"), ("MCP_SERVER_ARGS", &words)]);
    let ran = env.run(&["tools", "list", "--json"]).exits(0);
    assert!(ran.out.contains("mcp.srv.echo"), "{}", ran.err);
    assert!(ran.err.contains("MCP_SERVER_ARGS_JSON"), "{}", ran.err);
    for (name, value) in [
        ("MCP_SERVER_ARGS", format!("{file} 'legacy")),
        ("MCP_SERVER_NAME", "No Way".to_owned()),
    ] {
        let env = single(&[(name, value.as_str())]);
        let ran = env.run(&["mcp", "list", "--json"]).exits(0);
        assert_eq!(ran.json()["servers"], serde_json::json!([]), "{name}");
        assert!(ran.err.contains(name), "{}", ran.err);
    }
    let env = single(&[
        ("MCP_SERVER_ARGS", "upstream_server.py legacy"),
        (
            "MCP_SERVER_CWD",
            file.strip_suffix("/upstream_server.py").unwrap(),
        ),
        ("MCP_SERVER_TIMEOUT_MS", "soon"),
    ]);
    let ran = env.run(&["tools", "list", "--json"]).exits(0);
    assert!(ran.out.contains("mcp.srv.echo"), "{}", ran.err);
    assert!(ran.err.contains("MCP_SERVER_TIMEOUT_MS"), "{}", ran.err);
}

#[test]
fn the_time_of_a_single_server_is_the_one_that_is_set() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/upstream_server.py");
    let mut env = TestEnv::new();
    env.write(
        "config/tollgate/policies/all.cedar",
        "@id(\"srv\")\n@lifts(\"human\")\npermit(principal, action, resource in Toolset::\"srv\");",
    );
    env.set("MCP_SERVER_CMD", "python3");
    env.set("MCP_SERVER_ARGS", &format!("{file} legacy"));
    env.set("MCP_SERVER_TIMEOUT_MS", "250");
    let ran = env.call("mcp.srv.silent", "{}", &[]).exits(1).json();
    let message = ran["error"]["message"].as_str().unwrap();
    assert!(message.contains("250 ms"), "{ran:#}");
}

#[test]
fn a_project_starts_nothing_until_it_is_trusted() {
    let env = TestEnv::new();
    env.write("project/tollgate.toml", section("theirs", "legacy", ""));
    let ran = env.run(&["tools", "list", "--json"]).exits(0);
    assert!(!ran.out.contains("mcp.theirs"));
    assert!(ran.err.contains("mcp.servers"), "{}", ran.err);
    env.trust();
    assert!(listed(&env).contains("mcp.theirs.echo"));
}

#[test]
fn unknown_keys_of_a_server_leave_it_out() {
    let env = TestEnv::with_config(&section("s", "legacy", "comand = \"x\""));
    let ran = env.run(&["mcp", "list"]).exits(0);
    assert!(ran.err.contains("did you mean `command`?"), "{}", ran.err);
}

#[test]
fn a_changed_tool_is_set_aside_until_somebody_accepts_it() {
    let env = super::with("legacy", "");
    let lock = "data/tollgate/tollgate.lock";
    env.ok("mcp.s.echo", "{}");
    let pinned = std::fs::read_to_string(env.path(lock)).unwrap();
    assert!(pinned.contains("Answers with what it was given."));
    env.write(
        lock,
        pinned
            .replace("Answers with what it was given.", "Something else.")
            .replace("sha256", "sha256\": \"0\", \"x"),
    );
    let refused = env.call("mcp.s.echo", "{}", &[]).exits(1).json();
    assert_eq!(refused["error"]["kind"], "inactive_tool");
    let shown = env.run(&["mcp", "diff", "s"]).exits(0).out;
    assert!(
        shown.contains("echo of s") && shown.contains("+ "),
        "{shown}"
    );
    env.run(&["mcp", "accept", "s"]).exits(2);
    let token = env.approver();
    env.run(&["mcp", "accept", "s", "echo", "--token", &token])
        .exits(0);
    env.ok("mcp.s.echo", "{}");
    let listed = env.run(&["mcp", "list", "--json"]).exits(0).json();
    assert_eq!(listed["servers"][0]["name"], "s");
}

#[test]
fn a_tool_nobody_has_seen_waits_with_a_grade_to_agree_to() {
    let env = super::with("legacy", "pin = \"ask\"");
    let refused = env.call("mcp.s.echo", "{}", &[]).json();
    assert!(!refused["ok"].as_bool().unwrap(), "{refused:#}");
    let mut session = Session::with_tool(&env, "mcp.s.echo");
    let waits = session.tool("mcp.s.echo").unwrap();
    assert_eq!(waits["description"], "It waits to be accepted.");
    drop(session);
    let shown = env.run(&["mcp", "diff", "s"]).exits(0).out;
    let proposal = "[mcp.servers.tools.echo] capability = \"L0\"";
    assert!(shown.contains(proposal), "{shown}");
    let token = env.approver();
    let accepted = env.run(&["mcp", "accept", "s", "--token", &token]);
    let accepted = accepted.exits(0).out;
    assert!(accepted.contains(proposal), "{accepted}");
    env.configure(&section("s", "legacy", "pin = \"ask\""));
    // Accepted is not trusted: without the operator's word a human still agrees.
    env.call("mcp.s.echo", "{}", &[]).exits(3);
    let agreed = format!("pin = \"ask\"\n{}", proposal.replace("] ", "]\n"));
    env.configure(&section("s", "legacy", &agreed));
    env.ok("mcp.s.echo", "{}");
}

#[test]
fn tools_that_were_pinned_on_sight_have_a_grade_to_agree_to_as_well() {
    let env = super::with("legacy", "");
    env.ok("mcp.s.echo", "{}");
    let told = env.run(&["mcp", "accept", "s"]).exits(2).err;
    assert!(told.contains("nothing of `s` waits"), "{told}");
    let (echo, other) = ("[mcp.servers.tools.echo] capability = \"L0\"", "tools.ask]");
    assert!(told.contains(echo) && told.contains(other), "{told}");
    let one = env.run(&["mcp", "accept", "s", "echo"]).exits(2).err;
    assert!(one.contains(echo) && !one.contains(other), "{one}");
}

#[test]
fn the_state_of_every_server_is_told() {
    let config = [
        section("well", "legacy", ""),
        section("exits", "exits", ""),
        section("slow", "sleeps", ""),
    ];
    let env = TestEnv::with_config(&config.concat());
    let status = env.run(&["mcp", "status", "--json"]).exits(1).json();
    let servers = status["servers"].as_array().unwrap();
    let state = |name: &str| servers.iter().find(|one| one["name"] == name).unwrap();
    assert_eq!(state("well")["state"], "ready");
    assert!(state("well")["tools"].as_u64().unwrap() > 10);
    assert_eq!(state("exits")["state"], "down");
    let reason = state("exits")["reason"].as_str().unwrap();
    assert!(reason.contains("no such file: config"), "{reason}");
    assert_eq!(state("slow")["state"], "starting");
    assert_eq!(state("slow")["reason"], "it is starting");
    // The same for people.
    let shown = env.run(&["mcp", "status"]).exits(1).out;
    for (server, state) in [("well", "ready"), ("exits", "down"), ("slow", "starting")] {
        let line = shown.lines().find(|line| line.starts_with(server)).unwrap();
        assert!(line.contains(state), "{shown}");
    }
}
