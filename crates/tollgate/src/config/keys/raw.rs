//! The configuration as people write it: every key, what it means and what it may hold.
//!
//! The JSON Schema, the documentation, the checks of each layer and what an untrusted
//! project may change all follow from the types and attributes here. Values that have a
//! default find it in `defaults.toml`, so nothing here repeats one.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    super::secret::SecretRef, browser, docs, keepa, mcp, runs, sandbox, serve, skills, values, web,
};

/// The configuration of Tollgate, `tollgate.toml`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "tollgate.toml")]
pub struct RawConfig {
    /// How the provider of a tool is chosen that several of them offer.
    pub provider_choice: values::ProviderChoice,
    /// Providers, most preferred first (patterns, `*` matches any text). Others of our own come with `builtin`, and other MCP servers and `stub` last.
    pub preferred_provider_order: Vec<String>,
    /// Where Tollgate keeps what it must remember.
    #[serde(default)]
    pub state: RawState,
    /// How much a single call, or all calls together, may take.
    pub limits: RawLimits,
    /// Which rules decide whether a call may happen.
    pub policy: RawPolicy,
    /// How a human consents, and how long it lasts.
    pub consent: RawConsent,
    /// What is kept of each call for replay.
    pub record: RawRecord,
    /// When a call opens an item for human review.
    pub review: RawReview,
    /// How results are cleaned before anybody sees them.
    pub sanitize: RawSanitize,
    /// Where the log of JSON lines goes.
    pub log: RawLog,
    /// Export of traces over OTLP.
    pub telemetry: RawTelemetry,
    /// Which tools are listed, and how their names are spelled.
    pub discovery: RawDiscovery,
    /// Named sets of tools to switch off; `discovery.profile` picks one.
    pub profiles: BTreeMap<String, RawProfile>,
    /// The packs of tools that come with Tollgate.
    pub packs: RawPacks,
    /// Which providers there are.
    pub providers: RawProviders,
    /// Other people's MCP servers.
    pub mcp: mcp::RawMcp,
    /// Where and for whom HTTP is served.
    pub serve: serve::RawServe,
    /// How large an answer may be before the rest of it becomes a resource.
    pub results: serve::RawResults,
    /// What else can be read as a resource.
    pub resources: serve::RawResources,
    /// Guided sessions over knowledge files.
    pub knowledge: serve::RawKnowledge,
    /// Documents that can be edited, each change after a human has agreed to it.
    pub docs: docs::RawDocs,
    /// Skills: tools that belong together, the runs they allow, and a guide for agents.
    pub skills: skills::RawSkills,
    /// Running code in a sandbox.
    pub sandbox: sandbox::RawSandbox,
    /// Runs of task templates.
    pub runs: runs::RawRuns,
    /// Amazon product research with Keepa.
    pub keepa: keepa::RawKeepa,
    /// Searching and reading the web.
    pub web: web::RawWeb,
    /// Pages in a real browser.
    pub browser: browser::RawBrowser,
}

/// Where Tollgate keeps what it must remember.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawState {
    /// The folder of the state database. Without it: `$XDG_DATA_HOME/tollgate`.
    #[schemars(extend("format" = "path"))]
    pub dir: Option<PathBuf>,
    /// The folder for the audit chain's anchor, apart from the database it vouches for.
    /// Without it: `$XDG_STATE_HOME/tollgate/anchor`, and a folder of its own there if `dir` is set.
    #[schemars(extend("format" = "path"))]
    pub anchor_dir: Option<PathBuf>,
}

/// How much a single call, or all calls together, may take.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawLimits {
    /// The longest message any front end reads, in bytes.
    #[schemars(range(min = 1024, max = 268_435_456), extend("x-untrusted" = "lower"))]
    pub message_bytes: u64,
    /// The largest arguments of one call, in bytes; never more than a message.
    #[schemars(range(min = 256, max = 268_435_456), extend("x-untrusted" = "lower"))]
    pub argument_bytes: u64,
    /// The largest result of one call, in bytes.
    #[schemars(range(min = 1024, max = 1_073_741_824), extend("x-untrusted" = "lower"))]
    pub result_bytes: u64,
    /// How many calls run at the same time in one process.
    #[schemars(range(min = 1, max = 4096), extend("x-untrusted" = "lower"))]
    pub concurrent_calls: u64,
    /// How many more calls wait; beyond that a call is refused as `overloaded`.
    #[schemars(range(min = 0, max = 1_048_576), extend("x-untrusted" = "lower"))]
    pub queued_calls: u64,
    /// The longest any call may run, in milliseconds, whatever the tool itself allows.
    #[schemars(range(min = 100, max = 86_400_000), extend("x-untrusted" = "lower"))]
    pub call_timeout_ms: u64,
    /// How many cost units one session may consume. Without it there is no limit.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64), extend("x-untrusted" = "lower"))]
    pub session_tokens: Option<u64>,
    /// How many sessions are in use at the same time; one that was not used for an hour counts no
    /// more. Beyond that a call in a new one is refused as `overloaded`.
    #[schemars(range(min = 1, max = 1_048_576), extend("x-untrusted" = "lower"))]
    pub sessions: u64,
    /// How many of these one principal may have.
    #[schemars(range(min = 1, max = 1_048_576), extend("x-untrusted" = "lower"))]
    pub sessions_per_principal: u64,
    /// How many bytes of kept answers, of marks of what was tainted and of redacted values are in
    /// memory. Answers of whoever holds most give way; marks and values never do, then a call is
    /// `overloaded`.
    #[schemars(range(min = 65_536, max = 1_099_511_627_776_u64), extend("x-untrusted" = "lower"))]
    pub memory_bytes: u64,
    /// How many of these one principal may hold.
    #[schemars(range(min = 65_536, max = 1_099_511_627_776_u64), extend("x-untrusted" = "lower"))]
    pub memory_bytes_per_principal: u64,
    /// How many bytes of bodies for replay, and of what did not fit into an answer, are written
    /// in a day. What goes beyond is not kept; the record is written all the same.
    #[schemars(range(min = 0, max = 1_099_511_627_776_u64), extend("x-untrusted" = "lower"))]
    pub body_bytes_per_day: u64,
    /// How many of these for one principal.
    #[schemars(range(min = 0, max = 1_099_511_627_776_u64), extend("x-untrusted" = "lower"))]
    pub body_bytes_per_day_per_principal: u64,
    /// How many approvals may wait for a human at the same time, in all processes of a state.
    /// Beyond that a call that needs one is `overloaded` until one is decided or has ended.
    #[schemars(range(min = 1, max = 1_048_576), extend("x-untrusted" = "lower"))]
    pub pending_approvals: u64,
    /// How many of these one principal may have.
    #[schemars(range(min = 1, max = 1_048_576), extend("x-untrusted" = "lower"))]
    pub pending_approvals_per_principal: u64,
    /// How many bytes approvals that wait may show a human together.
    #[schemars(range(min = 65_536, max = 1_099_511_627_776_u64), extend("x-untrusted" = "lower"))]
    pub pending_approval_bytes: u64,
    /// How many of these for one principal.
    #[schemars(range(min = 65_536, max = 1_099_511_627_776_u64), extend("x-untrusted" = "lower"))]
    pub pending_approval_bytes_per_principal: u64,
}

/// Which rules decide whether a call may happen.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawPolicy {
    /// Cedar policy files beside the shipped default and `policies/*.cedar` in the user's
    /// configuration folder. A project's files are added to these and may only forbid.
    #[schemars(extend("x-untrusted" = "add", "items" = existing_file()))]
    pub files: Vec<PathBuf>,
}

/// How a human consents, and how long it lasts.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawConsent {
    /// How long an approval may wait to be given and used, in seconds.
    #[schemars(range(min = 10, max = 86_400), extend("x-untrusted" = "lower"))]
    pub approval_ttl_seconds: u64,
    /// How long a repeated side effect whose answer was never delivered gets the recorded
    /// ending instead of running again, in seconds.
    #[schemars(range(min = 0, max = 86_400))]
    pub reissue_window_seconds: u64,
    /// How long a grant for a whole session lasts, in seconds.
    #[schemars(range(min = 60, max = 604_800), extend("x-untrusted" = "lower"))]
    pub session_grant_ttl_seconds: u64,
    /// Which MCP clients' dialogs count as a human's consent.
    pub dialogs: values::Dialogs,
}

/// What is kept of each call for replay.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawRecord {
    /// The largest clean body kept for replay, in bytes; a larger one is not replayable.
    #[schemars(range(min = 0, max = 16_777_216))]
    pub max_body: u64,
    /// How many characters of arguments and result the record shows.
    #[schemars(range(min = 0, max = 10_000))]
    pub preview: u64,
}

/// When a call opens an item for human review.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawReview {
    /// A result whose own `confidence` is below this is reviewed.
    #[schemars(range(min = 0.0, max = 1.0), extend("x-untrusted" = "raise"))]
    pub confidence_threshold: f64,
    /// A result with at least this many redactions is reviewed.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-untrusted" = "lower"))]
    pub heavy_redaction: u64,
    /// Which rules open items.
    #[schemars(extend("x-untrusted" = "add"))]
    pub enable: Vec<values::ReviewRule>,
}

/// How results are cleaned before anybody sees them.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawSanitize {
    /// Files with more sanitizing rules, beside the shipped ones.
    #[schemars(extend("items" = existing_file()))]
    pub rules: Vec<PathBuf>,
    /// The longest single string from an open world in a result's text, in bytes.
    #[schemars(range(min = 256, max = 1_048_576), extend("x-untrusted" = "lower"))]
    pub open_world_text_bytes: u64,
}

/// Where the log of JSON lines goes.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawLog {
    /// The log file, or `stderr`. Without it nothing is logged.
    #[schemars(extend("format" = "path-or-stderr"))]
    pub file: Option<String>,
    /// The least important events that are still logged.
    pub level: values::Level,
}

/// Export of traces over OTLP.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawTelemetry {
    /// The collector's base address, such as `http://127.0.0.1:4318`. Without it nothing is
    /// exported.
    #[schemars(extend("format" = "http-address"))]
    pub otlp_endpoint: Option<String>,
    /// The name under which the traces appear.
    #[schemars(length(min = 1, max = 255))]
    pub service_name: String,
    /// Headers for the collector; each value is a secret's reference, `env:NAME` or `file:PATH`.
    pub headers: BTreeMap<String, SecretRef>,
}

/// Which tools are listed, and how their names are spelled.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawDiscovery {
    /// What a list of tools holds for clients that do not ask for toolsets.
    pub mode: values::DiscoveryMode,
    /// The longest list of `auto`, in tokens of four bytes; names, descriptions and input schemas count.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-untrusted" = "lower"))]
    pub list_tokens: u64,
    /// Toolsets that are listed beside the tool search; `all` is everything.
    pub toolsets: Vec<String>,
    /// If not empty, only tools that match one of these patterns exist. `*` matches any text.
    pub allow_tools: Vec<String>,
    /// Tools that match one of these patterns do not exist for the caller.
    #[schemars(extend("x-untrusted" = "add"))]
    pub exclude_tools: Vec<String>,
    /// The profile in force, one of `profiles`.
    #[schemars(extend("x-untrusted" = "fill"))]
    pub profile: Option<String>,
    /// Tools that are always listed, whatever the toolsets.
    pub pinned: Vec<String>,
    /// How tool names are spelled in a list.
    pub names: values::Names,
    /// How much of each tool a list shows.
    pub schemas: values::Schemas,
}

/// The packs of tools that come with Tollgate; one that is off is as if it were not there.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawPacks {
    /// Amazon product research with Keepa.
    pub keepa: bool,
    /// Guided sessions over knowledge files.
    pub knowledge: bool,
    /// Searching and reading the web.
    pub web: bool,
    /// Pages in a real browser.
    pub browser: bool,
    /// Running code in a sandbox.
    pub sandbox: bool,
    /// Documents that can be edited.
    pub docs: bool,
}

impl RawPacks {
    /// The providers of packs that are switched off.
    pub(in super::super) fn off(&self) -> impl Iterator<Item = String> {
        let packs = [
            ("keepa", self.keepa),
            ("knowledge", self.knowledge),
            ("web", self.web),
            ("browser", self.browser),
            ("sandbox", self.sandbox),
            ("docs", self.docs),
        ];
        let off = packs.into_iter().filter(|(_, is_on)| !is_on);
        off.map(|(name, _)| name.to_owned())
    }
}

/// A named set of tools to switch off.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawProfile {
    /// Tools or toolsets (patterns, `*` matches any text) that are inactive in this profile.
    #[serde(default)]
    #[schemars(extend("x-untrusted" = "add"))]
    pub inactive: Vec<String>,
    /// What a caller is told who calls an inactive tool.
    #[schemars(extend("x-untrusted" = "fill"))]
    pub reason: Option<String>,
}

/// Which providers there are.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawProviders {
    /// Providers that are switched off.
    #[schemars(extend("x-untrusted" = "add"))]
    pub disabled: Vec<String>,
    /// The provider of deterministic answers for offline work.
    pub stub: RawStub,
}

/// The provider of deterministic answers for offline work.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawStub {
    /// Names of the tools it answers; what stands in for a tool of ours keeps to its schemas.
    pub tools: Vec<String>,
    /// Those of them that pretend to write, and so need a human's consent.
    pub writes: Vec<String>,
    /// What each call is said to cost.
    #[schemars(range(max = 1_000_000))]
    pub units: u64,
    /// How long each call takes, in milliseconds, to rehearse slow tools.
    #[schemars(range(max = 60_000))]
    pub delay_ms: u64,
}

/// A path to a file that must be there; trusting a project covers its content too.
fn existing_file() -> Value {
    json!({"type": "string", "format": "path", "x-exists": true})
}
