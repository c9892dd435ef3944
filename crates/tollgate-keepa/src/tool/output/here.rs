//! Answers that are made here: documents, prices, samples and reports.

use serde_json::{Value, json};

use super::{
    Shape,
    parts::{self, action, any, count, file, flag, list, map, object, text, texts, word},
};

pub(super) fn index() -> Shape {
    Shape::new(vec![
        ("schema_version", text()),
        ("view", word(&["docs_index"])),
        ("summary", parts::counts()),
        ("stable_entrypoints", texts()),
        ("resources", list(map())),
        ("resource_templates", list(map())),
        ("recommended_read_order", texts()),
    ])
}

pub(super) fn document() -> Shape {
    Shape::new(vec![
        ("uri", text()),
        ("mime_type", text()),
        ("size_bytes", count()),
        ("text", text()),
        ("json", any("The document, if it is JSON.")),
    ])
}

pub(super) fn policy() -> Shape {
    Shape::new(vec![
        ("schema_version", text()),
        ("view", word(&["context_policy"])),
        ("mode", word(&["offline_first"])),
        ("default_toolset", text()),
        ("recommended_start_order", texts()),
        ("live_keepa", map()),
        ("session_profiles", list(map())),
        ("roots", map()),
        ("tool_policy", map()),
    ])
}

pub(super) fn target() -> Shape {
    let candidate = object(
        vec![
            ("type", text()),
            ("id", text()),
            (
                "score",
                json!({"type": "number", "minimum": 0, "maximum": 1}),
            ),
        ],
        vec![
            ("domain", text()),
            ("source", text()),
            ("reason", text()),
            ("hint_matched", flag()),
        ],
    );
    Shape::new(vec![
        ("schema_version", text()),
        ("view", word(&["research_target_resolution"])),
        ("query", text()),
        ("domain", text()),
        ("primary", candidate.clone()),
        ("candidates", list(candidate)),
        ("next_actions", list(action())),
        ("data_quality", map()),
    ])
    .or(vec![("hint_type", json!({"type": ["string", "null"]}))])
}

pub(super) fn context() -> Shape {
    let resource = object(vec![("uri", text()), ("kind", text())], vec![]);
    Shape::new(vec![
        ("schema_version", text()),
        ("view", word(&["research_context_query"])),
        ("target", map()),
        ("question", text()),
        ("resources", list(resource)),
        ("recommended_read_order", texts()),
        ("notes", texts()),
    ])
}

pub(super) fn prices() -> Shape {
    let item = object(
        vec![
            ("command", text()),
            ("params", map()),
            ("estimated_tokens", count()),
            ("worst_case_tokens", count()),
            ("requires_confirmation", flag()),
            ("components", list(map())),
            ("notes", texts()),
        ],
        vec![],
    );
    Shape::new(vec![
        ("items", list(item)),
        ("totals", parts::totals()),
        ("requires_confirmation", flag()),
    ])
}

pub(super) fn sanitized() -> Shape {
    Shape::new(vec![
        ("input", text()),
        ("output", file()),
        ("format", word(&["json", "jsonl"])),
        ("size_bytes", count()),
        ("redacted_secret_names", texts()),
    ])
}

fn promotion() -> Vec<(&'static str, Value)> {
    let target = object(
        vec![
            ("path", text()),
            ("exists", flag()),
            ("size_bytes", count()),
        ],
        vec![],
    );
    vec![
        ("input", text()),
        ("fixture_name", text()),
        ("targets", list(target)),
        ("manifest", json!({"type": ["string", "null"]})),
        ("manifest_updated", flag()),
        ("dry_run", flag()),
        ("format", word(&["json", "jsonl"])),
        ("redacted_secret_names", texts()),
    ]
}

pub(super) fn promoted() -> Shape {
    Shape::new(promotion())
}

pub(super) fn verified() -> Shape {
    Shape::new(vec![
        ("view", word(&["cassette_promotion"])),
        ("promotion", object(promotion(), vec![])),
        ("fixture_sync", json!({"type": ["object", "null"]})),
        ("agent_eval", json!({"type": ["object", "null"]})),
        ("next_actions", list(action())),
    ])
}

pub(super) fn report() -> Shape {
    Shape::new(vec![
        ("format", word(&["markdown", "json", "csv"])),
        ("title", text()),
        ("source", text()),
        ("row_count", count()),
        ("research_graph", json!({"type": ["object", "null"]})),
    ])
    .or(vec![("output", file()), ("content", text())])
}

pub(super) fn snapshot() -> Shape {
    Shape::new(vec![
        ("out_dir", text()),
        ("index", text()),
        ("data", text()),
        ("output", file()),
        ("row_count", count()),
        ("research_graph", json!({"type": ["object", "null"]})),
    ])
}
