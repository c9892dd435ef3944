//! Older servers at an address: sessions, a second stream, and answers that are taken up later.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    Session,
    limits::most_memory,
    text,
    web::{EVENTS, Got, Then, Web, tool},
};
use crate::support::TestEnv;

fn env_of(web: &Web, more: &str) -> TestEnv {
    TestEnv::with_config(&web.section(more))
}

/// How a session that is over is told.
#[derive(Clone, Copy)]
enum Over {
    NotFound,
    /// As the official library's examples do it.
    BadRequest,
}

/// A server of the era with handshakes and sessions.
fn legacy(got: &Got, expired: &AtomicBool, over: Over) -> Then {
    let id = &got.body["id"];
    let answer =
        |result: Value| Then::json(200, &json!({"jsonrpc": "2.0", "id": id, "result": result}));
    match got.rpc() {
        "initialize" => {
            expired.store(false, Ordering::SeqCst);
            let result = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                                "serverInfo": {"name": "old", "version": "1"}});
            let kind = ("content-type", "application/json".to_owned());
            let session = ("mcp-session-id", "session-1".to_owned());
            let body = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
            Then::Answer(200, vec![kind, session], body)
        }
        "notifications/initialized" => Then::Answer(202, Vec::new(), String::new()),
        "tools/list" => answer(json!({"tools": [tool("good")]})),
        "tools/call" | "ping" if expired.load(Ordering::SeqCst) => match over {
            Over::NotFound => Then::Answer(404, Vec::new(), String::new()),
            Over::BadRequest => no_session(id),
        },
        "tools/call" if got.body["params"]["arguments"]["bad"] == true => no_session(id),
        "ping" => answer(json!({})),
        "tools/call" => answer(json!({"content": [{"type": "text", "text": "well"}]})),
        _ if got.method == "DELETE" => Then::Answer(200, Vec::new(), String::new()),
        _ if got.method == "GET" => Then::Answer(405, Vec::new(), String::new()),
        _ => no_session(id),
    }
}

fn no_session(id: &Value) -> Then {
    let error = json!({"code": -32600, "message": "no valid session"});
    Then::json(400, &json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

#[test]
fn an_older_server_has_its_session_repeated_and_ended() {
    let expired = AtomicBool::new(false);
    let web = Web::start(move |got| legacy(got, &expired, Over::NotFound));
    let env = env_of(&web, "");
    env.ok("mcp.s.good", "{}");
    let call = web.of("tools/call").remove(0);
    assert_eq!(call.header("mcp-session-id"), Some("session-1"));
    assert_eq!(call.header("mcp-protocol-version"), Some("2025-06-18"));
    assert!(call.header("mcp-method").is_none());
    let got = web.got.lock().unwrap();
    let ended = got.iter().find(|one| one.method == "DELETE").unwrap();
    assert_eq!(ended.header("mcp-session-id"), Some("session-1"));
}

#[test]
fn a_session_that_is_over_is_begun_again() {
    for over in [Over::NotFound, Over::BadRequest] {
        let expired = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&expired);
        let web = Web::start(move |got| legacy(got, &seen, over));
        let env = env_of(&web, "");
        let mut session = Session::with_tool(&env, "mcp.s.good");
        // A message that is refused for itself is no end of the session.
        let refused = session.call("mcp.s.good", json!({"bad": true}));
        let failed = &refused["_meta"]["tollgate/result"]["error"];
        assert_eq!(failed["kind"], "tool_failed", "{refused:#}");
        expired.store(true, Ordering::SeqCst);
        let answer = session.call("mcp.s.good", json!({}));
        let failed = &answer["_meta"]["tollgate/result"]["error"];
        assert_eq!(failed["kind"], "connection_error", "{answer:#}");
        loop {
            let answer = session.call("mcp.s.good", json!({}));
            if answer["isError"] != true {
                break;
            }
        }
        assert_eq!(web.of("initialize").len(), 2);
    }
}

/// A server whose tool `bad` does something of its own, and whose second stream is fed.
fn with_bad(
    feed: mpsc::Receiver<String>,
    bad: impl Fn(&Got) -> Option<Then> + Send + Sync + 'static,
) -> Web {
    let (expired, feed) = (AtomicBool::new(false), Mutex::new(Some(feed)));
    Web::start(move |got| {
        if let Some(then) = bad(got) {
            return then;
        }
        if got.method == "GET" {
            let feed = feed.lock().unwrap().take();
            return feed.map_or_else(
                || Then::Answer(405, Vec::new(), String::new()),
                |feed| Then::Feed(EVENTS.to_owned(), feed),
            );
        }
        legacy(got, &expired, Over::NotFound)
    })
}

fn is_call(got: &Got) -> bool {
    got.rpc() == "tools/call"
}

fn event(message: &Value) -> String {
    format!("data: {message}\n\n")
}

fn done(id: &Value, said: &str) -> Value {
    let result = json!({"content": [{"type": "text", "text": said}]});
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

#[test]
fn a_second_stream_that_breaks_is_taken_up_and_lists_are_read_again() {
    let (expired, opened) = (AtomicBool::new(false), Mutex::new(0));
    let web = Web::start(move |got| {
        if got.method != "GET" {
            return legacy(got, &expired, Over::NotFound);
        }
        let mut opened = opened.lock().unwrap();
        *opened += 1;
        let word = json!({"jsonrpc": "2.0", "method": "notifications/odd"});
        match *opened {
            1 => Then::Answer(503, Vec::new(), String::new()),
            2 => Then::Break(format!("{EVENTS}id: one\n{}", event(&word))),
            _ => Then::Hang(EVENTS.to_owned()),
        }
    });
    let env = env_of(&web, "");
    let _session = Session::with_tool(&env, "mcp.s.good");
    let opened = || -> Vec<Option<String>> {
        let got = web.got.lock().unwrap();
        let opened = got.iter().filter(|one| one.method == "GET");
        let last = |one: &Got| one.header("last-event-id").map(str::to_owned);
        opened.map(last).collect()
    };
    // Once it is there, and once more after it broke.
    while opened().len() < 3 || web.of("tools/list").len() < 3 {
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(opened(), [None, None, Some("one".to_owned())]);
}

#[test]
fn words_on_the_second_stream_that_concern_nobody_are_not_kept() {
    let long = "x".repeat(2_400_000);
    let said = |method: &str, params: Value| {
        event(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    };
    let words = [
        said(
            "notifications/message",
            json!({"level": "info", "data": long}),
        ),
        said("notifications/resources/updated", json!({"uri": long})),
    ];
    let (words, expired) = (words.concat(), AtomicBool::new(false));
    let web = Web::start(move |got| match got.method.as_str() {
        "GET" => Then::Endless(EVENTS.to_owned(), words.clone()),
        _ => legacy(got, &expired, Over::NotFound),
    });
    let env = env_of(&web, "");
    let mut session = Session::with_tool(&env, "mcp.s.good");
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(5) {
        assert_eq!(text(&session.call("mcp.s.good", json!({}))), "well");
    }
    let most = most_memory(session.child.id());
    assert!(most < 300_000, "it held {most} KiB");
}

#[test]
fn a_question_on_the_second_stream_reaches_the_client() {
    for streams in [true, false] {
        let (tell, feed) = mpsc::channel();
        let (answered, answers) = mpsc::channel::<Value>();
        let answers = Mutex::new(answers);
        let web = with_bad(feed, move |got| {
            if got.rpc().is_empty() && got.method == "POST" {
                answered.send(got.body.clone()).unwrap();
                return Some(Then::Answer(202, Vec::new(), String::new()));
            }
            if !is_call(got) {
                return None;
            }
            let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
            let question = json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
                "params": {"message": "Who?", "requestedSchema": schema}});
            tell.send(event(&question)).unwrap();
            let answer = answers.lock().unwrap().recv().unwrap();
            let name = answer["result"]["content"]["name"].clone();
            let answer = done(&got.body["id"], &format!("hello {name}"));
            Some(if streams {
                Then::Break(format!("{EVENTS}{}", event(&answer)))
            } else {
                Then::json(200, &answer)
            })
        });
        let env = env_of(&web, "");
        let mut session = Session::with_tool(&env, "mcp.s.good");
        let answer = session.call("mcp.s.good", json!({}));
        assert_eq!(text(&answer), "hello \"Ada\"", "{answer:#}");
    }
}

#[test]
fn an_answer_is_taken_up_where_its_stream_broke() {
    let (_tell, feed) = mpsc::channel();
    let asked = Mutex::new(Value::Null);
    let web = with_bad(feed, move |got| {
        if is_call(got) {
            *asked.lock().unwrap() = got.body["id"].clone();
            return Some(Then::Break(format!("{EVENTS}id: 1\nretry: 20\ndata: \n\n")));
        }
        let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
            "params": {"progressToken": *asked.lock().unwrap(), "progress": 1}});
        match got.header("last-event-id") {
            Some("1") => Some(Then::Break(format!("{EVENTS}id: 2\n{}", event(&progress)))),
            Some("2") => {
                let answer = done(&asked.lock().unwrap(), "at last");
                Some(Then::Break(format!("{EVENTS}id: 3\n{}", event(&answer))))
            }
            _ => None,
        }
    });
    let env = env_of(&web, "");
    let mut session = Session::with_tool(&env, "mcp.s.good");
    let answer = session.call("mcp.s.good", json!({}));
    assert_eq!(text(&answer), "at last", "{answer:#}");
    let progress = |one: &&Value| one["method"] == "notifications/progress";
    assert_eq!(session.said.iter().filter(progress).count(), 1);
    assert_eq!(web.of("tools/call").len(), 1, "it is not called again");
}

#[test]
fn a_stream_that_cannot_be_taken_up_costs_its_call() {
    let (_tell, feed) = mpsc::channel();
    let web = with_bad(feed, move |got| {
        let named = || Then::Break(format!("{EVENTS}id: 1\nretry: 20\ndata: \n\n"));
        match got.header("last-event-id") {
            Some(_) => Some(Then::Answer(404, Vec::new(), String::new())),
            None => is_call(got).then(named),
        }
    });
    let env = env_of(&web, "");
    let mut session = Session::with_tool(&env, "mcp.s.good");
    let answer = session.call("mcp.s.good", json!({}));
    let failed = &answer["_meta"]["tollgate/result"]["error"];
    assert_eq!(failed["kind"], "connection_error", "{answer:#}");
    assert_eq!(web.of("tools/call").len(), 1, "it is not called again");
}

/// Giving up has to be said to an older server, and one that does not even hear that keeps
/// nobody waiting.
#[test]
fn giving_up_is_said_whether_or_not_anything_came_back() {
    for begun in ["", EVENTS] {
        for deaf in [false, true] {
            let (_tell, feed) = mpsc::channel();
            let web = with_bad(feed, move |got| {
                let hears_nothing = deaf && got.rpc() == "notifications/cancelled";
                let hangs = is_call(got) || hears_nothing;
                hangs.then(|| Then::Hang(begun.to_owned()))
            });
            let env = env_of(&web, "timeout_ms = 300\nmax_timeout_ms = 60000");
            let mut session = Session::with_tool(&env, "mcp.s.good");
            let answer = session.call("mcp.s.good", json!({}));
            let failed = &answer["_meta"]["tollgate/result"]["error"];
            assert_eq!(failed["kind"], "timeout", "{answer:#}");
            let message = failed["message"].as_str().unwrap();
            assert!(message.contains("within 300 ms"), "{message}");
            let call = web.of("tools/call").remove(0);
            let told = loop {
                if let Some(told) = web.of("notifications/cancelled").pop() {
                    break told;
                }
            };
            assert_eq!(told.body["params"]["requestId"], call.body["id"]);
        }
    }
}

#[test]
fn several_messages_at_once_are_read_one_by_one() {
    let env = super::with("legacy batches", "");
    let mut session = Session::with_tool(&env, "mcp.s.slow");
    let answer = session.call("mcp.s.slow", json!({"steps": 2, "pause": 0.01}));
    assert_eq!(text(&answer), "done");
    let is_progress = |one: &&Value| one["method"] == "notifications/progress";
    assert!(session.said.iter().any(|one| is_progress(&one)));
}

#[test]
fn several_messages_in_one_answer_of_an_address_are_read_one_by_one() {
    for streams in [false, true] {
        let web = Web::start(move |got| {
            if got.rpc() != "tools/call" {
                return legacy(got, &AtomicBool::new(false), Over::NotFound);
            }
            let token = &got.body["params"]["_meta"]["progressToken"];
            let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
                                  "params": {"progressToken": token, "progress": 1}});
            let result = json!({"content": [{"type": "text", "text": "well"}]});
            let answer = json!({"jsonrpc": "2.0", "id": got.body["id"], "result": result});
            let both = json!([progress, answer]);
            if streams {
                Then::Raw(format!("{EVENTS}data: {both}\n\n"))
            } else {
                Then::json(200, &both)
            }
        });
        let env = env_of(&web, "");
        let mut session = Session::with_tool(&env, "mcp.s.good");
        assert_eq!(text(&session.call("mcp.s.good", json!({}))), "well");
        let is_progress = |one: &&Value| one["method"] == "notifications/progress";
        let heard = session.said.iter().any(|one| is_progress(&one));
        assert!(heard, "streams: {streams}");
    }
}
