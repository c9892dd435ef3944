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
    let gateway = &server.gateway;
    let shown = gateway.list_where(&exchange.caller, |listing| selection.shows(listing));
    let check = |listings: &[Arc<Listing>]| {
        let known = listings.iter().map(|listing| &**listing);
        selection.check(known, &server.coming, &server.profiles)
    };
    // A toolset that shows nothing may still be known.
    if check(&shown).is_err() {
        check(&gateway.list(&exchange.caller))?;
    }
    let catalog = gateway.catalog();
    let spelling = exchange.caller.spelling;
    let id = pages::list_id(shown.iter().map(|listing| spelling.of(&listing.spec.name)));
    let print = |listing: &Arc<Listing>| {
        let off = gateway.inactive_reason(selection.profile.as_deref(), listing);
        let mut entry = entry(&listing.spec, exchange, &catalog, off);
        // What may be shortened is answered in another form than its owner promises.
        if server.results.spill_native && listing.spec.shape == Shape::Native {
            drop(
                entry
                    .as_object_mut()
                    .map(|it| it.shift_remove("outputSchema")),
            );
        }
        if selection.is_brief() {
            shorten(&mut entry);
        }
        listing.spec.spelled.print(&entry)
    };
    let entries = shown.iter().map(print).collect();
    let list = Arc::new(Prepared::new(key, entries, id));
    server.lists.keep(&list);
    Ok(list)
}

/// One tool as it is listed.
fn entry(spec: &ToolSpec, exchange: &Exchange, catalog: &Catalog, off: Option<String>) -> Value {
    let mut meta = json!({"tollgate/name": spec.name.as_str(), "tollgate/active": off.is_none()});
    if let Some(reason) = &off {
        meta["tollgate/inactive_reason"] = json!(reason);
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
        (Shape::Native, Some(schema)) => tool["outputSchema"] = Value::clone(schema),
        (Shape::Native, None) => {}
    }
    for (name, said) in &spec.more {
        if tool.get(name).is_none() && name != "annotations" && name != "_meta" {
            tool[name] = said.clone();
        }
        // Marks of a pack of ours say as well whether its tool can be used.
        if spec.shape == Shape::Data && name.starts_with("x-") && said.is_object() {
            tool[name]["active"] = Value::Bool(off.is_none());
            tool[name]["inactive_reason"] = json!(off);
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

/// Leaves of a tool what it takes to choose and call it.
fn shorten(tool: &mut Value) {
    if let Some(text) = tool["description"].as_str() {
        let first = text.split_once(". ").map(|(first, _)| format!("{first}."));
        let first = first.unwrap_or_else(|| text.to_owned());
        tool["description"] = Value::String(first);
    }
    tool["inputSchema"] = bare(&tool["inputSchema"]);
    let hints = tool.get_mut("annotations");
    if let Some(hints) = hints.and_then(Value::as_object_mut) {
        keep_telling(hints);
    }
    if let Some(fields) = tool.as_object_mut() {
        fields.shift_remove("outputSchema");
    }
}

/// Keeps the hints that a client could not guess: those that are not what the protocol says
/// is meant without them. What only reads neither destroys nor needs to be safe to repeat.
fn keep_telling(hints: &mut Map<String, Value>) {
    let reads = hints.get("readOnlyHint") == Some(&Value::Bool(true));
    hints.retain(|name, said| {
        let usual = match name.as_str() {
            "readOnlyHint" => false,
            "idempotentHint" | "destructiveHint" if reads => return false,
            "idempotentHint" => false,
            "destructiveHint" | "openWorldHint" => true,
            _ => return true,
        };
        *said != Value::Bool(usual)
    });
}

/// A schema without what is only for reading.
fn bare(schema: &Value) -> Value {
    const PROSE: [&str; 6] = [
        "description",
        "title",
        "examples",
        "default",
        "$schema",
        "$comment",
    ];
    const NAMED: [&str; 4] = [
        "properties",
        "patternProperties",
        "$defs",
        "dependentSchemas",
    ];
    let Some(fields) = schema.as_object() else {
        return match schema.as_array() {
            Some(all) => all.iter().map(bare).collect(),
            None => schema.clone(),
        };
    };
    let kept = fields
        .iter()
        .filter(|(name, _)| !PROSE.contains(&name.as_str()));
    let kept = kept.map(|(name, below)| {
        let shown = match (NAMED.contains(&name.as_str()), below.as_object()) {
            // These hold schemas by names of the tool's own choosing.
            (true, Some(by_name)) => by_name
                .iter()
                .map(|(own, schema)| (own.clone(), bare(schema)))
                .collect(),
            _ if ["enum", "const", "required"].contains(&name.as_str()) => below.clone(),
            _ => bare(below),
        };
        (name.clone(), shown)
    });
    Value::Object(kept.collect())
}

/// What every answer fits, errors included; the whole schema is for `tools.describe`.
fn loose_envelope() -> Value {
    json!({
        "type": "object",
        "required": ["ok", "status"],
        "properties": {"ok": {"type": "boolean"}, "status": {"type": "string"}, "data": {}, "error": {}},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_entry_keeps_what_it_takes_to_call_it() {
        let mut tool = json!({
            "name": "shop.find",
            "description": "Finds things. Use it first. Fails never.",
            "inputSchema": {
                "type": "object", "$schema": "x", "required": ["description"],
                "properties": {
                    "description": {"type": "string", "description": "words", "minLength": 1},
                    "kind": {"enum": [{"title": "a"}], "default": 1, "title": "Kind"},
                    "all": {"type": "array", "items": {"type": "string", "description": "one"}},
                },
            },
            "outputSchema": {"type": "object"},
        });
        shorten(&mut tool);
        let expected = json!({
            "name": "shop.find",
            "description": "Finds things.",
            "inputSchema": {
                "type": "object", "required": ["description"],
                "properties": {
                    "description": {"type": "string", "minLength": 1},
                    "kind": {"enum": [{"title": "a"}]},
                    "all": {"type": "array", "items": {"type": "string"}},
                },
            },
        });
        assert_eq!(tool, expected);
    }

    #[test]
    fn hints_that_say_the_usual_are_left_out() {
        let hints = |reads: bool, destroys: bool, repeats: bool, open: bool| {
            let mut tool = json!({"inputSchema": {}, "annotations": {
                "readOnlyHint": reads, "destructiveHint": destroys, "idempotentHint": repeats,
                "openWorldHint": open, "title": "Find",
            }});
            shorten(&mut tool);
            let hints = tool["annotations"].as_object().unwrap().clone();
            hints.keys().cloned().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(hints(true, false, true, true), "readOnlyHint title");
        assert_eq!(
            hints(true, false, true, false),
            "readOnlyHint openWorldHint title"
        );
        assert_eq!(hints(false, true, false, true), "title");
        assert_eq!(
            hints(false, false, true, true),
            "destructiveHint idempotentHint title"
        );
    }
}
