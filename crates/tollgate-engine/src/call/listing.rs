//! What a caller can see: what exists on its surface and could ever be permitted.

use std::sync::Arc;

use serde_json::Value;
use tollgate_core::{CallContext, Estimate, Payload, Principal, Surface, TrustLevel};

use super::{CALL_BY_NAME, Caller, Gateway, Inner};
use crate::{
    catalog::Listing,
    policy::{Action, Consent, Question},
};

/// Whoever looks at the list.
pub(crate) struct Viewer<'a> {
    principal: &'a Principal,
    session: &'a str,
    surface: Surface,
    trust: TrustLevel,
}

impl<'a> Viewer<'a> {
    fn of_caller(caller: &'a Caller) -> Self {
        Self {
            principal: &caller.session.principal,
            session: &caller.session.handle,
            surface: caller.surface,
            trust: caller.trust,
        }
    }

    /// The caller of a tool that looks at the list.
    pub(crate) fn of_call(cx: &'a CallContext) -> Self {
        Self {
            principal: &cx.principal,
            session: &cx.session.handle,
            surface: cx.surface,
            trust: cx.trust,
        }
    }
}

/// Whether a tool exists on a surface at all.
pub(crate) fn is_visible(inner: &Inner, surface: Surface, listing: &Listing) -> bool {
    listing.spec.surfaces.contains(&surface)
        && inner.settings.discovery.shows(listing.spec.name.as_str())
}

/// Whether a tool belongs on this viewer's list: with full consent it could be permitted.
pub(crate) fn shows(inner: &Inner, viewer: &Viewer<'_>, listing: &Listing) -> bool {
    let spec = &listing.spec;
    is_visible(inner, viewer.surface, listing)
        && inner.policies().could_permit(&Question {
            principal: viewer.principal,
            action: Action::Call,
            tool: spec,
            capability: spec.capability,
            consent: Consent::Human,
            trust: viewer.trust,
            surface: viewer.surface,
            profile: None,
            skill: None,
            session: viewer.session,
            budget_left: None,
            estimate: Estimate::default(),
            tainted: false,
            arguments: &Payload::from(Value::Object(serde_json::Map::new())),
        })
}

impl Gateway {
    /// What a call would cost; an unknown tool costs nothing, as it will not run.
    pub fn estimate(&self, tool: &str, arguments: &Payload) -> Estimate {
        let catalog = self.catalog();
        let Some(listing) = catalog.find(tool) else {
            return Estimate::default();
        };
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
        let viewer = Viewer::of_caller(caller);
        self.catalog()
            .listings()
            .filter(|listing| shows(&self.0, &viewer, listing))
            .cloned()
            .collect()
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
