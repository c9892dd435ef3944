//! The bodies of audit entries. They are the truth; everything else is derived.

use serde_json::Value;
use tollgate_core::{
    Capability, ConsumedSource, ErrorCode, Status, Timestamp, Warning,
    audit::{AuditEntry, Columns},
    print::{self, ObjectText, Print},
};

use super::trail::Trail;

/// Room for an ordinary ending, so that it is not moved while it grows.
const USUAL_BYTES: usize = 2048;
/// The kind of an entry that says how a call ended.
pub(crate) const ENDING: &str = "ending";

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

/// An ending as it is written down.
struct Ending<'a> {
    trail: &'a Trail,
    note: &'a Note<'a>,
}

impl Print for Ending<'_> {
    fn print(&self, object: &mut ObjectText<'_>) {
        let Self { trail, note } = self;
        object.number("v", 1);
        object.text("kind", ENDING);
        object.signed("at", trail.at.0);
        object.text("call_id", trail.call.as_str());
        object.text("trace_id", &trail.trace.trace_id);
        object.text("span_id", &trail.trace.span_id);
        object.some_text("parent_span", trail.trace.parent.as_deref());
        // `tool.<name>`, as document 002 names steps.
        object.joined("step", ["tool.", &trail.tool]);
        if let Some(step) = &trail.step {
            object.text("run", step.run.as_str());
            object.text("run_step", step.step.as_str());
        }
        object.text("tool", &trail.tool);
        object.some_text("command", trail.command.as_deref());
        object.text("principal", trail.session.principal.as_str());
        object.text("session", &trail.session.handle);
        object.text("surface", trail.surface.as_str());
        object.text("trust", trail.trust.as_str());
        object.maybe_text("provider", trail.provider.as_deref());
        let capability = trail.capability.map(Capability::as_str);
        object.maybe_text("capability", capability);
        object.text("consent", trail.consent.as_str());
        object.maybe_text("verdict", trail.verdict);
        object.maybe_text("rule", trail.rule.as_deref());
        object.text("cache", trail.cache.as_str());
        object.maybe_text("cache_key", trail.cache_key.as_deref());
        object.text("status", note.status.as_str());
        object.maybe_text("error_code", note.error_code.map(ErrorCode::as_str));
        object.texts("warnings", note.warnings.iter().map(|it| it.as_str()));
        self.print_figures(object);
        self.print_previews(object);
    }
}

impl Ending<'_> {
    fn print_figures(&self, object: &mut ObjectText<'_>) {
        let Self { trail, note } = self;
        object.number("estimated", trail.estimate.estimated);
        object.number("worst_case", trail.estimate.worst_case);
        object.maybe_number("consumed", note.consumed);
        object.text("consumed_source", note.source.as_str());
        object.number("duration_us", trail.duration_micros());
        object.number("attempt", trail.attempt.into());
        if let Some(count) = trail.count {
            object.number("count", count);
        }
    }

    fn print_previews(&self, object: &mut ObjectText<'_>) {
        let Self { trail, note } = self;
        let arguments = trail.arguments.as_ref();
        let fingerprint = arguments.map(|arguments| arguments.fingerprint.as_str());
        object.maybe_text("input_fingerprint", fingerprint);
        object.maybe_text("output_fingerprint", note.output_fingerprint);
        object.maybe_text("spec_digest", trail.spec_digest.as_deref());
        object.text("args_preview", note.arguments_preview);
        object.text("result_preview", note.result_preview);
        let redactions = u64::try_from(note.redactions).unwrap_or(u64::MAX);
        object.number("redactions", redactions);
        object.flag("tainted", note.tainted);
        if !note.reviews.is_empty() {
            object.texts("reviews", note.reviews.iter().map(String::as_str));
        }
        object.flag("replayable", note.replayable.is_ok());
        object.some_text("not_replayable", note.replayable.err());
        // The call whose body is this one's as well.
        object.some_text("body_of", note.body_of);
    }
}

/// How a call ended.
pub(crate) fn ending(trail: &Trail, note: &Note<'_>) -> AuditEntry {
    let columns = Columns {
        at: trail.at.0,
        kind: ENDING.to_owned(),
        call_id: Some(trail.call.as_str().to_owned()),
        trace_id: Some(trail.trace.trace_id.clone()),
        principal: Some(trail.session.principal.as_str().to_owned()),
        session: Some(trail.session.handle.clone()),
        tool: Some(trail.tool.clone()),
        status: Some(note.status.as_str().to_owned()),
    };
    let body = print::printed(&Ending { trail, note }, USUAL_BYTES);
    AuditEntry::with_columns(body, columns)
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

/// The kind of an entry that says what came after the ending.
pub(crate) const LATE_ANSWER: &str = "late_answer";

/// Any other thing worth writing down: an approval, a review, a late answer.
pub(crate) fn note(kind: &'static str, at: Timestamp, facts: Value) -> AuditEntry {
    let mut body = serde_json::json!({"v": 1, "kind": kind, "at": at});
    if let (Value::Object(body), Value::Object(facts)) = (&mut body, facts) {
        body.extend(facts);
    }
    AuditEntry::new(body.to_string())
}
