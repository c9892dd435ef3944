//! `tools/list`: a small list, the same every time, that says how to reach the rest.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tollgate_core::{Shape, ToolSpec};
use tollgate_engine::{Catalog, Listing};

use super::{
    Exchange, Server,
    lists::{Key, Prepared},
    pages, reply, results,
    rpc::RpcError,
    select::{Extent, Extents, Selection},
};

/// `tools/list`.
pub(super) fn list(server: &Server, exchange: &Exchange) -> Result<String, RpcError> {
    let selection = Selection::of_params(exchange.params())?.over(&exchange.selection);
    let list = prepared(server, exchange, &selection)?;
    let (page, cursor) = pages::cut(exchange.params(), "tools", &list.names)?;
    let mut result = Map::new();
    if let Some(cursor) = cursor {
        result.insert("nextCursor".to_owned(), Value::String(cursor));
    }
    reply::reusable(exchange, &mut result);
    let mut used = list.used.clone();
    used["available_profiles"] = json!(server.profiles);
    result.insert("_meta".to_owned(), json!({"tollgate/list": used}));
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
    let catalog = gateway.catalog();
    let Extents { wider, least } = selection.extents(server.mode, server.list_tokens);
    let fitting = wider.into_iter().find_map(|extent| {
        let entries = printed(server, exchange, &catalog, selection, &extent)?;
        Some((entries, extent))
    });
    let (listed, extent) = fitting.unwrap_or_else(|| {
        let entries = printed(server, exchange, &catalog, selection, &least);
        (entries.unwrap_or_default(), least)
    });
    let check = |listings: &[Arc<Listing>]| {
        let known = listings.iter().map(|listing| &**listing);
        selection.check(known, &server.coming, &server.profiles)
    };
    let (shown, entries): (Vec<_>, Vec<_>) = listed.into_iter().unzip();
    // A toolset that shows nothing may still be known.
    if check(&shown).is_err() {
        check(&gateway.list(&exchange.caller))?;
    }
    let spelling = exchange.caller.spelling;
    let names = pages::Names::of(
        shown
            .iter()
            .map(|listing| catalog.name_of(&listing.spec.name, spelling)),
    );
    let used = gateway
        .cleaner()
        .value(&selection.used(server.mode, &extent));
    let list = Arc::new(Prepared::new(key, entries, used, names));
    server.lists.keep(&list);
    Ok(list)
}

/// Every tool of a list of this extent, printed; nothing if the list is longer than it may be.
fn printed(
    server: &Server,
    exchange: &Exchange,
    catalog: &Catalog,
    selection: &Selection,
    extent: &Extent<'_>,
) -> Option<Vec<(Arc<Listing>, String)>> {
    let gateway = &server.gateway;
    let wanted = |listing: &Listing| selection.shows(extent, listing);
    let mut entries = Vec::new();
    let mut bytes = 0;
    for listing in gateway.visible(catalog, &exchange.caller, wanted) {
        let off = gateway.inactive_reason(selection.profile.as_deref(), listing);
        let mut entry = entry(exchange, &listing.spec, catalog, off);
        if extent.brief {
            shorten(&mut entry);
        }
        bytes += read_bytes(&entry);
        if !extent.fits(bytes) {
            return None;
        }
        entries.push((Arc::clone(listing), listing.spec.spelled.print(&entry)));
    }
    Some(entries)
}

/// How much of an entry a client shows to its model.
fn read_bytes(entry: &Value) -> usize {
    let read = ["name", "description", "inputSchema"];
    read.map(|part| entry[part].to_string().len()).iter().sum()
}

/// One tool as it is listed.
fn entry(exchange: &Exchange, spec: &ToolSpec, catalog: &Catalog, off: Option<String>) -> Value {
    let mut meta = json!({"tollgate/name": spec.name.as_str(), "tollgate/active": off.is_none()});
    if let Some(reason) = &off {
        meta["tollgate/inactive_reason"] = json!(reason);
    }
    if let Some(page) = spec.page.as_ref().filter(|_| exchange.client.pages) {
        meta["ui"] = json!({"resourceUri": page});
    }
    let mut tool = json!({
        "name": catalog.name_of(&spec.name, exchange.caller.spelling),
        "title": spec.title,
        "description": catalog.spelled(&spec.description, exchange.caller.spelling),
        "inputSchema": with_object_members(match spec.shape {
            Shape::Data => bare(&spec.input_schema, &GUARDS),
            Shape::Native | Shape::Wrapped => Value::clone(&spec.input_schema),
        }),
    });
    if let Some(schema) = results::listed_schema(spec, exchange.caller.results) {
        // A model is not shown it, and programs need no prose; all of it is in `tools.describe`.
        let is_ours = spec.shape == Shape::Data;
        let schema = if is_ours {
            bare(&schema, &PROSE)
        } else {
            schema
        };
        tool["outputSchema"] = with_object_members(schema);
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
            // A tool of ours says what it says on purpose; no other takes back what we say of it.
            if spec.shape == Shape::Data || tool[name].get(key).is_none() {
                tool[name][key] = said.clone();
            }
        }
    }
    tool
}

/// The same schema without `true` and `false` for a member: some clients take no whole list of
/// tools in which they stand.
fn with_object_members(mut schema: Value) -> Value {
    let members = schema.get_mut("properties").and_then(Value::as_object_mut);
    for member in members.into_iter().flat_map(Map::values_mut) {
        match member.as_bool() {
            Some(true) => *member = json!({}),
            Some(false) => *member = json!({"not": {}}),
            None => {}
        }
    }
    schema
}

/// Leaves of a tool what it takes to choose and call it.
fn shorten(tool: &mut Value) {
    if let Some(text) = tool["description"].as_str() {
        let first = text.split_once(". ").map(|(first, _)| format!("{first}."));
        let first = first.unwrap_or_else(|| text.to_owned());
        tool["description"] = Value::String(first);
    }
    tool["inputSchema"] = bare(&tool["inputSchema"], &PROSE);
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

/// What of a schema is only for reading.
const PROSE: [&str; 6] = [
    "description",
    "title",
    "examples",
    "default",
    "$schema",
    "$comment",
];
/// Upper bounds of our own texts and lists keep out what nobody means to send. They hold, and
/// `tools.describe` shows them; a list would cost a model a tenth more with them.
const GUARDS: [&str; 2] = ["maxLength", "maxItems"];

/// A schema without some of its keywords.
fn bare(schema: &Value, without: &[&str]) -> Value {
    const NAMED: [&str; 4] = [
        "properties",
        "patternProperties",
        "$defs",
        "dependentSchemas",
    ];
    let Some(fields) = schema.as_object() else {
        return match schema.as_array() {
            Some(all) => all.iter().map(|one| bare(one, without)).collect(),
            None => schema.clone(),
        };
    };
    let kept = fields
        .iter()
        .filter(|(name, _)| !without.contains(&name.as_str()));
    let kept = kept.map(|(name, below)| {
        let shown = match (NAMED.contains(&name.as_str()), below.as_object()) {
            // These hold schemas by names of the tool's own choosing.
            (true, Some(by_name)) => by_name
                .iter()
                .map(|(own, schema)| (own.clone(), bare(schema, without)))
                .collect(),
            _ if ["enum", "const", "required"].contains(&name.as_str()) => below.clone(),
            _ => bare(below, without),
        };
        (name.clone(), shown)
    });
    Value::Object(kept.collect())
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
    fn members_of_a_listed_schema_are_objects() {
        let schema =
            json!({"type": "object", "properties": {"a": true, "b": false, "c": {"type": "null"}}});
        let listed = with_object_members(schema);
        let members = json!({"a": {}, "b": {"not": {}}, "c": {"type": "null"}});
        assert_eq!(listed["properties"], members);
        assert_eq!(
            with_object_members(json!({"type": "object"})),
            json!({"type": "object"})
        );
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
