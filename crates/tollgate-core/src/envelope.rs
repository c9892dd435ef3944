//! The one shape every tool answers in.
//!
//! It is MCP's `structuredContent`, the JSONL `payload` and the CLI's `--json`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    call::Status, error::Failure, ledger::BudgetLedger, payload::Payload, warning::Warning,
};

/// A finished call as its caller sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// True unless the status is `error`.
    pub ok: bool,
    /// How well it went.
    pub status: Status,
    /// The canonical id of the tool.
    pub tool: String,
    /// The service command, for tools that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Exactly the object the tool's document describes.
    pub data: Option<Payload>,
    /// Why it is less than it could be.
    pub warnings: Vec<Warning>,
    /// What went wrong.
    pub error: Option<Failure>,
    /// The request, for tools with a service command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Value>,
    /// The service's budget, for tools with a service command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_bucket: Option<Value>,
    /// The key that finds this answer again.
    pub cache_key: Option<String>,
    /// Whether it came from the session.
    pub cache_hit: bool,
    /// The session's ledger after this call.
    pub budget_ledger: BudgetLedger,
    /// How the call went, for logs and auditors.
    pub meta: Meta,
}

/// The JSON Schema of an envelope around a tool's own `data`.
pub fn schema(data: Option<&Value>) -> Value {
    let mut data = data.cloned().unwrap_or_else(|| json!({}));
    // References are resolved from the root, so what they lead to moves there.
    let definitions = data.as_object_mut().and_then(|data| data.remove("$defs"));
    json!({
        "$defs": definitions.unwrap_or_else(|| json!({})),
        "type": "object",
        "required": [
            "ok", "status", "tool", "data", "warnings", "error", "cache_key", "cache_hit",
            "budget_ledger", "meta",
        ],
        "properties": {
            "ok": {"type": "boolean"},
            "status": {"enum": ["ok", "degraded", "empty", "error"]},
            "tool": {"type": "string"},
            "command": {"type": "string"},
            "data": {"anyOf": [data, {"type": "null"}]},
            "warnings": {"type": "array", "items": {"type": "string"}},
            "error": {
                "type": ["object", "null"],
                "required": ["kind", "code", "message", "can_retry"],
                "properties": {
                    "kind": {"type": "string"},
                    "code": {"type": "string"},
                    "message": {"type": "string"},
                    "detail": {"type": ["string", "null"]},
                    "recovery_suggestion": {"type": ["string", "null"]},
                    "next_steps": {"type": "array", "items": {"type": "string"}},
                    "can_retry": {"type": "boolean"},
                    "retry_after_seconds": {"type": ["integer", "null"]},
                    "details": {"type": "object"},
                    "errorCode": {"type": "string"},
                    "recoverHint": {"type": "string"},
                },
            },
            "request": {},
            "token_bucket": {},
            "cache_key": {"type": ["string", "null"]},
            "cache_hit": {"type": "boolean"},
            "budget_ledger": {"type": "object"},
            "meta": {"type": "object"},
        },
    })
}

/// How a call went.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// This call.
    pub call_id: String,
    /// The trace it belongs to.
    pub trace_id: String,
    /// Time from front end to answer.
    pub duration_ms: u64,
    /// Who served it.
    pub provider: Option<String>,
    /// What this call could do, arguments considered.
    pub capability: Option<String>,
    /// Whether it came from the session.
    pub cache_hit: bool,
    /// Keyed digest of the canonical arguments; comparable within one state folder.
    pub input_fingerprint: Option<String>,
    /// Digest of the clean `data`.
    pub output_fingerprint: Option<String>,
    /// Whether anything was replaced or removed.
    pub redaction_applied: bool,
    /// Whether the answer holds text from an open world that reads like instructions.
    pub tainted: bool,
    /// Where that text is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taint_spans: Vec<Value>,
    /// The review items this call opened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub review_items: Vec<String>,
    /// Where the audit log keeps this call.
    pub receipt: Option<String>,
}
