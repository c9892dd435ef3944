//! Finding tools, and what the shell is told about the program.

use serde_json::Value;

use crate::support::TestEnv;

/// A small catalogue of its own, in the shape a server lists its tools.
const CORPUS: &str = include_str!("../../../fixtures/search/corpus.json");

fn names(found: &Value) -> Vec<&str> {
    let tools = found["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn every_tool_is_listed() {
    let env = TestEnv::with_config("[providers.stub]\ntools = [\"prices.lookup\"]\n");
    let listed = env.run(&["tools", "list", "--json"]).exits(0).json();
    let all = names(&listed);
    assert!(all.is_sorted());
    assert!(all.contains(&"text.stats") && all.contains(&"prices.lookup"));
    let set = |name: &str| {
        let listed = env.run(&["tools", "list", "--toolset", name, "--json"]);
        names(&listed.exits(0).json()).len()
    };
    let others = ["browser.", "keepa.", "prices.", "sandbox.", "web."];
    let is_other = |name: &&&str| others.iter().any(|other| name.starts_with(other));
    let others = all.iter().filter(is_other).count() + set("runs");
    assert_eq!(set("gate"), all.len() - others);
    let people = env.run(&["tools", "list"]).exits(0).out;
    assert_eq!(people.lines().count(), all.len() + 1);
    assert!(people.starts_with("TOOL"));
    let unknown = env.run(&["tools", "list", "--toolset", "gat"]).exits(2);
    assert!(
        unknown
            .err
            .contains("there are audit, browser, browser_steps, discovery, docs, gate, keepa,"),
        "{}",
        unknown.err
    );
}

#[test]
fn one_tool_is_shown_whole() {
    let env = TestEnv::new();
    let shown = env.run(&["tools", "show", "text.stats", "--json"]);
    let shown = shown.exits(0).json();
    assert_eq!(shown["tool"], "tools.describe");
    assert_eq!(shown["data"]["name"], "text.stats");
    assert!(shown["data"]["input_schema"]["properties"]["text"].is_object());
    let unknown = env.run(&["tools", "show", "text.stat"]);
    assert_eq!(unknown.code, 1, "{unknown:?}");
}

#[test]
fn tools_are_found_by_english_and_chinese_words() {
    let env = TestEnv::new();
    for (query, wanted) in [
        ("count words", "text.stats"),
        ("what time is it", "time.now"),
        ("text.stats", "text.stats"),
        ("统计文本字数", "text.stats"),
        ("当前时间", "time.now"),
    ] {
        let found = env
            .run(&["tools", "search", query, "--json"])
            .exits(0)
            .json();
        assert_eq!(names(&found["data"])[0], wanted, "{query}");
        let people = env.run(&["tools", "search", query]).exits(0).out;
        assert!(people.lines().nth(1).unwrap().contains(wanted), "{people}");
    }
    let one = env
        .run(&["tools", "search", "text", "--limit", "1"])
        .exits(0)
        .out;
    assert_eq!(one.lines().count(), 2);
    let nothing = env.run(&["tools", "search", "qqqqzzzz"]).exits(0);
    assert_eq!(nothing.out, "");
    assert!(nothing.err.contains("nothing found"));
}

#[test]
fn a_catalogue_file_is_searched_without_any_state() {
    let env = TestEnv::with_config("this is no configuration");
    env.write("project/corpus.json", CORPUS);
    let search = |query: &str| {
        let arguments = [
            "tools",
            "search",
            "--corpus",
            "corpus.json",
            "--json",
            query,
        ];
        env.run(&arguments).exits(0).json()
    };
    for (query, wanted) in [
        ("send an email", "send_message"),
        ("weather tomorrow", "get_forecast"),
        ("create a calendar event", "create_event"),
        ("天气预报", "get_forecast"),
        ("发送邮件", "send_message"),
    ] {
        let found = search(query);
        assert_eq!(found["query"], query);
        assert_eq!(names(&found)[0], wanted, "{query}: {found}");
        assert!(found["tools"][0]["score"].as_f64().unwrap() > 0.0);
        assert!(found["tools"][0]["server"].is_string());
    }
    assert!(!env.state_dir().exists());
    let one = [
        "tools",
        "search",
        "--corpus",
        "corpus.json",
        "--limit",
        "1",
        "send",
    ];
    assert_eq!(env.run(&one).exits(0).out.lines().count(), 2);
}

#[test]
fn a_catalogue_file_that_is_none_is_a_usage_error() {
    let env = TestEnv::new();
    env.write("project/text.json", "not json");
    env.write("project/number.json", "5");
    for (file, because) in [
        ("missing.json", "No such file"),
        ("text.json", "is not JSON"),
        ("number.json", "holds no list of tools"),
    ] {
        let ran = env
            .run(&["tools", "search", "--corpus", file, "word"])
            .exits(2);
        assert!(ran.err.contains(because), "{}", ran.err);
        assert_eq!(ran.out, "");
    }
}

#[test]
fn a_switched_off_provider_or_tool_is_gone() {
    let env = TestEnv::with_config("[discovery]\nexclude_tools = [\"time.*\"]\n");
    let listed = env.run(&["tools", "list", "--json"]).exits(0).json();
    assert!(!names(&listed).contains(&"time.now"));
    let called = env.call("time.now", "{}", &[]).exits(2).json();
    assert_eq!(called["error"]["kind"], "unknown_tool");
    env.configure(
        "[providers]\ndisabled = [\"browser\", \"builtin\", \"keepa\", \"runs\", \"sandbox\", \"web\"]\n[providers.stub]\ntools = [\"a.b\"]\n",
    );
    let listed = env.run(&["tools", "list", "--json"]).exits(0).json();
    assert_eq!(names(&listed), ["a.b"]);
}

/// Who would serve a call.
#[track_caller]
fn served(env: &TestEnv, tool: &str, arguments: &str) -> Value {
    let answer = env.call(tool, arguments, &["--dry-run"]);
    answer.json()["meta"]["provider"].clone()
}

#[test]
fn the_preferred_provider_serves_a_name_that_two_offer() {
    let stub = "[providers.stub]\ntools = [\"text.stats\"]\n";
    let env = TestEnv::with_config(stub);
    let served = |env: &TestEnv| served(env, "text.stats", r#"{"text":"a"}"#);
    assert_eq!(served(&env), "builtin");
    env.configure(&format!(
        "preferred_provider_order = [\"stub\", \"builtin\"]\n{stub}"
    ));
    assert_eq!(served(&env), "stub");
    let answer = env.ok("text.stats", r#"{"text":"a"}"#);
    assert_eq!(answer["meta"]["provider"], "stub", "{answer}");
}

#[test]
fn the_safest_provider_serves_a_name_that_two_offer() {
    // The first is read by the builtin provider and written by the stub, the other one the
    // other way round.
    const STUB: &str = "[providers.stub]\ntools = [\"text.stats\", \"session.forget\"]\n\
                        writes = [\"text.stats\"]\n";
    let mut env = TestEnv::new();
    let both = |env: &TestEnv, head: &str| {
        env.configure(&format!("{head}\n{STUB}"));
        let text = served(env, "text.stats", r#"{"text":"a"}"#);
        [text, served(env, "session.forget", "{}")]
    };
    assert_eq!(both(&env, ""), ["builtin", "builtin"]);
    let stub_first = "preferred_provider_order = [\"stub\", \"builtin\"]";
    assert_eq!(both(&env, stub_first), ["stub", "stub"]);
    let safest = format!("provider_choice = \"safest\"\n{stub_first}");
    assert_eq!(both(&env, &safest), ["builtin", "stub"]);
    assert_eq!(
        both(&env, "provider_choice = \"safest\""),
        ["builtin", "stub"]
    );
    let answer = env.ok("session.forget", "{}");
    assert_eq!(answer["meta"]["provider"], "stub", "{answer}");
    env.set("TOLLGATE_PROVIDER_CHOICE", "order");
    env.set("TOLLGATE_PREFERRED_PROVIDER_ORDER", "stub,builtin");
    assert_eq!(both(&env, &safest), ["stub", "stub"]);
}

#[test]
fn a_tool_calls_another_through_the_same_door() {
    let env = TestEnv::new();
    let inner = r#"{"name":"session.forget","arguments":{}}"#;
    let refused = env.call("tools.call", inner, &[]);
    assert_eq!(refused.code, 3, "{refused:?}");
    let read = r#"{"name":"text.stats","arguments":{"text":"hello"}}"#;
    let answer = env.ok("tools.call", read);
    assert_eq!(answer["tool"], "text.stats");
    assert_eq!(
        env.ok("text.stats", r#"{"text":"hello"}"#)["cache_hit"],
        true
    );
}

/// Commands and options that somebody types.
const TYPED: [&str; 8] = [
    "approve",
    "doctor",
    "tools",
    "search",
    "--dry-run",
    "--corpus",
    "--session",
    "--json",
];

#[test]
fn shells_get_completions() {
    let env = TestEnv::new();
    for (shell, beginning) in [
        ("bash", "_tollgate() {"),
        ("zsh", "#compdef tollgate"),
        ("fish", "# Print an optspec"),
    ] {
        let ran = env.run(&["completions", shell]).exits(0);
        assert!(ran.out.starts_with(beginning), "{shell}: {:.80}", ran.out);
        for word in TYPED {
            // This shell writes options without their dashes.
            let word = if shell == "fish" {
                word.trim_start_matches('-')
            } else {
                word
            };
            assert!(ran.out.contains(word), "{shell}: {word}");
        }
        assert_eq!(ran.err, "");
    }
    for wrong in [&["tcsh-ish"][..], &[]] {
        env.run(&[&["completions"], wrong].concat()).exits(2);
    }
    assert!(!env.state_dir().exists());
}

#[test]
fn bash_completes_what_was_begun() {
    let env = TestEnv::new();
    let script = env.run(&["completions", "bash"]).exits(0).out;
    let file = env.write("completions.bash", script);
    let completed = |words: &str| {
        let line = format!(
            "source {file}; COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 )); \
             _tollgate tollgate \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; echo \"${{COMPREPLY[*]}}\""
        );
        let output = env.other("bash", &["-c", &line]).output().unwrap();
        let ran = crate::support::Ran::from(output).exits(0);
        assert_eq!(ran.err, "", "{words}");
        ran.out.trim().to_owned()
    };
    assert_eq!(completed("tollgate appr"), "approvals approve");
    assert_eq!(completed("tollgate tools se"), "search");
    assert_eq!(completed("tollgate call --dry"), "--dry-run");
    assert_eq!(completed("tollgate completions z"), "zsh");
}

#[test]
fn the_demo_ends_with_a_whole_log_and_leaves_nothing_behind() {
    let env = TestEnv::new();
    let ran = env.run(&["demo"]).exits(0);
    for said in [
        "cache_hit=true",
        "confirmation_required",
        "approved ap-",
        "session_consumed",
    ] {
        assert!(ran.out.contains(said), "{said}: {}", ran.out);
    }
    assert!(ran.out.lines().last().unwrap().starts_with("verified: "));
    assert!(!ran.out.contains('\u{1b}'));
    assert!(!env.state_dir().exists());
    assert_eq!(std::fs::read_dir(env.path("tmp")).unwrap().count(), 0);
}
