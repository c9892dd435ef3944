//! Typical mistakes of a person at a shell: each is told with what to do about it.

use crate::support::TestEnv;

/// What is typed, how it ends, and what is said about it, in this order.
const CASES: &[(&[&str], i32, &[&str])] = &[
    (
        &["call", "text.stat"],
        2,
        &[
            "there is no tool `text.stat`",
            "nearest: text.stats",
            "`tollgate tools search WORDS` finds tools",
        ],
    ),
    (
        &["call", "text.stats", "--args", r#"{"txt":"x"}"#],
        1,
        &[
            "do not fit",
            "'txt' was unexpected",
            "\"text\" is a required property",
            "`tollgate tools show text.stats` shows what it takes",
        ],
    ),
    (
        &["call", "text.stats", "--args", "{text:x}"],
        2,
        &["not valid JSON", "line 1 column 2", "give JSON such as '{"],
    ),
    (
        &["call", "text.stats", "--args", "[]"],
        2,
        &["must be a JSON object", "give JSON such as '{"],
    ),
    (
        &["call", "text.stats", "--args", "@nowhere.json"],
        2,
        &["nowhere.json: No such file"],
    ),
    (
        &["call", "time.now", "--profile", "cheap"],
        2,
        &["there is no profile `cheap`", "there are: "],
    ),
    (
        &["explain", "text.stat", "{}"],
        2,
        &["there is no tool `text.stat`", "nearest: text.stats"],
    ),
    (
        &["tools", "list", "--config", "nowhere.toml"],
        2,
        &["nowhere.toml: there is no such file", "leave `--config`"],
    ),
    (
        &["token", "revoke", "tk-1"],
        2,
        &["there is no token `tk-1`"],
    ),
    (
        &["trust", "nowhere"],
        2,
        &["nowhere cannot be read or written: No such file"],
    ),
    (&["approve", "ap-1"], 2, &["there is no approval `ap-1`"]),
    (&["cal"], 2, &["a similar subcommand exists: 'call'"]),
];

#[test]
fn a_mistake_is_told_with_what_to_do() {
    let env = TestEnv::new();
    for (typed, code, wanted) in CASES {
        let ran = env.run(typed).exits(*code);
        assert_eq!(ran.out, "", "{typed:?}");
        let mut rest = ran.err.as_str();
        for part in *wanted {
            let found = rest.split_once(part);
            rest = found.unwrap_or_else(|| panic!("{typed:?}: {}", ran.err)).1;
        }
    }
}

#[test]
fn a_tool_of_a_server_that_is_down_says_so() {
    let env =
        TestEnv::with_config("[[mcp.servers]]\nname = \"clock\"\ncommand = \"/nowhere/at/all\"\n");
    let ran = env.run(&["call", "mcp.clock.now"]).exits(1);
    assert!(
        ran.err.contains("the server `clock` is not available")
            && ran.err.contains("/nowhere/at/all"),
        "{}",
        ran.err
    );
    // Programs read one document, and nothing beside it.
    assert_eq!(env.call("mcp.clock.now", "{}", &[]).exits(1).err, "");
}
