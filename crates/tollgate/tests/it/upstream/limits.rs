//! What is bounded: noise, restarts, waits, queues, questions.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    process::Stdio,
};

use serde_json::{Value, json};

use super::{Session, section, text, with};
use crate::support::TestEnv;

fn failure(answer: &Value) -> &Value {
    &answer["_meta"]["tollgate/result"]["error"]
}

/// How many descriptors a process holds.
fn descriptors(process: u32) -> usize {
    let all = fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    all.count()
}

/// How many threads a process has.
fn threads(process: u32) -> usize {
    let all = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    all.count()
}

/// The processes that a process started and that are still there.
fn children(process: u32) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap();
    let names = all.filter_map(|one| one.unwrap().file_name().into_string().ok());
    let numbers = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let is_child = |name: &String| {
        let stat = fs::read_to_string(format!("/proc/{name}/stat")).unwrap_or_default();
        let rest = stat.rsplit(')').next().unwrap_or_default();
        rest.split_whitespace().nth(1) == Some(process.to_string().as_str())
    };
    numbers.filter(is_child).collect()
}

/// Resident memory of a process, in KiB.
fn memory(process: u32) -> u64 {
    measured(process, "VmRSS")
}

/// The most of it that there ever was.
pub(super) fn most_memory(process: u32) -> u64 {
    measured(process, "VmHWM")
}

fn measured(process: u32, what: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(what)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_hundred_megabytes_of_noise_cost_nothing_but_the_noise() {
    let env = with("legacy", "");
    let mut session = Session::with_tool(&env, "mcp.s.loud");
    let gate = session.child.id();
    let before = memory(gate);
    let loud = session.call("mcp.s.loud", json!({"bytes": 100_000_000}));
    assert_eq!(text(&loud), "loud");
    assert_eq!(text(&session.call("mcp.s.echo", json!({}))), "{}");
    let grown = memory(gate).saturating_sub(before);
    assert!(grown < 20_000, "it grew by {grown} KiB");
    loop {
        let ran = env
            .run(&["mcp", "logs", "s", "-n", "5", "--json"])
            .exits(0)
            .json();
        let lines = ran["servers"][0]["lines"].as_array().unwrap().clone();
        if lines.iter().any(|line| line["text"] == "the last shout") {
            break;
        }
    }
    let kept: u64 = fs::read_dir(env.state_dir().join("mcp"))
        .unwrap()
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert!(kept < 600_000, "{kept} bytes are kept");
}

#[test]
fn words_that_concern_nobody_are_not_kept_while_a_list_is_read() {
    for era in ["modern", "legacy"] {
        // Six hundred megabytes of notifications come before each list.
        let env = with(&format!("{era} heavy"), "start_timeout_ms = 300000");
        let mut session = Session::with_tool(&env, "mcp.s.echo");
        assert_eq!(text(&session.call("mcp.s.echo", json!({}))), "{}");
        let most = most_memory(session.child.id());
        assert!(most < 300_000, "{era}: it held {most} KiB");
    }
}

#[test]
fn a_line_of_a_gigabyte_is_not_waited_for() {
    let env = with("legacy", "");
    let mut session = Session::with_tool(&env, "mcp.s.endless");
    let gate = session.child.id();
    let before = memory(gate);
    let answer = session.call("mcp.s.endless", json!({"bytes": 1_000_000_000}));
    assert_eq!(failure(&answer)["kind"], "connection_error", "{answer:#}");
    let message = failure(&answer)["message"].as_str().unwrap();
    assert!(message.contains("a line without end"), "{message}");
    let grown = memory(gate).saturating_sub(before);
    assert!(grown < 60_000, "it grew by {grown} KiB");
    loop {
        let answer = session.call("mcp.s.echo", json!({}));
        if answer["isError"] != true {
            break;
        }
    }
}

#[test]
fn two_hundred_restarts_leave_nothing_behind() {
    let env = with("legacy", "");
    let mut session = Session::with_tool(&env, "mcp.s.pid");
    let gate = session.child.id();
    // What `tollgate servers restart` asks for, without starting that program each time.
    let socket = env.state_dir().join(format!("mcp/{gate}.sock"));
    let restart = || {
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.write_all(b"{\"restart\":\"s\"}\n").unwrap();
        // That it was heard, and then how it went.
        let answer = BufReader::new(stream).lines().nth(1).unwrap().unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["ready"], true, "{answer}");
    };
    // What is only made once is made by then.
    for _ in 0..5 {
        restart();
    }
    text(&session.call("mcp.s.pid", json!({})));
    let (before, threads_before) = ((descriptors(gate), children(gate).len()), threads(gate));
    for _ in 0..200 {
        restart();
    }
    let server = text(&session.call("mcp.s.pid", json!({})));
    // What belonged to the last server that was ended may take a moment to go.
    let mut after = (0, 0);
    for _ in 0..3000 {
        after = (descriptors(gate), children(gate).len());
        if after == before {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(after, before, "descriptors and children");
    // A thread that writes logs comes and goes; one for each start would be seen.
    let grown = threads(gate).saturating_sub(threads_before);
    assert!(grown < 20, "{grown} more threads");
    // A keeper stands between.
    let keepers = children(gate).into_iter();
    let mut kept = keepers.flat_map(|keeper| children(keeper.parse().unwrap()));
    assert!(kept.any(|one| one == server));
}

#[test]
fn giving_up_reaches_the_server() {
    for era in ["modern", "legacy"] {
        let env = with(era, "");
        let mut session = Session::with_tool(&env, "mcp.s.silent");
        let params =
            json!({"name": "mcp.s.silent", "arguments": {}, "_meta": {"progressToken": "p"}});
        let id = session.begin("tools/call", params);
        session.until("notifications/progress");
        let cancelled = |session: &mut Session| {
            let seen = text(&session.call("mcp.s.cancelled", json!({})));
            let seen: Value = serde_json::from_str(&seen).unwrap();
            seen["cancelled"].as_array().unwrap().len()
        };
        assert_eq!(cancelled(&mut session), 0);
        session.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                             "params": {"requestId": id, "reason": "no longer wanted"}}),
        );
        while cancelled(&mut session) != 1 {}
    }
}

#[test]
fn progress_does_not_extend_a_call_beyond_the_cap() {
    let env = with("legacy", "timeout_ms = 60000\nmax_timeout_ms = 1500");
    let mut session = Session::with_tool(&env, "mcp.s.slow");
    let answer = session.call("mcp.s.slow", json!({"steps": 200, "pause": 0.05}));
    assert_eq!(failure(&answer)["kind"], "timeout", "{answer:#}");
    let progress = |one: &&Value| one["method"] == "notifications/progress";
    assert!(session.said.iter().filter(progress).count() > 1);
}

#[test]
fn more_calls_than_there_is_room_for_are_told_when_to_come_back() {
    let env = with(
        "legacy",
        "concurrent_calls = 1\nqueued_calls = 1\ntimeout_ms = 60000",
    );
    let mut session = Session::with_tool(&env, "mcp.s.silent");
    let silent = json!({"name": "mcp.s.silent", "arguments": {}, "_meta": {"progressToken": "p"}});
    let running = session.begin("tools/call", silent.clone());
    session.until("notifications/progress");
    // One runs; of two more, whichever comes first waits and the other finds no room.
    let more = [0, 1].map(|_| session.begin("tools/call", silent.clone()));
    let refused = session.line();
    assert!(more.iter().any(|id| refused["id"] == *id), "{refused:#}");
    let failed = failure(&refused["result"]);
    assert_eq!(failed["kind"], "overloaded", "{refused:#}");
    assert!(failed["retry_after_seconds"].as_u64().unwrap() >= 1);
    let waiting = more.into_iter().find(|id| refused["id"] != *id).unwrap();
    for id in [running, waiting] {
        session.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                             "params": {"requestId": id}}),
        );
    }
    loop {
        let answer = session.call("mcp.s.echo", json!({}));
        if answer["isError"] != true {
            break;
        }
    }
}

#[test]
fn a_server_that_keeps_dying_is_left_alone_until_somebody_wants_it() {
    let env = with("legacy", "");
    let script = env.write(
        "counts.sh",
        "#!/bin/sh\necho started >> \"$0.starts\"\n[ -e \"$0.well\" ] || exit 7\nexec python3 \"$@\"\n",
    );
    let starts = format!("{script}.starts");
    let count = || {
        fs::read_to_string(&starts)
            .unwrap_or_default()
            .lines()
            .count()
    };
    let file = section("s", "legacy", "trust_annotations = true");
    env.configure(&file.replace(
        "command = \"python3\"\nargs = [",
        &format!("command = \"/bin/sh\"\nargs = [{script:?}, "),
    ));
    fs::write(format!("{script}.well"), "").unwrap();
    env.ok("mcp.s.echo", "{}");
    fs::remove_file(format!("{script}.well")).unwrap();
    let mut session = Session::start(&env);
    // Calls find out: at first it is tried again at once, then they are told to wait.
    let mut told = 0;
    while told < 2 {
        let answer = session.call("mcp.s.echo", json!({}));
        told = failure(&answer)["retry_after_seconds"]
            .as_u64()
            .unwrap_or(0);
        assert_eq!(answer["isError"], true);
    }
    let before = count();
    for _ in 0..20 {
        let answer = session.call("mcp.s.echo", json!({}));
        assert_eq!(failure(&answer)["kind"], "unavailable", "{answer:#}");
    }
    assert!(
        count() <= before + 1,
        "calls start nothing while it is to be left alone"
    );
    fs::write(format!("{script}.well"), "").unwrap();
    env.run(&["mcp", "restart", "s"]).exits(0);
    assert_eq!(text(&session.call("mcp.s.echo", json!({}))), "{}");
}

#[test]
fn results_can_be_wrapped_like_those_of_other_tools() {
    let env = with("legacy", "results = \"envelope\"");
    let mut session = Session::with_tool(&env, "mcp.s.echo");
    let answer = session.call("mcp.s.echo", json!({"a": 1}));
    let envelope = &answer["structuredContent"];
    assert_eq!(envelope["ok"], true, "{answer:#}");
    assert_eq!(envelope["data"]["content"][0]["text"], r#"{"a": 1}"#);
    assert_eq!(envelope["meta"]["provider"], "mcp_s");
    let listed = session.tool("mcp.s.echo").unwrap();
    assert_eq!(listed["outputSchema"]["required"], json!(["ok", "status"]));
}

#[test]
fn the_log_says_what_happens_to_servers() {
    let config = [
        "[log]\nfile = \"stderr\"\nlevel = \"info\"\n".to_owned(),
        section("s", "legacy", "trust_annotations = true"),
        section("exits", "exits", ""),
        section("lists", "legacy nolist", ""),
        "[[mcp.servers]]\nname = \"missing\"\ncommand = \"/nowhere/at/all\"\n".to_owned(),
    ];
    let env = TestEnv::with_config(&config.concat());
    let mut command = env.command(&["mcp", "--toolsets", "all"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let errors = BufReader::new(child.stderr.take().unwrap());
    let mut wanted = vec![
        ("mcp.ready", "mcp_s"),
        ("mcp.spawn.failed", "mcp_exits"),
        ("mcp.spawn.failed", "mcp_missing"),
        ("mcp.list_tools.failed", "mcp_lists"),
    ];
    for line in errors.lines() {
        let Ok(line) = serde_json::from_str::<Value>(&line.unwrap()) else {
            continue;
        };
        wanted.retain(|(event, provider)| line["event"] != *event || line["provider"] != *provider);
        if wanted.is_empty() {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(wanted.is_empty(), "{wanted:?}");
}

#[test]
fn garbage_is_logged_and_cut() {
    let config = format!(
        "[log]\nfile = \"stderr\"\n{}",
        section("s", "legacy chatty", "trust_annotations = true")
    );
    let env = TestEnv::with_config(&config);
    let ran = env.call("mcp.s.echo", "{}", &[]).exits(0);
    let lines = ran
        .err
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let garbage: Vec<Value> = lines
        .filter(|line| line["event"] == "mcp.invalid_json")
        .collect();
    let message = garbage[0]["message"].as_str().unwrap();
    assert!(message.starts_with("not JSON "), "{message}");
    assert!(message.chars().count() <= 200, "{message}");
}
