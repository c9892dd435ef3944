//! Older clients whose human is sent to a page, over both transports and by servers of both eras.

use std::sync::{Mutex, mpsc};

use serde_json::{Value, json};

use super::peer::{Ask, Gate, Open, Stdio, code, request, result};
use crate::{
    support::TestEnv,
    upstream::{
        section,
        web::{Then, Web, tool},
    },
};

/// A user with two servers that name their pages alike.
fn env_with(era: &str) -> TestEnv {
    let own = "trust_annotations = true";
    let words = format!("{era} page");
    let config = [section("s", &words, own), section("t", &words, own)];
    let env = TestEnv::with_config(&config.concat());
    env.run(&["mcp", "status"]).exits(0);
    env
}

fn pages() -> Value {
    json!({"elicitation": {"url": {}}})
}

fn call(server: &str) -> Value {
    json!({"name": format!("mcp.{server}.ask"), "arguments": {}})
}

fn agreed(question: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}})
}

/// Looks at a question; gives the name of its page.
#[track_caller]
fn named(question: &Value) -> String {
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let asked = &question["params"];
    assert_eq!(asked["mode"], "url", "{question}");
    assert_eq!(asked["url"], "https://sign.example/in", "{question}");
    let name = asked["elicitationId"].as_str();
    name.unwrap_or_else(|| panic!("{question}")).to_owned()
}

fn said(answer: &Value) -> String {
    let text = result(answer)["content"][0]["text"].clone();
    text.as_str().unwrap().to_owned()
}

fn done(name: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/elicitation/complete",
           "params": {"elicitationId": name}})
}

/// An older client over HTTP, and what it hears beside its requests.
struct Listener<'a> {
    gate: &'a Gate,
    session: String,
    beside: Open,
}

impl<'a> Listener<'a> {
    fn begin(gate: &'a Gate, capabilities: Value) -> Self {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
                            "clientInfo": {"name": "mcp", "version": "1"}});
        let heard = gate.ask(&Ask::legacy("", "initialize", params)).has(200);
        let session = heard.header("mcp-session-id").unwrap().to_owned();
        let beside = Ask::new("GET", "/mcp")
            .header("accept", "text/event-stream")
            .header("mcp-session-id", &session);
        Self {
            beside: gate.begin(&beside),
            session,
            gate,
        }
    }

    /// Makes a call that asks; gives the name of the page and the answer.
    #[track_caller]
    fn visit(&self, server: &str) -> (String, Value) {
        let ask = Ask::legacy(&self.session, "tools/call", call(server));
        let mut open = self.gate.begin(&ask);
        let question = open.event().unwrap();
        let name = named(&question);
        let agreed = Ask::post(agreed(&question).to_string());
        let agreed = agreed.header("mcp-session-id", &self.session);
        self.gate.ask(&agreed).has(202);
        (name, open.events().pop().unwrap())
    }
}

#[test]
fn an_older_client_over_stdio_is_sent_to_a_page_and_hears_when_it_is_done() {
    for era in ["modern", "legacy"] {
        let env = env_with(era);
        let mut client = Stdio::legacy(&env, pages());
        let mut seen = Vec::new();
        for server in ["s", "t"] {
            let id = client.begin("tools/call", call(server));
            let question = client.next();
            let name = named(&question);
            assert!(!seen.contains(&name), "{name} of two servers");
            client.send(&agreed(&question));
            // An older server says so, a modern one does not know of it.
            let mut heard = vec![client.next()];
            if era == "legacy" {
                heard.push(client.next());
                let at = heard.iter().position(|one| one["id"].is_null());
                assert_eq!(heard.remove(at.unwrap()), done(&name));
            }
            assert_eq!(heard[0]["id"], id, "{era}: {heard:?}");
            assert_eq!(said(&heard[0]), "went: accept", "{era}");
            seen.push(name);
        }
    }
}

#[test]
fn an_older_client_over_http_is_sent_to_a_page_and_nobody_else_hears_when_it_is_done() {
    for era in ["modern", "legacy"] {
        let env = env_with(era);
        let gate = Gate::open(&env);
        let mut other = Listener::begin(&gate, pages());
        let mut client = Listener::begin(&gate, pages());
        let names: Vec<String> = ["s", "t"]
            .map(|server| {
                let (name, answer) = client.visit(server);
                assert_eq!(said(&answer), "went: accept", "{era}");
                name
            })
            .into();
        assert_ne!(names[0], names[1]);
        // Both hear that a list has changed, and what comes before that only one of them.
        gate.call("mcp.s.change", json!({}));
        let told = |listener: &mut Listener<'_>| {
            let mut all = Vec::new();
            loop {
                let next = listener.beside.event().unwrap();
                if next["method"] == "notifications/tools/list_changed" {
                    return all;
                }
                all.push(next);
            }
        };
        let wanted: Vec<Value> = if era == "legacy" {
            names.iter().map(|name| done(name)).collect()
        } else {
            Vec::new()
        };
        assert_eq!(told(&mut client), wanted, "{era}");
        assert_eq!(told(&mut other), Vec::<Value>::new(), "{era}");
    }
}

#[test]
fn an_older_client_that_can_only_show_forms_is_sent_to_no_page() {
    for capabilities in [json!({"elicitation": {}}), json!({})] {
        for era in ["modern", "legacy"] {
            let env = env_with(era);
            let over_stdio = Stdio::legacy(&env, capabilities.clone()).ask("tools/call", call("s"));
            let gate = Gate::open(&env);
            let listener = Listener::begin(&gate, capabilities.clone());
            let ask = Ask::legacy(&listener.session, "tools/call", call("s"));
            let over_http = gate.ask(&ask).has(200).json();
            for answer in [over_stdio, over_http] {
                if era == "legacy" {
                    // The server hears that nobody can be sent there, and goes on.
                    assert_eq!(said(&answer), "went: -32602");
                    continue;
                }
                assert_eq!(code(&answer), -32021, "{answer}");
                let lacks = &answer["error"]["data"]["requiredCapabilities"];
                assert_eq!(*lacks, json!({"elicitation": {"url": {}}}), "{answer}");
            }
        }
    }
}

#[test]
fn a_human_who_does_not_go_is_told_to_the_server() {
    for era in ["modern", "legacy"] {
        for action in ["decline", "cancel"] {
            let env = env_with(era);
            let mut client = Stdio::legacy(&env, pages());
            client.begin("tools/call", call("s"));
            let question = client.next();
            named(&question);
            let answer = json!({"jsonrpc": "2.0", "id": question["id"],
                                "result": {"action": action}});
            client.send(&answer);
            assert_eq!(said(&client.next()), format!("went: {action}"), "{era}");
            client.send(&request(99, "ping", &json!({})));
            assert_eq!(client.next()["id"], 99, "nothing was done");
        }
    }
}

/// An older server at an address that asks within a call; it says that its page is done on the
/// stream of the call, or on its other one.
fn address(is_beside: bool) -> Web {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let event = |message: Value| format!("data: {message}\n\n");
    let (beside, heard_beside) = mpsc::channel();
    let (beside, heard_beside) = (Mutex::new(beside), Mutex::new(Some(heard_beside)));
    let open = Mutex::new(None);
    Web::start(move |got| {
        let id = got.body["id"].clone();
        let answer = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
        match (got.method.as_str(), got.rpc()) {
            ("GET", _) => match heard_beside.lock().unwrap().take() {
                Some(feed) => Then::Feed(head.to_owned(), feed),
                None => Then::Answer(405, Vec::new(), String::new()),
            },
            (_, "initialize") => Then::json(
                200,
                &answer(
                    json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                               "serverInfo": {"name": "old", "version": "1"}}),
                ),
            ),
            (_, "tools/list") => Then::json(200, &answer(json!({"tools": [tool("ask")]}))),
            (_, "tools/call") => {
                let (call, feed) = mpsc::channel();
                let question = json!({"mode": "url", "message": "Sign in.",
                    "url": "https://sign.example/in", "elicitationId": "e1"});
                let question = json!({"jsonrpc": "2.0", "id": "q",
                    "method": "elicitation/create", "params": question});
                call.send(event(question)).unwrap();
                *open.lock().unwrap() = Some((call, id.clone()));
                Then::Feed(head.to_owned(), feed)
            }
            (_, "") if got.body["id"] == "q" => {
                let (call, id) = open.lock().unwrap().take().unwrap();
                let is_done = event(done("e1"));
                if is_beside {
                    beside.lock().unwrap().send(is_done).unwrap();
                } else {
                    call.send(is_done).unwrap();
                }
                let action = got.body["result"]["action"].as_str().unwrap();
                let content = json!([{"type": "text", "text": format!("went: {action}")}]);
                let result = json!({"jsonrpc": "2.0", "id": id, "result": {"content": content}});
                call.send(event(result)).unwrap();
                Then::Answer(202, Vec::new(), String::new())
            }
            (_, "notifications/initialized") => Then::Answer(202, Vec::new(), String::new()),
            _ => Then::Answer(400, Vec::new(), String::new()),
        }
    })
}

#[test]
fn the_page_of_an_older_address_is_done_on_whichever_stream_it_says_so() {
    for is_beside in [false, true] {
        let web = address(is_beside);
        let env = TestEnv::with_config(&web.section(""));
        env.run(&["mcp", "status"]).exits(0);
        let web = address(is_beside);
        env.configure(&web.section(""));
        let mut client = Stdio::legacy(&env, pages());
        let id = client.begin("tools/call", call("s"));
        let question = client.next();
        let name = named(&question);
        assert_ne!(name, "e1", "it is the name of another");
        client.send(&agreed(&question));
        let mut heard = [client.next(), client.next()];
        heard.sort_by_key(|one| one["id"].is_null());
        assert_eq!(heard[1], done(&name), "{is_beside}");
        assert_eq!(heard[0]["id"], id);
        assert_eq!(said(&heard[0]), "went: accept");
    }
}

#[test]
fn an_older_client_is_sent_to_a_page_that_a_call_wants_visited_first() {
    let env = TestEnv::with_config(&section("s", "legacy gated", "trust_annotations = true"));
    env.run(&["mcp", "status"]).exits(0);
    let mut client = Stdio::legacy(&env, pages());
    let id = client.begin("tools/call", call("s"));
    let question = client.next();
    let name = named(&question);
    client.send(&agreed(&question));
    let mut heard = [client.next(), client.next()];
    heard.sort_by_key(|one| one["id"].is_null());
    assert_eq!(heard[1], done(&name));
    assert_eq!(heard[0]["id"], id);
    assert_eq!(said(&heard[0]), "welcome");
}
