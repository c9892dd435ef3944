//! What a caller can see: what exists on its surface and could ever be permitted.

use std::sync::Arc;

use serde_json::Value;
use tollgate_core::{
    CallContext, Estimate, Offers, Payload, Principal, Spelling, Surface, TrustLevel,
};

use super::{CALL_BY_NAME, Caller, Gateway, Inner};
use crate::{
    catalog::{Listing, Wanted},
    policy::{Action, Consent, Question},
    record::Trail,
};

/// The toolset of search, describe and call: how a small list reaches every tool.
const DISCOVERY_SET: &str = "discovery";

/// How far a caller can see, whatever policy says.
pub(crate) struct Sight<'a> {
    surface: Surface,
    pub(crate) scope: Option<&'a [String]>,
}

impl<'a> Sight<'a> {
    pub(crate) fn of_caller(caller: &'a Caller) -> Self {
        Self {
            surface: caller.surface,
            scope: caller.scope.as_deref(),
        }
    }

    pub(crate) fn of_trail(trail: &'a Trail) -> Self {
        Self {
            surface: trail.surface,
            scope: trail.scope.as_deref(),
        }
    }
}

/// Whoever looks at the list.
pub(crate) struct Viewer<'a> {
    principal: &'a Principal,
    session: &'a str,
    sight: Sight<'a>,
    trust: TrustLevel,
    /// How names are spelled for it.
    pub(crate) spelling: Spelling,
}

impl<'a> Viewer<'a> {
    pub(crate) fn of_caller(caller: &'a Caller) -> Self {
        Self {
            principal: &caller.session.principal,
            session: &caller.session.handle,
            sight: Sight::of_caller(caller),
            trust: caller.trust,
            spelling: caller.spelling,
        }
    }

    /// The caller of a tool that looks at the list.
    pub(crate) fn of_call(cx: &'a CallContext) -> Self {
        Self {
            principal: &cx.principal,
            session: &cx.session.handle,
            sight: Sight {
                surface: cx.surface,
                scope: cx.scope.as_deref(),
            },
            trust: cx.trust,
            spelling: cx.spelling,
        }
    }
}

/// Whether a tool exists for someone who sees this far.
pub(crate) fn is_visible(inner: &Inner, sight: &Sight<'_>, listing: &Listing) -> bool {
    let spec = &listing.spec;
    spec.surfaces.contains(&sight.surface)
        && within(sight.scope, &spec.toolsets)
        && inner.settings.discovery.shows(spec.name.as_str())
        && !inner.skills.hides(spec.name.as_str())
}

/// Whether one of these toolsets lies in the scope; discovery itself always does.
pub(crate) fn within(scope: Option<&[String]>, toolsets: &[String]) -> bool {
    scope.is_none_or(|scope| {
        toolsets
            .iter()
            .any(|set| set == DISCOVERY_SET || scope.contains(set) || is_all(scope))
    })
}

fn is_all(scope: &[String]) -> bool {
    scope.iter().any(|set| set == "all")
}

/// Whether a tool belongs on this viewer's list: with full consent it could be permitted.
pub(crate) fn shows(inner: &Inner, viewer: &Viewer<'_>, listing: &Listing) -> bool {
    is_visible(inner, &viewer.sight, listing) && could(inner, viewer, Action::Call, listing)
}

/// Whether policy could ever permit this, with full consent.
fn could(inner: &Inner, viewer: &Viewer<'_>, action: Action, listing: &Listing) -> bool {
    let spec = &listing.spec;
    inner.policies().could_permit(&Question {
        principal: viewer.principal,
        action,
        tool: spec,
        capability: spec.capability,
        consent: Consent::Human,
        trust: viewer.trust,
        surface: viewer.sight.surface,
        profile: None,
        skill: None,
        session: viewer.session,
        budget_left: None,
        estimate: Estimate::default(),
        tainted: false,
        arguments: &Payload::empty_object(),
    })
}

impl Gateway {
    /// What a call would cost; an unknown tool costs nothing, as it will not run.
    pub fn estimate(&self, tool: &str, arguments: &Payload) -> Estimate {
        let catalog = self.catalog();
        let Some(listing) = catalog.find(tool) else {
            return Estimate::default();
        };
        let arguments = listing.respelled(arguments.clone());
        let fields = arguments.value();
        if listing.spec.name.as_str() == CALL_BY_NAME {
            let inner = fields.get("name").and_then(Value::as_str);
            let inner = inner.filter(|name| *name != CALL_BY_NAME);
            let wrapped = fields.get("arguments").cloned().unwrap_or_default();
            return inner.map_or_else(Estimate::default, |name| {
                self.estimate(name, &Payload::from(wrapped))
            });
        }
        fields.as_object().map_or_else(Estimate::default, |fields| {
            listing.spec.cost.estimate(fields)
        })
    }

    /// Every tool this caller can see, by canonical id.
    pub fn list(&self, caller: &Caller) -> Vec<Arc<Listing>> {
        self.list_where(caller, |_| true)
    }

    /// The tools this caller can see among those that are wanted; policy is asked about no other.
    pub fn list_where(
        &self,
        caller: &Caller,
        wanted: impl Fn(&Listing) -> bool,
    ) -> Vec<Arc<Listing>> {
        let viewer = Viewer::of_caller(caller);
        self.catalog()
            .listings()
            .filter(|listing| wanted(listing) && shows(&self.0, &viewer, listing))
            .cloned()
            .collect()
    }

    /// Everything this caller could read, take as a prompt or have completed.
    pub fn offers(&self, caller: &Caller) -> Offers {
        let viewer = Viewer::of_caller(caller);
        visible_offers(&self.0, &viewer)
    }

    /// Whether a shortened `data` is still what the tool promises.
    pub fn fits_output(&self, tool: &str, data: &Value) -> bool {
        let catalog = self.catalog();
        let made = catalog.find(tool).and_then(|listing| {
            listing.made().ok().map(|made| match &made.output {
                Some(output) => crate::schema::problems(output, data).is_empty(),
                None => true,
            })
        });
        made.unwrap_or(false)
    }

    /// Why a tool is off for this caller; `None` if it is on.
    pub fn inactive_reason(&self, profile: Option<&str>, listing: &Listing) -> Option<String> {
        let discovery = &self.0.settings.discovery;
        let spec = &listing.spec;
        discovery
            .inactive(profile, spec.name.as_str(), &spec.toolsets)
            .or(spec.inactive.as_deref())
            .map(str::to_owned)
    }

    /// The tools this caller can see that fit a request in words, best first.
    pub fn search(&self, caller: &Caller, query: &str, limit: usize) -> Vec<(Arc<Listing>, f32)> {
        let viewer = Viewer::of_caller(caller);
        found(&self.0, &viewer, query, limit)
    }
}

/// Ranks what the viewer can see.
pub(crate) fn found(
    inner: &Inner,
    viewer: &Viewer<'_>,
    query: &str,
    limit: usize,
) -> Vec<(Arc<Listing>, f32)> {
    inner
        .catalog()
        .search(query, limit.saturating_mul(4).max(40))
        .into_iter()
        .filter(|(listing, _)| shows(inner, viewer, listing))
        .take(limit)
        .map(|(listing, score)| (Arc::clone(listing), score))
        .collect()
}

/// Whether the viewer could read what is at an address, or what may come there later.
pub(crate) fn could_read(inner: &Inner, viewer: &Viewer<'_>, uri: &str) -> bool {
    let catalog = inner.catalog();
    let owner = catalog.owner(&Wanted::Resource(uri.to_owned()));
    owner.is_none_or(|owner| {
        catalog.is_in_scope(owner, viewer.sight.scope)
            && could(inner, viewer, Action::Read, owner.listing(Action::Read))
    })
}

/// Everything the viewer could read, in the order of the providers.
pub(crate) fn visible_offers(inner: &Inner, viewer: &Viewer<'_>) -> Offers {
    let catalog = inner.catalog();
    let mut all = Offers::default();
    for offered in catalog.offered() {
        if !catalog.is_in_scope(offered, viewer.sight.scope) {
            continue;
        }
        let offers = offered.offers();
        let may = |action| could(inner, viewer, action, offered.listing(action));
        if may(Action::Read) {
            let shown = |uri: &str| !inner.skills.is_off(uri);
            let resources = offers.resources.iter();
            let resources = resources.filter(|resource| shown(&resource.uri));
            all.resources.extend(resources.cloned());
            all.templates.extend(offers.templates.iter().cloned());
        }
        if may(Action::GetPrompt) {
            let prompts = offers.prompts.iter();
            let prompts = prompts.filter(|prompt| !inner.skills.is_off(&prompt.name));
            all.prompts.extend(prompts.cloned());
        }
        all.completes |= offers.completes && may(Action::Complete);
    }
    all
}
