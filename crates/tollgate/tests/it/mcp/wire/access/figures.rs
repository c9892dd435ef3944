//! Health, readiness, metrics and where to get a token.

use serde_json::json;

use super::list;
use crate::{
    mcp::wire::peer::{Ask, Gate},
    support::{TestEnv, database},
    upstream::with,
};

#[test]
fn a_gate_says_that_it_is_well() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    for (path, said) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
        assert_eq!(gate.ask(&Ask::new("GET", path)).has(200).body, said);
    }
    let lost = gate.ask(&Ask::new("GET", "/")).has(404);
    assert!(lost.body.contains("/mcp"));
}

#[test]
fn a_gate_whose_state_cannot_be_read_is_not_ready() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let ready = |status| gate.ask(&Ask::new("GET", "/readyz")).has(status).body;
    let state = database(&env);
    let rename = |from: &str, to: &str| {
        let change = format!("ALTER TABLE {from} RENAME TO {to}");
        state.execute(&change, []).unwrap();
    };
    assert_eq!(ready(200), "ready\n");
    rename("sessions", "lost");
    assert_eq!(ready(503), "the store failed\n");
    gate.ask(&Ask::new("GET", "/healthz")).has(200);
    rename("lost", "sessions");
    assert_eq!(ready(200), "ready\n");
}

#[test]
fn figures_count_what_happened() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    gate.result(&list());
    gate.result(&list());
    gate.call("time.now", json!({}));
    gate.call("text.stats", json!({}));
    gate.ask(&Ask::modern("tools/call", json!({"name": "moon.walk"})));
    gate.ask(&list().bearing("bad")).has(401);
    gate.session(|ask| ask);
    let heard = gate.ask(&Ask::new("GET", "/metrics")).has(200);
    let kind = heard.header("content-type").unwrap();
    assert!(kind.starts_with("text/plain"), "{kind}");
    for line in [
        "tollgate_requests_total{method=\"tools/list\",outcome=\"ok\"} 2",
        "tollgate_requests_total{method=\"tools/call\",outcome=\"ok\"} 1",
        "tollgate_requests_total{method=\"tools/call\",outcome=\"tool_error\"} 1",
        "tollgate_requests_total{method=\"tools/call\",outcome=\"error\"} 1",
        "tollgate_requests_total{method=\"initialize\",outcome=\"ok\"} 1",
        "tollgate_request_seconds_count 6",
        "tollgate_request_seconds_bucket{le=\"+Inf\"} 6",
        "tollgate_refused_total 1",
        "tollgate_overloaded_total 0",
        "tollgate_running 0",
        "tollgate_sessions 1",
    ] {
        assert!(
            heard.body.lines().any(|it| it == line),
            "{line}: {}",
            heard.body
        );
    }
    let types = heard
        .body
        .lines()
        .filter(|line| line.starts_with("# TYPE "));
    assert!(types.count() >= 7);
}

#[test]
fn figures_count_a_call_that_its_server_says_failed() {
    let env = with("legacy", "");
    // From now on its tools are known.
    env.run(&["servers", "status"]).exits(0);
    let gate = Gate::open(&env);
    assert_eq!(gate.call("mcp.s.fails", json!({}))["isError"], true);
    assert_ne!(gate.call("mcp.s.echo", json!({}))["isError"], true);
    let figures = gate.ask(&Ask::new("GET", "/metrics")).has(200).body;
    for line in [
        "tollgate_call_errors_total{code=\"tool.provider.run.failed\"} 1",
        "tollgate_requests_total{method=\"tools/call\",outcome=\"tool_error\"} 1",
        "tollgate_requests_total{method=\"tools/call\",outcome=\"ok\"} 1",
    ] {
        assert!(figures.lines().any(|it| it == line), "{line}: {figures}");
    }
}

#[test]
fn a_gate_says_what_it_is_to_whoever_wants_a_token() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    for path in [
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
    ] {
        let said = gate.ask(&Ask::new("GET", path)).has(200).json();
        assert_eq!(said["resource"], format!("http://{}/mcp", gate.address));
        assert_eq!(said["bearer_methods_supported"], json!(["header"]));
        assert!(said.get("authorization_servers").is_none());
    }
}

#[test]
fn a_script_reads_where_the_gate_listens() {
    let env = TestEnv::new();
    let mut child = env.start(&["serve", "--port", "0", "--json"]);
    let mut line = String::new();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut output, &mut line).unwrap();
    let said: serde_json::Value = serde_json::from_str(&line).unwrap();
    let address = said["address"].as_str().unwrap();
    assert_eq!(said["listening"], format!("http://{address}/mcp"));
    child.kill().unwrap();
    child.wait().unwrap();
}
