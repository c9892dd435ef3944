//! From a request to a call that is allowed to happen.
//!
//! Invariant: only [`permit`] makes a [`Permitted`] call.

use std::sync::Arc;

use serde_json::{Value, json};
use tollgate_core::{
    Caching, Capability, Control, ErrorCode, Estimate, Failure, Payload, ServiceInfo, SessionKey,
    ToolSpec, TrustLevel, audit::Hash,
};

use super::{
    Caller, Inner, Request, Stop, cache,
    cache::Place,
    consent,
    consent::Recorded,
    listing::{Sight, is_visible},
    placeholders::Restored,
    plan, taint, validate,
    validate::Valid,
};
use crate::{
    catalog::{Catalog, Listing, Wanted},
    policy::{Action, Consent, Decision, Question, Verdict},
    record::Trail,
    session::SessionState,
};

/// The tool that calls others by name; the inner call is what passes the door.
pub(crate) const CALL_BY_NAME: &str = "tools.call";

/// A call to a tool that exists.
pub(super) struct Resolved {
    pub(super) listing: Arc<Listing>,
    pub(super) request: Request,
    /// The values that were put into its arguments.
    pub(super) restored: Option<Arc<Restored>>,
}

/// A call that policy has let through.
pub(super) struct Permitted {
    valid: Box<Valid>,
    estimate: Estimate,
    approval: Option<Hash>,
    digest: Option<Hash>,
    place: Option<Place>,
    reads: bool,
    answered: bool,
}

/// What policy made of a call.
pub(super) enum Permission {
    Granted(Permitted),
    DryRun(Told),
    Happened(Box<Recorded>),
}

/// What a dry run tells.
pub(super) struct Told {
    pub(super) report: Payload,
    pub(super) service: Option<ServiceInfo>,
}

impl Permitted {
    pub(super) fn valid(&self) -> &Valid {
        &self.valid
    }

    pub(super) fn estimate(&self) -> Estimate {
        self.estimate
    }

    pub(super) fn approval(&self) -> Option<Hash> {
        self.approval
    }

    pub(super) fn digest(&self) -> Option<Hash> {
        self.digest
    }

    pub(super) fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// Whether it may be answered from its place.
    pub(super) fn reads(&self) -> bool {
        self.reads
    }

    /// What two calls must share to be one.
    pub(super) fn flight_key(&self, session: &SessionState) -> Option<(SessionKey, Place)> {
        let place = self.place.clone().filter(|_| self.reads)?;
        Some((session.key().clone(), place))
    }

    pub(super) fn into_valid(self) -> Box<Valid> {
        self.valid
    }

    /// Whether it was permitted as a call that a kept answer makes free.
    pub(super) fn counts_on_answer(&self) -> bool {
        self.answered
    }

    /// The same call without the answer it counted on, to be permitted anew.
    pub(super) fn unanswered(self) -> (Box<Valid>, Peeked) {
        let peeked = Peeked {
            place: self.place,
            reads: self.reads,
            answered: false,
        };
        (self.valid, peeked)
    }
}

/// Finds the tool. One that is hidden from this caller is simply unknown.
pub(super) fn resolve(
    inner: &Inner,
    caller: &Caller,
    session: &SessionState,
    request: Request,
    trail: &mut Trail,
) -> Result<Resolved, Stop> {
    let catalog = inner.catalog();
    let listing = match request.action {
        Action::Call => find(inner, &catalog, caller, &request.tool)?,
        Action::Read | Action::GetPrompt | Action::Complete => {
            owner(inner, &catalog, caller, &request)?
        }
    };
    let (listing, request) = if listing.spec.name.as_str() == CALL_BY_NAME {
        check_profile(inner, caller, session, &listing)?;
        inner_call(inner, &catalog, caller, &listing, request)?
    } else {
        (listing, request)
    };
    let spec = &listing.spec;
    trail.tool = spec.name.as_str().to_owned();
    trail.command = spec.service_command.clone();
    trail.provider = Some(spec.provider_id.clone());
    trail.spec_digest = Some(listing.digest().to_owned());
    trail.capability = Some(spec.capability);
    trail.idempotent = spec.annotations.idempotent;
    check_profile(inner, caller, session, &listing)?;
    trail.profile = profile_in_force(inner, caller, session).map(Arc::from);
    Ok(Resolved {
        listing,
        request,
        restored: None,
    })
}

/// The caller's own profile, else the session's, else the operator's default.
pub(super) fn profile_in_force(
    inner: &Inner,
    caller: &Caller,
    session: &SessionState,
) -> Option<String> {
    let own = caller.profile.clone().or_else(|| session.profile());
    own.or_else(|| inner.settings.discovery.profile.clone())
}

/// Refuses a tool that the profile in force turns off, and a profile that does not exist.
fn check_profile(
    inner: &Inner,
    caller: &Caller,
    session: &SessionState,
    listing: &Listing,
) -> Result<(), Stop> {
    let spec = &listing.spec;
    let profile = profile_in_force(inner, caller, session);
    let discovery = &inner.settings.discovery;
    if let Some(name) = profile
        .as_ref()
        .filter(|name| !discovery.profiles.contains_key(*name))
    {
        let known: Vec<&str> = discovery.profiles.keys().map(String::as_str).collect();
        let shown = inner.cleaner.preview(&inner.cleaner.line(name), 64);
        let message = format!("there is no profile `{shown}`");
        return Err(Failure::new(ErrorCode::MalformedRequest, message)
            .suggest("Choose one of the profiles in `details.available_profiles`, or none.")
            .with("available_profiles", known.clone())
            .with("profiles", known)
            .into());
    }
    let off = discovery.inactive(profile.as_deref(), spec.name.as_str(), &spec.toolsets);
    let Some(reason) = off else {
        return Ok(());
    };
    let message = format!("`{}` is off in this profile: {reason}", spec.name);
    Err(Failure::new(ErrorCode::InactiveTool, message)
        .suggest(ErrorCode::InactiveTool.advice())
        .with("inactive_reason", reason)
        .with("profile", profile)
        .into())
}

pub(super) fn find(
    inner: &Inner,
    catalog: &Catalog,
    caller: &Caller,
    name: &str,
) -> Result<Arc<Listing>, Stop> {
    let sight = Sight::of_caller(caller);
    let visible = |listing: &Listing| is_visible(inner, &sight, listing);
    if let Some(listing) = catalog.find(name).filter(|listing| visible(listing)) {
        return Ok(Arc::clone(listing));
    }
    // Whoever may see some toolsets only does not hear what else there could be.
    if caller.scope.is_none()
        && let Some(error) = catalog.missing(name)
    {
        return Err(error.into_failure(false).into());
    }
    let nearest: Vec<String> = catalog
        .nearest(name, 12)
        .into_iter()
        .filter(|near| catalog.find(near).is_some_and(|listing| visible(listing)))
        .take(5)
        .collect();
    let shown = inner.cleaner.preview(&inner.cleaner.line(name), 128);
    Err(Failure::new(
        ErrorCode::UnknownTool,
        format!("there is no tool `{shown}`"),
    )
    .suggest(ErrorCode::UnknownTool.advice())
    .with("nearest", nearest)
    .into())
}

/// Finds who is to be asked for a resource, a prompt or a completion.
fn owner(
    inner: &Inner,
    catalog: &Catalog,
    caller: &Caller,
    request: &Request,
) -> Result<Arc<Listing>, Stop> {
    let wanted = Wanted::of(request.action, &request.arguments);
    let sight = Sight::of_caller(caller);
    if let Some(offered) = catalog.owner(&wanted)
        && catalog.is_in_scope(offered, sight.scope)
    {
        return Ok(Arc::clone(offered.listing(request.action)));
    }
    let shown = inner
        .cleaner
        .preview(&inner.cleaner.line(wanted.name()), 256);
    let message = format!("there is no {} `{shown}`", wanted.kind());
    Err(Failure::new(ErrorCode::NotFound, message)
        .suggest(ErrorCode::NotFound.advice())
        .into())
}

/// Unwraps `tools.call`.
fn inner_call(
    inner: &Inner,
    catalog: &Catalog,
    caller: &Caller,
    outer: &Listing,
    request: Request,
) -> Result<(Arc<Listing>, Request), Stop> {
    #[derive(serde::Deserialize)]
    struct Wrapped {
        name: String,
        #[serde(default)]
        arguments: Option<Payload>,
    }
    validate::check_own_input(outer, request.arguments.value())?;
    let wrapped: Wrapped = serde_json::from_str(request.arguments.raw())
        .map_err(|error| Stop::new(ErrorCode::InvalidArguments, error.to_string()))?;
    let listing = find(inner, catalog, caller, &wrapped.name)?;
    if listing.spec.name.as_str() == CALL_BY_NAME {
        let message = format!("`{CALL_BY_NAME}` cannot call itself");
        return Err(Stop::new(ErrorCode::InvalidArguments, message));
    }
    let request = Request {
        tool: wrapped.name,
        arguments: wrapped.arguments.unwrap_or_else(Payload::empty_object),
        ..request
    };
    Ok((listing, request))
}

/// Asks policy with the consent there is, and looks for more where more is needed.
pub(super) async fn permit(
    inner: &Arc<Inner>,
    caller: &Caller,
    session: &SessionState,
    mut valid: Box<Valid>,
    place: Peeked,
    trail: &mut Trail,
) -> Result<Permission, Stop> {
    check_trust(caller.trust, &valid.listing.spec)?;
    let planned = plan::look_ahead(inner, caller, session, &mut valid)?;
    trail.capability = Some(valid.capability);
    let estimate = lifted(&valid, place.answered);
    trail.estimate = estimate;
    let tainted = taint::flows(inner, session, &valid).await?;
    // A value that goes where nobody sent it before is agreed to by itself.
    let restored = valid.restored.clone();
    let is_alone = tainted || restored.as_ref().is_some_and(|it| it.asks());
    let mut consent = consent::offered(inner, session, &mut valid, is_alone)?;
    let decide = |consent| {
        let asked = Asked {
            action: valid.action,
            tool: &valid.listing.spec,
            capability: valid.capability,
            arguments: valid.governed(),
            skill: caller.skill.as_deref(),
            estimate,
            consent,
            tainted,
        };
        let verdict = verdict(inner, caller, session, &asked);
        let verdict = planned.stricter(verdict, consent);
        match &restored {
            Some(restored) => restored.stricter(verdict, consent),
            None => verdict,
        }
    };
    let mut verdict = decide(consent);
    if valid.control.dry_run {
        note(trail, consent, &verdict);
        return Ok(Permission::DryRun(rehearsed(inner, &verdict, &valid)?));
    }
    let mut approval = None;
    let mut digest = None;
    let refused = matches!(verdict.decision, Decision::Deny | Decision::Error);
    if !refused && (valid.effect || verdict.decision == Decision::NeedsConsent(Consent::Human)) {
        let of_call = consent::digest(inner, session, &valid)?;
        digest = Some(of_call);
        let happened = Box::pin(consent::happened(inner, session, &valid, &of_call));
        if let Some(recorded) = happened.await? {
            note(trail, consent, &verdict);
            return Ok(Permission::Happened(Box::new(recorded)));
        }
        if matches!(verdict.decision, Decision::NeedsConsent(_)) {
            let found = Box::pin(consent::find(inner, session, &valid, &of_call, is_alone));
            match found.await? {
                consent::Given::Grant => {
                    consent = Consent::Human;
                    trail.by_grant = true;
                }
                consent::Given::Approval => {
                    consent = Consent::Human;
                    approval = Some(of_call);
                }
                consent::Given::Nothing => {}
            }
            if consent == Consent::Human {
                verdict = decide(consent);
            }
        }
    }
    note(trail, consent, &verdict);
    trail.approval = approval;
    if approval.is_some() || matches!(verdict.decision, Decision::NeedsConsent(_)) {
        can_run(&valid)?;
    }
    match verdict.decision {
        Decision::Allow => Ok(Permission::Granted(Permitted {
            valid,
            estimate,
            approval,
            digest,
            place: place.place,
            reads: place.reads,
            answered: place.answered,
        })),
        Decision::NeedsConsent(_) if valid.control.from_cache.is_on() => {
            Err(cache::missed(inner, session, &valid).await?)
        }
        Decision::NeedsConsent(needed) => {
            let missing = consent::Missing {
                verdict: &verdict,
                needed,
                tainted: is_alone,
            };
            let ask = consent::ask(inner, session, &valid, missing, trail);
            Err(Box::pin(ask).await?)
        }
        Decision::Deny => Err(denied(&valid, &verdict)),
        Decision::Error => Err(erred(&valid, &verdict)),
    }
}

pub(super) use super::cache::Peeked;

/// Refuses what its provider would refuse anyway: nobody is asked to agree to that, and no
/// approval is used up for it.
fn can_run(valid: &Valid) -> Result<(), Stop> {
    let spec = &valid.listing.spec;
    match valid.listing.provider.refuses(spec.name.as_str()) {
        Some(error) => Err(error.into_failure(spec.annotations.idempotent).into()),
        None => Ok(()),
    }
}

pub(super) fn check_trust(trust: TrustLevel, spec: &ToolSpec) -> Result<(), Stop> {
    if spec.trust.contains(&trust) {
        return Ok(());
    }
    let message = format!(
        "`{}` is not offered to {} callers",
        spec.name,
        trust.as_str()
    );
    let code = ErrorCode::TrustLevelNotAllowed;
    Err(Failure {
        document_code: Some("TRUST_LEVEL_NOT_ALLOWED".to_owned()),
        recover_hint: Some(code.advice().to_owned()),
        ..Failure::new(code, message)
            .suggest(code.advice())
            .with("trustLevel", trust.as_str())
            .with(
                "trustLevelSupport",
                spec.trust.iter().map(|it| it.as_str()).collect::<Vec<_>>(),
            )
    }
    .into())
}

/// What a call costs once all that keeps it from running has been taken into account.
fn lifted(valid: &Valid, answered: bool) -> Estimate {
    let Control {
        dry_run,
        from_cache,
        fixture,
        ..
    } = &valid.control;
    if answered || *dry_run || from_cache.is_on() {
        return Estimate::default();
    }
    // A sample is metered like the call it stands for, but nobody has to agree to it.
    Estimate {
        confirm: valid.estimate.confirm && fixture.is_none(),
        ..valid.estimate
    }
}

/// What the rules are asked about a call, beside who makes it.
pub(super) struct Asked<'a> {
    pub(super) action: Action,
    pub(super) tool: &'a ToolSpec,
    pub(super) capability: Capability,
    pub(super) arguments: &'a Payload,
    /// The skill on whose behalf it is made.
    pub(super) skill: Option<&'a str>,
    pub(super) estimate: Estimate,
    pub(super) consent: Consent,
    pub(super) tainted: bool,
}

/// What the rules say to a call, made now or planned.
pub(super) fn verdict(
    inner: &Inner,
    caller: &Caller,
    session: &SessionState,
    asked: &Asked<'_>,
) -> Verdict {
    let profile = profile_in_force(inner, caller, session);
    inner.policies().decide(&Question {
        principal: &session.key().principal,
        action: asked.action,
        tool: asked.tool,
        capability: asked.capability,
        consent: asked.consent,
        trust: caller.trust,
        surface: caller.surface,
        profile: profile.as_deref(),
        skill: asked.skill,
        session: &session.key().handle,
        budget_left: session.remaining(),
        estimate: asked.estimate,
        tainted: asked.tainted,
        arguments: asked.arguments,
    })
}

fn note(trail: &mut Trail, consent: Consent, verdict: &Verdict) {
    trail.consent = consent;
    trail.verdict = Some(decision_word(verdict.decision));
    trail.rule = Some(verdict.rule.clone());
}

/// The decision as records spell it.
pub(crate) const fn decision_word(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::NeedsConsent(Consent::Human) => "needs_human",
        Decision::NeedsConsent(Consent::Agent | Consent::None) => "needs_agent",
        Decision::Deny => "deny",
        Decision::Error => "error",
    }
}

/// Verdict and estimate, and what the tool itself tells about such a call if it may be made at all.
fn rehearsed(inner: &Inner, verdict: &Verdict, valid: &Valid) -> Result<Told, Stop> {
    let spec = &valid.listing.spec;
    let is_refused = matches!(verdict.decision, Decision::Deny | Decision::Error);
    let rehearsal = if is_refused {
        None
    } else {
        let fields = validate::as_object(valid.arguments.value());
        let told = spec.telling.rehearsed(fields);
        told.map_err(|error| error.into_failure(spec.annotations.idempotent))?
    };
    let rehearsal = rehearsal.unwrap_or_default();
    let mut report = rehearsal.data;
    for (name, value) in [
        ("dry_run", json!(true)),
        ("verdict", json!(decision_word(verdict.decision))),
        ("rule", json!(verdict.rule)),
        ("capability", json!(valid.capability.as_str())),
        ("estimated_tokens", json!(valid.estimate.estimated)),
        ("worst_case_tokens", json!(valid.estimate.worst_case)),
    ] {
        report.insert(name.to_owned(), value);
    }
    let clean = |value: Value| inner.cleaner.value(&value);
    Ok(Told {
        report: Payload::from(clean(Value::Object(report))),
        service: rehearsal.service.map(|service| ServiceInfo {
            request: clean(service.request),
            token_bucket: clean(service.token_bucket),
            cache_key: None,
        }),
    })
}

/// A side effect that the rules refuse is an action that was blocked.
fn blocked(valid: &Valid, failure: Failure) -> Stop {
    Stop {
        block: valid.effect,
        ..failure.into()
    }
}

fn denied(valid: &Valid, verdict: &Verdict) -> Stop {
    let message = format!(
        "`{}` is not permitted (rule `{}`)",
        valid.listing.spec.name, verdict.rule
    );
    let failure = Failure::new(ErrorCode::PolicyDenied, message)
        .suggest(ErrorCode::PolicyDenied.advice())
        .with("rule", verdict.rule.as_str());
    blocked(valid, failure)
}

fn erred(valid: &Valid, verdict: &Verdict) -> Stop {
    let message = format!(
        "`{}` is not permitted because a rule could not be evaluated",
        valid.listing.spec.name
    );
    let failure = Failure::new(ErrorCode::PolicyError, message)
        .suggest(ErrorCode::PolicyError.advice())
        .detail(verdict.errors.join("; "))
        .with(
            "rules",
            verdict.rules.iter().map(String::as_str).collect::<Value>(),
        );
    blocked(valid, failure)
}

impl Permitted {
    /// Whether, and how long, the answer may be kept.
    pub(super) fn keeps(&self) -> Option<(Place, Caching)> {
        let place = self.place.clone()?;
        Some((place, self.valid.listing.spec.caching))
    }
}
