//! Code through the door: a human agrees, a sandbox runs it, the tier is named.

use serde_json::{Value, json};

use crate::support::{Ran, TestEnv, approval_id, can_run};

/// Makes a call that a human agrees to; gives its envelope.
#[track_caller]
fn agreed(env: &TestEnv, token: &str, tool: &str, arguments: &Value) -> Value {
    let arguments = arguments.to_string();
    let refused = env.call(tool, &arguments, &["--yes"]).exits(3).json();
    assert_eq!(refused["error"]["details"]["consent"], "human");
    let id = approval_id(&refused);
    env.run(&["approve", &id, "--token", token]).exits(0);
    env.call(tool, &arguments, &[]).json()
}

#[test]
fn code_runs_when_a_human_agrees_and_the_tier_is_named() {
    if !can_run() {
        return;
    }
    let env = TestEnv::new();
    let token = env.approver();
    let code = json!({"language": "python", "code": "print(6*7)"});
    let ran = agreed(&env, &token, "sandbox.exec", &code);
    assert_eq!(ran["status"], "ok", "{ran}");
    assert_eq!(ran["data"]["stdout"], "42\n");
    assert_eq!(ran["data"]["exit_code"], 0);
    assert_eq!(ran["data"]["tier"], "native");
    assert_eq!(ran["meta"]["capability"], "L2");
    // An approval is for one call.
    env.call("sandbox.exec", &code.to_string(), &[]).exits(3);
    env.whole();
}

#[test]
fn files_go_in_stay_and_come_out() {
    if !can_run() {
        return;
    }
    let env = TestEnv::new();
    let token = env.approver();
    let files = json!({"files": [
        {"path": "main.py", "content": "import sys\nn = int(open('data/n.txt').read())\nopen('out.bin', 'wb').write(bytes([0, n]))\nopen('out.txt', 'w').write(sys.argv[1] + sys.stdin.read())"},
        {"path": "data/n.txt", "base64": "Nw=="},
    ]});
    let wrote = agreed(&env, &token, "sandbox.write_files", &files);
    assert_eq!(wrote["data"]["written"][1]["bytes"], 1, "{wrote}");
    let run = json!({"language": "python", "argv": ["main.py", "a"], "stdin": "b"});
    let ran = agreed(&env, &token, "sandbox.exec", &run);
    assert_eq!(ran["data"]["exit_code"], 0, "{ran}");
    let out = env.ok(
        "sandbox.collect_outputs",
        r#"{"paths":["out.bin","out.txt"]}"#,
    );
    let files = &out["data"]["files"];
    assert_eq!(files[0]["base64"], "AAc=", "{out}");
    assert_eq!(files[1]["content"], "ab");
    assert_eq!(out["data"]["complete"], true);
    let cut = env.ok(
        "sandbox.collect_outputs",
        r#"{"paths":["out.txt"],"max_bytes":1}"#,
    );
    assert_eq!(cut["data"]["files"][0]["truncated"], true);
    assert_eq!(cut["data"]["left_out"], json!(["out.txt"]), "{cut}");
    let rest = env.ok(
        "sandbox.collect_outputs",
        r#"{"paths":["out.txt"],"offset":1}"#,
    );
    assert_eq!(rest["data"]["files"][0]["content"], "b");
    // Another session has another workspace.
    let other = env.call("sandbox.collect_outputs", "{}", &["--session", "other"]);
    assert_eq!(other.exits(0).json()["data"]["files"], json!([]));
    let delete = json!({"delete": ["data", "main.py"]});
    agreed(&env, &token, "sandbox.write_files", &delete);
    let left = env.ok("sandbox.collect_outputs", r#"{"contents":false}"#);
    assert_eq!(left["data"]["files"].as_array().unwrap().len(), 2);
    assert_eq!(left["data"]["files"][0]["content"], Value::Null);
}

#[test]
fn what_hides_itself_hides_nothing_else() {
    if !can_run() {
        return;
    }
    let env = TestEnv::new();
    let token = env.approver();
    let code = "import os\nopen(b'\\xff', 'w').write('x')\nopen('closed', 'w').close(); os.chmod('closed', 0)\nos.symlink('/etc/passwd', 'link'); os.mkfifo('pipe')\nopen('plain', 'w').write('seen')";
    let hide = json!({"language": "python", "code": code});
    let ran = agreed(&env, &token, "sandbox.exec", &hide);
    assert_eq!(ran["data"]["stderr"], "", "{ran}");
    let all = env.ok("sandbox.collect_outputs", "{}");
    let files = all["data"]["files"].as_array().unwrap();
    assert_eq!(files.len(), 5, "{all}");
    let find = |path: &str| files.iter().find(|file| file["path"] == path).unwrap();
    assert_eq!(find("plain")["content"], "seen");
    assert_eq!(find("link")["kind"], "link");
    assert_eq!(find("link")["content"], Value::Null);
    assert_eq!(find("pipe")["kind"], "other");
    assert_eq!(all["data"]["complete"], false);
    let one = env.ok(
        "sandbox.collect_outputs",
        r#"{"paths":["/workspace/plain"]}"#,
    );
    assert_eq!(one["data"]["files"][0]["content"], "seen");
}

#[test]
fn what_reaches_a_limit_says_so() {
    if !can_run() {
        return;
    }
    let env = TestEnv::with_config("[sandbox]\noutput_bytes = 1024\nwall_seconds = 5\n");
    let token = env.approver();
    let loud = json!({"language": "python", "code": "print('x' * 5000)"});
    let ran = agreed(&env, &token, "sandbox.exec", &loud);
    assert_eq!(ran["status"], "degraded");
    assert_eq!(ran["warnings"], json!(["truncated_output"]));
    assert_eq!(ran["data"]["stdout_bytes"], 5001);
    assert_eq!(ran["data"]["stdout"].as_str().unwrap().len(), 1024);
    assert_eq!(ran["data"]["exit_code"], 0);
    let slow =
        json!({"language": "python", "code": "while True: pass", "limits": {"wall_ms": 500}});
    let ran = agreed(&env, &token, "sandbox.exec", &slow);
    assert_eq!(ran["warnings"], json!(["limit_reached"]), "{ran}");
    assert_eq!(ran["data"]["limits_reached"], json!(["wall_time"]));
    let more = json!({"language": "python", "code": "1", "limits": {"wall_ms": 60_000}});
    let refused = agreed(&env, &token, "sandbox.exec", &more);
    assert_eq!(refused["error"]["kind"], "input_rejected");
    let failing = json!({"language": "python", "code": "raise SystemExit(3)"});
    let ran = agreed(&env, &token, "sandbox.exec", &failing);
    assert_eq!(
        (&ran["status"], &ran["data"]["exit_code"]),
        (&json!("ok"), &json!(3))
    );
}

#[test]
fn what_is_not_allowed_never_runs() {
    if !can_run() {
        return;
    }
    let env = TestEnv::new();
    let token = env.approver();
    let bash = json!({"language": "bash", "code": "echo hi"});
    // Nobody is asked to agree to what cannot be.
    let refused = env.call("sandbox.exec", &bash.to_string(), &[]);
    let refused = refused.exits(1).json();
    assert_eq!(refused["error"]["kind"], "unsupported", "{refused}");
    assert_eq!(refused["error"]["message"], "bash is turned off here");
    for argv in [
        json!(["../x.py"]),
        json!(["/etc/passwd"]),
        json!(["-c", "1"]),
    ] {
        let run = json!({"language": "python", "argv": argv});
        let refused = agreed(&env, &token, "sandbox.exec", &run);
        assert_eq!(refused["error"]["kind"], "input_rejected", "{refused}");
    }
    let missing = json!({"language": "python", "argv": ["missing.py"]});
    let refused = agreed(&env, &token, "sandbox.exec", &missing);
    assert_eq!(refused["error"]["kind"], "not_found");
    for bad in [
        r#"{"language":"perl","code":"1"}"#,
        r#"{"language":"python"}"#,
        r#"{"language":"python","code":"1","argv":["x"]}"#,
        r#"{"language":"python","code":"1","limits":{"processes":0}}"#,
    ] {
        let refused = env.call("sandbox.exec", bad, &[]).exits(1).json();
        assert_eq!(refused["error"]["kind"], "invalid_arguments", "{bad}");
    }
    for path in ["../x", "/etc/x", "a/../../x", ""] {
        let write = json!({"files": [{"path": path, "content": "x"}]}).to_string();
        let refused = env.call("sandbox.write_files", &write, &["--yes"]).json();
        let kind = refused["error"]["kind"].as_str().unwrap().to_owned();
        if path.is_empty() {
            assert_eq!(kind, "invalid_arguments");
            continue;
        }
        let write = serde_json::from_str(&write).unwrap();
        let refused = agreed(&env, &token, "sandbox.write_files", &write);
        assert_eq!(refused["error"]["kind"], "input_rejected", "{refused}");
    }
    env.configure("[sandbox]\nlanguages = [\"bash\"]\n");
    let ran = agreed(&env, &token, "sandbox.exec", &bash);
    assert_eq!(ran["data"]["stdout"], "hi\n");
}

#[test]
fn without_a_good_enough_sandbox_nothing_runs() {
    if !can_run() {
        return;
    }
    let env = TestEnv::with_config("[sandbox]\nrunner = \"landlock\"\n");
    let token = env.approver();
    let code = json!({"language": "python", "code": "print(1)"});
    let refused = agreed(&env, &token, "sandbox.exec", &code);
    assert_eq!(refused["error"]["kind"], "unsupported", "{refused}");
    let doctor = env.run(&["doctor", "--json"]).exits(0).json().to_string();
    assert!(doctor.contains("so nothing is run"), "{doctor}");
    env.configure("[sandbox]\nrunner = \"landlock\"\nleast_tier = \"landlock\"\n");
    let ran = agreed(&env, &token, "sandbox.exec", &code);
    assert_eq!(ran["data"]["tier"], "landlock", "{ran}");
    let missing = ran["data"]["missing"].to_string();
    assert!(missing.contains("shared_processes"), "{missing}");
    env.configure("[sandbox]\nenabled = false\n");
    env.call("sandbox.exec", &code.to_string(), &[]).exits(2);
}

/// Process ids on this machine whose arguments hold a word.
fn running(word: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let has_word = |process: &std::fs::DirEntry| {
        let arguments = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let arguments = String::from_utf8_lossy(&arguments).into_owned();
        arguments.contains(word) && arguments.contains("python3")
    };
    let found = processes.filter(has_word);
    found
        .map(|process| process.file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn nothing_outlives_the_gate() {
    if !can_run() {
        return;
    }
    for signal in ["-KILL", "-INT"] {
        let env = TestEnv::new();
        let token = env.approver();
        let word = format!("outlives{signal}-{}", std::process::id());
        let code =
            format!("import os, time\nif os.fork() == 0: os.setsid()\ntime.sleep(60) # {word}");
        let arguments = json!({"language": "python", "code": code}).to_string();
        let refused = env.call("sandbox.exec", &arguments, &[]).exits(3).json();
        let id = approval_id(&refused);
        env.run(&["approve", &id, "--token", &token]).exits(0);
        let mut gate = env.start(&["call", "sandbox.exec", "--args", &arguments]);
        while running(&word).len() < 2 {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let mut kill = env.other("kill", &[signal, &gate.id().to_string()]);
        assert!(kill.status().unwrap().success());
        gate.wait().unwrap();
        // The kernel takes a moment to end what its first process leaves.
        while !running(&word).is_empty() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        env.whole();
    }
}

#[test]
fn the_doctor_lists_tiers_and_languages() {
    if !can_run() {
        return;
    }
    let env = TestEnv::new();
    let report = env.run(&["doctor"]).exits(0).out;
    for said in [
        "code runs in tier native",
        "native: works; ",
        "landlock: works; ",
        "bubblewrap: ",
        "gvisor: ",
        "python: /usr/",
        "bash: turned off",
    ] {
        assert!(report.contains(said), "{said} in\n{report}");
    }
    let all = env.run(&["doctor", "--json"]).exits(0).json();
    let bash = all["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|finding| finding["said"] == "bash: turned off")
        .unwrap();
    assert_eq!(bash["state"], "absent", "{bash}");
}

#[test]
fn the_network_is_there_only_where_a_rule_grants_it() {
    if !can_run() {
        return;
    }
    let env = TestEnv::new();
    let token = env.approver();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let code =
        format!("import socket; socket.create_connection(('127.0.0.1', {port})); print('reached')");
    let call = json!({"language": "python", "code": code});
    env.call("sandbox.exec_online", &call.to_string(), &["--yes"])
        .exits(4);
    let listed = env.run(&["tools", "list", "--json"]).exits(0).out;
    assert!(listed.contains("sandbox.exec") && !listed.contains("sandbox.exec_online"));
    let ran = agreed(&env, &token, "sandbox.exec", &call);
    assert_ne!(ran["data"]["exit_code"], 0, "{ran}");

    let rule = "@id(\"online\") permit (principal, action == Action::\"call\", resource == Tool::\"sandbox.exec_online\") when { context.consent >= 2 };";
    env.write("config/tollgate/policies/online.cedar", rule);
    let ran = agreed(&env, &token, "sandbox.exec_online", &call);
    assert_eq!(ran["data"]["stdout"], "reached\n", "{ran}");
    let missing = ran["data"]["missing"].as_array().unwrap();
    assert!(missing.contains(&json!("network_shared")), "{ran}");
}

#[test]
fn limits_of_a_call_reach_the_sandbox_in_every_language() {
    if !can_run() {
        return;
    }
    let env = TestEnv::new();
    let token = env.approver();
    let ran = |code: &str, limits: Value| {
        let run = json!({"language": "python", "code": code, "limits": limits});
        agreed(&env, &token, "sandbox.exec", &run)["data"].clone()
    };
    let cut = ran("print('x' * 5000)", json!({"output_bytes": 10}));
    assert_eq!(cut["stdout"], "x".repeat(10), "{cut}");
    let busy = ran("while True: pass", json!({"cpu_ms": 300}));
    assert_eq!(busy["limits_reached"], json!(["cpu_time"]), "{busy}");
    let greedy = "x = bytearray(150 << 20); print(len(x))";
    let free = ran(greedy, json!({}));
    assert_eq!(free["exit_code"], 0, "{free}");
    let held = ran(greedy, json!({"memory_bytes": 64 << 20}));
    assert_ne!(held["exit_code"], 0, "{held}");
    if !std::fs::exists("/usr/bin/node").unwrap_or(false) {
        eprintln!("skipped for node: there is no /usr/bin/node");
        return;
    }
    let node = json!({"language": "node", "code": "console.log(6*7)"});
    let ran = agreed(&env, &token, "sandbox.exec", &node);
    assert_eq!(ran["data"]["stdout"], "42\n", "{ran}");
}

/// The program on a machine where nobody installed Node.js: what is there is covered by a file
/// that nobody could start, and only for this one process.
fn without_node(env: &TestEnv, arguments: &[&str]) -> Option<Ran> {
    let cover = env.write("no-node", "");
    let script = "for at in /usr/bin/node /usr/local/bin/node; do \
                  [ ! -e \"$at\" ] || mount --bind \"$COVER\" \"$(readlink -f \"$at\")\" || exit 77; done; exec \"$@\"";
    let program = env!("CARGO_BIN_EXE_tollgate");
    let mut all = vec![
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        script,
        "sh",
        program,
    ];
    all.extend(arguments);
    let output = env.other("unshare", &all).env("COVER", cover).output();
    let ran = output.ok().map(Ran::from).filter(|ran| ran.code != 77);
    if ran.is_none() {
        eprintln!("skipped: nothing can be mounted here");
    }
    ran
}

#[test]
fn a_language_that_nobody_installed_says_so_and_so_does_the_doctor() {
    if !can_run() {
        return;
    }
    let env = TestEnv::new();
    let said = "not installed: neither /usr/bin/node nor /usr/local/bin/node is a program that a sandbox can see";
    let Some(doctor) = without_node(&env, &["doctor", "--json"]) else {
        return;
    };
    let doctor = doctor.json();
    let findings = doctor["findings"].as_array().unwrap();
    let find = |word: &str| {
        let mut found = findings.iter();
        let is_it = |it: &&Value| {
            it["said"]
                .as_str()
                .is_some_and(|said| said.starts_with(word))
        };
        found.find(is_it).unwrap_or_else(|| panic!("{doctor:#}"))
    };
    assert_eq!(find("node: ")["said"], format!("node: {said}"));
    assert_eq!(find("node: ")["state"], "absent");
    assert_eq!(find("python: /usr/")["state"], "works");
    let code = json!({"language": "node", "code": "console.log(6*7)"}).to_string();
    let call = ["call", "sandbox.exec", "--args", &code, "--json"];
    // Nobody is asked to agree to it, and no place of this machine is told.
    let refused = without_node(&env, &call).unwrap().exits(1).json();
    let error = &refused["error"];
    assert_eq!(error["kind"], "unsupported", "{refused}");
    assert_eq!(error["message"], "node is not installed here");
    assert_eq!(error["details"]["languages"], json!(["python"]));
    let advice = error["recovery_suggestion"].as_str().unwrap();
    assert!(advice.contains("tollgate doctor"), "{refused}");
}
