//! The bodies of audit entries. They are the truth; everything else is derived.

use serde::Serialize;
use serde_json::Value;
use tollgate_core::{
    Capability, ConsumedSource, ErrorCode, Status, Timestamp, Warning,
    audit::{AuditEntry, Columns},
};

use super::trail::Trail;

/// Room for an ordinary ending, so that it is not moved while it grows.
const USUAL_BYTES: usize = 2048;

/// What an ending says beyond the trail.
pub(crate) struct Note<'a> {
    pub(crate) status: Status,
    pub(crate) error_code: Option<ErrorCode>,
    pub(crate) warnings: &'a [Warning],
    pub(crate) output_fingerprint: Option<&'a str>,
    pub(crate) result_preview: &'a str,
    pub(crate) arguments_preview: &'a str,
    pub(crate) redactions: usize,
    pub(crate) tainted: bool,
    pub(crate) consumed: Option<u64>,
    pub(crate) source: ConsumedSource,
    pub(crate) replayable: Result<(), &'static str>,
    pub(crate) body_of: Option<&'a str>,
    pub(crate) reviews: &'a [String],
}

#[derive(Serialize)]
struct Ending<'a> {
    v: u8,
    kind: &'static str,
    at: Timestamp,
    call_id: &'a str,
    trace_id: &'a str,
    span_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span: Option<&'a str>,
    step: Step<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_step: Option<&'a str>,
    tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
    principal: &'a str,
    session: &'a str,
    surface: &'static str,
    trust: &'static str,
    provider: Option<&'a str>,
    capability: Option<&'static str>,
    consent: &'static str,
    verdict: Option<&'static str>,
    rule: Option<&'a str>,
    cache: &'static str,
    cache_key: Option<&'a str>,
    status: &'static str,
    error_code: Option<&'static str>,
    warnings: &'a [Warning],
    estimated: u64,
    worst_case: u64,
    consumed: Option<u64>,
    consumed_source: &'static str,
    duration_us: u64,
    attempt: u32,
    input_fingerprint: Option<&'a str>,
    output_fingerprint: Option<&'a str>,
    spec_digest: Option<&'a str>,
    args_preview: &'a str,
    result_preview: &'a str,
    redactions: usize,
    tainted: bool,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    reviews: &'a [String],
    replayable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_replayable: Option<&'static str>,
    /// The call whose body is this one's as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    body_of: Option<&'a str>,
}

/// `tool.<name>`, as document 002 names steps.
struct Step<'a>(&'a str);

impl Serialize for Step<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("tool.{}", self.0))
    }
}

/// How a call ended.
pub(crate) fn ending(trail: &Trail, note: &Note<'_>) -> AuditEntry {
    let body = Ending {
        v: 1,
        kind: "ending",
        at: trail.at,
        call_id: trail.call.as_str(),
        trace_id: &trail.trace.trace_id,
        span_id: &trail.trace.span_id,
        parent_span: trail.trace.parent.as_deref(),
        step: Step(&trail.tool),
        run: trail.step.as_ref().map(|step| step.run.as_str()),
        run_step: trail.step.as_ref().map(|step| step.step.as_str()),
        tool: &trail.tool,
        command: trail.command.as_deref(),
        principal: trail.session.principal.as_str(),
        session: &trail.session.handle,
        surface: trail.surface.as_str(),
        trust: trail.trust.as_str(),
        provider: trail.provider.as_deref(),
        capability: trail.capability.map(Capability::as_str),
        consent: trail.consent.as_str(),
        verdict: trail.verdict,
        rule: trail.rule.as_deref(),
        cache: trail.cache.as_str(),
        cache_key: trail.cache_key.as_deref(),
        status: note.status.as_str(),
        error_code: note.error_code.map(ErrorCode::as_str),
        warnings: note.warnings,
        estimated: trail.estimate.estimated,
        worst_case: trail.estimate.worst_case,
        consumed: note.consumed,
        consumed_source: note.source.as_str(),
        duration_us: trail.duration_micros(),
        attempt: trail.attempt,
        input_fingerprint: trail
            .arguments
            .as_ref()
            .map(|arguments| arguments.fingerprint.as_str()),
        output_fingerprint: note.output_fingerprint,
        spec_digest: trail.spec_digest.as_deref(),
        args_preview: note.arguments_preview,
        result_preview: note.result_preview,
        redactions: note.redactions,
        tainted: note.tainted,
        reviews: note.reviews,
        replayable: note.replayable.is_ok(),
        not_replayable: note.replayable.err(),
        body_of: note.body_of,
    };
    let columns = Columns {
        at: body.at.0,
        kind: body.kind.to_owned(),
        call_id: Some(body.call_id.to_owned()),
        trace_id: Some(body.trace_id.to_owned()),
        principal: Some(body.principal.to_owned()),
        session: Some(body.session.to_owned()),
        tool: Some(body.tool.to_owned()),
        status: Some(body.status.to_owned()),
    };
    let mut text = Vec::with_capacity(USUAL_BYTES);
    let printed = serde_json::to_writer(&mut text, &body).ok();
    match printed.and_then(|()| String::from_utf8(text).ok()) {
        Some(text) => AuditEntry::with_columns(text, columns),
        None => AuditEntry::new(String::new()),
    }
}

/// That a call is about to happen.
pub(crate) fn intent(trail: &Trail, arguments_preview: &str) -> AuditEntry {
    note(
        "intent",
        trail.at,
        serde_json::json!({
            "call_id": trail.call.as_str(),
            "trace_id": trail.trace.trace_id,
            "principal": trail.session.principal.as_str(),
            "session": trail.session.handle,
            "tool": trail.tool,
            "status": "running",
            "capability": trail.capability.map(Capability::as_str),
            "consent": trail.consent.as_str(),
            "rule": trail.rule,
            "effect": trail.effect,
            "estimated": trail.estimate.estimated,
            "args_preview": arguments_preview,
            "input_fingerprint": trail.arguments.as_ref().map(|arguments| &arguments.fingerprint),
        }),
    )
}

/// Any other thing worth writing down: an approval, a review, a late answer.
pub(crate) fn note(kind: &'static str, at: Timestamp, facts: Value) -> AuditEntry {
    let mut body = serde_json::json!({"v": 1, "kind": kind, "at": at});
    if let (Value::Object(body), Value::Object(facts)) = (&mut body, facts) {
        body.extend(facts);
    }
    AuditEntry::new(body.to_string())
}
