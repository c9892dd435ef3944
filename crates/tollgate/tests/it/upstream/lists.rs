//! Lists that have changed and cannot be read again at once.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{
    Session, logs, text, until_logged,
    web::{Got, TOOLS_CHANGED, Then, Web, announcing, modern, tool},
    with,
};
use crate::support::TestEnv;

#[test]
fn a_server_that_is_too_busy_to_list_again_is_left_alone() {
    for era in ["modern", "legacy"] {
        let limits = "start_timeout_ms = 3000\ntimeout_ms = 300\n\
                      [mcp.servers.tools.change]\ntimeout_ms = 60000";
        let env = with(era, limits);
        let mut session = Session::with_tool(&env, "mcp.s.change");
        let file = env.path("let-it-end");
        let arguments = json!({"until": file.display().to_string()});
        let params = json!({"name": "mcp.s.change", "arguments": arguments});
        let change = session.begin("tools/call", params);
        until_logged(&env, "mcp.list_tools.failed");
        std::fs::write(&file, "").unwrap();
        let changed = session.answer(change);
        assert_eq!(text(&changed["result"]), "changed", "{era}: {changed:#}");
        // It is asked again, and only for that.
        session.until_listed("mcp.s.extra");
        assert!(!logs(&env).contains("mcp.ended"), "{era}: {}", logs(&env));
    }
}

/// An address of 2026-07-28 that says when its lists change, and what becomes of the
/// `number`th question for its tools.
fn changing(
    feed: mpsc::Receiver<String>,
    listed: impl Fn(usize) -> Option<Then> + Send + Sync + 'static,
) -> impl Fn(&Got) -> Then + Send + Sync + 'static {
    let asked = Mutex::new(0);
    announcing(feed, move |got| {
        let mut asked = asked.lock().unwrap();
        *asked += 1;
        let tools = match *asked {
            1 => json!([tool("good")]),
            _ => json!([tool("good"), tool("extra")]),
        };
        listed(*asked).unwrap_or_else(|| modern(got, &tools))
    })
}

fn away(status: u16, seconds: u64) -> Then {
    let wait = ("retry-after", seconds.to_string());
    Then::Answer(status, vec![wait], String::new())
}

/// Answers of an address that is not to be asked for a while, and when it was asked.
fn waiting(
    ends: &'static [(usize, u16)],
    times: &Arc<Mutex<Vec<Instant>>>,
) -> impl Fn(usize) -> Option<Then> + Send + Sync + 'static {
    let times = Arc::clone(times);
    move |number| {
        times.lock().unwrap().push(Instant::now());
        let found = ends.iter().find(|(own, _)| *own == number);
        found.map(|(_, status)| away(*status, 3))
    }
}

#[test]
fn an_address_that_does_not_list_again_for_now_stays_up_and_is_asked_when_it_wants_to_be() {
    let (tell, feed) = mpsc::channel();
    let times = Arc::default();
    let web = Web::start(changing(feed, waiting(&[(2, 429), (3, 503)], &times)));
    let env = TestEnv::with_config(&web.section(""));
    let mut session = Session::with_tool(&env, "mcp.s.good");
    tell.send(TOOLS_CHANGED.to_owned()).unwrap();
    until_logged(&env, "mcp.list_tools.failed");
    assert_eq!(text(&session.call("mcp.s.good", json!({}))), "well");
    session.until_listed("mcp.s.extra");
    let times = times.lock().unwrap();
    for pair in times[1..4].windows(2) {
        let waited = pair[1] - pair[0];
        assert!(waited >= Duration::from_millis(2900), "{waited:?}");
    }
    assert_eq!(web.of("server/discover").len(), 1, "{}", logs(&env));
}

#[test]
fn an_address_that_cannot_begin_for_now_is_tried_when_it_wants_to_be() {
    let (_tell, feed) = mpsc::channel();
    let times = Arc::default();
    let web = Web::start(changing(feed, waiting(&[(1, 429)], &times)));
    let env = TestEnv::with_config(&web.section(""));
    let _session = Session::with_tool(&env, "mcp.s.good");
    let times = times.lock().unwrap();
    let waited = times[1] - times[0];
    assert!(waited >= Duration::from_millis(2900), "{waited:?}");
}

#[test]
fn an_address_that_answers_nothing_when_it_should_list_again_is_down() {
    let (tell, feed) = mpsc::channel();
    let hangs = Arc::new(AtomicBool::new(false));
    let (is_hung, listens) = (Arc::clone(&hangs), changing(feed, |_| None));
    let web = Web::start(move |got| {
        if is_hung.load(Ordering::SeqCst) {
            return Then::Hang(String::new());
        }
        listens(got)
    });
    let limits = "timeout_ms = 300\nstart_timeout_ms = 1000";
    let env = TestEnv::with_config(&web.section(limits));
    let _session = Session::with_tool(&env, "mcp.s.good");
    while web.of("subscriptions/listen").is_empty() {
        thread::sleep(Duration::from_millis(10));
    }
    hangs.store(true, Ordering::SeqCst);
    tell.send(TOOLS_CHANGED.to_owned()).unwrap();
    until_logged(&env, "it does not answer any more");
}

#[test]
fn a_server_is_listened_to_before_it_lists() {
    let (tell, feed) = mpsc::channel();
    let web = Web::start(changing(feed, |_| None));
    let env = TestEnv::with_config(&web.section(""));
    let mut session = Session::with_tool(&env, "mcp.s.good");
    let methods = || -> Vec<String> {
        let got = web.got.lock().unwrap();
        got.iter().map(|one| one.rpc().to_owned()).collect()
    };
    let all = methods();
    let place = |name: &str| all.iter().position(|one| one == name).unwrap();
    assert!(
        place("subscriptions/listen") < place("tools/list"),
        "{all:?}"
    );
    // A stream that ends is opened again, and what it may have missed is looked at then.
    drop(tell);
    session.until_listed("mcp.s.extra");
    let all = methods();
    let last = |name: &str| all.iter().rposition(|one| one == name).unwrap();
    assert!(last("subscriptions/listen") < last("tools/list"), "{all:?}");
}

#[test]
fn lists_are_read_again_when_a_server_is_slow_to_be_listened_to() {
    let (_tell, feed) = mpsc::channel();
    let slow = changing(feed, |_| None);
    let web = Web::start(move |got| {
        if got.rpc() == "subscriptions/listen" {
            thread::sleep(Duration::from_secs(2));
        }
        slow(got)
    });
    let env = TestEnv::with_config(&web.section(""));
    let mut session = Session::with_tool(&env, "mcp.s.good");
    session.until_listed("mcp.s.extra");
}
