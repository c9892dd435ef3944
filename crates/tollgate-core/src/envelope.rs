//! The one shape every tool answers in.
//!
//! It is MCP's `structuredContent`, the JSONL `payload` and the CLI's `--json`.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use crate::{
    call::Status,
    error::Failure,
    ledger::BudgetLedger,
    payload::Payload,
    print::{self, ObjectText, Print},
    spelled::Spelled,
    warning::Warning,
};

/// A finished call as its caller sees it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Envelope {
    /// True unless the status is `error`.
    pub ok: bool,
    /// How well it went.
    pub status: Status,
    /// The canonical id of the tool.
    pub tool: String,
    /// The service command, for tools that have one.
    pub command: Option<String>,
    /// Exactly the object the tool's document describes.
    pub data: Option<Payload>,
    /// Why it is less than it could be.
    pub warnings: Vec<Warning>,
    /// What went wrong.
    pub error: Option<Failure>,
    /// The request, for tools with a service command.
    pub request: Option<Value>,
    /// The service's budget, for tools with a service command.
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

/// What stands for a field that an envelope has nothing to say in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nothing {
    /// `null`.
    Null,
    /// The field is left out.
    LeftOut,
}

impl Envelope {
    /// Prints it around `data`, with this ledger.
    pub fn print_around(
        &self,
        data: Option<&Payload>,
        ledger: &BudgetLedger,
        nothing: Nothing,
        object: &mut ObjectText<'_>,
    ) {
        let is_there = |said: bool| said || nothing == Nothing::Null;
        object.flag("ok", self.ok);
        object.text("status", self.status.as_str());
        object.text("tool", &self.tool);
        object.some_text("command", self.command.as_deref());
        if is_there(data.is_some()) {
            object.json("data", data.map_or("null", Payload::raw));
        }
        object.texts("warnings", self.warnings.iter().map(|it| it.as_str()));
        match &self.error {
            Some(failure) => object.value("error", failure),
            None if is_there(false) => object.json("error", "null"),
            None => {}
        }
        if let Some(request) = &self.request {
            object.value("request", request);
        }
        if let Some(bucket) = &self.token_bucket {
            object.value("token_bucket", bucket);
        }
        if is_there(self.cache_key.is_some()) {
            object.maybe_text("cache_key", self.cache_key.as_deref());
        }
        object.flag("cache_hit", self.cache_hit);
        object.object("budget_ledger", ledger);
        object.object("meta", &self.meta);
    }
}

impl Print for Envelope {
    fn print(&self, object: &mut ObjectText<'_>) {
        self.print_around(
            self.data.as_ref(),
            &self.budget_ledger,
            Nothing::Null,
            object,
        );
    }
}

impl Serialize for Envelope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        print::serialize(self, serializer)
    }
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

/// How numbers in [`schema`] are spelled, if they are spelled so in the schema of the data.
pub fn spelled(data: &Spelled) -> Spelled {
    let either = Spelled::of_members([("0", data.clone())]);
    let within = Spelled::of_members([("anyOf", either)]);
    let properties = Spelled::of_members([("data", within)]);
    Spelled::of_members([("$defs", data.member("$defs")), ("properties", properties)])
}

/// How a call went.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
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
    #[serde(default)]
    pub taint_spans: Vec<Value>,
    /// The review items this call opened.
    #[serde(default)]
    pub review_items: Vec<String>,
    /// Where the audit log keeps this call.
    pub receipt: Option<String>,
}

impl Print for Meta {
    fn print(&self, object: &mut ObjectText<'_>) {
        object.text("call_id", &self.call_id);
        object.text("trace_id", &self.trace_id);
        object.number("duration_ms", self.duration_ms);
        object.maybe_text("provider", self.provider.as_deref());
        object.maybe_text("capability", self.capability.as_deref());
        object.flag("cache_hit", self.cache_hit);
        object.maybe_text("input_fingerprint", self.input_fingerprint.as_deref());
        object.maybe_text("output_fingerprint", self.output_fingerprint.as_deref());
        object.flag("redaction_applied", self.redaction_applied);
        object.flag("tainted", self.tainted);
        if !self.taint_spans.is_empty() {
            object.value("taint_spans", &self.taint_spans);
        }
        if !self.review_items.is_empty() {
            object.texts("review_items", self.review_items.iter().map(String::as_str));
        }
        object.maybe_text("receipt", self.receipt.as_deref());
    }
}

impl Serialize for Meta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        print::serialize(self, serializer)
    }
}
