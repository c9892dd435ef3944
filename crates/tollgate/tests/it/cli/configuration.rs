//! Layers, mistakes and secrets of the configuration, as the program sees them.

use serde_json::Value;

use crate::support::TestEnv;

/// The limit a session gets, which each layer can set.
#[track_caller]
fn limit(env: &TestEnv, more: &[&str]) -> Value {
    let arguments = [
        &["call", "session.info", "--json", "--session", "fresh"],
        more,
    ]
    .concat();
    drop(std::fs::remove_dir_all(env.state_dir()));
    drop(std::fs::remove_dir_all(env.path("state/tollgate")));
    env.run(&arguments).exits(0).json()["data"]["limit"].clone()
}

#[test]
fn each_layer_lies_over_the_one_before() {
    let mut env = TestEnv::new();
    assert_eq!(limit(&env, &[]), Value::Null);
    env.configure("[limits]\nsession_tokens = 100\n");
    assert_eq!(limit(&env, &[]), 100);
    env.write("project/tollgate.toml", "[limits]\nsession_tokens = 90\n");
    assert_eq!(limit(&env, &[]), 90);
    let named = env.write("elsewhere/gate.toml", "[limits]\nsession_tokens = 80\n");
    assert_eq!(limit(&env, &["--config", &named]), 80);
    env.set("TOLLGATE_CONFIG", &named);
    assert_eq!(limit(&env, &[]), 80);
    env.set("TOLLGATE_LIMITS_SESSION_TOKENS", "70");
    assert_eq!(limit(&env, &[]), 70);
}

#[test]
fn the_project_is_found_from_a_folder_below() {
    let env = TestEnv::with_config("[limits]\nsession_tokens = 100\n");
    env.write("project/tollgate.toml", "[limits]\nsession_tokens = 9\n");
    env.write("project/.git/HEAD", "");
    env.write("project/deep/down/file", "");
    let mut command = env.command(&["call", "session.info", "--json"]);
    command.current_dir(env.path("project/deep/down"));
    let output = command.output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["data"]["limit"], 9);
}

#[test]
fn all_problems_are_reported_at_once_with_key_and_hint() {
    let mut env = TestEnv::with_config(
        "[limits]\nsession_token = 5\nconcurrent_calls = 0\n[log]\nlevel = \"loud\"\n[telemetri]\n",
    );
    env.set("TOLLGATE_LIMITS_QUEUED_CALLS", "many");
    let ran = env.run(&["tools", "list"]).exits(2);
    assert_eq!(ran.out, "");
    for part in [
        "limits.session_token",
        "session_tokens",
        "limits.concurrent_calls",
        "log.level",
        "telemetri",
        "telemetry",
        "TOLLGATE_LIMITS_QUEUED_CALLS",
    ] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
}

#[test]
fn an_unknown_variable_is_a_mistake_too() {
    let mut env = TestEnv::new();
    env.set("TOLLGATE_LIMIT_SESSION_TOKENS", "5");
    let ran = env.run(&["tools", "list"]).exits(2);
    assert!(
        ran.err.contains("TOLLGATE_LIMITS_SESSION_TOKENS"),
        "{}",
        ran.err
    );
}

#[test]
fn a_secret_is_only_ever_a_reference() {
    let env = TestEnv::with_config(
        "[telemetry]\notlp_endpoint = \"http://127.0.0.1:9\"\nheaders.authorization = \"hunter2\"\n",
    );
    let ran = env.run(&["tools", "list"]).exits(2);
    assert!(
        ran.err.contains("telemetry.headers.authorization"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("env:"), "{}", ran.err);
    assert!(!ran.err.contains("hunter2"));
    env.configure("[telemetry.headers]\nauthorization = \"env:COLLECTOR\"\n");
    env.run(&["tools", "list"]).exits(0);
}

#[test]
fn a_named_file_that_is_missing_is_an_error() {
    let env = TestEnv::new();
    let ran = env
        .run(&["tools", "list", "--config", "nowhere.toml"])
        .exits(2);
    assert!(ran.err.contains("nowhere.toml"));
}

#[test]
fn without_base_folders_everything_lies_below_home() {
    let env = TestEnv::new();
    let mut command = env.command(&["call", "time.now", "--json"]);
    for name in ["XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"] {
        command.env_remove(name);
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(env.path("home/.local/share/tollgate/tollgate.db").exists());
    assert!(env.path("home/.local/state/tollgate/anchor").exists());
}

#[test]
fn state_is_put_where_the_user_says() {
    let mut env = TestEnv::new();
    let elsewhere = env.path("elsewhere");
    env.set("TOLLGATE_STATE_DIR", elsewhere.to_str().unwrap());
    env.ok("time.now", "{}");
    assert!(elsewhere.join("tollgate.db").exists());
    assert!(!env.state_dir().exists());
}

#[test]
fn the_log_has_a_line_per_event_and_no_secret() {
    let env = TestEnv::with_config("[log]\nfile = \"gate.log\"\n");
    env.ok(
        "text.stats",
        r#"{"text":"https://example.com/?token=abcdef0123456789"}"#,
    );
    env.run(&["call", "session.forget"]).exits(3);
    let log = std::fs::read_to_string(env.path("config/tollgate/gate.log")).unwrap();
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(lines.len() >= 2, "{log}");
    assert!(
        log.contains("text.stats") && !log.contains("abcdef0123456789"),
        "{log}"
    );
}
