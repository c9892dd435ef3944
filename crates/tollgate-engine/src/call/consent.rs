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

use super::{
    Inner, Stop, finish::StoredEnding, invoke, placeholders::Echoes, preview, validate,
    validate::Valid,
};
use crate::{
    ids,
    policy::{Consent, Verdict},
    record::Trail,
    recover,
    session::SessionState,
};

/// The field of a preview that says whether a grant for the session would cover the call.
pub const SESSION_GRANT: &str = "session_grant";
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
        let node = Node::of(valid.governed()).ok();
        let fingerprint = validate::fingerprint(inner, valid.governed(), node.as_ref());
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
            valid.governed(),
            session.key(),
        )
        .map_err(|error| Stop::new(ErrorCode::InvalidArguments, error.to_string()))
}

/// Whether a grant for the session can cover such a call: not one that carries tainted text,
/// and no tool that a human must agree to call by call.
fn grants_cover(valid: &Valid, tainted: bool) -> bool {
    !tainted && !valid.listing.spec.requires_confirm
}

/// Looks for a grant that covers the call, then for its own approval.
pub(super) async fn find(
    inner: &Inner,
    session: &SessionState,
    valid: &Valid,
    digest: &Hash,
    tainted: bool,
) -> Result<Given, Stop> {
    let now = inner.clock.now();
    let grants = inner.store.grants(session.key()).await?;
    if grants_cover(valid, tainted)
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
    site_of_address(arguments.value().get("url")?.as_str()?)
}

/// The host of an address that every client reads the same way.
pub(super) fn site_of_address(url: &str) -> Option<String> {
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

/// Too many questions are open for another one.
pub(super) fn too_many() -> Stop {
    let message = "too many approvals wait for a human, so none was asked for: one has to be decided or to end first";
    let mut stop = Stop::new(ErrorCode::Overloaded, message);
    stop.failure.retry_after_seconds = Some(60);
    let advice = "Ask the human to decide those that `tollgate approvals list` shows, or wait until they end. Then repeat the same call.";
    stop.failure = stop.failure.suggest(advice);
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

/// The consent that a call needs and does not have.
pub(super) struct Missing<'a> {
    pub(super) verdict: &'a Verdict,
    pub(super) needed: Consent,
    pub(super) tainted: bool,
}

/// Names the approval that a call waits for, and the command that a human types.
pub(super) fn naming(failure: Failure, approval: &str) -> Failure {
    let command = format!("tollgate approvals approve {approval}");
    let advice = format!(
        "Ask the human to run `{command}` at a terminal, then repeat the same call. Do not run it yourself."
    );
    failure
        .suggest(advice)
        .with("approval_id", approval)
        .with("approve", command)
}

/// Turns a missing consent into an ending that says how to go on.
pub(super) async fn ask(
    inner: &Arc<Inner>,
    session: &SessionState,
    valid: &Valid,
    missing: Missing<'_>,
    trail: &Trail,
) -> Result<Stop, Stop> {
    let Missing {
        verdict,
        needed,
        tainted,
    } = missing;
    let spec = &valid.listing.spec;
    let mut preview = preview::of(inner, valid, verdict, needed)?;
    preview[SESSION_GRANT] = grants_cover(valid, tainted).into();
    // Nobody is asked to agree to what the provider would refuse.
    if let Some(effect) = invoke::preview(inner, valid, trail).await? {
        let echoes = Echoes::of(session, valid.restored.as_deref());
        let effect = echoes.hidden(&effect).unwrap_or(effect);
        preview::add_effect(inner, &mut preview, &effect);
    }
    let mut failure = Failure::new(
        ErrorCode::ConfirmationRequired,
        format!("`{}` needs {} first", spec.name, consent_of(needed)),
    )
    .suggest("Repeat the call with `yes: true` to accept the cost.")
    .with("consent", needed.as_str())
    .with("rule", verdict.rule.as_str())
    .with("resume_with", resume_with(inner, valid, needed))
    .with("estimated_tokens", valid.estimate.estimated)
    .with("worst_case_tokens", valid.estimate.worst_case)
    .with("preview", preview::for_caller(inner, &preview));
    let mut approval = None;
    if needed == Consent::Human {
        let asked = question(inner, session, valid, preview).await?;
        failure = naming(failure, &asked.id);
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
        id: ids::random_id("ap")
            .map_err(|error| Stop::new(ErrorCode::Internal, error.to_string()))?,
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

fn resume_with(inner: &Inner, valid: &Valid, needed: Consent) -> Value {
    let told = valid.told();
    let node = Node::of(told).ok();
    let (clean, _) = validate::shown(inner, &valid.listing, told, node.as_ref());
    let mut params: Value = serde_json::from_str(&clean).unwrap_or_default();
    if needed == Consent::Agent
        && valid.listing.spec.service_command.is_some()
        && let Value::Object(params) = &mut params
    {
        params.insert("yes".to_owned(), Value::Bool(true));
    }
    json!({"tool": valid.listing.spec.name.as_str(), "params": params})
}
