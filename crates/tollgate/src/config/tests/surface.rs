//! What others rely on: the rules for untrusted projects, variables, secrets, the schema.

use super::*;

#[test]
fn what_an_untrusted_project_may_do_is_decided_for_every_key() {
    let rules: Vec<String> = keys::leaves()
        .iter()
        .map(|leaf| {
            let rule = narrow::Rule::of(leaf.schema).describe();
            format!("{}: {rule}", leaf.path.join("."))
        })
        .collect();
    insta::assert_snapshot!(rules.join("\n"), @"
    provider_choice: no
    preferred_provider_order: no
    state.dir: no
    state.anchor_dir: no
    limits.message_bytes: lower
    limits.argument_bytes: lower
    limits.result_bytes: lower
    limits.concurrent_calls: lower
    limits.queued_calls: lower
    limits.call_timeout_ms: lower
    limits.session_tokens: lower
    limits.sessions: lower
    limits.sessions_per_principal: lower
    limits.memory_bytes: lower
    limits.memory_bytes_per_principal: lower
    limits.body_bytes_per_day: lower
    limits.body_bytes_per_day_per_principal: lower
    limits.pending_approvals: lower
    limits.pending_approvals_per_principal: lower
    limits.pending_approval_bytes: lower
    limits.pending_approval_bytes_per_principal: lower
    policy.files: add
    consent.approval_ttl_seconds: lower
    consent.reissue_window_seconds: no
    consent.session_grant_ttl_seconds: lower
    consent.dialogs: no
    record.max_body: no
    record.preview: no
    review.confidence_threshold: raise
    review.heavy_redaction: lower
    review.enable: add
    sanitize.rules: no
    sanitize.open_world_text_bytes: lower
    log.file: no
    log.level: no
    telemetry.otlp_endpoint: no
    telemetry.service_name: no
    telemetry.headers.<name>: no
    discovery.mode: no
    discovery.list_tokens: lower
    discovery.toolsets: no
    discovery.allow_tools: no
    discovery.exclude_tools: add
    discovery.profile: if unset
    discovery.pinned: no
    discovery.names: no
    discovery.schemas: no
    profiles.<name>.inactive: add
    profiles.<name>.reason: if unset
    packs.keepa: no
    packs.knowledge: no
    packs.web: no
    packs.browser: no
    packs.sandbox: no
    packs.docs: no
    providers.disabled: add
    providers.stub.tools: no
    providers.stub.writes: no
    providers.stub.units: no
    providers.stub.delay_ms: no
    mcp.servers: no
    serve.host: no
    serve.port: no
    serve.anonymous: no
    serve.allowed_hosts: no
    serve.allowed_origins: no
    serve.requests_per_second: lower
    serve.burst: lower
    serve.concurrent_calls: lower
    serve.connections: lower
    serve.connections_per_peer: lower
    serve.trusted_proxies: no
    serve.header_timeout_seconds: lower
    serve.body_timeout_seconds: lower
    serve.idle_timeout_seconds: lower
    serve.drain_seconds: no
    serve.sessions: lower
    serve.session_ttl_seconds: lower
    serve.oauth.issuer: no
    serve.oauth.audience: no
    serve.oauth.jwks_file: no
    serve.oauth.jwks_url: no
    serve.oauth.algorithms: no
    serve.oauth.scopes: no
    serve.oauth.leeway_seconds: no
    serve.oauth.trust: no
    serve.oauth.toolset_prefix: no
    results.form: no
    results.clients.<name>: no
    results.text_bytes: lower
    results.structured_bytes: lower
    results.chunk_bytes: lower
    results.keep_seconds: no
    results.native_text_bytes: lower
    resources.roots.<name>: no
    knowledge.paths: no
    knowledge.session_ttl_seconds: lower
    docs.roots.<name>: no
    docs.file_bytes: lower
    docs.proposal_ttl_seconds: lower
    docs.keep_seconds: no
    skills.folders: no
    skills.other_runs: no
    sandbox.enabled: no
    sandbox.runner: no
    sandbox.least_tier: no
    sandbox.languages: no
    sandbox.workspaces: no
    sandbox.read_only: no
    sandbox.wall_seconds: lower
    sandbox.cpu_seconds: lower
    sandbox.memory_bytes: lower
    sandbox.processes: lower
    sandbox.output_bytes: lower
    sandbox.workspace_bytes: lower
    sandbox.workspace_files: lower
    sandbox.keep_seconds: lower
    runs.templates: no
    runs.artifacts: no
    runs.max_concurrent: lower
    runs.max_queued: lower
    runs.max_seconds: lower
    runs.partial_success_percent: no
    runs.artifact_seconds: lower
    runs.step_bytes: lower
    keepa.key: no
    keepa.base_url: no
    keepa.fixture_dirs: no
    keepa.evidence_dir: no
    keepa.wiki_dir: no
    keepa.promote_dirs: no
    keepa.read_working_dir: no
    keepa.cache_ttl_seconds: no
    web.enabled: no
    web.allow_hosts: no
    web.ports: no
    web.ca_file: no
    web.robots: no
    web.page_bytes: lower
    web.timeout_seconds: lower
    web.host_requests: lower
    web.host_pause_ms: no
    web.cache_bytes: lower
    web.search: no
    web.searxng_url: no
    web.searxng_pause_ms: no
    web.ddg_url: no
    web.ddg_pause_ms: no
    web.brave_url: no
    web.brave_key: no
    web.brave_pause_ms: no
    web.serper_url: no
    web.serper_key: no
    web.serper_pause_ms: no
    browser.enabled: no
    browser.names: no
    browser.chromium: no
    browser.allow_hosts: no
    browser.only_hosts: no
    browser.deny_hosts: add
    browser.roots: no
    browser.session_tabs: lower
    browser.tabs: lower
    browser.session_seconds: lower
    browser.navigation_seconds: lower
    browser.download_bytes: lower
    browser.profile_key: no
    ");
}

#[test]
fn every_key_is_documented() {
    for leaf in keys::leaves() {
        let about = leaf.schema.get("description");
        assert!(
            about.is_some(),
            "{} has no description",
            leaf.path.join(".")
        );
    }
}

#[test]
fn every_default_is_a_key_and_within_its_own_bounds() {
    for (path, mut value) in layer::defaults() {
        let schema = keys::find(&path).unwrap();
        let faults = leaf::check(&mut value, schema, &|text| PathBuf::from(text));
        assert!(faults.is_empty(), "{}", path.join("."));
        assert!(schema.get("default").is_some(), "{}", path.join("."));
    }
}

#[test]
fn no_two_keys_share_a_variable() {
    let mut names: Vec<String> = keys::leaves()
        .iter()
        .filter_map(overrides::variable)
        .chain(overrides::short_names().map(|(name, _)| name.to_owned()))
        .chain(
            overrides::RESERVED
                .iter()
                .map(|(name, _)| (*name).to_owned()),
        )
        .collect();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn secrets_are_read_at_the_last_moment() {
    let mut home = Home::new();
    home.write("token", "from a file\n").write("empty", "\n");
    home.set("TOKEN", "from a variable");
    let read = |written: &str| {
        let secret = SecretRef::parse(written).unwrap();
        match secret.read(&home.environment) {
            Ok(secret) => secret.reveal().clone(),
            Err(error) => home.tell(&[error]),
        }
    };
    let file = |name: &str| format!("file:{}", home.path().join(name).display());
    let said = [
        read("env:TOKEN"),
        read("env:MISSING"),
        read(&file("token")),
        read(&file("empty")),
        read(&file("missing")),
    ];
    insta::assert_snapshot!(said.join("\n"), @"
    from a variable
    the environment variable MISSING is not set
    from a file
    the secret file ~/empty is empty or larger than 64 KiB
    the secret file ~/missing cannot be read
    ");
}

#[test]
fn an_environment_does_not_print_values() {
    let mut home = Home::new();
    home.set("TOKEN", "hunter2");
    assert!(!format!("{:?}", home.environment).contains("hunter2"));
}

#[test]
fn the_page_is_what_the_schema_says() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/config.md");
    let blessing = Environment::from_process().unwrap();
    if blessing.text("TOLLGATE_BLESS").is_some() {
        fs::write(&file, markdown()).unwrap();
    }
    let page = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        page == markdown(),
        "docs/config.md is out of date: run `cargo xtask bless`"
    );
}
