//! Where consent comes from, and how it is asked for.
//!
//! An approval is bound to tool, spec, canonical arguments and session by a keyed
//! digest, ends, and works once. The repeated call finds it by that digest; nobody
//! has to send its id. A model-set boolean is never a human.

use std::sync::Arc;

use serde_json::{Value, json};
use tollgate_core::{
    CallId, ErrorCode, Failure, Payload, Timestamp,
    audit::Hash,
    canonical::Node,
    store::{Approval, ApprovalState, EffectQuery, GrantScope},
};

use super::{Inner, Stop, finish::StoredEnding, invoke, validate, validate::Valid};
use crate::{
    ids,
    policy::{Consent, Verdict},
    record::Trail,
    recover,
    session::SessionState,
};

/// How much of the arguments a human is shown; what is left out is counted.
const PREVIEW_CHARACTERS: usize = 4000;
/// How much of what a call would do, by its provider's account.
const EFFECT_CHARACTERS: usize = 80_000;

/// A human's consent that is already there.
pub(super) enum Given {
    /// For the whole session.
    Grant,
    /// For this very call, once.
    Approval,
    /// None.
    Nothing,
}

/// An effect that ran before, and how it ended.
pub(super) struct Recorded {
    pub(super) call: CallId,
    pub(super) ending: StoredEnding,
}

/// The consent that came with the request itself. A question it answers is noted in the call.
pub(super) fn offered(
    inner: &Inner,
    session: &SessionState,
    valid: &mut Valid,
    tainted: bool,
) -> Result<Consent, Stop> {
    let mut consent = match (&valid.human, valid.control.yes) {
        (Some(_), _) => Consent::Human,
        (None, true) => Consent::Agent,
        (None, false) => Consent::None,
    };
    // Who agreed to a run agreed to its steps, but not to what strangers make of them, nor
    // to what has to be shown before anyone can agree to it.
    let is_covered = !tainted && !valid.listing.spec.requires_confirm;
    if let Some(step) = valid.step.as_ref().filter(|_| is_covered) {
        consent = consent.max(step.consent);
    }
    // Answers without a state belong to no question of ours; the tool may still use them.
    if let Some(responses) = valid.responses.as_ref().filter(|it| !it.state.is_empty()) {
        let listing = &valid.listing;
        let node = Node::of(&valid.arguments).ok();
        let fingerprint = validate::fingerprint(inner, &valid.arguments, node.as_ref());
        let binding = super::state::binding(
            listing.spec.name.as_str(),
            listing.digest(),
            &fingerprint,
            session.key(),
        );
        let resumed = super::state::unseal(inner, &responses.state, &binding)?;
        consent = consent.max(resumed.consent);
        valid.resumes = Some(resumed);
    }
    Ok(consent)
}

/// What binds an approval to this call.
pub(super) fn digest(inner: &Inner, session: &SessionState, valid: &Valid) -> Result<Hash, Stop> {
    let listing = &valid.listing;
    inner
        .approval_key
        .digest(
            &listing.spec.name,
            &valid.bound_to(),
            &valid.arguments,
            session.key(),
        )
        .map_err(|error| Stop::new(ErrorCode::InvalidArguments, error.to_string()))
}

/// Looks for a grant that covers the call, then for its own approval.
///
/// No grant covers a call that carries tainted text, or a tool that a human must agree to
/// call by call.
pub(super) async fn find(
    inner: &Inner,
    session: &SessionState,
    valid: &Valid,
    digest: &Hash,
    tainted: bool,
) -> Result<Given, Stop> {
    let now = inner.clock.now();
    let grants = inner.store.grants(session.key()).await?;
    if !tainted
        && !valid.listing.spec.requires_confirm
        && grants
            .iter()
            .any(|grant| grant.in_time(now) && covers(&grant.scope, valid))
    {
        return Ok(Given::Grant);
    }
    let approval = inner.store.approval_of(digest).await?;
    let granted = approval.is_some_and(|it| it.state == ApprovalState::Granted && it.in_time(now));
    Ok(if granted {
        Given::Approval
    } else {
        Given::Nothing
    })
}

fn covers(scope: &GrantScope, valid: &Valid) -> bool {
    let is_this = |tool: &str, spec_digest: &str| {
        tool == valid.listing.spec.name.as_str() && spec_digest == valid.bound_to()
    };
    match scope {
        GrantScope::Tool { tool, spec_digest } => is_this(tool, spec_digest),
        GrantScope::Site {
            tool,
            spec_digest,
            site,
        } => is_this(tool, spec_digest) && site_of(&valid.arguments).as_deref() == Some(site),
    }
}

/// The host of the `url` argument, for grants by site.
///
/// Only what every client reads the same way has a site; anything else asks again.
pub(crate) fn site_of(arguments: &Payload) -> Option<String> {
    let url = arguments.value().get("url")?.as_str()?;
    let (scheme, rest) = url.split_once("://")?;
    let plain = matches!(scheme, "http" | "https")
        && !url.contains(|c: char| c == '\\' || c.is_whitespace() || c.is_control());
    let authority = rest.split(['/', '?', '#']).next()?;
    let (host, port) = match authority.split_once(':') {
        Some((host, "80" | "443")) => (host, None),
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    let is_fine = plain && !host.is_empty() && host.chars().all(allowed);
    let host = is_fine.then(|| host.to_ascii_lowercase())?;
    match port {
        // Another port is another site: who serves it may be somebody else.
        Some(port) => {
            let number: u16 = port.parse().ok()?;
            (port == number.to_string()).then(|| format!("{host}:{number}"))
        }
        None => Some(host),
    }
}

/// The recorded ending of the same effect, if it ran and its answer did not arrive.
pub(super) async fn happened(
    inner: &Inner,
    session: &SessionState,
    valid: &Valid,
    digest: &Hash,
) -> Result<Option<Recorded>, Stop> {
    let now = inner.clock.now();
    let key = valid.effect_key();
    let user = match &key {
        Some(_) => None,
        None => match used_up_by(inner, digest, now).await? {
            Some(call) => Some(call),
            None => return Ok(None),
        },
    };
    let query = EffectQuery {
        session: session.key().clone(),
        digest: *digest,
        since: now.minus(inner.settings.reissue_window),
        idempotency_key: key,
    };
    let Some(mut effect) = inner.store.effect(&query).await? else {
        return Ok(None);
    };
    // It runs, or its process died and nobody has ended it since.
    if effect.answer.is_none()
        && recover::end_abandoned(inner).await? > 0
        && let Some(ended) = inner.store.effect(&query).await?
    {
        effect = ended;
    }
    if user.is_some_and(|user| user != effect.call) {
        return Ok(None);
    }
    if effect.digest.is_some_and(|other| other != *digest) {
        let message = "this idempotency key names another call";
        return Err(Stop::new(ErrorCode::InvalidArguments, message));
    }
    let Some(answer) = effect.answer else {
        return Err(running());
    };
    let ending = serde_json::from_slice(&answer)
        .map_err(|_| Stop::new(ErrorCode::StoreCorrupt, "a recorded ending cannot be read"))?;
    Ok(Some(Recorded {
        call: effect.call,
        ending,
    }))
}

/// The same effect runs right now; in a moment its ending can be shown.
pub(super) fn running() -> Stop {
    let mut stop = Stop::new(ErrorCode::Overloaded, "the same effect is still running");
    stop.failure.retry_after_seconds = Some(1);
    stop
}

/// The call that used up the newest approval of this call within the window.
async fn used_up_by(inner: &Inner, digest: &Hash, now: Timestamp) -> Result<Option<CallId>, Stop> {
    let since = now.minus(inner.settings.reissue_window);
    let approval = inner.store.approval_of(digest).await?;
    Ok(approval
        .filter(|it| it.state == ApprovalState::Consumed)
        .filter(|it| it.consumed_at.is_some_and(|at| at >= since))
        .and_then(|it| it.consumed_by))
}

/// Turns a missing consent into an ending that says how to go on.
pub(super) async fn ask(
    inner: &Arc<Inner>,
    session: &SessionState,
    valid: &Valid,
    verdict: &Verdict,
    needed: Consent,
    trail: &Trail,
) -> Result<Stop, Stop> {
    let spec = &valid.listing.spec;
    let mut preview = preview(inner, valid, verdict);
    // Nobody is asked to agree to what the provider would refuse.
    if let Some(effect) = invoke::preview(inner, valid, trail).await? {
        add_effect(inner, &mut preview, &effect);
    }
    let mut failure = Failure::new(
        ErrorCode::ConfirmationRequired,
        format!("`{}` needs {} first", spec.name, consent_of(needed)),
    )
    .suggest(match needed {
        Consent::Human => ErrorCode::ConfirmationRequired.advice(),
        Consent::Agent | Consent::None => "Repeat the call with `yes: true` to accept the cost.",
    })
    .with("consent", needed.as_str())
    .with("rule", verdict.rule.as_str())
    .with("resume_with", resume_with(inner, valid, needed))
    .with("estimated_tokens", valid.estimate.estimated)
    .with("worst_case_tokens", valid.estimate.worst_case)
    .with("preview", preview.clone());
    let mut approval = None;
    if needed == Consent::Human {
        let asked = question(inner, session, valid, preview).await?;
        failure = failure.with("approval_id", asked.id.as_str());
        approval = Some(Box::new(asked));
    }
    Ok(Stop {
        failure,
        ask: approval,
        block: true,
    })
}

fn consent_of(needed: Consent) -> &'static str {
    match needed {
        Consent::Human => "a human's consent",
        Consent::Agent | Consent::None => "consent to its cost",
    }
}

/// The open question about this call, or a new one.
async fn question(
    inner: &Inner,
    session: &SessionState,
    valid: &Valid,
    preview: Value,
) -> Result<Approval, Stop> {
    let now = inner.clock.now();
    let digest = digest(inner, session, valid)?;
    let open = inner.store.approval_of(&digest).await?;
    if let Some(open) = open.filter(|it| it.state == ApprovalState::Pending && it.in_time(now)) {
        return Ok(open);
    }
    Ok(Approval {
        id: ids::random_id("ap"),
        digest,
        tool: valid.listing.spec.name.as_str().to_owned(),
        spec_digest: valid.bound_to().into_owned(),
        session: session.key().clone(),
        preview,
        estimate: valid.estimate,
        created: now,
        expires: now.plus(inner.settings.approval_ttl),
        state: ApprovalState::Pending,
        decided_by: None,
        decided_at: None,
        consumed_by: None,
        consumed_at: None,
    })
}

/// What the human sees: clean, and complete up to a length nobody reads past.
fn preview(inner: &Inner, valid: &Valid, verdict: &Verdict) -> Value {
    let node = Node::of(&valid.arguments).ok();
    let (clean, cleaned) = validate::shown(inner, &valid.listing, &valid.arguments, node.as_ref());
    let hidden = clean.chars().count().saturating_sub(PREVIEW_CHARACTERS);
    let spec = &valid.listing.spec;
    let mut shown = json!({
        "tool": spec.name.as_str(),
        "title": spec.title,
        "capability": valid.capability.as_str(),
        "destructive": spec.annotations.destructive,
        "sensitive_sink": spec.annotations.sensitive_sink,
        "rule": verdict.rule,
        "arguments": inner.cleaner.preview(&clean, PREVIEW_CHARACTERS),
        "hidden_characters": hidden,
        "cleaned": cleaned,
        "site": site_of(&valid.arguments),
    });
    if let Some(step) = &valid.step {
        shown["run"] = step.run.as_str().into();
        shown["run_step"] = step.step.as_str().into();
    }
    if let (Some(plan), Value::Object(shown)) = (&valid.plan, &mut shown) {
        let text = plan.shown.to_string();
        let (clean, _) = inner.cleaner.arguments(&text);
        shown.insert(
            "plan".to_owned(),
            serde_json::from_str(&clean).unwrap_or_default(),
        );
    }
    shown
}

/// Adds what the provider says the call would do; whatever is left out is said.
fn add_effect(inner: &Inner, preview: &mut Value, effect: &str) {
    let (clean, cleaned) = inner.cleaner.text(effect);
    let hidden = clean.chars().count().saturating_sub(EFFECT_CHARACTERS);
    preview["effect"] = inner.cleaner.preview(&clean, EFFECT_CHARACTERS).into();
    preview["effect_hidden_characters"] = hidden.into();
    preview["effect_cleaned"] = cleaned.into();
}

fn resume_with(inner: &Inner, valid: &Valid, needed: Consent) -> Value {
    let node = Node::of(&valid.arguments).ok();
    let (clean, _) = validate::shown(inner, &valid.listing, &valid.arguments, node.as_ref());
    let mut params: Value = serde_json::from_str(&clean).unwrap_or_default();
    if needed == Consent::Agent
        && valid.listing.spec.service_command.is_some()
        && let Value::Object(params) = &mut params
    {
        params.insert("yes".to_owned(), Value::Bool(true));
    }
    json!({"tool": valid.listing.spec.name.as_str(), "params": params})
}
