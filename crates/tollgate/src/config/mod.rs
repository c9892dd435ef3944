//! The configuration: read once at the start, checked whole, then only typed values.
//!
//! Layers, each over the one before: defaults, the user's file, the project's file,
//! `TOLLGATE_*` variables, flags. A project that is not trusted may only narrow.

mod browser;
mod docs;
mod env;
mod error;
mod files;
mod keys;
mod layer;
mod leaf;
mod load;
mod mcp;
mod narrow;
mod overrides;
mod resolve;
mod runs;
mod sandbox;
mod secret;
mod serving;
mod suggest;
mod trust;
mod web;
mod words;

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Duration,
};

pub use browser::Browser;
pub use docs::Docs;
pub use env::Environment;
pub use error::{ConfigError, Notice, Origin};
pub use files::{FILE_NAME, policies_in, policy_folder, project_file, user_file, user_policies};
pub use keys::{
    json_schema,
    markdown::markdown,
    raw::RawConfig,
    sandbox::{SandboxLanguage, SandboxRunner, SandboxTier},
    values::{
        Algorithm, Dialogs, DiscoveryMode, Grade, Level, McpEra, McpPin, McpResultFormat, Names,
        OtherRuns, ProviderChoice, ResultParts, ReviewRule, Schemas,
    },
};
pub(crate) use leaf::is_server_address;
pub use load::Flags;
pub(crate) use mcp::one_program;
pub use mcp::{Mcp, McpServer, Reach};
pub use overrides::Override;
pub use runs::Runs;
pub use sandbox::Sandbox;
pub(crate) use secret::looks_secret;
pub use secret::{EnvValue, NotAReference, SecretError, SecretRef};
pub use serving::{Keepa, KeySource, Knowledge, Oauth, Resources, Results, Serve};
pub use trust::{Proposal, Standing, TrustError, TrustStore};
pub use web::{SearchEngine, Web};

/// Everything the user decides, resolved: paths are absolute, numbers within bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Where state is kept.
    pub state: State,
    /// What is bounded, and how.
    pub limits: Limits,
    /// The policy files, in the order they are loaded.
    pub policy: Vec<PolicyFile>,
    /// How consent is given, and how long it lasts.
    pub consent: Consent,
    /// What is kept of each call.
    pub record: Record,
    /// When a call is reviewed.
    pub review: Review,
    /// How results are cleaned.
    pub sanitize: Sanitize,
    /// Where the log goes.
    pub log: Log,
    /// Where traces go.
    pub telemetry: Telemetry,
    /// What is listed.
    pub discovery: Discovery,
    /// Named sets of tools to switch off.
    pub profiles: BTreeMap<String, Profile>,
    /// Who serves what.
    pub providers: Providers,
    /// Other people's MCP servers.
    pub mcp: Mcp,
    /// Where and for whom HTTP is served.
    pub serve: Serve,
    /// How large an answer may be.
    pub results: Results,
    /// What else can be read.
    pub resources: Resources,
    /// Guided sessions.
    pub knowledge: Knowledge,
    /// Documents that can be edited.
    pub docs: Docs,
    /// Tools that belong together.
    pub skills: Skills,
    /// Running code.
    pub sandbox: Sandbox,
    /// Task runs.
    pub runs: Runs,
    /// Amazon product research.
    pub keepa: Keepa,
    /// Searching and reading the web.
    pub web: Web,
    /// Pages in a real browser.
    pub browser: Browser,
    /// The files this configuration was read from, lowest layer first.
    pub sources: Vec<Source>,
    /// What the user should know although it is no error.
    pub notices: Vec<Notice>,
}

/// Where skills are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skills {
    /// Folders of manifests, the user's own first.
    pub folders: Vec<PathBuf>,
    /// What becomes of runs whose template no skill names.
    pub other_runs: OtherRuns,
}

/// Where state is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The folder of the database.
    pub dir: PathBuf,
    /// The folder of the audit chain's anchor.
    pub anchor_dir: PathBuf,
}

/// What is bounded, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The longest message of any front end.
    pub message_bytes: usize,
    /// The largest arguments of one call.
    pub argument_bytes: usize,
    /// The largest result of one call.
    pub result_bytes: usize,
    /// Calls at the same time.
    pub concurrent_calls: usize,
    /// Calls that wait.
    pub queued_calls: usize,
    /// The longest any call may run.
    pub call_timeout: Duration,
    /// What one session may consume.
    pub session_tokens: Option<u64>,
    /// What callers may hold.
    pub budgets: tollgate_engine::Budgets,
}

/// One file of Cedar policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyFile {
    /// The file.
    pub path: PathBuf,
    /// What its rules may do.
    pub scope: PolicyScope,
}

/// What the rules of a policy file may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyScope {
    /// Permit and forbid: it is the user's own.
    Full,
    /// Only forbid: it comes with a project.
    Restricting,
}

/// How consent is given, and how long it lasts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    /// How long an approval may wait to be given and used.
    pub approval_ttl: Duration,
    /// How long an undelivered ending is kept for the same call.
    pub reissue_window: Duration,
    /// How long a grant for a session lasts.
    pub session_grant_ttl: Duration,
    /// Whose client's dialog counts as a human.
    pub dialogs: Dialogs,
}

/// What is kept of each call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The largest body kept for replay, in bytes.
    pub max_body: usize,
    /// The longest preview, in characters.
    pub preview: usize,
}

/// When a call is reviewed.
#[derive(Debug, Clone, PartialEq)]
pub struct Review {
    /// Confidence below this is reviewed.
    pub confidence_threshold: f64,
    /// This many redactions are reviewed.
    pub heavy_redaction: usize,
    /// The rules in force.
    pub enable: BTreeSet<ReviewRule>,
}

/// How results are cleaned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sanitize {
    /// Files with more rules.
    pub rules: Vec<PathBuf>,
    /// The longest string from an open world in a result's text.
    pub open_world_text_bytes: usize,
}

/// Where the log goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// Where to.
    pub target: LogTarget,
    /// From which importance on.
    pub level: Level,
}

/// Where the log goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogTarget {
    /// Nowhere.
    Off,
    /// Standard error.
    Stderr,
    /// A file that is appended to.
    File(PathBuf),
}

/// Where traces go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Telemetry {
    /// The collector's base address; without it nothing is exported.
    pub otlp_endpoint: Option<String>,
    /// Headers, whose values are read when they are needed.
    pub headers: BTreeMap<String, SecretRef>,
    /// The name under which traces appear.
    pub service_name: String,
}

/// What is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovery {
    /// What a list holds for clients that do not ask for toolsets.
    pub mode: DiscoveryMode,
    /// The longest list of [`DiscoveryMode::Auto`], in tokens.
    pub list_tokens: usize,
    /// Toolsets that are listed.
    pub toolsets: Vec<String>,
    /// If not empty, the only tools that exist.
    pub allow_tools: Vec<String>,
    /// Tools that do not exist.
    pub exclude_tools: Vec<String>,
    /// The profile in force; it is a key of [`Config::profiles`].
    pub profile: Option<String>,
    /// Tools that are always listed.
    pub pinned: Vec<String>,
    /// How names are spelled.
    pub names: Names,
    /// How much of each tool is shown.
    pub schemas: Schemas,
}

/// A named set of tools to switch off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Patterns of tools or toolsets.
    pub inactive: Vec<String>,
    /// What the caller of such a tool is told.
    pub reason: Option<String>,
}

/// Who serves what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Providers {
    /// How the choice is made.
    pub choice: ProviderChoice,
    /// Most preferred first.
    pub preferred_order: Vec<String>,
    /// Switched off, those of packs included.
    pub disabled: Vec<String>,
    /// The provider for offline work.
    pub stub: Stub,
    /// Whether what the MCP conformance suite looks for is offered; no file can say so.
    pub conformance: bool,
}

/// The provider for offline work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stub {
    /// The tools it answers.
    pub tools: Vec<String>,
    /// Those of them that pretend to write.
    pub writes: Vec<String>,
    /// What each call is said to cost.
    pub units: u64,
    /// How long each call takes.
    pub delay: Duration,
}

/// A file the configuration was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The file.
    pub path: PathBuf,
    /// Whose it is.
    pub role: SourceRole,
}

/// Whose a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceRole {
    /// The user's own.
    User,
    /// The project's, and how it stands with the user.
    Project(Standing),
    /// Named by `--config` or `TOLLGATE_CONFIG`.
    Named,
}
