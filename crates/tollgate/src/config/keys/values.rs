//! The words some keys choose from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a call may open an item for human review.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ReviewRule {
    /// The result's own verdict is `uncertain`.
    UncertainVerdict,
    /// The result's own confidence is below the threshold.
    LowConfidence,
    /// A degraded result lacks key evidence.
    MissingEvidence,
    /// The tool is destructive or a sensitive sink.
    SensitiveTool,
    /// Every retry failed.
    RetriesExhausted,
    /// Much of the result was redacted.
    HeavyRedaction,
}

impl ReviewRule {
    /// Every rule.
    pub const ALL: [Self; 6] = [
        Self::UncertainVerdict,
        Self::LowConfidence,
        Self::MissingEvidence,
        Self::SensitiveTool,
        Self::RetriesExhausted,
        Self::HeavyRedaction,
    ];

    /// The rule as it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UncertainVerdict => "uncertain_verdict",
            Self::LowConfidence => "low_confidence",
            Self::MissingEvidence => "missing_evidence",
            Self::SensitiveTool => "sensitive_tool",
            Self::RetriesExhausted => "retries_exhausted",
            Self::HeavyRedaction => "heavy_redaction",
        }
    }
}

/// How important an event must be to be logged.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Something failed.
    Error,
    /// Something is odd.
    Warn,
    /// Ordinary events, one for each call.
    Info,
    /// Everything, for finding faults.
    Debug,
}

/// How tool names are spelled in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Names {
    /// Canonical for clients known to accept dots, safe for the rest.
    Auto,
    /// As the tool is named, with dots.
    Canonical,
    /// Every dot becomes `_`, which every client accepts.
    Safe,
}

/// What a list of tools holds for clients that do not ask for toolsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiscoveryMode {
    /// The tools of `mcp.servers` and of `discovery.toolsets` while they fit `discovery.list_tokens`,
    /// else as with `search`.
    Auto,
    /// The tools that find, describe and call others, and what is pinned.
    Search,
    /// Every tool.
    List,
}

impl DiscoveryMode {
    /// The mode as it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Search => "search",
            Self::List => "list",
        }
    }
}

/// How much of each tool a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Schemas {
    /// Everything, or what `brief` shows where everything is more than `discovery.list_tokens`.
    Auto,
    /// Everything a client may want to know.
    Full,
    /// First sentences and bare input schemas; `tools.describe` gives the rest.
    Brief,
}

/// What becomes of runs whose template no skill names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OtherRuns {
    /// They may be made, as if there were no skills.
    #[default]
    Allow,
    /// They are refused: a skill has to name a template before it can be run.
    Refuse,
}

/// How the provider is chosen when several offer the same tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProviderChoice {
    /// The first in `preferred_provider_order`.
    Order,
    /// The one with the least capability; `preferred_provider_order` breaks ties.
    Safest,
}

/// Which MCP clients' dialogs count as a human's consent.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Dialogs {
    /// Nobody's: humans consent with `tollgate approvals approve`.
    None,
    /// Those of clients for which `tollgate init --trust-dialogs` was confirmed at a terminal.
    Installed,
    /// Those of clients that started Tollgate themselves.
    Stdio,
    /// Those of clients over HTTP too.
    All,
}

/// How far the bearer of a token is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// As somebody reached over HTTP.
    Remote,
    /// As a process of the same user on this machine.
    Local,
}

/// How an access token may be signed; always with a key whose public half we hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
pub enum Algorithm {
    /// RSA, PKCS#1 1.5, SHA-256.
    RS256,
    /// RSA, PKCS#1 1.5, SHA-384.
    RS384,
    /// RSA, PKCS#1 1.5, SHA-512.
    RS512,
    /// RSA, PSS, SHA-256.
    PS256,
    /// RSA, PSS, SHA-384.
    PS384,
    /// RSA, PSS, SHA-512.
    PS512,
    /// ECDSA on P-256, SHA-256.
    ES256,
    /// ECDSA on P-384, SHA-384.
    ES384,
    /// Ed25519.
    EdDSA,
}

/// Which versions of the protocol are tried with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpEra {
    /// 2026-07-28, then the older ones.
    Auto,
    /// Only 2026-07-28.
    Modern,
    /// Only those that begin with a handshake.
    Legacy,
}

/// What happens to a tool of a server that was never seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpPin {
    /// It is pinned as it is first seen.
    OnSight,
    /// It waits for `tollgate servers accept`.
    Ask,
    /// Nothing is pinned, and changes go unnoticed.
    Off,
}

/// How results are shown to MCP clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpResults {
    /// The tool's own object; of another server, as it wrote them.
    Native,
    /// The envelope around the tool's own object.
    Envelope,
}

/// Which parts of a result a client is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultParts {
    /// Text, pictures and links: no structured content.
    Content,
    /// Structured content as well.
    Both,
}

/// How results of a server tell of success and failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpResultFormat {
    /// By `isError`; what has all of `status, data, warnings, error, meta` by its `status`.
    Auto,
    /// By the `status` of `{status, data, warnings, error, meta}`, always.
    ToolResult,
}

/// Whose consent a tool of a server needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpConsent {
    /// Whatever the rules say.
    Rules,
    /// A human's, for each call.
    Human,
}

/// What a tool can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
pub enum Grade {
    /// It reads.
    L0,
    /// It writes.
    L1,
    /// It runs code, or reaches wherever it wants.
    L2,
}
