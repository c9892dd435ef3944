//! A server that lists too much, or too often, keeps nobody else waiting.

use std::{
    fs,
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
    Session, logs, section, text,
    web::{Got, TOOLS_CHANGED, Web, announcing, modern, tool},
};
use crate::support::TestEnv;

/// The section of a server that behaves.
fn good() -> String {
    section("good", "legacy", "trust_annotations = true")
}

/// A server that says after every list that the list has changed.
fn restless() -> Web {
    let (tell, feed) = mpsc::channel::<String>();
    let tell = Mutex::new(tell);
    Web::start(announcing(feed, move |got| {
        // Nobody may listen any more.
        drop(tell.lock().unwrap().send(TOOLS_CHANGED.to_owned()));
        modern(got, &json!([tool("own")]))
    }))
}

#[test]
fn a_server_that_announces_changes_without_end_is_asked_less_and_less() {
    let web = restless();
    let env = TestEnv::with_config(&(web.section("") + &good()));
    let mut session = Session::with_tool(&env, "mcp.s.own");
    session.until_listed("mcp.good.echo");
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(4) {
        assert_eq!(text(&session.call("mcp.good.echo", json!({}))), "{}");
        assert_eq!(text(&session.call("mcp.s.own", json!({}))), "well");
    }
    let asked = web.of("tools/list").len();
    let most = 10 + usize::try_from(begun.elapsed().as_secs()).unwrap();
    assert!((2..most).contains(&asked), "{asked} times, at most {most}");
}

/// A tool whose definition has this many bytes and more.
fn large(number: usize, bytes: usize) -> Value {
    let words = "It reads what is kept on a shelf and says so. ";
    let mut large = tool(&format!("large{number}"));
    large["description"] = json!(words.repeat(bytes / words.len()));
    large
}

#[test]
fn a_neighbour_is_answered_while_a_list_is_looked_through() {
    let released = Arc::new(AtomicBool::new(false));
    let is_released = Arc::clone(&released);
    let web = Web::start(move |got: &Got| {
        while got.rpc() == "tools/list" && !is_released.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(5));
        }
        modern(got, &json!([tool("own")]))
    });
    let env = TestEnv::with_config(&(web.section("") + &good()));
    let mut session = Session::with_tool(&env, "mcp.good.echo");
    // As long as somebody else writes pins, nothing that is listed can be taken over.
    let guard = fs::File::options()
        .write(true)
        .open(env.state_dir().join("tollgate.lock.guard"))
        .unwrap();
    guard.lock().unwrap();
    let (done, is_done) = mpsc::channel::<()>();
    let gives_up = thread::spawn(move || {
        let was_done = is_done.recv_timeout(Duration::from_secs(30)).is_ok();
        guard.unlock().unwrap();
        !was_done
    });
    released.store(true, Ordering::SeqCst);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(2) {
        assert_eq!(text(&session.call("mcp.good.echo", json!({}))), "{}");
    }
    assert!(session.tool("mcp.s.own").is_none());
    let is_in_time = done.send(()).is_ok();
    let gave_up = gives_up.join().unwrap();
    assert!(is_in_time && !gave_up, "the neighbour waited");
    session.until_listed("mcp.s.own");
}

#[test]
fn a_list_of_thirty_megabytes_is_refused_and_costs_nobody_else_anything() {
    let tools: Vec<Value> = (0..150).map(|number| large(number, 200 << 10)).collect();
    let tools = json!(tools);
    let web = Web::start(move |got| modern(got, &tools));
    let env = TestEnv::with_config(&(web.section("message_bytes = 67108864") + &good()));
    let mut session = Session::with_tool(&env, "mcp.good.echo");
    loop {
        assert_eq!(text(&session.call("mcp.good.echo", json!({}))), "{}");
        let logs = logs(&env);
        if logs.contains("longer than 8388608 bytes") {
            break;
        }
        assert!(!logs.contains("mcp.ready"), "{logs}");
    }
    assert!(session.tool("mcp.s.large7").is_none());
}

#[test]
fn a_definition_that_is_too_large_is_left_out_and_told() {
    let tools = json!([large(1, 300 << 10), tool("plain")]);
    let web = Web::start(move |got| modern(got, &tools));
    let env = TestEnv::with_config(&web.section(""));
    env.ok("mcp.s.plain", "{}");
    let missing = env.call("mcp.s.large1", "{}", &[]).exits(2).json();
    assert_eq!(missing["error"]["kind"], "unknown_tool", "{missing:#}");
    let logs = logs(&env);
    let told = "mcp.tool.refused: `large1`: its definition is larger than 262144 bytes";
    assert!(logs.contains(told), "{logs}");
}
