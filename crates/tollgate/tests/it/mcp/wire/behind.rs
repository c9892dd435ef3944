//! Raw JSON from end to end: over HTTP to a server at an address, and back.

use serde_json::json;

use super::peer::{Ask, Gate, MODERN, meta};
use crate::{
    support::TestEnv,
    upstream::web::{Then, Web, modern, tool},
};

#[test]
fn arguments_and_results_pass_as_they_are_spelled() {
    let arguments = r#"{"zeta":1.50,"big":12345678901234567890123,"e":1e2,"minus":-0.0,"text":"\u00fc\/ü","alpha":null}"#;
    let result = r#""zeta":1.50,"content":[{"type":"tool_use","b":1e2,"a":12345678901234567890123}],"alpha":{"x":-0.0}"#;
    let tools = json!([tool("odd")]);
    let web = Web::start(move |got| {
        if got.rpc() != "tools/call" {
            return modern(got, &tools);
        }
        let id = &got.body["id"];
        let kind = ("content-type", "application/json".to_owned());
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete",{result}}}}}"#
        );
        Then::Answer(200, vec![kind], body)
    });
    let env = TestEnv::with_config(&web.section(""));
    // From now on it is known.
    env.run(&["tools", "list"]).exits(0);
    let gate = Gate::open_with(&env, &["--toolsets", "all"]);
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"mcp.s.odd","arguments":{arguments},"_meta":{}}}}}"#,
        meta()
    );
    let ask = Ask::post(body)
        .header("mcp-protocol-version", MODERN)
        .header("mcp-method", "tools/call")
        .header("mcp-name", "mcp.s.odd");
    let heard = gate.ask(&ask).has(200);
    assert!(heard.body.contains(result), "{}", heard.body);
    let calls = web.of("tools/call");
    let sent = &calls[0].text;
    let spelled = format!(r#""arguments":{arguments}"#);
    assert!(sent.contains(&spelled), "{sent}");
}
