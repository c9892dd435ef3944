//! Files people could have written: the valid ones load, the others say all that is wrong.

use super::*;

/// Loads a fixture as `--config` does; folders of this machine are cut out of the answer.
fn load(name: &str) -> Result<Config, String> {
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
    typos.toml:7: limits.colour: unknown key ([limits] has message_bytes, argument_bytes, result_bytes, concurrent_calls, queued_calls, call_timeout_ms, session_tokens)
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

#[test]
fn what_is_written_is_what_is_resolved() {
    let config = load("valid/everything.toml").unwrap();
    let said = format!("{config:#?}");
    let base = env!("CARGO_MANIFEST_DIR");
    insta::assert_snapshot!(said.replace(base, ""), @r#"
    Config {
        state: State {
            dir: "/home/me/tollgate-state",
            anchor_dir: "/fixtures/config/valid/anchor",
        },
        limits: Limits {
            message_bytes: 1048576,
            argument_bytes: 65536,
            result_bytes: 2097152,
            concurrent_calls: 8,
            queued_calls: 0,
            call_timeout: 30s,
            session_tokens: Some(
                500,
            ),
        },
        policy: [
            PolicyFile {
                path: "/fixtures/config/valid/strict.cedar",
                scope: Full,
            },
        ],
        consent: Consent {
            approval_ttl: 60s,
            reissue_window: 0ns,
            session_grant_ttl: 3600s,
            dialogs: None,
        },
        record: Record {
            max_body: 0,
            preview: 80,
        },
        review: Review {
            confidence_threshold: 1.0,
            heavy_redaction: 3,
            enable: {
                LowConfidence,
                SensitiveTool,
            },
        },
        sanitize: Sanitize {
            rules: [
                "/fixtures/config/valid/rules.toml",
            ],
            open_world_text_bytes: 1024,
        },
        log: Log {
            target: File(
                "/fixtures/config/valid/logs/tollgate.jsonl",
            ),
            level: Debug,
        },
        telemetry: Telemetry {
            otlp_endpoint: Some(
                "https://collector.example:4318",
            ),
            headers: {
                "authorization": Env(
                    "COLLECTOR_TOKEN",
                ),
                "x-scope": File(
                    "/fixtures/config/valid/scope.txt",
                ),
            },
            service_name: "gate",
        },
        discovery: Discovery {
            toolsets: [
                "gate",
                "research",
            ],
            allow_tools: [
                "text.*",
                "keepa.*",
            ],
            exclude_tools: [
                "keepa.tracking_*",
            ],
            profile: Some(
                "low-cost",
            ),
            pinned: [
                "text.stats",
            ],
            names: Safe,
            schemas: Brief,
        },
        profiles: {
            "dry_run_default": Profile {
                inactive: [
                    "keepa.products_get",
                    "keepa.products_compare",
                    "keepa.sellers_get",
                    "keepa.cassettes_sanitize",
                    "keepa.cassettes_promote",
                    "keepa.cassettes_promote_and_verify",
                    "keepa.tracking_list",
                    "keepa.tracking_list_names",
                    "keepa.tracking_get",
                    "keepa.tracking_notifications",
                ],
                reason: Some(
                    "dry_run_default: prices are looked at before anything is asked",
                ),
            },
            "fixture_curation": Profile {
                inactive: [
                    "keepa.resolve_research_target",
                    "keepa.query_research_context",
                    "keepa.workflow_plan",
                    "keepa.products_get",
                    "keepa.products_compare",
                    "keepa.categories_search",
                    "keepa.categories_products",
                    "keepa.categories_finder_selection",
                    "keepa.finder_query",
                    "keepa.deals_query",
                    "keepa.sellers_get",
                    "keepa.bestsellers_get",
                    "keepa.topsellers_list",
                    "keepa.research_graph_merge",
                    "keepa.research_brief_export",
                    "keepa.reports_build",
                    "keepa.browse_snapshot",
                    "keepa.tracking_list",
                    "keepa.tracking_list_names",
                    "keepa.tracking_get",
                    "keepa.tracking_notifications",
                ],
                reason: Some(
                    "fixture_curation: answers are cleaned and made into samples",
                ),
            },
            "live_read_allowed": Profile {
                inactive: [],
                reason: Some(
                    "live_read_allowed: everything that only reads",
                ),
            },
            "low-cost": Profile {
                inactive: [
                    "keepa.deals_*",
                ],
                reason: Some(
                    "deals cost too much here",
                ),
            },
            "offline_fixture_only": Profile {
                inactive: [
                    "keepa.products_get",
                    "keepa.products_compare",
                    "keepa.categories_search",
                    "keepa.categories_products",
                    "keepa.categories_finder_selection",
                    "keepa.finder_query",
                    "keepa.deals_query",
                    "keepa.sellers_get",
                    "keepa.bestsellers_get",
                    "keepa.topsellers_list",
                    "keepa.cassettes_promote",
                    "keepa.cassettes_promote_and_verify",
                    "keepa.tracking_list",
                    "keepa.tracking_list_names",
                    "keepa.tracking_get",
                    "keepa.tracking_notifications",
                ],
                reason: Some(
                    "offline_fixture_only: samples and local work only",
                ),
            },
            "read only": Profile {
                inactive: [],
                reason: None,
            },
            "tracking_readonly": Profile {
                inactive: [
                    "keepa.resolve_research_target",
                    "keepa.query_research_context",
                    "keepa.workflow_plan",
                    "keepa.products_get",
                    "keepa.products_compare",
                    "keepa.categories_search",
                    "keepa.categories_products",
                    "keepa.categories_finder_selection",
                    "keepa.finder_query",
                    "keepa.deals_query",
                    "keepa.sellers_get",
                    "keepa.bestsellers_get",
                    "keepa.topsellers_list",
                    "keepa.research_graph_merge",
                    "keepa.research_brief_export",
                    "keepa.cassettes_sanitize",
                    "keepa.cassettes_promote",
                    "keepa.cassettes_promote_and_verify",
                    "keepa.reports_build",
                    "keepa.browse_snapshot",
                ],
                reason: Some(
                    "tracking_readonly: trackings are read, never changed",
                ),
            },
        },
        providers: Providers {
            choice: Safest,
            preferred_order: [
                "mcp_*",
                "builtin",
            ],
            disabled: [
                "sandbox",
            ],
            stub: Stub {
                tools: [
                    "weather.today",
                ],
                writes: [
                    "weather.today",
                ],
                units: 3,
                delay: 20ms,
            },
            conformance: false,
        },
        mcp: Mcp {
            servers: [],
            patience: 0ns,
        },
        serve: Serve {
            host: "0.0.0.0",
            port: 443,
            anonymous: false,
            allowed_hosts: [
                "gate.example",
            ],
            allowed_origins: [
                "https://app.example",
            ],
            requests_per_second: 20,
            burst: 40,
            concurrent_calls: 4,
            connections: 100,
            header_timeout: 2s,
            body_timeout: 3s,
            idle_timeout: 4s,
            drain: 5s,
            sessions: 6,
            session_ttl: 7s,
            oauth: Some(
                Oauth {
                    issuer: "https://login.example/realm",
                    audience: "https://gate.example/mcp",
                    keys: File(
                        "/fixtures/config/valid/jwks.json",
                    ),
                    algorithms: [
                        ES384,
                        PS256,
                    ],
                    scopes: [
                        "tools",
                    ],
                    leeway: 0ns,
                    trust: Local,
                    toolset_prefix: Some(
                        "toolset:",
                    ),
                },
            ),
        },
        results: Results {
            text_bytes: 1024,
            structured_bytes: 2048,
            chunk_bytes: 4096,
            keep: 60s,
            spill_native: true,
        },
        resources: Resources {
            roots: {
                "docs": "/fixtures/config/valid/.",
            },
        },
        knowledge: Knowledge {
            paths: [
                "/fixtures/config/valid/.",
            ],
            session_ttl: 60s,
        },
        docs: Docs {
            roots: {
                "handbook": "/fixtures/config/valid/.",
            },
            file_bytes: 2048,
            proposal_ttl: 60s,
            keep: 120s,
        },
        skills: Skills {
            folders: [
                "/home/me/.config/tollgate/skills",
                "/fixtures/config/valid/.",
            ],
        },
        sandbox: Sandbox {
            enabled: false,
            runner: Gvisor,
            least_tier: Landlock,
            languages: [
                Python,
                Bash,
            ],
            workspaces: Some(
                "/fixtures/config/valid/.",
            ),
            read_only: [
                "/fixtures/config/valid/.",
            ],
            limits: Limits {
                wall: 1s,
                cpu: 2s,
                memory: 33554432,
                processes: 3,
                output: 4096,
                disk: 1048576,
                files: 50,
                open_files: 512,
            },
            keep: 60s,
        },
        runs: Runs {
            templates: [
                "/home/me/.config/tollgate/templates",
                "/fixtures/config/valid/.",
            ],
            artifacts: Some(
                "/fixtures/config/valid/.",
            ),
            concurrent: 2,
            queued: 3,
            timeout: 4s,
            threshold: 80,
            artifact_ttl: 60s,
            step_bytes: 2048,
        },
        keepa: Keepa {
            key: Some(
                Env(
                    "KEEPA_KEY",
                ),
            ),
            base_url: "http://127.0.0.1:9",
            fixture_dirs: [
                "/fixtures/config/valid/.",
            ],
            evidence_dir: Some(
                "/fixtures/config/valid/.",
            ),
            wiki_dir: Some(
                "/fixtures/config/valid/.",
            ),
            promote_dirs: [
                "/fixtures/config/valid/.",
            ],
            cache_ttl: 0ns,
            is_evaluation: false,
        },
        web: Web {
            enabled: false,
            allow_hosts: [
                "wiki.internal",
                "127.0.0.1:8080",
            ],
            ports: [
                443,
            ],
            ca_file: Some(
                "/dev/null",
            ),
            robots: false,
            page_bytes: 2048,
            timeout: 3s,
            host_requests: 1,
            host_pause: 5ms,
            cache_bytes: 0,
            search: [
                SearchEngine {
                    kind: Searxng,
                    url: Some(
                        "http://127.0.0.1:8888",
                    ),
                    key: None,
                },
                SearchEngine {
                    kind: DdgHtml,
                    url: Some(
                        "http://127.0.0.1:1",
                    ),
                    key: None,
                },
                SearchEngine {
                    kind: Brave,
                    url: Some(
                        "http://127.0.0.1:2",
                    ),
                    key: Some(
                        Env(
                            "BRAVE_KEY",
                        ),
                    ),
                },
                SearchEngine {
                    kind: Serper,
                    url: Some(
                        "http://127.0.0.1:3",
                    ),
                    key: Some(
                        Env(
                            "SERPER_KEY",
                        ),
                    ),
                },
            ],
        },
        browser: Browser {
            enabled: false,
            chromium: Some(
                "/opt/chromium/chrome",
            ),
            allow_hosts: [
                "localhost:3000",
            ],
            only_hosts: [
                "*.example.com",
            ],
            deny_hosts: [
                "ads.example.com",
            ],
            roots: [
                "/fixtures/config/valid/pages",
            ],
            session_tabs: 2,
            tabs: 4,
            session_ttl: 60s,
            download_bytes: 1024,
        },
        sources: [
            Source {
                path: "/fixtures/config/valid/everything.toml",
                role: Named,
            },
        ],
        notices: [],
    }
    "#);
}
