//! The Inspector's command line, in both eras and over both transports.

use serde_json::{Value, json};

use super::{Peers, Transport, reached};
use crate::support::TestEnv;

#[test]
fn the_inspector_lists_and_calls_over_stdio_in_the_old_era() {
    inspects(Transport::Stdio, "legacy");
}

#[test]
fn the_inspector_lists_and_calls_over_stdio_in_the_new_era() {
    inspects(Transport::Stdio, "modern");
}

#[test]
fn the_inspector_lists_and_calls_over_http_in_the_old_era() {
    inspects(Transport::Http, "legacy");
}

#[test]
fn the_inspector_lists_and_calls_over_http_in_the_new_era() {
    inspects(Transport::Http, "modern");
}

fn inspects(transport: Transport, era: &str) {
    let (env, peers) = (TestEnv::new(), Peers::installed());
    let script =
        peers.path("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    reached(&env, transport, |server| {
        let ask = |method: &[&str]| -> Value {
            let mut words = vec!["--cli", "--protocol-era", era, "--format", "json", "-q"];
            words.push("--method");
            words.extend(method);
            words.push("--");
            words.extend(server);
            let ran = peers.node(&env, &script, &words).exits(0);
            ran.json()["result"].take()
        };
        let listed = ask(&["tools/list"]);
        let names: Vec<_> = listed["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| &tool["name"])
            .collect();
        assert!(names.contains(&&json!("tools.search")), "{names:?}");
        let called = ask(&[
            "tools/call",
            "--tool-name",
            "text.stats",
            "--tool-arg",
            "text=hello",
        ]);
        assert_eq!(called["structuredContent"]["characters"], 5, "{called:#}");
    });
}
