//! A finished call as a span, in the words of the GenAI and MCP conventions.
//!
//! Invariant: attribute names of those conventions appear in this file only.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::{ErrorCode, Timestamp};

use super::trail::Trail;

/// A finished call, ready to be exported.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// 32 hex digits.
    pub trace_id: String,
    /// 16 hex digits.
    pub span_id: String,
    /// The caller's span.
    pub parent_span_id: Option<String>,
    /// `execute_tool <tool>`.
    pub name: String,
    /// When it began.
    pub start: Timestamp,
    /// How long it took.
    pub duration: Duration,
    /// What is known of it.
    pub attributes: Vec<(&'static str, Value)>,
    /// Why it failed.
    pub error: Option<ErrorCode>,
}

/// Takes finished spans; must not block.
pub trait SpanSink: Send + Sync {
    /// Whether anyone listens; building a span costs something.
    fn wants(&self) -> bool;
    /// Takes one.
    fn export(&self, span: Span);
}

/// For those who want none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSpans;

impl SpanSink for NoSpans {
    fn wants(&self) -> bool {
        false
    }

    fn export(&self, _: Span) {}
}

impl Span {
    pub(crate) fn of(trail: &Trail, status: &'static str, error: Option<ErrorCode>) -> Self {
        let mut attributes = vec![
            ("gen_ai.operation.name", json!("execute_tool")),
            ("gen_ai.tool.name", json!(trail.tool)),
            ("gen_ai.tool.call.id", json!(trail.call.as_str())),
            ("gen_ai.tool.type", json!("function")),
            ("mcp.method.name", json!("tools/call")),
            ("tollgate.session", json!(trail.session.handle)),
            ("tollgate.surface", json!(trail.surface.as_str())),
            ("tollgate.consent", json!(trail.consent.as_str())),
            ("tollgate.cache", json!(trail.cache.as_str())),
            ("tollgate.status", json!(status)),
        ];
        if let Some(provider) = &trail.provider {
            attributes.push(("tollgate.provider", json!(provider)));
        }
        if let Some(rule) = &trail.rule {
            attributes.push(("tollgate.policy.rule", json!(rule)));
        }
        if let Some(code) = error {
            attributes.push(("error.type", json!(code.as_str())));
        }
        Self {
            trace_id: trail.trace.trace_id.clone(),
            span_id: trail.trace.span_id.clone(),
            parent_span_id: trail.trace.parent.clone(),
            name: format!("execute_tool {}", trail.tool),
            start: trail.at,
            duration: trail.started.elapsed(),
            attributes,
            error,
        }
    }
}
