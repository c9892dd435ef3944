//! Finds graphs in whatever holds them, and weighs them.

use serde_json::{Value, json};

use super::merge::{edge_key, text};

/// A graph that is merged with others.
pub(super) struct Source<'a> {
    graph: &'a Value,
    index: usize,
    pub(super) root: Option<&'a str>,
    pub(super) weight: usize,
}

/// Takes all graphs out of some payloads, in the order they are met.
pub(super) fn extract(payloads: Vec<Value>) -> Vec<Value> {
    let mut found = Vec::new();
    for payload in payloads {
        take(payload, &mut found);
    }
    found
}

fn take(value: Value, found: &mut Vec<Value>) {
    match value {
        graph if is_graph(&graph) => found.push(graph),
        Value::Object(map) => map.into_values().for_each(|one| take(one, found)),
        Value::Array(all) => all.into_iter().for_each(|one| take(one, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// All graphs in a payload, in the order they are met.
pub fn graphs_in(payload: &Value) -> Vec<&Value> {
    let mut found = Vec::new();
    collect(payload, &mut found);
    found
}

/// A graph has lists of nodes and edges and counts its entities; what lies within it is its own.
fn is_graph(value: &Value) -> bool {
    let has = |name: &str| value.get(name).is_some_and(Value::is_array);
    has("nodes") && has("edges") && value.get("entity_counts").is_some()
}

fn collect<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    match value {
        graph if is_graph(graph) => found.push(graph),
        Value::Object(map) => map.values().for_each(|one| collect(one, found)),
        Value::Array(all) => all.iter().for_each(|one| collect(one, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

impl<'a> Source<'a> {
    /// The graph at this place among those to merge.
    pub(super) fn new(graph: &'a Value, index: usize) -> Self {
        let length = |name: &str| graph[name].as_array().map_or(0, Vec::len);
        let kinds = graph["entity_counts"]
            .as_object()
            .map_or(0, serde_json::Map::len);
        let size = length("nodes") + length("edges") + kinds;
        Self {
            graph,
            index,
            root: graph["root"].as_str(),
            weight: size.saturating_sub(index).max(1),
        }
    }

    pub(super) fn confidence(&self) -> &'static str {
        match self.weight {
            12.. => "high",
            5.. => "medium",
            _ => "low",
        }
    }

    pub(super) fn node_count(&self) -> usize {
        self.graph["nodes"].as_array().map_or(0, Vec::len)
    }

    pub(super) fn edge_count(&self) -> usize {
        self.graph["edges"].as_array().map_or(0, Vec::len)
    }

    /// Its nodes by id, with their places.
    pub(super) fn nodes(&self) -> impl Iterator<Item = ((&'a str, &'a Value), usize)> + use<'a> {
        let all = self.graph["nodes"].as_array().into_iter().flatten();
        all.enumerate()
            .map(|(at, node)| ((text(node, "id"), node), at))
            .filter(|((id, _), _)| !id.is_empty())
    }

    /// Its edges as source, type and target, with their places; one without an end is none.
    pub(super) fn edges(
        &self,
    ) -> impl Iterator<Item = ((&'a str, &'a str, &'a str), usize)> + use<'a> {
        let all = self.graph["edges"].as_array().into_iter().flatten();
        all.enumerate()
            .map(|(at, edge)| (edge_key(edge), at))
            .filter(|((source, _, target), _)| !source.is_empty() && !target.is_empty())
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "index": self.index,
            "root": self.root,
            "node_count": self.node_count(),
            "edge_count": self.edge_count(),
            "entity_counts": self.graph["entity_counts"],
            "source_weight": self.weight,
            "confidence": self.confidence(),
        })
    }
}
