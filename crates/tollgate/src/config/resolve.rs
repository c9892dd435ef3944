//! Turns what was written into what is meant, and checks what no single key can.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use tollgate_core::{ToolName, canonical::hex_digest, store::ApprovalLimits};
use tollgate_engine::Budgets;
use tollgate_providers::web::Spelling;

use super::{
    Config, Consent, Discovery, Limits, Log, LogTarget, Profile, Providers, Record, Review,
    Sanitize, Skills, State, Stub, Telemetry, browser, docs,
    env::Environment,
    error::{ConfigError, Origin},
    keys::raw::{RawConfig, RawLimits, RawState},
    load::Layers,
    mcp, runs, sandbox, serving, suggest, web,
};

impl Config {
    /// Resolves checked values; on failure, all problems at once.
    pub(super) fn resolve(
        mut raw: RawConfig,
        mut layers: Layers,
        environment: &Environment,
    ) -> Result<Self, Vec<ConfigError>> {
        let mut errors = Vec::new();
        add_profiles(&mut raw);
        let state = state(&raw.state, environment, &mut errors);
        check_profile(&raw, &layers, &mut errors);
        check_headers(&raw, &layers, &mut errors);
        check_stubs(&raw, &layers, &mut errors);
        check_hosts(&raw, &layers, &mut errors);
        let policies = layers.policies(raw.policy.files);
        for (file, origin) in &policies {
            must_exist(&file.path, "policy.files", origin, &mut errors);
        }
        let origin = layers.origin(&["sanitize", "rules"]);
        for file in &raw.sanitize.rules {
            must_exist(file, "sanitize.rules", &origin, &mut errors);
        }
        let serve = serving::serve(raw.serve, &layers, &mut errors);
        let mcp = mcp::servers(raw.mcp, &mut layers, environment);
        let resources = serving::resources(raw.resources, &mut layers, &mut errors);
        let knowledge = serving::knowledge(raw.knowledge, &mut layers);
        let docs = docs::docs(raw.docs, &mut layers, &mut errors);
        let sandbox = sandbox::sandbox(raw.sandbox, &mut layers);
        let runs = runs::runs(raw.runs, &mut layers, environment);
        let keepa = serving::keepa(raw.keepa, &mut layers);
        let web = web::web(raw.web, &mut layers, environment);
        let Some(state) = state.filter(|_| errors.is_empty()) else {
            return Err(errors);
        };
        Ok(Self {
            state,
            limits: limits(&raw.limits),
            policy: policies.into_iter().map(|(file, _)| file).collect(),
            consent: Consent {
                approval_ttl: Duration::from_secs(raw.consent.approval_ttl_seconds),
                reissue_window: Duration::from_secs(raw.consent.reissue_window_seconds),
                session_grant_ttl: Duration::from_secs(raw.consent.session_grant_ttl_seconds),
                dialogs: raw.consent.dialogs,
            },
            record: Record {
                max_body: size(raw.record.max_body),
                preview: size(raw.record.preview),
            },
            review: Review {
                confidence_threshold: raw.review.confidence_threshold,
                heavy_redaction: size(raw.review.heavy_redaction),
                enable: raw.review.enable.into_iter().collect(),
            },
            sanitize: Sanitize {
                rules: raw.sanitize.rules,
                open_world_text_bytes: size(raw.sanitize.open_world_text_bytes),
            },
            log: Log {
                target: match raw.log.file.as_deref() {
                    None => LogTarget::Off,
                    Some("stderr") => LogTarget::Stderr,
                    Some(path) => LogTarget::File(PathBuf::from(path)),
                },
                level: raw.log.level,
            },
            telemetry: Telemetry {
                otlp_endpoint: raw.telemetry.otlp_endpoint,
                headers: raw.telemetry.headers,
                service_name: raw.telemetry.service_name,
            },
            discovery: Discovery {
                mode: raw.discovery.mode,
                list_tokens: size(raw.discovery.list_tokens),
                toolsets: raw.discovery.toolsets,
                allow_tools: raw.discovery.allow_tools,
                exclude_tools: raw.discovery.exclude_tools,
                profile: raw.discovery.profile,
                pinned: raw.discovery.pinned,
                names: raw.discovery.names,
                schemas: raw.discovery.schemas,
            },
            profiles: raw.profiles.into_iter().map(profile).collect(),
            providers: Providers {
                choice: raw.provider_choice,
                preferred_order: raw.preferred_provider_order,
                disabled: raw.packs.off().chain(raw.providers.disabled).collect(),
                stub: Stub {
                    tools: raw.providers.stub.tools,
                    writes: raw.providers.stub.writes,
                    units: raw.providers.stub.units,
                    delay: Duration::from_millis(raw.providers.stub.delay_ms),
                },
                conformance: false,
            },
            mcp,
            serve,
            results: serving::results(&raw.results),
            resources,
            knowledge,
            docs,
            skills: Skills {
                folders: environment
                    .config_dir()
                    .map(|dir| dir.join("skills"))
                    .into_iter()
                    .chain(raw.skills.folders)
                    .collect(),
                other_runs: raw.skills.other_runs,
            },
            sandbox,
            runs,
            keepa,
            web,
            browser: browser::browser(raw.browser),
            sources: layers.sources,
            notices: layers.notices,
        })
    }
}

fn state(
    raw: &RawState,
    environment: &Environment,
    errors: &mut Vec<ConfigError>,
) -> Option<State> {
    let mut or_error = |path: Option<PathBuf>, key: &str, variable: &str| {
        if path.is_none() {
            let message = "there is no home folder to put it in";
            let hint = format!("set `{key}`, HOME or {variable}");
            errors.push(
                ConfigError::new(Origin::Defaults, message)
                    .at(key)
                    .hint(hint),
            );
        }
        path
    };
    let dir = raw.dir.clone().or_else(|| environment.data_dir());
    let dir = or_error(dir, "state.dir", "XDG_DATA_HOME");
    // Each state has an anchor of its own, or one would look like another that was rolled back.
    let anchor = || {
        let anchors = environment.state_dir()?.join("anchor");
        Some(match &raw.dir {
            Some(own) if Some(own) != environment.data_dir().as_ref() => {
                let digest = hex_digest(own.as_os_str().as_encoded_bytes());
                anchors.join(digest.get(..16)?)
            }
            Some(_) | None => anchors,
        })
    };
    let anchor_dir = or_error(
        raw.anchor_dir.clone().or_else(anchor),
        "state.anchor_dir",
        "XDG_STATE_HOME",
    );
    Some(State {
        dir: dir?,
        anchor_dir: anchor_dir?,
    })
}

fn limits(raw: &RawLimits) -> Limits {
    Limits {
        message_bytes: size(raw.message_bytes),
        argument_bytes: size(raw.argument_bytes.min(raw.message_bytes)),
        result_bytes: size(raw.result_bytes),
        concurrent_calls: size(raw.concurrent_calls),
        queued_calls: size(raw.queued_calls),
        call_timeout: Duration::from_millis(raw.call_timeout_ms),
        session_tokens: raw.session_tokens,
        budgets: Budgets {
            sessions: size(raw.sessions),
            sessions_per_principal: size(raw.sessions_per_principal),
            memory_bytes: size(raw.memory_bytes),
            memory_bytes_per_principal: size(raw.memory_bytes_per_principal),
            body_bytes_per_day: raw.body_bytes_per_day,
            body_bytes_per_day_per_principal: raw.body_bytes_per_day_per_principal,
            approvals: ApprovalLimits {
                pending: raw.pending_approvals,
                pending_per_principal: raw.pending_approvals_per_principal,
                preview_bytes: raw.pending_approval_bytes,
                preview_bytes_per_principal: raw.pending_approval_bytes_per_principal,
            },
        },
    }
}

fn profile((name, raw): (String, super::keys::raw::RawProfile)) -> (String, Profile) {
    let profile = Profile {
        inactive: raw.inactive,
        reason: raw.reason,
    };
    (name, profile)
}

/// The profiles that packs bring along; one of the same name that an operator wrote replaces it.
fn add_profiles(raw: &mut RawConfig) {
    for (name, inactive, reason) in tollgate_providers::keepa::profiles() {
        let shipped = super::keys::raw::RawProfile {
            inactive,
            reason: Some(reason),
        };
        raw.profiles.entry(name).or_insert(shipped);
    }
}

fn check_profile(raw: &RawConfig, layers: &Layers, errors: &mut Vec<ConfigError>) {
    let Some(wanted) = &raw.discovery.profile else {
        return;
    };
    if raw.profiles.contains_key(wanted) {
        return;
    }
    let known = raw.profiles.keys().map(String::as_str);
    let hint = match suggest::nearest(wanted, known) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("add a section `[profiles.{wanted}]`"),
    };
    let origin = layers.origin(&["discovery", "profile"]);
    let message = format!("there is no profile `{}`", wanted.escape_debug());
    errors.push(
        ConfigError::new(origin, message)
            .at("discovery.profile")
            .hint(hint),
    );
}

fn must_exist(file: &Path, key: &str, origin: &Origin, errors: &mut Vec<ConfigError>) {
    if !file.is_file() {
        let message = format!("there is no file {}", file.display());
        errors.push(ConfigError::new(origin.clone(), message).at(key));
    }
}

fn check_headers(raw: &RawConfig, layers: &Layers, errors: &mut Vec<ConfigError>) {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    for name in raw.telemetry.headers.keys() {
        if name.is_empty() || !name.chars().all(token) {
            let origin = layers.origin(&["telemetry", "headers", name]);
            let key = format!("telemetry.headers.{name:?}");
            errors.push(ConfigError::new(origin, "not the name of an HTTP header").at(key));
        }
    }
}

/// An entry that can never match is told: whoever wrote it relies on it.
fn check_hosts(raw: &RawConfig, layers: &Layers, errors: &mut Vec<ConfigError>) {
    let lists = [
        ("web", "allow_hosts", &raw.web.allow_hosts, Spelling::Place),
        (
            "browser",
            "allow_hosts",
            &raw.browser.allow_hosts,
            Spelling::Place,
        ),
        (
            "browser",
            "only_hosts",
            &raw.browser.only_hosts,
            Spelling::Domain,
        ),
        (
            "browser",
            "deny_hosts",
            &raw.browser.deny_hosts,
            Spelling::Domain,
        ),
    ];
    for (section, key, entries, spelling) in lists {
        for entry in entries {
            let Err(why) = spelling.check(entry) else {
                continue;
            };
            let origin = layers.origin(&[section, key]);
            let message = format!("`{}` matches no host: {why}", entry.escape_debug());
            let error = ConfigError::new(origin, message).at(format!("{section}.{key}"));
            errors.push(error.hint(spelling.accepted()));
        }
    }
}

/// Every stub has a name of its own, however a client spells it.
fn check_stubs(raw: &RawConfig, layers: &Layers, errors: &mut Vec<ConfigError>) {
    let stub = &raw.providers.stub;
    let mut report = |key: &str, message: String| {
        let origin = layers.origin(&["providers", "stub", key]);
        errors.push(ConfigError::new(origin, message).at(format!("providers.stub.{key}")));
    };
    let mut spelled: BTreeMap<String, &str> = BTreeMap::new();
    for name in &stub.tools {
        let shown = name.escape_debug();
        match ToolName::new(name.clone()) {
            Err(error) => report("tools", format!("`{shown}` is no name of a tool: {error}")),
            Ok(tool) => {
                let safe = tool.safe();
                if let Some(other) = spelled.insert(safe.clone(), name) {
                    let message = format!("`{other}` and `{shown}` are both spelled `{safe}`");
                    report("tools", message);
                }
            }
        }
    }
    for name in stub.writes.iter().filter(|name| !stub.tools.contains(name)) {
        let shown = name.escape_debug();
        report(
            "writes",
            format!("`{shown}` is not one of `providers.stub.tools`"),
        );
    }
}

/// Bounds of the schema keep every size within `usize`.
pub(super) fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
