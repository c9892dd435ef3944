//! Calls that are made of other calls: what all of them need is what the one needs.
//!
//! Invariant: a plan only ever asks for more. What it leaves open, such as arguments that
//! are not known yet, each call is asked about again when it is made.

use std::{borrow::Cow, sync::Arc};

use tollgate_core::{
    CallId, Capability, ErrorCode, Failure, Payload, Plan, ProviderError, ToolCall, TrustLevel,
};

use super::{Caller, Inner, Stop, admit, admit::Asked, validate, validate::Valid};
use crate::{
    catalog::Listing,
    policy::{Action, Consent, Decision, Verdict},
    session::SessionState,
};

/// The most consent that any call of a plan needs, and the rule that says so.
pub(super) struct Planned(Option<(Consent, String)>);

impl Planned {
    /// The verdict, made stricter by what the calls of the plan need.
    pub(super) fn stricter(&self, verdict: Verdict, given: Consent) -> Verdict {
        let Some((needed, rule)) = self.0.as_ref().filter(|(needed, _)| *needed > given) else {
            return verdict;
        };
        match verdict.decision {
            Decision::Allow => Verdict {
                decision: Decision::NeedsConsent(*needed),
                rule: rule.clone(),
                ..verdict
            },
            Decision::NeedsConsent(asked) => Verdict {
                decision: Decision::NeedsConsent(asked.max(*needed)),
                ..verdict
            },
            Decision::Deny | Decision::Error => verdict,
        }
    }
}

/// Asks the provider what the call is made of, and the rules what that needs.
pub(super) fn look_ahead(
    inner: &Inner,
    caller: &Caller,
    session: &SessionState,
    valid: &mut Valid,
) -> Result<Planned, Stop> {
    // Whoever reads an entry of the cache makes no calls.
    if valid.action != Action::Call || valid.control.from_cache.entry().is_some() {
        return Ok(Planned(None));
    }
    let plan = of(&valid.listing, &valid.arguments, caller.trust);
    let Some(plan) = plan.map_err(|error| error.into_failure(true))? else {
        return Ok(Planned(None));
    };
    let mut most: Option<(Consent, String)> = None;
    for (listing, arguments) in listings(inner, caller, &plan)? {
        let fields = validate::as_object(arguments.value());
        let spec = &listing.spec;
        if spec.requires_confirm {
            // A human agrees to that very call, with what it would do before their eyes.
            continue;
        }
        let mut capability = spec.capability_with(fields);
        if spec.has_side_effects() {
            capability = capability.max(Capability::L1);
        }
        valid.capability = valid.capability.max(capability);
        let verdict = admit::verdict(
            inner,
            caller,
            session,
            &Asked {
                action: Action::Call,
                tool: spec,
                capability,
                arguments: &arguments,
                skill: caller.skill.as_deref().or(plan.skill.as_deref()),
                estimate: spec.cost.estimate(fields),
                consent: Consent::None,
                tainted: false,
            },
        );
        if let Decision::NeedsConsent(needed) = verdict.decision
            && most.as_ref().is_none_or(|(most, _)| needed > *most)
        {
            most = Some((needed, verdict.rule));
        }
    }
    valid.plan = Some(Box::new(plan));
    Ok(Planned(most))
}

/// What a call is made of, if its provider says.
pub(super) fn of(
    listing: &Listing,
    arguments: &Payload,
    trust: TrustLevel,
) -> Result<Option<Plan>, ProviderError> {
    let call = ToolCall {
        id: CallId("".into()),
        tool: listing.spec.name.clone(),
        arguments: arguments.clone(),
    };
    listing.provider.plan(&call, trust)
}

/// What approvals are bound to beside the arguments: the spec, and the plan if there is one.
pub(super) fn bound_to<'a>(listing: &'a Listing, plan: Option<&Plan>) -> Cow<'a, str> {
    match plan {
        None => Cow::Borrowed(listing.digest()),
        Some(plan) => Cow::Owned(format!("{}+{}", listing.digest(), plan.binding)),
    }
}

/// The tools of a plan; one that is not there refuses the call.
fn listings(
    inner: &Inner,
    caller: &Caller,
    plan: &Plan,
) -> Result<Vec<(Arc<Listing>, Payload)>, Stop> {
    let catalog = inner.catalog();
    let mut found = Vec::new();
    for call in &plan.calls {
        let listing = admit::find(inner, &catalog, caller, call.tool.as_str()).map_err(|_| {
            let code = ErrorCode::Unsupported;
            let message = format!(
                "it needs the tool `{}`, which is not offered here",
                call.tool
            );
            Failure::new(code, message)
                .suggest(code.advice())
                .with("missing_tool", call.tool.as_str())
        })?;
        admit::check_trust(caller.trust, &listing.spec)?;
        let arguments = call.arguments.clone();
        let arguments = arguments.unwrap_or_else(Payload::empty_object);
        let arguments = listing.respelled(arguments);
        found.push((listing, arguments));
    }
    Ok(found)
}
