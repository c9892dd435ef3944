//! `tools/list`: a small list, the same every time, that says how to reach the rest.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tollgate_core::{Shape, ToolSpec};
use tollgate_engine::{Catalog, Listing};

use super::{
    Exchange, Server,
    lists::{Key, Prepared},
    pages, reply,
    rpc::RpcError,
    select::Selection,
};

/// `tools/list`.
pub(super) fn list(server: &Server, exchange: &Exchange) -> Result<String, RpcError> {
    let selection = Selection::of_params(exchange.params())?.over(&exchange.selection);
    let list = prepared(server, exchange, &selection)?;
    let (page, cursor) = pages::cut(exchange.params(), &list.id, list.entries.len())?;
    let mut result = Map::new();
    if let Some(cursor) = cursor {
        result.insert("nextCursor".to_owned(), Value::String(cursor));
    }
    reply::reusable(exchange, &mut result);
    result.insert(
        "_meta".to_owned(),
        json!({"tollgate/list": server.gateway.cleaner().value(&selection.used())}),
    );
    let rest = reply::dressed(exchange, result);
    let tools = list.entries[page].join(",");
    Ok(format!(r#"{{"tools":[{tools}],{}"#, &rest[1..]))
}

/// Every tool the caller wants to see and may, printed.
fn prepared(
    server: &Server,
    exchange: &Exchange,
    selection: &Selection,
) -> Result<Arc<Prepared>, RpcError> {
    let key = Key::new(&server.gateway, &exchange.caller, selection);
    if let Some(list) = server.lists.find(&key) {
        return Ok(list);
    }
    let listings = server.gateway.list(&exchange.caller);
    let known = listings.iter().map(|listing| &**listing);
    selection.check(known, &server.coming, &server.profiles)?;
    let catalog = server.gateway.catalog();
    let shown: Vec<_> = listings
        .iter()
        .filter(|listing| selection.shows(listing))
        .collect();
    let spelling = exchange.caller.spelling;
    let id = pages::list_id(shown.iter().map(|listing| spelling.of(&listing.spec.name)));
    let print = |listing: &&Arc<Listing>| {
        let off = server
            .gateway
            .inactive_reason(selection.profile.as_deref(), listing);
        entry(&listing.spec, exchange, &catalog, off).to_string()
    };
    let entries = shown.iter().map(print).collect();
    let list = Arc::new(Prepared::new(key, entries, id));
    server.lists.keep(&list);
    Ok(list)
}

/// One tool as it is listed.
fn entry(spec: &ToolSpec, exchange: &Exchange, catalog: &Catalog, off: Option<String>) -> Value {
    let mut meta = json!({"tollgate/name": spec.name.as_str(), "tollgate/active": off.is_none()});
    if let Some(reason) = off {
        meta["tollgate/inactive_reason"] = Value::String(reason);
    }
    if let Some(page) = spec.page.as_ref().filter(|_| exchange.client.pages) {
        meta["ui"] = json!({"resourceUri": page});
    }
    let mut tool = json!({
        "name": exchange.caller.spelling.of(&spec.name),
        "title": spec.title,
        "description": catalog.spelled(&spec.description, exchange.caller.spelling),
        "inputSchema": spec.input_schema,
    });
    match (spec.shape, &spec.output_schema) {
        (Shape::Data, _) => tool["outputSchema"] = loose_envelope(),
        (Shape::Native, Some(schema)) => tool["outputSchema"] = schema.clone(),
        (Shape::Native, None) => {}
    }
    for (name, said) in &spec.more {
        if tool.get(name).is_none() && name != "annotations" && name != "_meta" {
            tool[name] = said.clone();
        }
    }
    let says = &spec.annotations;
    tool["annotations"] = json!({
        "readOnlyHint": says.read_only,
        "destructiveHint": says.destructive,
        "idempotentHint": says.idempotent,
        "openWorldHint": says.open_world,
    });
    tool["_meta"] = meta;
    // What its owner says beside all this stays, wherever it says it.
    for name in ["annotations", "_meta"] {
        let theirs = spec.more.get(name).and_then(Value::as_object);
        for (key, said) in theirs.into_iter().flatten() {
            if tool[name].get(key).is_none() {
                tool[name][key] = said.clone();
            }
        }
    }
    tool
}

/// What every answer fits, errors included; the whole schema is for `tools.describe`.
fn loose_envelope() -> Value {
    json!({
        "type": "object",
        "required": ["ok", "status"],
        "properties": {"ok": {"type": "boolean"}, "status": {"type": "string"}, "data": {}, "error": {}},
    })
}
