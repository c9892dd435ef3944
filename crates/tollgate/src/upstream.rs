//! From the configuration of MCP servers to what their provider needs.
//!
//! Invariant: a child sees a handful of harmless variables and what was declared for it;
//! secrets are read when a server starts and kept nowhere.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use tollgate_core::Capability;
use tollgate_engine::Cleaner;
use tollgate_providers::upstream::{
    Era, Journal, Pinning, SecretSource, Server, Settings, Tool, Transport,
};

use crate::{
    config::{Config, Environment, Grade, Level, McpEra, McpPin, McpServer, Reach, SecretRef},
    logfile::LogFile,
};

/// What every child may know of the machine.
const HARMLESS: &[&str] = &[
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
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

/// Everything the provider of upstream servers needs.
pub(crate) fn settings(config: &Config, environment: &Environment) -> Settings {
    let shared = Arc::new(environment.clone());
    let servers = config.mcp.servers.iter();
    Settings {
        servers: servers.map(|one| server(one, config, &shared)).collect(),
        lock: Some(lock_path(config)),
        patience: config.mcp.patience,
        journal: None,
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
        default_capability: from.default_grade().map(capability),
        pin: match from.pin() {
            McpPin::OnSight => Pinning::OnSight,
            McpPin::Ask => Pinning::Ask,
            McpPin::Off => Pinning::Off,
        },
        envelope: from.wraps(),
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
        Reach::Address { url, headers } => Transport::Http {
            url: url.clone(),
            headers: sources(headers, environment),
        },
    }
}

fn sources(
    references: &BTreeMap<String, SecretRef>,
    environment: &Arc<Environment>,
) -> Vec<(String, SecretSource)> {
    let each = references.iter().map(|(name, reference)| {
        let (reference, environment) = (reference.clone(), Arc::clone(environment));
        let source: SecretSource = Arc::new(move || {
            reference
                .read(&environment)
                .map_err(|error| error.to_string())
        });
        (name.clone(), source)
    });
    each.collect()
}

/// Writes what happens to servers into the log, cleaned.
pub(crate) struct Log {
    pub(crate) log: Arc<LogFile>,
    pub(crate) cleaner: Cleaner,
}

impl Journal for Log {
    fn note(&self, event: &'static str, server: &str, message: &str) {
        let level = match event {
            "mcp.ready" => Level::Info,
            _ => Level::Warn,
        };
        let message = self.cleaner.line(message);
        self.log.note(level, event, server, &message);
    }
}
