//! When a human should look at a result.
//!
//! A call that a human agreed to was looked at; one under a grant was not, but its tool was.
//! Invariant: the same thing asks for a human once. An answer that was given before, the result
//! of one run, and the calls of a tool under a grant within a day open one item each. A run opens
//! its item when it ends, whether somebody waits for it or not.

use std::time::Duration;

use serde_json::Value;
use tollgate_core::{
    ErrorCode, Payload, SessionKey, Status, Timestamp, Warning,
    audit::AuditQuery,
    canonical::hex_digest,
    store::{ReviewItem, ReviewStatus},
};

use crate::{
    call::Inner,
    ids,
    policy::Consent,
    record::{ENDING, Trail},
    runs,
    session::SessionState,
};

/// The reason of a delicate tool that ran without a human's look at that very call.
const SENSITIVE_TOOL: &str = "sensitive_tool";
/// The provider of runs.
const RUNS: &str = "runs";
/// For how long calls of one tool under a grant share an item.
const GRANT_PERIOD: Duration = Duration::from_secs(24 * 60 * 60);
/// Endings of a tool that are looked through for the same call.
const LOOKED_THROUGH: u32 = 100;

/// The reason of an answer that says what it rests on is missing.
const MISSING_EVIDENCE: &str = "missing_evidence";
/// How warnings end that say so, if the answer is degraded by them.
const NOT_FOUND: &str = "_not_found";

/// The items that are about a call.
#[derive(Default)]
pub(crate) struct Reviews {
    /// Those that it opens.
    pub(crate) opened: Vec<ReviewItem>,
    /// All that are open.
    pub(crate) named: Vec<String>,
}

/// What the rules look at.
pub(crate) struct Reviewed<'a> {
    pub(crate) data: Option<&'a Payload>,
    pub(crate) status: Status,
    pub(crate) warnings: &'a [Warning],
    pub(crate) code: Option<ErrorCode>,
    pub(crate) redactions: usize,
}

/// The items a call opens: none, or one that names every rule that asked for it.
pub(crate) async fn items(
    inner: &Inner,
    trail: &Trail,
    session: &SessionState,
    reviewed: &Reviewed<'_>,
) -> Reviews {
    let reasons = reasons(inner, trail, reviewed);
    if reasons.is_empty() || trail.cache.is_reuse() {
        return Reviews::default();
    }
    Box::pin(opened(inner, trail, session, reviewed, reasons)).await
}

async fn opened(
    inner: &Inner,
    trail: &Trail,
    session: &SessionState,
    reviewed: &Reviewed<'_>,
    mut reasons: Vec<&'static str>,
) -> Reviews {
    let mut once = run_item(trail, reviewed);
    if trail.by_grant && reasons.contains(&SENSITIVE_TOOL) {
        let shared = grant_item(trail);
        if known(inner, &shared).await.is_some() {
            reasons.retain(|reason| *reason != SENSITIVE_TOOL);
        } else {
            once = Some(shared);
        }
    }
    if reasons.is_empty() {
        return Reviews::default();
    }
    if let Some(once) = &once
        && let Some(status) = known(inner, once).await
    {
        let is_open = status == ReviewStatus::Open;
        return Reviews {
            named: is_open.then(|| once.clone()).into_iter().collect(),
            opened: Vec::new(),
        };
    }
    let preview = reviewed.data.map_or("", Payload::raw);
    let item = ReviewItem {
        item_id: once.unwrap_or_else(|| ids::distinct_id("rv")),
        created_at: trail.at,
        status: ReviewStatus::Open,
        request_id: trail.call.as_str().to_owned(),
        session_id: session.key().handle.clone(),
        principal: session.key().principal.as_str().to_owned(),
        subject: trail.tool.clone(),
        reasons: reasons.into_iter().map(str::to_owned).collect(),
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
    };
    Reviews {
        named: vec![item.item_id.clone()],
        opened: vec![item],
    }
}

/// A run that has ended.
pub(crate) struct EndedRun<'a> {
    pub(crate) id: &'a str,
    /// The call that started it.
    pub(crate) call: &'a str,
    pub(crate) session: &'a SessionKey,
    pub(crate) result: &'a Value,
    pub(crate) at: Timestamp,
}

/// The item that what a run came to opens.
pub(crate) fn of_run(inner: &Inner, run: &EndedRun<'_>) -> Option<ReviewItem> {
    let mut reasons = Vec::new();
    stated(inner, &[run.result], &mut reasons);
    if lacks_stated(run.result) {
        reasons.push(MISSING_EVIDENCE);
    }
    let rules = &inner.settings.review;
    reasons.retain(|reason| !rules.disabled.contains(reason));
    if reasons.is_empty() {
        return None;
    }
    let warnings = strings(&run.result["warnings"]).filter_map(Warning::parse);
    let preview = run.result.to_string();
    Some(ReviewItem {
        item_id: item_of(&format!("run\n{}", run.id)),
        created_at: run.at,
        status: ReviewStatus::Open,
        request_id: run.call.to_owned(),
        session_id: run.session.handle.clone(),
        principal: run.session.principal.as_str().to_owned(),
        subject: runs::START.to_owned(),
        reasons: reasons.into_iter().map(str::to_owned).collect(),
        warning_codes: warnings.map(|it| it.as_str().to_owned()).collect(),
        preview: inner.cleaner.preview(&preview, inner.settings.preview),
        resolution: None,
        note: None,
        resolved_at: None,
        resolved_by: None,
    })
}

/// What became of an item that was opened before. A store that cannot say lets it be opened
/// again, which a human sees, instead of losing it.
async fn known(inner: &Inner, item: &str) -> Option<ReviewStatus> {
    let known = inner.store.review(item).await;
    known.ok().flatten().map(|item| item.status)
}

/// The item that all calls of this tool under grants share on one day.
fn grant_item(trail: &Trail) -> String {
    let millis = i64::try_from(GRANT_PERIOD.as_millis()).unwrap_or(i64::MAX);
    let Timestamp(at) = trail.at;
    let day = at.div_euclid(millis);
    let principal = trail.session.principal.as_str();
    item_of(&format!("grant\n{principal}\n{}\n{day}", trail.tool))
}

/// The item that all answers with the result of one run share.
fn run_item(trail: &Trail, reviewed: &Reviewed<'_>) -> Option<String> {
    let data = reviewed.data.filter(|_| is_of_runs(trail))?;
    let run = data.value().get("runId")?.as_str()?.to_owned();
    Some(item_of(&format!("run\n{run}")))
}

fn item_of(subject: &str) -> String {
    let digest = hex_digest(subject.as_bytes());
    format!("rv-{}", digest.get(..16).unwrap_or_default())
}

fn is_of_runs(trail: &Trail) -> bool {
    trail.provider.as_deref() == Some(RUNS)
}

/// How often this call had failed in a row before, in this session, by any process.
pub(crate) async fn earlier_failures(inner: &Inner, trail: &Trail) -> u32 {
    let Some(key) = trail.cache_key.as_deref() else {
        return 0;
    };
    let query = AuditQuery {
        limit: LOOKED_THROUGH,
        newest_first: true,
        kind: Some(ENDING.to_owned()),
        tool: Some(trail.tool.clone()),
        session: Some(trail.session.handle.clone()),
        principal: Some(trail.session.principal.as_str().to_owned()),
        ..AuditQuery::default()
    };
    // Without an answer, those that this process has counted remain.
    let rows = inner.store.records(&query).await.unwrap_or_default();
    let endings = rows
        .iter()
        .filter_map(|row| serde_json::from_str::<Value>(&row.body).ok());
    let mut same = endings.filter(|row| row["cache_key"] == key && was_made(row));
    let last = same.next().filter(|row| row["status"] == "error");
    let attempt = last.and_then(|row| row["attempt"].as_u64());
    attempt.map_or(0, |attempt| u32::try_from(attempt).unwrap_or(u32::MAX))
}

/// Whether a recorded call reached its provider: what the gate refuses is no attempt.
fn was_made(row: &Value) -> bool {
    let code = row["error_code"].as_str().unwrap_or_default();
    let made = [
        "tool.gate.invoke.",
        "tool.gate.output.",
        "tool.gate.record.",
    ];
    let by_gate = code.starts_with("tool.gate.");
    row["cache"] != "hit" && (!by_gate || made.iter().any(|it| code.starts_with(it)))
}

fn reasons(inner: &Inner, trail: &Trail, reviewed: &Reviewed<'_>) -> Vec<&'static str> {
    let rules = &inner.settings.review;
    let mut reasons = Vec::new();
    let mut lacks_evidence = lacks_evidence(reviewed);
    if let Some(data) = reviewed.data.filter(|data| mentions(data.raw())) {
        let objects = own_objects(inner, trail, data.value());
        stated(inner, &objects, &mut reasons);
        lacks_evidence |= objects.iter().any(|object| lacks_stated(object));
    }
    if lacks_evidence {
        reasons.push(MISSING_EVIDENCE);
    }
    let is_looked_at = trail.consent == Consent::Human && !trail.by_grant;
    if trail.intent && trail.effect && !is_looked_at && is_delicate(inner, trail) {
        reasons.push(SENSITIVE_TOOL);
    }
    let is_error = reviewed.code.is_some() || reviewed.status == Status::Error;
    if is_error && trail.attempt >= rules.exhausted_retries {
        reasons.push("retries_exhausted");
    }
    if reviewed.redactions >= rules.heavy_redaction {
        reasons.push("heavy_redaction");
    }
    reasons.retain(|reason| !rules.disabled.contains(reason));
    reasons
}

/// Where a tool states its verdict: its answer, the structured part of an upstream's, or the
/// result of a run.
fn own_objects<'a>(inner: &Inner, trail: &Trail, data: &'a Value) -> Vec<&'a Value> {
    let catalog = inner.catalog();
    let listing = catalog.find(&trail.tool);
    let is_upstream = listing.is_some_and(|listing| listing.spec.upstream.is_some());
    let mut objects = vec![data];
    if is_upstream {
        objects.extend(data.get("structuredContent"));
    }
    if is_of_runs(trail) {
        objects.extend(data.get("result"));
    }
    objects
}

/// What answers state of how sure they are.
fn stated(inner: &Inner, objects: &[&Value], reasons: &mut Vec<&'static str>) {
    let threshold = inner.settings.review.confidence_threshold;
    if objects.iter().any(|it| it["verdict"] == "uncertain") {
        reasons.push("uncertain_verdict");
    }
    let mut confidences = objects.iter().filter_map(|it| it["confidence"].as_f64());
    if confidences.any(|it| it < threshold) {
        reasons.push("low_confidence");
    }
}

/// Whether an answer states itself that what it rests on was not found, or is thin.
fn lacks_stated(object: &Value) -> bool {
    let is_degraded = object["status"] == Status::Degraded.as_str();
    strings(&object["warnings"]).any(|it| is_of_evidence(it, is_degraded))
}

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(Value::as_str)
}

fn is_of_evidence(warning: &str, is_degraded: bool) -> bool {
    let thin = [Warning::ThinEvidence, Warning::SourcesFailed];
    thin.iter().any(|it| it.as_str() == warning) || (is_degraded && warning.ends_with(NOT_FOUND))
}

/// Whether what an answer rests on was not found, or is thin.
fn lacks_evidence(reviewed: &Reviewed<'_>) -> bool {
    let is_degraded = reviewed.status == Status::Degraded;
    let mut warnings = reviewed.warnings.iter();
    warnings.any(|warning| is_of_evidence(warning.as_str(), is_degraded))
}

/// Spares parsing answers that cannot trigger a rule.
fn mentions(raw: &str) -> bool {
    ["\"verdict\"", "\"confidence\"", "\"warnings\""]
        .iter()
        .any(|it| raw.contains(it))
}

fn is_delicate(inner: &Inner, trail: &Trail) -> bool {
    let catalog = inner.catalog();
    catalog.find(&trail.tool).is_some_and(|listing| {
        let says = &listing.spec.annotations;
        says.destructive || says.sensitive_sink
    })
}
