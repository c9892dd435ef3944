//! When a human should look at a result.

use serde_json::Value;
use tollgate_core::{
    ErrorCode, Payload, Status, Warning,
    store::{ReviewItem, ReviewStatus},
};

use crate::{call::Inner, ids, record::Trail, session::SessionState};

/// What the rules look at.
pub(crate) struct Reviewed<'a> {
    pub(crate) data: Option<&'a Payload>,
    pub(crate) status: Status,
    pub(crate) warnings: &'a [Warning],
    pub(crate) code: Option<ErrorCode>,
    pub(crate) redactions: usize,
}

/// The items a call opens: none, or one that names every rule that asked for it.
///
/// An answer given before was looked at then.
pub(crate) fn items(
    inner: &Inner,
    trail: &Trail,
    session: &SessionState,
    reviewed: &Reviewed<'_>,
) -> Vec<ReviewItem> {
    let reasons = reasons(inner, trail, reviewed);
    if reasons.is_empty() || trail.cache.is_reuse() {
        return Vec::new();
    }
    let preview = reviewed.data.map_or("", Payload::raw);
    vec![ReviewItem {
        item_id: ids::random_id("rv"),
        created_at: trail.at,
        status: ReviewStatus::Open,
        request_id: trail.call.as_str().to_owned(),
        session_id: session.key().handle.clone(),
        principal: session.key().principal.as_str().to_owned(),
        subject: trail.tool.clone(),
        reasons,
        warning_codes: reviewed
            .warnings
            .iter()
            .map(|warning| warning.as_str().to_owned())
            .collect(),
        preview: inner.cleaner.preview(preview, inner.settings.preview),
        resolution: None,
        note: None,
        resolved_at: None,
        resolved_by: None,
    }]
}

fn reasons(inner: &Inner, trail: &Trail, reviewed: &Reviewed<'_>) -> Vec<String> {
    let rules = &inner.settings.review;
    let mut reasons = Vec::new();
    if let Some(data) = reviewed.data.filter(|data| mentions(data.raw())) {
        let data = data.value();
        if data.get("verdict").and_then(Value::as_str) == Some("uncertain") {
            reasons.push("uncertain_verdict".to_owned());
        }
        let confidence = data.get("confidence").and_then(Value::as_f64);
        if confidence.is_some_and(|confidence| confidence < rules.confidence_threshold) {
            reasons.push("low_confidence".to_owned());
        }
    }
    let missing = reviewed
        .warnings
        .iter()
        .any(|warning| warning.as_str().ends_with("_not_found"));
    if missing && reviewed.status == Status::Degraded {
        reasons.push("missing_evidence".to_owned());
    }
    if trail.intent && trail.effect && is_delicate(inner, trail) {
        reasons.push("sensitive_tool".to_owned());
    }
    if reviewed.code.is_some() && trail.attempt >= rules.exhausted_retries {
        reasons.push("retries_exhausted".to_owned());
    }
    if reviewed.redactions >= rules.heavy_redaction {
        reasons.push("heavy_redaction".to_owned());
    }
    reasons.retain(|reason| !rules.disabled.contains(&reason.as_str()));
    reasons
}

/// Spares parsing answers that cannot trigger a rule.
fn mentions(raw: &str) -> bool {
    raw.contains("\"verdict\"") || raw.contains("\"confidence\"")
}

fn is_delicate(inner: &Inner, trail: &Trail) -> bool {
    let catalog = inner.catalog();
    catalog.find(&trail.tool).is_some_and(|listing| {
        let says = &listing.spec.annotations;
        says.destructive || says.sensitive_sink
    })
}
