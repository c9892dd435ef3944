//! Several answers as one: merged graphs, and the brief that is handed on.

use serde_json::{Map, Value, json};

use super::{Place, World, agent, save};
use crate::{
    Error, Params,
    brief::{self, BriefOptions},
    graph::{MergeOptions, graphs_in, merge as merge_graphs},
    params::Params as Given,
};

const MERGE_EVIDENCE: &[(&str, &str, &str, &str)] = &[
    ("graph", "graph", "summary", "The merged graph."),
    (
        "diagnostics",
        "diagnostics",
        "audit",
        "Duplicates, orphans, conflicts and weights.",
    ),
    (
        "diff",
        "diff",
        "audit",
        "What differed, and what was chosen.",
    ),
    ("sources", "sources", "audit", "Where the graphs came from."),
    ("output", "output", "audit", "The file it was written to."),
];

/// Whatever was handed in: values first, then files, each with where it came from.
pub(super) struct Inputs {
    pub(super) payloads: Vec<Value>,
    pub(super) sources: Vec<Value>,
}

/// Reads the values under `names` and the files under `input`.
pub(super) fn inputs<W: World>(world: &W, params: &Given, names: &[&str]) -> Result<Inputs, Error> {
    let mut all = Inputs {
        payloads: Vec::new(),
        sources: Vec::new(),
    };
    for name in names {
        let Some(value) = params.get(&[name]) else {
            continue;
        };
        let several = value.as_array().cloned();
        for one in several.unwrap_or_else(|| vec![value.clone()]) {
            let index = all.payloads.len();
            let count = graphs_in(&one).len();
            all.sources
                .push(json!({"kind": "inline", "index": index, "graph_count": count}));
            all.payloads.push(one);
        }
    }
    for path in params.list(&["input", "inputs"]) {
        let value = read_json(world, &path)?;
        let count = graphs_in(&value).len();
        all.sources
            .push(json!({"kind": "file", "path": path, "graph_count": count}));
        all.payloads.push(value);
    }
    Ok(all)
}

/// A file with JSON in it.
pub(super) fn read_json<W: World>(world: &W, path: &str) -> Result<Value, Error> {
    let text = world.load(Place::Input(path))?;
    serde_json::from_str(&text)
        .map_err(|error| Error::argument(format!("{path} is not JSON: {error}")))
}

/// `research_graph.merge`.
pub(super) fn merge<W: World>(world: &W, params: &Params) -> Result<Value, Error> {
    let inputs = inputs(world, params, &["graph", "graphs"])?;
    if inputs.payloads.is_empty() {
        return Err(Error::argument("give graph or input"));
    }
    let usual = MergeOptions::default();
    let options = MergeOptions {
        root: params.text(&["root"]).unwrap_or(usual.root),
        label: params.text(&["label"]).unwrap_or(usual.label),
        prefer_source: params.text(&["prefer_source"]),
    };
    let graph = merge_graphs(inputs.payloads, &options)?;
    let count = graph["sources"].as_array().map_or(0, Vec::len);
    let summary = summary(&graph, count);
    let mut data = Map::new();
    let mut put = |name: &str, value: Value| data.insert(name.to_owned(), value);
    put("view", Value::from("research_graph_merge"));
    put("summary", summary.clone());
    put("diagnostics", graph["diagnostics"].clone());
    put("diff", graph["diff"].clone());
    put("input_graph_count", Value::from(count));
    put("sources", Value::Array(inputs.sources));
    put("provenance", json!({"source": "local", "network": false}));
    let line = format!("{count} graphs merged into {} nodes", graph["node_count"]);
    put(
        "agent_brief",
        json!({
            "one_line": line,
            "key_facts": summary,
            "read_order": ["summary", "diagnostics", "diff", "graph", "evidence_index"],
        }),
    );
    put(
        "data_quality",
        json!({
            "present": ["graph", "summary", "diagnostics", "diff", "sources"],
            "missing": [],
            "confidence": "high",
        }),
    );
    if let Some(path) = params.text(&["out"]) {
        let text = serde_json::to_string_pretty(&graph).unwrap_or_default();
        put(
            "output",
            save(world, Some(&path), "graph.json", text.as_bytes())?,
        );
    }
    put("graph", graph);
    let index = agent::index(MERGE_EVIDENCE, &data);
    data.insert("evidence_index".to_owned(), index);
    Ok(Value::Object(data))
}

fn summary(graph: &Value, count: usize) -> Value {
    let picked = |from: &Value, names: &[&str]| -> Value {
        let found = names
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), from.get(name)?.clone())));
        Value::Object(found.collect())
    };
    json!({
        "schema_version": graph["schema_version"],
        "root": graph["root"],
        "node_count": graph["node_count"],
        "edge_count": graph["edge_count"],
        "entity_counts": graph["entity_counts"],
        "source_count": count,
        "diagnostics": picked(&graph["diagnostics"], &[
            "duplicate_node_count", "orphan_node_count", "conflict_count", "highest_source_weight",
        ]),
        "diff": picked(&graph["diff"], &[
            "changed_node_count", "resolved_conflict_count", "preferred_source",
        ]),
    })
}

/// `research_brief.export`.
pub(super) fn brief<W: World>(world: &W, params: &Params) -> Result<Value, Error> {
    let inputs = inputs(world, params, &["payload", "data", "graph"])?;
    if inputs.payloads.is_empty() {
        return Err(Error::argument("give input, payload or graph"));
    }
    let options = BriefOptions {
        title: params
            .text(&["title"])
            .unwrap_or_else(|| "Keepa research brief".to_owned()),
        id: params.text(&["id", "brief_id"]),
    };
    let brief = brief::brief(&inputs.payloads, inputs.sources, &options)?;
    let mut data = json!({
        "view": "research_brief_export",
        "agent_brief": {
            "one_line": brief["decision_summary"]["one_line"],
            "key_facts": {
                "id": brief["id"],
                "decision_count": brief["decision_summary"]["items"].as_array().map_or(0, Vec::len),
                "risk_count": brief["risk_summary"]["risk_count"],
                "action_count": brief["follow_up_plan"]["action_count"],
            },
            "read_order": ["brief", "data_quality", "evidence_index"],
        },
        "data_quality": brief["data_quality"],
        "evidence_index": {
            "brief": {"path": "brief", "section": "summary", "why": "The brief itself."},
            "evidence_links": {
                "path": "brief.evidence_links", "section": "audit", "why": "Where each claim can be checked.",
            },
        },
        "provenance": {"source": "local", "network": false},
    });
    if let Some(path) = params.text(&["out"]) {
        let text = serde_json::to_string_pretty(&brief).unwrap_or_default();
        data["output"] = save(world, Some(&path), "brief.json", text.as_bytes())?;
    }
    data["brief"] = brief;
    Ok(data)
}
