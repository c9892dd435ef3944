//! What MCP clients read, of either era, as committed conversations.

use serde_json::{Value, json};

use super::{Files, check_folder, examples::clean};
use crate::support::{Lines, TestEnv};

/// One conversation on standard input and output.
struct Conversation {
    lines: Lines,
    text: String,
}

impl Conversation {
    fn of(env: &TestEnv) -> Self {
        Self {
            lines: Lines::command(env, &["mcp"]),
            text: String::new(),
        }
    }

    fn send(&mut self, message: &Value) {
        self.lines.send(&message.to_string());
        self.text.push_str(&format!("{}\n", json!({"in": message})));
    }

    fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        let answer = self.lines.next().expect("the stream ended too early");
        self.text
            .push_str(&format!("{}\n", json!({"out": shown(&answer)})));
        answer
    }
}

/// An answer without what differs between two runs; its text repeats the structure.
fn shown(answer: &Value) -> Value {
    let mut answer = clean(answer);
    let result = &mut answer["result"];
    if result["structuredContent"].is_object() {
        result["content"][0]["text"] = json!("(the same as compact JSON)");
    } else if let Some(text) = result["content"][0]["text"].as_str()
        && let Ok(error @ Value::Object(_)) = serde_json::from_str(text)
    {
        result["content"][0]["text"] = json!(clean(&error).to_string());
    }
    if !result["_meta"]["traceparent"].is_null() {
        result["_meta"]["traceparent"] = json!("(a trace)");
    }
    if !result["_meta"]["tollgate/call_id"].is_null() {
        result["_meta"]["tollgate/call_id"] = json!("[call_id]");
    }
    if !result["requestState"].is_null() {
        result["requestState"] = json!("(sealed)");
    }
    answer
}

fn modern(id: u64, method: &str, params: Value) -> Value {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        "io.modelcontextprotocol/clientInfo": {"name": "example", "version": "1"},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn old(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[test]
fn examples_of_mcp_are_committed() {
    let env = TestEnv::with_config(
        "[providers.stub]\ntools = [\"shelf.write\"]\nwrites = [\"shelf.write\"]\n\
         [consent]\ndialogs = \"stdio\"\n",
    );
    let mut files = Files::new();

    let mut new = Conversation::of(&env);
    new.ask(&modern(1, "server/discover", json!({})));
    new.ask(&modern(2, "tools/list", json!({})));
    let stats = json!({"name": "text_stats", "arguments": {"text": "hello"}});
    new.ask(&modern(3, "tools/call", stats.clone()));
    let write = json!({"name": "shelf_write", "arguments": {"book": "atlas"}});
    let asked = new.ask(&modern(4, "tools/call", write.clone()));
    let mut answer = write.clone();
    answer["requestState"] = asked["result"]["requestState"].clone();
    answer["inputResponses"] =
        json!({"tollgate_consent": {"action": "accept", "content": {"decision": "once"}}});
    let mut sent = modern(5, "tools/call", answer);
    new.lines.send(&sent.to_string());
    sent["params"]["requestState"] = json!("(sealed)");
    new.text.push_str(&format!("{}\n", json!({"in": sent})));
    let done = new.lines.next().expect("the stream ended too early");
    assert_eq!(
        done["result"]["_meta"]["tollgate/result"]["ok"], true,
        "{done}"
    );
    new.text
        .push_str(&format!("{}\n", json!({"out": shown(&done)})));
    new.ask(&modern(
        6,
        "resources/read",
        json!({"uri": "tollgate://prompts/start_task"}),
    ));
    new.ask(&modern(
        7,
        "resources/read",
        json!({"uri": "tollgate://nothing"}),
    ));
    new.ask(&modern(
        8,
        "prompts/get",
        json!({"name": "start_task", "arguments": {"task": "count"}}),
    ));
    new.ask(&modern(9, "tools/call", json!({"name": "text.stat"})));
    new.ask(&modern(10, "ping", json!({})));
    files.insert("modern.jsonl".to_owned(), new.text);

    let mut handshake = Conversation::of(&env);
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "example", "version": "1"}});
    handshake.ask(&old(1, "initialize", &hello));
    handshake.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    handshake.ask(&old(2, "ping", &json!({})));
    handshake.ask(&old(3, "tools/call", &stats));
    handshake.ask(&old(
        4,
        "tools/call",
        &json!({"name": "shelf_write", "arguments": {"book": "globe"}}),
    ));
    handshake.ask(&old(
        5,
        "resources/read",
        &json!({"uri": "tollgate://nothing"}),
    ));
    handshake.ask(&old(6, "server/nothing", &json!({})));
    files.insert("legacy.jsonl".to_owned(), handshake.text);
    check_folder("contracts/mcp", &files);
}
