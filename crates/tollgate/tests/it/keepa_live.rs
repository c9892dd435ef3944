//! The Keepa pack through the program against a server on this machine that counts tokens as Keepa does.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};

use crate::support::{TestEnv, approval_id};

const KEY: &str = "k3y0f0urs000000000000000000000000000000000000000000000000000live";

#[derive(Default)]
struct Seen {
    lines: Vec<String>,
    consumed: i64,
}

/// The server; it ends with the test's process.
struct Keepa {
    base: String,
    seen: Arc<Mutex<Seen>>,
}

impl Keepa {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming() {
                answer(&mut stream.unwrap(), &shared);
            }
        });
        Self { base, seen }
    }

    fn lines(&self) -> Vec<String> {
        self.seen.lock().unwrap().lines.clone()
    }

    fn consumed(&self) -> i64 {
        self.seen.lock().unwrap().consumed
    }
}

fn answer(stream: &mut TcpStream, seen: &Mutex<Seen>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            Ok(_) | Err(_) => return,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let line = head.lines().next().unwrap().to_owned();
    let lower = head.to_lowercase();
    let length = lower
        .lines()
        .find_map(|one| one.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).unwrap();
    let has_key = line.contains(&format!("key={KEY}"));
    let cost = if line.contains("/product?") { 1 } else { 0 };
    let told = {
        let mut seen = seen.lock().unwrap();
        seen.lines.push(line);
        seen.consumed += cost;
        let mut told = json!({
            "tokensLeft": 500 - seen.consumed, "tokensConsumed": cost, "refillRate": 5, "refillIn": 1000,
            "products": [{"asin": "B0KETTLE01", "title": "Steel kettle", "domainId": 1, "csv": []}],
        });
        if !has_key {
            told["error"] = json!({"type": "invalidParameter", "message": "unknown key"});
        }
        told.to_string()
    };
    let whole = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{told}",
        told.len()
    );
    drop(stream.write_all(whole.as_bytes()));
}

fn configured(keepa: &Keepa, key: &str) -> TestEnv {
    TestEnv::with_config(&format!(
        "[keepa]\nbase_url = {:?}\nkey = {key:?}\n",
        keepa.base
    ))
}

#[test]
fn a_live_call_is_paid_once_and_the_next_process_uses_the_answer() {
    let keepa = Keepa::start();
    let mut env = configured(&keepa, "env:MY_KEEPA_KEY");
    env.set("MY_KEEPA_KEY", KEY);
    let get = |view: &str| {
        let words = [
            "keepa",
            "products",
            "get",
            "B0KETTLE01",
            "--view",
            view,
            "--json",
        ];
        let ran = env.run(&words).exits(0);
        assert!(!ran.out.contains(KEY) && !ran.err.contains(KEY));
        ran.json()
    };
    let first = get("summary");
    assert_eq!(first["token_bucket"]["tokens_consumed"], 1);
    assert_eq!(first["budget_ledger"]["session_consumed"], 1);
    assert_eq!(first["budget_ledger"]["consumed_source"], "token_bucket");
    assert_eq!(keepa.consumed(), 1);
    // Another view is another call, but the same question.
    let second = get("deal");
    assert_eq!(
        second["data"]["cache_provenance"]["cache_hit"], true,
        "{second}"
    );
    assert_eq!(second["token_bucket"]["tokens_consumed"], 0);
    assert_eq!(second["token_bucket"]["cached_tokens_consumed"], 1);
    assert_eq!((keepa.lines().len(), keepa.consumed()), (1, 1));
    // The key is in the request and nowhere else: no log, no store, no kept answer.
    assert!(keepa.lines()[0].contains(KEY));
    let mut files = vec![env.path("")];
    let mut looked_at = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            let below = std::fs::read_dir(&path).unwrap();
            files.extend(below.map(|entry| entry.unwrap().path()));
        } else if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let holds = bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes());
            assert!(!holds, "{}", path.display());
            looked_at += 1;
        }
    }
    assert!(looked_at > 1, "{looked_at}");
}

#[test]
fn an_answer_serves_no_longer_than_it_is_let_and_what_is_about_now_never() {
    let keepa = Keepa::start();
    let mut env = TestEnv::with_config(&format!(
        "[keepa]\nbase_url = {:?}\nkey = \"env:MY_KEEPA_KEY\"\ncache_ttl_seconds = 1\n",
        keepa.base
    ));
    env.set("MY_KEEPA_KEY", KEY);
    let asked_by = |words: &[&str]| {
        let before = keepa.lines().len();
        let words = [&["keepa"], words, &["--json"]].concat();
        let told = env.run(&words).exits(0).json();
        (keepa.lines().len() - before, told["cache_hit"].clone())
    };
    let get = ["products", "get", "B0KETTLE01"];
    assert_eq!(asked_by(&get), (1, json!(false)));
    thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(asked_by(&get), (1, json!(false)));
    // Whoever lets answers live longer keeps this one longer.
    thread::sleep(std::time::Duration::from_millis(1100));
    let long = [&get[..], &["--cache-ttl", "600"]].concat();
    assert_eq!(asked_by(&long), (1, json!(false)));
    thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(asked_by(&long), (0, json!(true)));
    let fresh = [&get[..], &["--no-cache"]].concat();
    for _ in 0..2 {
        assert_eq!(asked_by(&fresh), (1, json!(false)));
    }
    for now in [&["tracking", "list"][..], &["tracking", "notifications"]] {
        for _ in 0..2 {
            assert_eq!(asked_by(now), (1, json!(false)), "{now:?}");
        }
    }
}

#[test]
fn a_key_in_a_file_is_used_and_a_wrong_one_is_told() {
    let keepa = Keepa::start();
    let env = TestEnv::new();
    let file = env.write("home/keepa.key", format!("{KEY}\n"));
    let configure = |key: &str| {
        env.configure(&format!(
            "[keepa]\nbase_url = {:?}\nkey = {key:?}\n",
            keepa.base
        ));
    };
    configure(&format!("file:{file}"));
    let words = ["keepa", "tokens", "status", "--json"];
    let told = env.run(&words).exits(0).json();
    assert_eq!(told["token_bucket"]["tokens_left"], 500);
    env.write("home/keepa.key", "another");
    let refused = env.run(&words).exits(1).json();
    assert_eq!(
        refused["error"]["errorCode"], "invalid_parameter",
        "{refused}"
    );
    assert!(!refused.to_string().contains("another"));
}

#[test]
fn a_tracking_is_changed_once_a_human_has_agreed_and_not_before() {
    let keepa = Keepa::start();
    let mut env = configured(&keepa, "env:MY_KEEPA_KEY");
    env.set("MY_KEEPA_KEY", KEY);
    let token = env.approver();
    let words = [
        "keepa",
        "tracking",
        "remove",
        "B0KETTLE01",
        "--yes",
        "--json",
    ];
    let asked = env.run(&words).exits(3).json();
    assert!(keepa.lines().is_empty());
    let id = approval_id(&asked);
    env.run(&["approve", &id, "--token", &token]).exits(0);
    let done = env.run(&words).exits(0).json();
    assert_eq!(
        done["request"]["params_redacted"]["type"], "remove",
        "{done}"
    );
    let lines = keepa.lines();
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with("GET /tracking?") && lines[0].contains("type=remove"));
    // The approval was for one call.
    env.run(&words).exits(3);
    assert_eq!(keepa.lines().len(), 1);
}

#[test]
fn a_command_in_json_lines_is_answered_and_counted() {
    let keepa = Keepa::start();
    let mut env = configured(&keepa, "env:MY_KEEPA_KEY");
    env.set("MY_KEEPA_KEY", KEY);
    let lines = [
        json!({"id": 1, "method": "products.get", "params": {"asins": ["B0KETTLE01"], "view": "summary", "cache_ttl_seconds": 60}}),
        json!({"id": 2, "method": "products.get", "params": {"asin": "B0KETTLE01", "view": "deal"}}),
    ];
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let ran = env.feed(&["jsonl"], input.as_str()).exits(0);
    let events: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |id: u64, name: &str| {
        let mut events = events.iter();
        let found = events.find(|event| event["id"] == id && event["event"] == name);
        found
            .unwrap_or_else(|| panic!("{id} {name}: {}", ran.out))
            .clone()
    };
    assert_eq!(of(1, "budget_estimated")["estimated_tokens"], 1);
    let payload = of(1, "response")["payload"].clone();
    assert_eq!(
        payload["data"]["products"][0]["identity"]["asin"],
        "B0KETTLE01"
    );
    let total: i64 = [1, 2]
        .map(|id| {
            let payload = of(id, "response")["payload"].clone();
            payload["token_bucket"]["tokens_consumed"].as_i64().unwrap()
        })
        .iter()
        .sum();
    assert_eq!(total, keepa.consumed());
}

#[test]
fn a_variable_names_samples_and_a_setting_the_handbook() {
    let mut env = TestEnv::new();
    env.write(
        "project/samples/token_status.json",
        r#"{"tokensLeft": 9, "refillRate": 1, "refillIn": 1, "tokensConsumed": 0}"#,
    );
    env.write("project/wiki/mine.md", "# My page\n\nWhat we know.\n");
    let wiki = env.path("project/wiki").display().to_string();
    env.configure(&format!("[keepa]\nwiki_dir = {wiki:?}\n"));
    let samples = env.path("project/samples").display().to_string();
    env.set("TOLLGATE_KEEPA_FIXTURES", &samples);
    let words = [
        "keepa",
        "tokens",
        "status",
        "--fixture",
        "token_status.json",
        "--json",
    ];
    let told = env.run(&words).exits(0).json();
    assert_eq!(told["token_bucket"]["tokens_left"], 9);
    let page = env.run(&["keepa", "docs", "read", "--page", "mine", "--json"]);
    let page = page.exits(0).json();
    assert!(
        page["data"]["text"]
            .as_str()
            .unwrap()
            .contains("What we know.")
    );
}
