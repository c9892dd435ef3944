//! From the configuration of MCP servers to what their provider needs.
//!
//! Invariant: a child sees a handful of harmless variables and what was declared for it;
//! secrets are read when a server starts and kept nowhere.

mod failures;
pub(crate) mod words;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use tollgate_core::{Capability, Clock};
use tollgate_engine::Cleaner;
use tollgate_providers::upstream::{
    Era, Journal, OAuth, Pinning, ResultFormat, SecretSource, Server, Settings, Tool, Transport,
};

use crate::{
    config::{
        Config, Environment, Grade, Level, McpEra, McpPin, McpResultFormat, McpServer, Reach,
        SecretRef,
    },
    logfile::LogFile,
};

pub(crate) use self::failures::Failures;
use self::words::Words;

/// What every child may know of the machine.
const HARMLESS: &[&str] = &[
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "PATH",
    "REQUESTS_CA_BUNDLE",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
];

/// Where definitions of tools are pinned.
pub(crate) fn lock_path(config: &Config) -> PathBuf {
    config.state.dir.join("tollgate.lock")
}

/// Where what servers say is kept, and where running processes can be reached.
pub(crate) fn folder(config: &Config) -> PathBuf {
    config.state.dir.join("mcp")
}

/// The toolsets that the tools of configured servers belong to, whether or not those are
/// known yet.
pub(crate) fn toolsets(config: &Config) -> Vec<String> {
    let names = config.mcp.servers.iter().map(|server| server.name.clone());
    let mut all: Vec<String> = names.collect();
    if !all.is_empty() {
        all.push("mcp".to_owned());
    }
    all
}

/// Everything the provider of upstream servers needs.
pub(crate) fn settings(config: &Config, environment: &Environment) -> Settings {
    let shared = Arc::new(environment.clone());
    let servers = config.mcp.servers.iter();
    Settings {
        servers: servers.map(|one| server(one, config, &shared)).collect(),
        lock: Some(lock_path(config)),
        patience: config.mcp.patience,
        afresh: config.mcp.afresh,
        journal: None,
        control: Some(folder(config)),
    }
}

fn server(from: &McpServer, config: &Config, environment: &Arc<Environment>) -> Server {
    let raw = &from.raw;
    let usual = Server::new(from.name.clone(), transport(&from.reach, environment));
    let max_timeout =
        McpServer::millis(raw.max_timeout_ms, 600_000).min(config.limits.call_timeout);
    let number = |set: Option<u64>, usual: usize| {
        set.map_or(usual, |set| usize::try_from(set).unwrap_or(usize::MAX))
    };
    Server {
        era: match from.era() {
            McpEra::Auto => Era::Auto,
            McpEra::Modern => Era::Modern,
            McpEra::Legacy => Era::Legacy,
        },
        start_timeout: McpServer::millis(raw.start_timeout_ms, 60_000),
        probe_timeout: McpServer::millis(raw.probe_timeout_ms, 10_000),
        timeout: McpServer::millis(raw.timeout_ms, 60_000).min(max_timeout),
        max_timeout,
        concurrent: number(raw.concurrent_calls, usual.concurrent),
        queued: number(raw.queued_calls, usual.queued),
        message_bytes: number(raw.message_bytes, usual.message_bytes),
        health_interval: McpServer::millis(raw.health_interval_ms, 15_000),
        prefix: !raw.unprefixed,
        trust_annotations: raw.trust_annotations,
        forward_meta: raw.forward_meta.clone(),
        default_capability: from.default_grade().map(capability),
        pin: match from.pin() {
            McpPin::OnSight => Pinning::OnSight,
            McpPin::Ask => Pinning::Ask,
            McpPin::Off => Pinning::Off,
        },
        envelope: from.wraps(),
        result_format: match from.result_format() {
            McpResultFormat::Auto => ResultFormat::Auto,
            McpResultFormat::ToolResult => ResultFormat::ToolResult,
        },
        tools: tools(from),
        ..usual
    }
}

fn tools(from: &McpServer) -> BTreeMap<String, Tool> {
    let each = from.tools().map(|(name, raw)| {
        let tool = Tool {
            capability: raw.capability.map(capability),
            confirm: McpServer::needs_human(raw),
            timeout: raw.timeout_ms.map(std::time::Duration::from_millis),
            hidden: raw.hidden,
            alias: raw.alias.clone(),
            object: raw.object.clone(),
        };
        (name.clone(), tool)
    });
    each.collect()
}

const fn capability(grade: Grade) -> Capability {
    match grade {
        Grade::L0 => Capability::L0,
        Grade::L1 => Capability::L1,
        Grade::L2 => Capability::L2,
    }
}

fn transport(reach: &Reach, environment: &Arc<Environment>) -> Transport {
    match reach {
        Reach::Program {
            command,
            cwd,
            env,
            plain_env,
        } => {
            let harmless = HARMLESS.iter().filter_map(|name| {
                let value = environment.text(name)?;
                Some(((*name).to_owned(), value.to_owned()))
            });
            let mut all: BTreeMap<String, String> = harmless.collect();
            all.extend(plain_env.clone());
            Transport::Stdio {
                command: command.first().cloned().unwrap_or_default(),
                args: command.iter().skip(1).cloned().collect(),
                cwd: cwd.clone(),
                env: all,
                secrets: sources(env, environment),
            }
        }
        Reach::Address {
            url,
            headers,
            oauth,
        } => Transport::Http {
            url: url.clone(),
            headers: sources(headers, environment),
            oauth: oauth.as_ref().map(|from| OAuth {
                client_id: from.client_id.clone(),
                client_secret: source(&from.client_secret, environment),
                token_url: from.token_url.clone(),
                issuer: from.issuer.clone(),
                scopes: from.scopes.clone(),
            }),
        },
    }
}

fn sources(
    references: &BTreeMap<String, SecretRef>,
    environment: &Arc<Environment>,
) -> Vec<(String, SecretSource)> {
    let each = references
        .iter()
        .map(|(name, reference)| (name.clone(), source(reference, environment)));
    each.collect()
}

/// Reads a secret at the last moment.
fn source(reference: &SecretRef, environment: &Arc<Environment>) -> SecretSource {
    let (reference, environment) = (reference.clone(), Arc::clone(environment));
    Arc::new(move || {
        reference
            .read(&environment)
            .map_err(|error| error.to_string())
    })
}

/// Writes what happens to servers, and what they say, where people look for it; cleaned.
pub(crate) struct Chronicle {
    pub(crate) log: Option<Arc<LogFile>>,
    pub(crate) cleaner: Cleaner,
    pub(crate) words: Words,
    pub(crate) failures: Failures,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Chronicle {
    /// A server's file that cannot be written loses lines, never calls.
    fn add(&self, server: &str, process: Option<u32>, text: &str) {
        let at = self.clock.now();
        if let Err(error) = self.words.add(at, server, process, text)
            && let Some(log) = &self.log
        {
            let message = format!("what it says cannot be kept: {error}");
            log.note(Level::Warn, "mcp.words.failed", &provider(server), &message);
        }
    }
}

impl Chronicle {
    /// A failure that cannot be remembered costs the next command some time, and nothing else.
    fn tell_lost(&self, server: &str, kept: std::io::Result<()>) {
        if let (Err(error), Some(log)) = (kept, &self.log) {
            let message = format!("why it failed cannot be remembered: {error}");
            log.note(Level::Warn, "mcp.failure.lost", &provider(server), &message);
        }
    }
}

/// The provider that offers the tools of a server.
fn provider(server: &str) -> String {
    format!("mcp_{server}")
}

impl Journal for Chronicle {
    fn note(&self, event: &'static str, server: &str, message: &str) {
        let level = match event {
            "mcp.ready" | "mcp.restarted" => Level::Info,
            _ => Level::Warn,
        };
        let message = self.cleaner.line(message);
        if let Some(log) = &self.log {
            log.note(level, event, &provider(server), &message);
        }
        let line = message.replace(['\r', '\n'], " ");
        self.add(server, None, &format!("{event}: {line}"));
    }

    fn failed(&self, server: &str, settings: &str, reason: &str) {
        let reason = self.cleaner.line(reason);
        let at = self.clock.now();
        let kept = self.failures.keep(server, settings, &reason, at);
        self.tell_lost(server, kept);
    }

    fn recovered(&self, server: &str) {
        let forgotten = self.failures.forget(server);
        self.tell_lost(server, forgotten);
    }

    fn last_failure(&self, server: &str, settings: &str) -> Option<String> {
        self.failures.last(server, settings, self.clock.now())
    }

    fn said(&self, server: &str, process: u32, missed: u64, text: &str) {
        if missed > 0 {
            let line = format!("({missed} bytes came too fast to be kept)");
            self.add(server, Some(process), &line);
        }
        self.add(server, Some(process), &self.cleaner.line(text));
    }
}
