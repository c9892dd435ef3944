//! Disks and files that fail: a clear error, nothing called, nothing lost.

use std::{
    fs,
    fs::File,
    os::unix::fs::{PermissionsExt, symlink},
};

use serde_json::Value;

use crate::support::{Lines, Ran, TestEnv, database};

const STATS: &str = r#"{"text":"hello"}"#;

/// A call that cannot be recorded must not happen, and says what to do.
#[track_caller]
fn refused(env: &TestEnv) -> Ran {
    let ran = env.call("text.stats", STATS, &[]);
    assert!(ran.code == 1 || ran.code == 2, "{ran:?}");
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    let said = format!("{}{}", ran.out, ran.err);
    assert!(said.contains("doctor"), "{said}");
    ran
}

/// The doctor finds it broken too, and names what to do.
#[track_caller]
fn doctor_says(env: &TestEnv, todo: &str) {
    let said = env.run(&["doctor"]).exits(1).out;
    let line = said.lines().find(|line| line.contains(" -> "));
    assert!(line.is_some_and(|line| line.contains(todo)), "{said}");
}

#[test]
fn a_state_folder_that_is_a_file() {
    let env = TestEnv::new();
    env.write("data/tollgate", "mine");
    let ran = refused(&env);
    assert_eq!(ran.out, "");
    assert_eq!(fs::read(env.path("data/tollgate")).unwrap(), b"mine");
    let lines = env.feed(&["jsonl"], "").exits(2);
    assert_eq!(lines.out, "");
    doctor_says(&env, "you may write it");
}

#[test]
fn a_state_folder_below_a_file() {
    let mut env = TestEnv::new();
    env.write("file", "");
    let below = env.path("file/state");
    env.set("TOLLGATE_STATE_DIR", below.to_str().unwrap());
    refused(&env);
}

#[test]
fn a_folder_nobody_can_write() {
    let mut env = TestEnv::new();
    env.set("TOLLGATE_STATE_DIR", "/proc/tollgate");
    refused(&env);
    env.run(&["doctor"]).exits(1);
}

/// A state folder that not even root can write, as long as this lives.
struct Frozen<'a>(&'a TestEnv);

impl<'a> Frozen<'a> {
    /// Nothing, where the machine cannot freeze a folder.
    fn state_of(env: &'a TestEnv) -> Option<Self> {
        let frozen = Self(env);
        frozen.attribute("+i");
        frozen.mode(0o555);
        let probe = env.state_dir().join("probe");
        match File::create(&probe) {
            Ok(_) => {
                fs::remove_file(probe).unwrap();
                None
            }
            Err(_) => Some(frozen),
        }
    }

    fn attribute(&self, change: &str) {
        let folder = self.0.state_dir();
        let arguments = ["-R", change, folder.to_str().unwrap()];
        drop(self.0.other("chattr", &arguments).output());
    }

    fn mode(&self, mode: u32) {
        drop(fs::set_permissions(
            self.0.state_dir(),
            fs::Permissions::from_mode(mode),
        ));
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        self.attribute("-i");
        self.mode(0o700);
    }
}

#[test]
fn a_state_that_cannot_be_written_is_still_read() {
    let env = TestEnv::new();
    env.ok("text.stats", STATS);
    let Some(frozen) = Frozen::state_of(&env) else {
        return;
    };
    refused(&env);
    let listed = env.run(&["audit", "list", "--json"]).exits(0).json();
    assert_eq!(listed["entries"].as_array().unwrap().len(), 1);
    env.whole();
    doctor_says(&env, "you may write it");
    drop(frozen);
    env.ok("time.now", "{}");
    assert_eq!(env.whole()["rows"], 2);
}

#[test]
fn a_database_of_garbage_is_kept_as_it_is() {
    let env = TestEnv::new();
    let garbage = vec![7_u8; 64 << 10];
    env.write("data/tollgate/tollgate.db", &garbage);
    refused(&env);
    let kept = fs::read(env.state_dir().join("tollgate.db")).unwrap();
    assert_eq!(kept, garbage, "evidence is not overwritten");
    let verified = env.run(&["audit", "verify"]);
    assert_ne!(verified.code, 0);
    doctor_says(&env, "restore a backup");
}

#[test]
fn a_database_torn_in_the_middle_is_noticed() {
    let env = TestEnv::new();
    env.ok("text.stats", STATS);
    database(&env)
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    let path = env.state_dir().join("tollgate.db");
    let mut bytes = fs::read(&path).unwrap();
    let middle = 4096..bytes.len();
    bytes[middle].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    let ran = env.call("text.stats", STATS, &[]);
    assert!(ran.code == 1 || ran.code == 2, "{ran:?}");
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    doctor_says(&env, "restore a backup");
}

#[test]
fn a_schema_from_the_future_is_left_alone() {
    let env = TestEnv::new();
    env.ok("text.stats", STATS);
    database(&env)
        .pragma_update(None, "user_version", 999)
        .unwrap();
    let ran = refused(&env);
    assert!(ran.err.contains("version 999"), "{}", ran.err);
    doctor_says(&env, "use the version of Tollgate that wrote it");
}

#[test]
fn a_locked_database_is_waited_for_or_reported() {
    let env = TestEnv::new();
    env.ok("text.stats", STATS);
    let lock = File::open(env.state_dir().join("write.lock")).unwrap();
    lock.lock().unwrap();
    let waiting = env.start(&["call", "time.now", "--json"]);
    let read = env.run(&["audit", "verify"]).exits(0);
    assert!(
        read.out.starts_with("verified: 1 entries"),
        "reading does not wait: {}",
        read.out
    );
    lock.unlock().unwrap();
    let output = waiting.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(env.whole()["rows"], 2);
}

#[test]
fn a_lock_that_is_never_let_go_is_a_clear_error() {
    let env = TestEnv::new();
    env.ok("text.stats", STATS);
    let lock = File::open(env.state_dir().join("write.lock")).unwrap();
    lock.lock().unwrap();
    let ran = env.call("text.stats", STATS, &[]).exits(1).json();
    let error = &ran["error"];
    assert_eq!(error["kind"], "overloaded", "{error}");
    assert_eq!(error["can_retry"], true);
    assert_eq!(error["retry_after_seconds"], 1);
    drop(lock);
    env.ok("time.now", "{}");
    env.whole();
}

/// Runs the program where no file may grow beyond so many blocks of 512 bytes.
fn on_a_full_disk(env: &TestEnv, blocks: u32) -> Ran {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
    let program = env!("CARGO_BIN_EXE_tollgate");
    let arguments = [
        "-c",
        &script,
        "sh",
        program,
        "call",
        "text.stats",
        "--args",
        STATS,
        "--json",
    ];
    Ran::from(env.other("sh", &arguments).output().unwrap())
}

#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let env = TestEnv::new();
    let mut acknowledged = 0;
    let mut refusals = 0;
    for blocks in [0, 1, 64, 128, 256, 4096] {
        let ran = on_a_full_disk(&env, blocks);
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
        match ran.code {
            0 => acknowledged += 1,
            1 | 2 => refusals += 1,
            other => panic!("exit {other}: {ran:?}"),
        }
    }
    assert!(refusals > 0 && acknowledged > 0);
    env.ok("time.now", "{}");
    let found = env.whole();
    assert!(found["rows"].as_u64().unwrap() > acknowledged);
}

#[test]
fn a_full_disk_for_the_answer_is_no_success() {
    let env = TestEnv::new();
    if !env.path("/dev/full").exists() {
        return;
    }
    let mut command = env.command(&["call", "text.stats", "--args", STATS, "--json"]);
    command.stdout(File::options().write(true).open("/dev/full").unwrap());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[test]
fn a_lost_key_is_noticed() {
    let env = TestEnv::new();
    env.ok("text.stats", STATS);
    env.ok("time.now", "{}");
    assert_eq!(env.whole()["anchored"], 2);
    for name in ["audit-signing.key", "audit-signing.pub"] {
        fs::remove_file(env.state_dir().join(name)).unwrap();
    }
    env.ok("time.now", "{}");
    let found = env.run(&["audit", "verify", "--json"]).exits(1).json();
    assert!(
        found["problems"]
            .to_string()
            .contains("signature is not ours")
    );
}

#[test]
fn a_clock_that_was_ahead_does_not_stop_anything() {
    let env = TestEnv::new();
    env.ok("text.stats", STATS);
    let far = 4_102_444_800_000_i64;
    database(&env)
        .execute("UPDATE sessions SET created = ?1, used = ?1", [far])
        .unwrap();
    assert_eq!(env.ok("text.stats", STATS)["cache_hit"], true);
    env.whole();
}

#[test]
fn a_state_folder_behind_a_link_is_the_same_state() {
    let env = TestEnv::new();
    fs::create_dir(env.path("elsewhere")).unwrap();
    symlink(env.path("elsewhere"), env.path("data/tollgate")).unwrap();
    env.ok("text.stats", STATS);
    assert_eq!(env.ok("text.stats", STATS)["cache_hit"], true);
    assert!(env.path("elsewhere/tollgate.db").exists());
}

#[test]
fn a_log_that_cannot_be_opened_stops_the_start() {
    let env = TestEnv::with_config("[log]\nfile = \"/proc/nowhere/gate.log\"\n");
    refused(&env);
}

#[test]
fn damage_while_a_program_runs_costs_calls_not_the_program() {
    let env = TestEnv::new();
    let mut lines = Lines::start(&env, &[]);
    lines.ask(r#"{"id":1,"method":"time.now"}"#);
    let connection = database(&env);
    connection
        .execute("ALTER TABLE audit_entries RENAME TO audit_gone", [])
        .unwrap();
    let broken = lines.ask(r#"{"id":2,"method":"text.stats","params":{"text":"a"}}"#);
    assert_eq!(broken["status"], "error", "{broken}");
    assert!(
        broken["error"]["code"]
            .as_str()
            .unwrap()
            .starts_with("tool.gate.store.")
    );
    connection
        .execute("ALTER TABLE audit_gone RENAME TO audit_entries", [])
        .unwrap();
    let mended = lines.ask(r#"{"id":3,"method":"text.stats","params":{"text":"a"}}"#);
    assert_eq!(mended["status"], "ok", "{mended}");
    lines.end();
    lines.wait();
    env.whole();
    for answer in [broken, mended] {
        assert_eq!(endings_of(&env, &answer["meta"]["call_id"]), 1, "{answer}");
    }
}

/// How many endings a call has.
fn endings_of(env: &TestEnv, call: &Value) -> usize {
    let is_ending = |row: &&Value| row["kind"] == "ending" && row["call_id"] == *call;
    env.recorded().iter().filter(is_ending).count()
}

/// What a process has announced and set aside, as the state says.
fn open_in(env: &TestEnv) -> (i64, i64) {
    let figures = "SELECT (SELECT count(*) FROM intents), (SELECT sum(reserved) FROM sessions)";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1).unwrap_or(0)));
    database(env).query_row(figures, [], read).unwrap_or((0, 0))
}

#[test]
fn an_ending_that_finds_the_state_locked_comes_by_itself() {
    let env = TestEnv::with_config(
        "[providers.stub]\ntools = [\"prices.lookup\"]\nunits = 3\ndelay_ms = 3000\n",
    );
    env.ok("time.now", "{}");
    let mut lines = Lines::start(&env, &[]);
    lines.send(r#"{"id":1,"method":"prices.lookup","params":{}}"#);
    while open_in(&env) != (1, 3) {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let lock = File::open(env.state_dir().join("write.lock")).unwrap();
    lock.lock().unwrap();
    let withheld = lines.until("response")["payload"].clone();
    assert_eq!(withheld["error"]["kind"], "overloaded", "{withheld}");
    assert_eq!(withheld["data"], Value::Null, "{withheld}");
    let call = &withheld["meta"]["call_id"];
    assert_eq!(endings_of(&env, call), 0);
    lock.unlock().unwrap();
    while open_in(&env) != (0, 0) {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(endings_of(&env, call), 1);
    lines.end();
    assert_eq!(lines.wait(), Some(0));
    assert_eq!(endings_of(&env, call), 1, "and once");
    env.whole();
}
