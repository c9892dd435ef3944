//! A file that sets every key: what is written is what is meant.

use super::fixtures::load;

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
            budgets: Budgets {
                sessions: 200,
                sessions_per_principal: 20,
                memory_bytes: 1048576,
                memory_bytes_per_principal: 524288,
                body_bytes_per_day: 2097152,
                body_bytes_per_day_per_principal: 1048576,
                approvals: ApprovalLimits {
                    pending: 40,
                    pending_per_principal: 4,
                    preview_bytes: 1048576,
                    preview_bytes_per_principal: 262144,
                },
            },
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
            mode: List,
            list_tokens: 2000,
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
                "browser",
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
            acquaint: 0ns,
            afresh: false,
        },
        serve: Serve {
            host: "0.0.0.0",
            port: 443,
            anonymous: Some(
                false,
            ),
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
            connections_per_peer: 50,
            trusted_proxies: [
                192.0.2.1,
            ],
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
            envelope: true,
            clients: {
                "my-client*": Content,
            },
            text_bytes: 1024,
            structured_bytes: 2048,
            chunk_bytes: 4096,
            keep: 60s,
            native_text_bytes: 8192,
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
            other_runs: Refuse,
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
            read_working_dir: true,
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
                    pause: Some(
                        0ns,
                    ),
                },
                SearchEngine {
                    kind: DdgHtml,
                    url: Some(
                        "http://127.0.0.1:1",
                    ),
                    key: None,
                    pause: Some(
                        5s,
                    ),
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
                    pause: Some(
                        50ms,
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
                    pause: Some(
                        20ms,
                    ),
                },
            ],
        },
        browser: Browser {
            enabled: false,
            names: Document,
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
            navigation: 20s,
            download_bytes: 1024,
            profile_key: Some(
                Env(
                    "PROFILE_KEY",
                ),
            ),
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
