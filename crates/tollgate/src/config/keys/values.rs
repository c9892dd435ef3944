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

/// How the provider is chosen when several offer the same tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProviderChoice {
    /// The first in `preferred_order`.
    Order,
    /// The one with the least capability; `preferred_order` breaks ties.
    Safest,
}
