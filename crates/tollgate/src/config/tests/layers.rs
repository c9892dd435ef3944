//! Which layer wins, and where files are looked for.

use super::*;

#[test]
fn each_layer_lies_over_the_one_before() {
    let mut home = Home::new();
    let preview = |home: &Home, flags: &Flags| home.load_with(flags).unwrap().record.preview;
    let none = Flags::default();
    let flag = Flags {
        overrides: vec![Override {
            flag: "--preview".into(),
            key: "record.preview".into(),
            value: "4".into(),
        }],
        ..Flags::default()
    };
    assert_eq!(preview(&home, &none), 200);
    home.user("[record]\npreview = 1");
    assert_eq!(preview(&home, &none), 1);
    home.project("[record]\npreview = 2").trust();
    assert_eq!(preview(&home, &none), 2);
    home.set("TOLLGATE_RECORD_PREVIEW", "3");
    assert_eq!(preview(&home, &none), 3);
    assert_eq!(preview(&home, &flag), 4);
}

#[test]
fn a_section_that_says_nothing_leaves_the_defaults() {
    let home = Home::new();
    let defaults = home.load_with(&Flags::default()).unwrap();
    home.user("[web]\n[record]\n[packs]\n[providers.stub]\n[serve]\n[limits]\n[mcp]");
    let config = home.load_with(&Flags::default()).unwrap();
    assert_eq!(config.record, defaults.record);
    assert_eq!(config.limits, defaults.limits);
}

#[test]
fn a_named_file_replaces_the_other_files() {
    let mut home = Home::new();
    home.user("[record]\npreview = 1\nmax_body = 1")
        .project("[discovery]\nexclude_tools = [\"x\"]")
        .write("project/other.toml", "[record]\npreview = 9");
    let flags = Flags {
        config: Some("other.toml".into()),
        ..Flags::default()
    };
    let config = home.load_with(&flags).unwrap();
    assert_eq!(
        config.record,
        Record {
            max_body: 65536,
            preview: 9
        }
    );
    assert_eq!(config.discovery.exclude_tools, Vec::<String>::new());
    let roles: Vec<SourceRole> = config.sources.iter().map(|source| source.role).collect();
    assert_eq!(roles, [SourceRole::Named]);

    home.set("TOLLGATE_CONFIG", "other.toml");
    assert_eq!(home.load().unwrap().record.preview, 9);
}

#[test]
fn a_named_file_that_is_missing_is_an_error() {
    let mut home = Home::new();
    home.set("TOLLGATE_CONFIG", "nowhere.toml");
    insta::assert_snapshot!(home.errors(), @"~/project/nowhere.toml: there is no such file (create it, or leave `--config` and TOLLGATE_CONFIG out to use ~/.config/tollgate/tollgate.toml)");
}

#[test]
fn variables_set_keys_of_every_kind() {
    let mut home = Home::new();
    home.set("TOLLGATE_STATE_DIR", "state")
        .set("TOLLGATE_LOG", "debug")
        .set("TOLLGATE_LOG_FILE", "stderr")
        .set("TOLLGATE_LIMITS_SESSION_TOKENS", "1_000")
        .set("TOLLGATE_REVIEW_CONFIDENCE_THRESHOLD", "0.5")
        .set("TOLLGATE_DISCOVERY_TOOLSETS", "gate, research,")
        .set("TOLLGATE_PROVIDERS_STUB_TOOLS", "web.read")
        .set("TOLLGATE_RECORD_PREVIEW", "")
        .set("TOLLGATE_APPROVER_TOKEN", "anything");
    let config = home.load().unwrap();
    assert_eq!(config.state.dir, home.path().join("project/state"));
    assert_eq!(
        config.log,
        Log {
            target: LogTarget::Stderr,
            level: Level::Debug
        }
    );
    assert_eq!(config.limits.session_tokens, Some(1000));
    assert_eq!(config.review.confidence_threshold, 0.5);
    assert_eq!(config.discovery.toolsets, ["gate", "research"]);
    assert_eq!(config.providers.stub.tools, ["web.read"]);
    assert_eq!(config.record.preview, 200);
}

#[test]
fn wrong_variables_and_flags_say_what_was_meant() {
    let mut home = Home::new();
    home.set("TOLLGATE_STATE_DIRECTORY", "/x")
        .set("TOLLGATE_LIMITS_MESSAGE_BYTES", "4 MiB")
        .set("TOLLGATE_RECORD_PREVIEW", "-1")
        .set("TOLLGATE_LOG_LEVEL", "loud")
        .set("TOLLGATE_NONSENSE", "1")
        .set("TOLLGATE_PROVIDERS_PREFERRED_ORDER", "stub")
        .set("TOLLGATE_TELEMETRY_HEADERS", "authorization=secret");
    let flag = |flag: &str, key: &str, value: &str| Override {
        flag: flag.into(),
        key: key.into(),
        value: value.into(),
    };
    let flags = Flags {
        overrides: vec![
            flag("--names", "discovery.names", "sure"),
            flag("--set", "discovery.toolset", "gate"),
            flag("--set", "limits", "1"),
        ],
        ..Flags::default()
    };
    let said = home.tell(&home.load_with(&flags).unwrap_err());
    insta::assert_snapshot!(said, @"
    environment variable TOLLGATE_LIMITS_MESSAGE_BYTES: limits.message_bytes: expected a whole number, found a text
    environment variable TOLLGATE_LOG_LEVEL: log.level: `loud` is not a choice (one of error, warn, info, debug)
    environment variable TOLLGATE_NONSENSE: no such setting (variables are TOLLGATE_<SECTION>_<KEY>, such as TOLLGATE_STATE_DIR)
    environment variable TOLLGATE_PROVIDERS_PREFERRED_ORDER: no such setting (it is now TOLLGATE_PREFERRED_PROVIDER_ORDER)
    environment variable TOLLGATE_RECORD_PREVIEW: record.preview: -1 is out of range (it may be 0 to 10000)
    environment variable TOLLGATE_STATE_DIRECTORY: no such setting (did you mean TOLLGATE_STATE_DIR?)
    environment variable TOLLGATE_TELEMETRY_HEADERS: no such setting (variables are TOLLGATE_<SECTION>_<KEY>, such as TOLLGATE_STATE_DIR)
    flag --names: discovery.names: `sure` is not a choice (one of auto, canonical, safe)
    flag --set: discovery.toolset: unknown key (did you mean `discovery.toolsets`?)
    flag --set: limits: unknown key
    ");
}

#[test]
fn without_a_home_the_state_needs_a_place() {
    let environment = Environment {
        current_dir: "/".into(),
        ..Environment::default()
    };
    let errors = Config::load(&environment, &Flags::default()).unwrap_err();
    let said: Vec<String> = errors.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(said.join("\n"), @"
    defaults: state.dir: there is no home folder to put it in (set `state.dir`, HOME or XDG_DATA_HOME)
    defaults: state.anchor_dir: there is no home folder to put it in (set `state.anchor_dir`, HOME or XDG_STATE_HOME)
    ");
}

#[test]
fn base_folders_follow_xdg_unless_relative() {
    let mut home = Home::new();
    home.set("XDG_DATA_HOME", "/data")
        .set("XDG_STATE_HOME", "relative");
    let state = home.load().unwrap().state;
    assert_eq!(state.dir, PathBuf::from("/data/tollgate"));
    let anchor = home.path().join(".local/state/tollgate/anchor");
    assert_eq!(state.anchor_dir, anchor);
}

#[test]
fn the_projects_file_is_looked_for_up_to_the_repository_or_home() {
    let mut home = Home::new();
    let found = |home: &Home| {
        let file = project_file(&home.environment)?;
        let below = file.strip_prefix(home.path()).unwrap();
        Some(below.display().to_string())
    };
    home.write("project/.git/HEAD", "")
        .write("project/a/b/keep", "");
    home.environment.current_dir = home.path().join("project/a/b");
    assert_eq!(found(&home), None);
    // Above the repository's root nothing is looked at.
    home.write("tollgate.toml", "");
    assert_eq!(found(&home), None);
    home.project("");
    assert_eq!(found(&home).as_deref(), Some("project/tollgate.toml"));
    home.write("project/a/tollgate.toml", "");
    assert_eq!(found(&home).as_deref(), Some("project/a/tollgate.toml"));
}

#[test]
fn outside_of_home_only_the_current_folder_counts() {
    let mut home = Home::new();
    home.write("tollgate.toml", "").write("project/a/keep", "");
    home.environment.home = None;
    let here = home.environment.current_dir.clone();
    assert_eq!(project_file(&home.environment), None);
    fs::write(here.join(FILE_NAME), "").unwrap();
    assert_eq!(project_file(&home.environment), Some(here.join(FILE_NAME)));
    home.environment.current_dir = here.join("a");
    assert_eq!(project_file(&home.environment), None);
    drop(home.folder);
}

#[test]
fn the_users_own_folder_is_not_a_project() {
    let mut home = Home::new();
    home.user("[record]\npreview = 1");
    home.environment.current_dir = home.path().join(".config/tollgate");
    let config = home.load().unwrap();
    assert_eq!(config.record.preview, 1);
    assert_eq!(config.sources.len(), 1);
}

#[test]
fn the_users_policies_are_loaded_in_order() {
    let home = Home::new();
    home.write(".config/tollgate/policies/b.cedar", "")
        .write(".config/tollgate/policies/a.cedar", "")
        .write(".config/tollgate/policies/notes.txt", "")
        .write(".config/tollgate/own.cedar", "")
        .user("[policy]\nfiles = [\"own.cedar\"]");
    let config = home.load().unwrap();
    let said: Vec<String> = config
        .policy
        .iter()
        .map(|file| format!("{:?} {}", file.scope, file.path.display()))
        .collect();
    insta::assert_snapshot!(home.tell(&said), @"
    Full ~/.config/tollgate/policies/a.cedar
    Full ~/.config/tollgate/policies/b.cedar
    Full ~/.config/tollgate/own.cedar
    ");
}

#[test]
fn problems_of_all_layers_are_reported_together() {
    let mut home = Home::new();
    home.user("[record]\npreveiw = 1")
        .project("[log]\nlevel = 3");
    home.set("TOLLGATE_RECORD_PREVIEW", "many");
    insta::assert_snapshot!(home.errors(), @"
    ~/.config/tollgate/tollgate.toml:2: record.preveiw: unknown key (did you mean `preview`?)
    ~/project/tollgate.toml:2: log.level: expected a text, found a whole number
    environment variable TOLLGATE_RECORD_PREVIEW: record.preview: expected a whole number, found a text
    ");
}

#[test]
fn files_that_are_no_text_or_too_long_are_named() {
    let home = Home::new();
    let file = home.path().join(".config/tollgate/tollgate.toml");
    home.user("");
    fs::write(&file, b"[log]\nlevel = \"\xff\"").unwrap();
    home.project(&"#".repeat(1024 * 1024 + 1));
    insta::assert_snapshot!(home.errors(), @"
    ~/.config/tollgate/tollgate.toml: not UTF-8 at byte 15
    ~/project/tollgate.toml: larger than 1 MiB
    ");
}
