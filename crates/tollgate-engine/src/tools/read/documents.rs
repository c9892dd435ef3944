//! The documents of the gate, each made when it is read.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tollgate_core::{CallContext, ProviderError, audit::AuditQuery};

use super::{
    super::{from_store, session},
    Document, SCHEME,
};
use crate::{
    call::{Inner, Viewer, shows, visible_offers},
    catalog::Listing,
};

/// Calls in the document of recent ones.
const RECENT: u32 = 50;

fn seen<'a>(
    inner: &'a Inner,
    cx: &'a CallContext,
) -> (
    std::sync::Arc<crate::Catalog>,
    impl Fn(&Listing) -> bool + use<'a>,
) {
    let viewer = Viewer::of_call(cx);
    (inner.catalog(), move |listing: &Listing| {
        shows(inner, &viewer, listing)
    })
}

fn brief(catalog: &crate::Catalog, cx: &CallContext, listing: &Listing) -> Value {
    let spec = &listing.spec;
    json!({
        "name": catalog.name_of(&spec.name, cx.spelling),
        "title": spec.title,
        "toolsets": spec.toolsets,
        "capability": spec.capability.as_str(),
        "provider": spec.provider_id,
        "uri": format!("{SCHEME}tools/{}", spec.name),
    })
}

pub(super) fn tools(inner: &Inner, cx: &CallContext) -> Document {
    let (catalog, sees) = seen(inner, cx);
    let tools: Vec<Value> = catalog
        .listings()
        .filter(|listing| sees(listing))
        .map(|listing| brief(&catalog, cx, listing))
        .collect();
    Document::json(&json!({"count": tools.len(), "tools": tools}))
}

pub(super) fn tool(inner: &Inner, cx: &CallContext, name: &str) -> Option<Document> {
    let (catalog, sees) = seen(inner, cx);
    let listing = catalog.find(name).filter(|listing| sees(listing))?;
    let mut spec = serde_json::to_value(listing.spec.as_ref()).unwrap_or_default();
    spec["name"] = catalog.name_of(&listing.spec.name, cx.spelling).into();
    spec["digest"] = listing.digest().into();
    Some(Document::json(&spec))
}

pub(super) fn toolsets(inner: &Inner, cx: &CallContext) -> Document {
    let (catalog, sees) = seen(inner, cx);
    let mut sets: BTreeMap<&str, usize> = BTreeMap::new();
    let mut all = 0;
    for listing in catalog.listings().filter(|listing| sees(listing)) {
        all += 1;
        for set in &listing.spec.toolsets {
            *sets.entry(set).or_default() += 1;
        }
    }
    let listed: Vec<Value> = sets
        .into_iter()
        .chain([("all", all)])
        .map(|(name, tools)| {
            json!({"name": name, "tools": tools, "uri": format!("{SCHEME}toolsets/{name}")})
        })
        .collect();
    Document::json(&json!({"toolsets": listed}))
}

pub(super) fn toolset(inner: &Inner, cx: &CallContext, name: &str) -> Option<Document> {
    let (catalog, sees) = seen(inner, cx);
    let tools: Vec<Value> = catalog
        .listings()
        .filter(|listing| sees(listing))
        .filter(|listing| name == "all" || listing.spec.toolsets.iter().any(|set| set == name))
        .map(|listing| brief(&catalog, cx, listing))
        .collect();
    (!tools.is_empty()).then(|| Document::json(&json!({"toolset": name, "tools": tools})))
}

pub(super) fn prompts(inner: &Inner, cx: &CallContext) -> Document {
    let offers = visible_offers(inner, &Viewer::of_call(cx));
    Document::json(&json!({"prompts": offers.prompts}))
}

pub(super) fn prompt(inner: &Inner, cx: &CallContext, name: &str) -> Option<Document> {
    let offers = visible_offers(inner, &Viewer::of_call(cx));
    let prompt = offers.prompts.iter().find(|prompt| prompt.name == name)?;
    Some(Document::json(&json!(prompt)))
}

pub(super) async fn ledger(inner: &Inner, cx: &CallContext) -> Result<Document, ProviderError> {
    let session = session::own(inner, cx).await?;
    Ok(Document::json(&json!({
        "session": session.key().handle,
        "limit": session.limit(),
        "budget_ledger": session.ledger(),
    })))
}

pub(super) fn policy(inner: &Inner) -> Document {
    let policies = inner.policies();
    Document::json(&json!({"version": policies.version(), "rules": policies.rules()}))
}

pub(super) async fn recent(inner: &Inner, cx: &CallContext) -> Result<Document, ProviderError> {
    let query = AuditQuery {
        limit: RECENT,
        newest_first: true,
        kind: Some("ending".to_owned()),
        principal: Some(cx.principal.as_str().to_owned()),
        ..AuditQuery::default()
    };
    let rows = inner.store.records(&query).await.map_err(from_store)?;
    let calls: Vec<Value> = rows
        .into_iter()
        .map(|row| serde_json::from_str(&row.body).unwrap_or_default())
        .collect();
    Ok(Document::json(&json!({"calls": calls})))
}

pub(super) async fn cached(
    inner: &Inner,
    cx: &CallContext,
    key: &str,
) -> Result<Option<Document>, ProviderError> {
    let session = session::own(inner, cx).await?;
    let kept = session.recall_any(key, inner.clock.now());
    Ok(kept.map(|kept| Document {
        mime: super::JSON,
        text: kept.payload.raw().to_owned(),
        meta: None,
    }))
}
