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

/// How much of each tool a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Schemas {
    /// Everything a client may want to know.
    Full,
    /// First sentences and bare input schemas; `tools.describe` gives the rest.
    Brief,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dialogs {
    /// Nobody's: humans consent with `tollgate approve`.
    None,
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
    /// It waits for `tollgate mcp accept`.
    Ask,
    /// Nothing is pinned, and changes go unnoticed.
    Off,
}

/// How results of a server are shown to MCP clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpResults {
    /// As the server wrote them.
    Native,
    /// Wrapped like the result of any other tool.
    Envelope,
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
