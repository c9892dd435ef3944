//! Pieces that schemas of answers are made of.

use serde_json::{Map, Value, json};

use crate::view::RISK_CODES;

pub(super) fn text() -> Value {
    json!({"type": "string"})
}

pub(super) fn texts() -> Value {
    list(text())
}

pub(super) fn flag() -> Value {
    json!({"type": "boolean"})
}

pub(super) fn count() -> Value {
    json!({"type": "integer", "minimum": 0})
}

pub(super) fn map() -> Value {
    json!({"type": "object"})
}

/// A field that another call may answer differently though it asks the same.
pub(super) fn volatile(mut schema: Value) -> Value {
    schema["x-volatile"] = Value::Bool(true);
    schema
}

/// Where a view came from; how it was asked for is of one call only.
pub(super) fn view_provenance() -> Value {
    json!({"type": "object", "properties": {"mcp": volatile(map())}})
}

pub(super) fn word(words: &[&str]) -> Value {
    json!({"enum": words})
}

pub(super) fn any(about: &str) -> Value {
    json!({"description": about})
}

pub(super) fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

/// How often each of some words occurs.
pub(super) fn counts() -> Value {
    json!({"type": "object", "additionalProperties": count()})
}

pub(super) fn object(
    always: Vec<(&'static str, Value)>,
    sometimes: Vec<(&'static str, Value)>,
) -> Value {
    let required: Vec<&str> = always.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> = always
        .into_iter()
        .chain(sometimes)
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect();
    json!({"type": "object", "required": required, "properties": properties})
}

/// What could be done next.
pub(super) fn action() -> Value {
    object(
        vec![("tool", text()), ("params", map())],
        vec![
            ("mcp_tool", text()),
            ("cli", text()),
            ("command", text()),
            ("reason", text()),
            ("estimated_tokens", count()),
            ("requires_confirmation", flag()),
        ],
    )
}

/// The page to read first.
pub(super) fn brief() -> Value {
    object(
        vec![
            ("one_line", text()),
            ("key_facts", map()),
            ("read_order", texts()),
        ],
        vec![],
    )
}

/// What is known and what is missing.
pub(super) fn quality() -> Value {
    object(
        vec![
            ("present", texts()),
            ("missing", texts()),
            ("confidence", word(&["high", "medium", "low"])),
        ],
        vec![("notes", texts())],
    )
}

/// Where each claim can be checked.
pub(super) fn evidence() -> Value {
    let place = object(
        vec![("path", text()), ("section", text()), ("why", text())],
        vec![("load_hint", text())],
    );
    json!({"type": "object", "additionalProperties": place})
}

/// Where an answer came from.
pub(super) fn provenance() -> Value {
    object(
        vec![
            ("source", word(&["dry-run", "fixture", "live", "store"])),
            ("endpoint", text()),
            ("params_hash", text()),
            ("cache_hit", volatile(flag())),
        ],
        vec![
            ("fixture", text()),
            ("cache_key", text()),
            ("created_at", volatile(text())),
            ("expires_at", volatile(text())),
            ("stands_for", texts()),
        ],
    )
}

/// A file that was written.
pub(super) fn file() -> Value {
    object(
        vec![("path", text()), ("size_bytes", count())],
        vec![("bytes_written", count()), ("format", text())],
    )
}

/// A section that was written to a file of its own.
pub(super) fn chunk() -> Value {
    object(
        vec![
            ("asin", text()),
            ("name", text()),
            ("path", text()),
            ("format", word(&["json"])),
            ("size_bytes", count()),
        ],
        vec![],
    )
}

/// What something costs altogether.
pub(super) fn totals() -> Value {
    object(
        vec![
            ("estimated_tokens", count()),
            ("worst_case_tokens", count()),
        ],
        vec![("requires_confirmation", flag())],
    )
}

fn graph_of(node: &[&str], edge: &[&str]) -> Value {
    object(
        vec![
            ("schema_version", text()),
            ("node_count", count()),
            ("edge_count", count()),
            ("entity_counts", counts()),
            ("nodes", list(json!({"type": "object", "required": node}))),
            ("edges", list(json!({"type": "object", "required": edge}))),
        ],
        vec![
            ("root", text()),
            ("sources", list(map())),
            ("diagnostics", map()),
            ("diff", map()),
        ],
    )
}

/// Entities and how they relate.
pub(super) fn graph() -> Value {
    graph_of(
        &["id", "type", "label"],
        &["source", "target", "type", "evidence_path"],
    )
}

/// The same, made of graphs that others may have made.
pub(super) fn loose_graph() -> Value {
    graph_of(&["id"], &["source", "target"])
}

/// Risks by code.
pub(super) fn risks() -> Value {
    let item = object(
        vec![
            ("code", word(&RISK_CODES)),
            ("severity", word(&["low", "medium", "high"])),
            ("reason", text()),
            ("evidence_path", text()),
        ],
        vec![("field", text()), ("metric", map()), ("follow_up", text())],
    );
    object(
        vec![
            ("schema_version", text()),
            ("known_codes", texts()),
            ("codes", list(word(&RISK_CODES))),
            (
                "highest_severity",
                json!({"enum": ["low", "medium", "high", null]}),
            ),
            ("risk_count", count()),
            ("items", list(item)),
        ],
        vec![],
    )
}

/// What became of results that were handed on.
pub(super) fn resolution() -> Value {
    object(
        vec![
            ("schema_version", text()),
            ("resolved", list(map())),
            ("derived_values", map()),
            ("payload_count", count()),
            ("graph_count", count()),
            ("temp_paths", texts()),
            ("missing_inputs", list(map())),
        ],
        vec![],
    )
}
