//! Files people could have written: the valid ones load, the others say all that is wrong.

use super::*;

/// Loads a fixture as `--config` does; folders of this machine are cut out of the answer.
pub(super) fn load(name: &str) -> Result<Config, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/config");
    let file = folder.join(name);
    let environment = Environment {
        home: Some("/home/me".into()),
        current_dir: folder,
        ..Environment::default()
    };
    let base = format!("{}/", file.parent().unwrap().display());
    let flags = Flags {
        config: Some(file),
        ..Flags::default()
    };
    Config::load(&environment, &flags).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        lines.join("\n").replace(&base, "")
    })
}

fn names(folder: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/config");
    let mut names: Vec<String> = fs::read_dir(path.join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".toml") && name != "rules.toml")
        .map(|name| format!("{folder}/{name}"))
        .collect();
    names.sort();
    names
}

#[test]
fn valid_files_load() {
    for name in names("valid") {
        let loaded = load(&name);
        assert!(loaded.is_ok(), "{name}: {}", loaded.unwrap_err());
    }
}

#[test]
fn invalid_files_say_all_that_is_wrong() {
    let said: Vec<String> = names("invalid")
        .iter()
        .map(|name| load(name).expect_err(name))
        .collect();
    insta::assert_snapshot!(said.join("\n\n"), @r#"
    bounds.toml:2: state.dir: the path is empty
    bounds.toml:5: limits.message_bytes: 0 is out of range (it may be 1024 to 268435456)
    bounds.toml:6: limits.concurrent_calls: -1 is out of range (it may be 1 to 4096)
    bounds.toml:7: limits.call_timeout_ms: 86400001 is out of range (it may be 100 to 86400000)
    bounds.toml:8: limits.session_tokens: the number is too large
    bounds.toml:11: review.confidence_threshold: 1.5 is out of range (it may be 0 to 1)
    bounds.toml:12: review.heavy_redaction: 0 is out of range (it may be 1 to 1000000)
    bounds.toml:15: telemetry.service_name: the text is empty

    meaning.toml:8: discovery.profile: there is no profile `quite` (did you mean `quiet`?)
    meaning.toml:2: policy.files: there is no file nowhere.cedar
    meaning.toml:5: sanitize.rules: there is no file nowhere.toml

    oauth.toml:4: serve.oauth.jwks_url: the issuer's keys are in a file already (set one of the two)
    oauth.toml:2: serve.oauth.issuer: without an audience, tokens for other servers would be accepted (set `serve.oauth.audience`)
    oauth.toml:5: serve.oauth.algorithms: no token could be accepted (such as ["RS256"])

    ownerless.toml:2: serve.oauth.audience: there is no issuer whose tokens it is about (set `serve.oauth.issuer`)
    ownerless.toml:3: serve.oauth.jwks_file: there is no issuer whose tokens it is about (set `serve.oauth.issuer`)

    renamed.toml:1: colour: unknown key (there are provider_choice, preferred_provider_order, state, limits, policy, consent, record, review, sanitize, log, telemetry, discovery, profiles, packs, providers, mcp, serve, results, resources, knowledge, docs, skills, sandbox, runs, keepa, web, browser)
    renamed.toml:4: providers.choice: unknown key (it is now `provider_choice`, above the first section)
    renamed.toml:5: providers.preferred_order: unknown key (it is now `preferred_provider_order`, above the first section)
    renamed.toml:6: providers.provider_choice: unknown key (it belongs at `provider_choice`, above the first section)

    secrets.toml:2: telemetry.otlp_endpoint: not a plain http or https address (such as `http://127.0.0.1:4318`; secrets go into `headers`)
    secrets.toml:5: telemetry.headers.authorization: a secret must not be written here (name its place instead: `env:NAME` or `file:PATH`)
    secrets.toml:6: telemetry.headers.x-empty: a secret must not be written here (name its place instead: `env:NAME` or `file:PATH`)
    secrets.toml:7: telemetry.headers."x bad": not the name of an HTTP header

    serving.toml:2: serve.port: 70000 is out of range (it may be 0 to 65535)
    serving.toml:5: serve.oauth.issuer: not a plain https address (such as `https://login.example`; http only on this machine)
    serving.toml:6: serve.oauth.jwks_url: not a plain https address (such as `https://login.example`; http only on this machine)
    serving.toml:7: serve.oauth.algorithms[0]: `HS256` is not a choice (did you mean `RS256`?)
    serving.toml:7: serve.oauth.algorithms[1]: `none` is not a choice (one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA)
    serving.toml:10: resources.roots."Up/..": not a name for a root (at most 64 lower-case letters, digits, `-` and `_`)

    stubs.toml:2: providers.stub.tools: `shelf.read` and `shelf/read` are both spelled `shelf_read`
    stubs.toml:2: providers.stub.tools: `two words` is no name of a tool: a tool name holds the character ' '
    stubs.toml:3: providers.stub.writes: `shelf.write` is not one of `providers.stub.tools`

    syntax.toml:2: not TOML: string values must be quoted, expected literal string
    syntax.toml:4: not TOML: unclosed table, expected `]`
    syntax.toml:9: not TOML: duplicate key

    types.toml:1: limits: expected a table, found a whole number
    types.toml:4: state.dir: expected a text, found a whole number
    types.toml:7: discovery.toolsets: expected a list, found a text
    types.toml:8: discovery.pinned[1]: expected a text, found a whole number
    types.toml:11: providers.stub.tools: expected a list, found a table
    types.toml:14: review.confidence_threshold: expected a number, found a text
    types.toml:17: log.level: expected a text, found a date

    typos.toml:1: limit: unknown key (did you mean `limits`?)
    typos.toml:5: limits.mesage_bytes: unknown key (did you mean `message_bytes`?)
    typos.toml:6: limits.toolsets: unknown key (it belongs at `discovery.toolsets`)
    typos.toml:7: limits.colour: unknown key ([limits] has message_bytes, argument_bytes, result_bytes, concurrent_calls, queued_calls, call_timeout_ms, session_tokens, sessions, sessions_per_principal, memory_bytes, memory_bytes_per_principal, body_bytes_per_day, body_bytes_per_day_per_principal, pending_approvals, pending_approvals_per_principal, pending_approval_bytes, pending_approval_bytes_per_principal)
    typos.toml:10: discovery.names: `cannonical` is not a choice (did you mean `canonical`?)
    typos.toml:13: profiles.quiet.inactiv: unknown key (did you mean `inactive`?)
    typos.toml:16: review.enable[1]: `sensitive_tools` is not a choice (did you mean `sensitive_tool`?)
    typos.toml:16: review.enable[2]: `moon phase` is not a choice (one of uncertain_verdict, low_confidence, missing_evidence, sensitive_tool, retries_exhausted, heavy_redaction)
    "#);
}

#[test]
fn no_message_quotes_what_may_be_a_secret() {
    for name in names("invalid") {
        let said = load(&name).expect_err(&name);
        assert!(!said.contains("hunter2"), "{said}");
    }
}

#[test]
fn every_key_is_in_an_example() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/config");
    let mut errors = Vec::new();
    let mut set = layer::Layer::default();
    for name in names("valid") {
        let file = folder.join(name);
        let text = fs::read_to_string(&file).unwrap();
        let environment = Environment::default();
        set.extend(layer::Layer::parse(&text, &file, &environment, &mut errors));
    }
    assert_eq!(errors, []);
    let is_set = |leaf: &keys::Leaf| {
        let same = |(a, b): (&String, &String)| a == b || b == keys::ANY;
        let matches = |path: &Vec<String>| {
            path.len() == leaf.path.len() && path.iter().zip(&leaf.path).all(same)
        };
        set.settings.keys().any(matches)
    };
    let missing: Vec<String> = keys::leaves()
        .iter()
        .filter(|leaf| !is_set(leaf))
        .map(|leaf| leaf.path.join("."))
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}
