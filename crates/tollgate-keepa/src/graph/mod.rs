//! Entities and how they relate: what an agent remembers of several answers at once.
//!
//! Invariants: nodes are sorted by type and id, edges by source, type and target; there is one node to an id and one
//! edge to a pair and type, and what was added last wins. Equal inputs give equal graphs.

mod answers;
mod merge;
mod product;
mod source;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

pub use answers::{
    deals_of, of_best_sellers, of_categories, of_deals, of_selection, of_sellers, of_top_sellers,
};
pub use merge::{MergeOptions, merge};
pub use product::of_product;
pub use source::graphs_in;

/// The version of graphs that are not one product's.
pub const VERSION: &str = "2026-05-10.3";
/// The longest label and the longest part of an id.
const LABEL: usize = 120;
const ID: usize = 80;

/// A graph while it is built.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    root: Option<String>,
    nodes: BTreeMap<String, Node>,
    edges: BTreeMap<(String, String, String), String>,
}

#[derive(Clone, Debug)]
struct Node {
    kind: String,
    label: String,
    attributes: Map<String, Value>,
}

impl Graph {
    /// An empty graph around a root.
    pub fn rooted(root: impl Into<String>) -> Self {
        Self {
            root: Some(root.into()),
            ..Self::default()
        }
    }

    /// Adds a node; attributes that say nothing are left out.
    pub fn node(&mut self, id: &str, kind: &str, label: &str, attributes: Value) {
        let attributes = match attributes {
            Value::Object(map) => map,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Map::new(),
        };
        let attributes = attributes
            .into_iter()
            .filter(|(_, value)| says_something(value));
        let node = Node {
            kind: kind.to_owned(),
            label: label.chars().take(LABEL).collect(),
            attributes: attributes.collect(),
        };
        self.nodes.insert(id.to_owned(), node);
    }

    /// Adds a node unless something is known of it already.
    pub fn node_if_absent(&mut self, id: &str, kind: &str, label: &str, attributes: Value) {
        if !self.nodes.contains_key(id) {
            self.node(id, kind, label, attributes);
        }
    }

    /// Adds an edge, with the path of the view that proves it.
    pub fn edge(&mut self, source: &str, kind: &str, target: &str, evidence: &str) {
        let key = (source.to_owned(), kind.to_owned(), target.to_owned());
        self.edges.insert(key, evidence.to_owned());
    }

    /// Adds all of another graph; its root is not ours.
    pub fn absorb(&mut self, other: Self) {
        self.nodes.extend(other.nodes);
        self.edges.extend(other.edges);
    }

    /// How many nodes there are of each type.
    pub fn entity_counts(&self) -> BTreeMap<&str, u64> {
        let mut counts = BTreeMap::new();
        for node in self.nodes.values() {
            *counts.entry(node.kind.as_str()).or_default() += 1;
        }
        counts
    }

    /// The graph as views show it.
    pub fn json(&self, schema_version: &str) -> Value {
        let mut sorted: Vec<_> = self.nodes.iter().collect();
        sorted.sort_by(|(a, x), (b, y)| (&x.kind, a).cmp(&(&y.kind, b)));
        let nodes: Vec<Value> = sorted
            .into_iter()
            .map(|(id, node)| {
                let mut shown = json!({"id": id, "type": node.kind, "label": node.label});
                if !node.attributes.is_empty() {
                    shown["attributes"] = Value::Object(node.attributes.clone());
                }
                shown
            })
            .collect();
        let edges: Vec<Value> = self
            .edges
            .iter()
            .map(|((source, kind, target), evidence)| {
                json!({"source": source, "target": target, "type": kind, "evidence_path": evidence})
            })
            .collect();
        let mut graph = json!({
            "schema_version": schema_version,
            "node_count": nodes.len(),
            "edge_count": edges.len(),
            "entity_counts": self.entity_counts(),
            "nodes": nodes,
            "edges": edges,
        });
        if let Some(root) = &self.root {
            graph["root"] = Value::from(root.as_str());
        }
        graph
    }
}

/// The part of an id that a name gives: trimmed, lower-case, without spaces.
pub fn id_part(name: &str) -> String {
    let lower = name.trim().to_lowercase().replace(' ', "_");
    lower.chars().take(ID).collect()
}

fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(all) => !all.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_node_wins_and_order_of_adding_does_not_show() {
        let mut first = Graph::rooted("a");
        first.node("a", "t", "old", json!({}));
        first.node("b", "s", "b", json!({"x": null, "y": 0}));
        first.node("a", "t", "new", json!({}));
        first.edge("a", "knows", "b", "p");
        first.edge("a", "knows", "b", "q");
        let shown = first.json("v");
        assert_eq!(
            shown["nodes"][0],
            json!({"id": "b", "type": "s", "label": "b", "attributes": {"y": 0}})
        );
        assert_eq!(shown["nodes"][1]["label"], "new");
        assert_eq!(
            (&shown["node_count"], &shown["edge_count"]),
            (&json!(2), &json!(1))
        );
        assert_eq!(shown["edges"][0]["evidence_path"], "q");
        assert_eq!(shown["entity_counts"], json!({"s": 1, "t": 1}));
    }

    #[test]
    fn ids_are_plain() {
        assert_eq!(id_part("  Fine Teas Ltd "), "fine_teas_ltd");
        assert_eq!(id_part(&"ä".repeat(100)).chars().count(), 80);
    }
}
