//! What a token of `tollgate token create` may do: written there, read here.
//!
//! Anything unknown in it makes the whole unreadable: a newer version may have meant less.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tollgate_core::TrustLevel;

/// The bounds of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenScopes {
    /// The only toolsets it may use; `None` is no restriction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) toolsets: Option<Vec<String>>,
    /// How far the bearer is trusted.
    #[serde(default = "least")]
    pub(crate) trust: TrustLevel,
    /// What each session of the bearer may consume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session_limit: Option<u64>,
}

impl TokenScopes {
    pub(crate) fn read(scopes: &Value) -> Option<Self> {
        Self::deserialize(scopes).ok()
    }
}

fn least() -> TrustLevel {
    TrustLevel::Remote
}
