//! What a caller can see: what exists on its surface and could ever be permitted.

use std::sync::Arc;

use serde_json::Value;
use tollgate_core::{
    Annotations, CallContext, Estimate, Offers, Payload, Principal, Shape, Spelling, Surface,
    ToolSpec, TrustLevel,
};

use super::{CALL_BY_NAME, Caller, Gateway, Inner, cache};
use crate::{
    catalog::{Catalog, Listing, Wanted},
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

/// The annotations of a tool that can do whatever some other tool does.
const ANYTHING: Annotations = Annotations {
    read_only: false,
    idempotent: false,
    destructive: true,
    open_world: true,
    sensitive_sink: true,
};

/// What a tool declares, with what is in force in the places where policy and the gate's own
/// limits decide.
pub(crate) fn in_force(inner: &Inner, viewer: &Viewer<'_>, listing: &Listing) -> ToolSpec {
    let spec = &*listing.spec;
    let arguments = Payload::empty_object();
    let question = question(viewer, Action::Call, spec, &arguments);
    let own = spec.upstream.map_or(spec.timeout_ms, |it| it.silence_ms);
    let most = u64::try_from(inner.settings.call_timeout.as_millis()).unwrap_or(u64::MAX);
    ToolSpec {
        // What it calls can be anything; the rules look at the called tool, not at this.
        annotations: match spec.name.as_str() {
            CALL_BY_NAME => ANYTHING,
            _ => spec.annotations,
        },
        requires_confirm: inner.policies().needs_human(&question),
        timeout_ms: own.min(spec.timeout_ms).min(most),
        ..spec.clone()
    }
}

/// Whether policy could ever permit this, with full consent.
fn could(inner: &Inner, viewer: &Viewer<'_>, action: Action, listing: &Listing) -> bool {
    let arguments = Payload::empty_object();
    let question = question(viewer, action, &listing.spec, &arguments);
    inner.policies().could_permit(&question)
}

fn question<'q>(
    viewer: &'q Viewer<'_>,
    action: Action,
    spec: &'q ToolSpec,
    arguments: &'q Payload,
) -> Question<'q> {
    Question {
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
        arguments,
    }
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
        let has_control = listing.spec.service_command.is_some();
        if has_control && cache::said(fields).is_on() {
            return Estimate::default();
        }
        fields.as_object().map_or_else(Estimate::default, |fields| {
            listing.spec.cost.estimate(fields)
        })
    }

    /// Every tool this caller can see, by canonical id.
    pub fn list(&self, caller: &Caller) -> Vec<Arc<Listing>> {
        let catalog = self.catalog();
        self.visible(&catalog, caller, |_| true).cloned().collect()
    }

    /// The tools of a catalogue this caller can see among those that are wanted, one by one; policy is asked about no
    /// other.
    pub fn visible<'a>(
        &'a self,
        catalog: &'a Catalog,
        caller: &'a Caller,
        wanted: impl Fn(&Listing) -> bool + 'a,
    ) -> impl Iterator<Item = &'a Arc<Listing>> {
        self.0.look_at_skills();
        let viewer = Viewer::of_caller(caller);
        catalog
            .listings()
            .filter(move |listing| wanted(listing) && shows(&self.0, &viewer, listing))
    }

    /// How the providers of tools that this caller can see want to be used: the id of each and its own words.
    pub fn instructions(&self, caller: &Caller) -> Vec<(String, String)> {
        let catalog = self.catalog();
        let sees = |id: &str| {
            let is_its = move |listing: &Listing| listing.provider.id() == id;
            self.visible(&catalog, caller, is_its).next().is_some()
        };
        let shown = catalog.instructions().filter(|(id, _)| sees(id));
        let owned = shown.map(|(id, said)| (id.to_owned(), said.to_owned()));
        owned.collect()
    }

    /// What a tool declares, with what is in force for this caller in the places where policy
    /// and limits decide.
    pub fn in_force(&self, caller: &Caller, listing: &Listing) -> ToolSpec {
        in_force(&self.0, &Viewer::of_caller(caller), listing)
    }

    /// Everything this caller could read, take as a prompt or have completed.
    pub fn offers(&self, caller: &Caller) -> Offers {
        let viewer = Viewer::of_caller(caller);
        visible_offers(&self.0, &viewer)
    }

    /// Whether a shortened `data` is still what the tool promises; what cannot be told quickly is not.
    pub fn fits_output(&self, tool: &str, data: &Value) -> bool {
        let catalog = self.catalog();
        let made = catalog.find(tool).and_then(|listing| {
            listing.made().ok().map(|made| match &made.output {
                Some(output) => {
                    let described = match listing.spec.shape {
                        Shape::Data => Some(data),
                        Shape::Native | Shape::Wrapped => data.get("structuredContent"),
                    };
                    described.is_none_or(|it| output.quickly(it).is_some_and(|it| it.is_empty()))
                }
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
