//! Moves nodes and edges out of their graphs into the merged one, so that none is copied.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{INCLUDES, edge_key, table::EdgePlace, text};
use crate::view::compact;

/// A node to take.
pub(super) struct Pick {
    /// The place of its graph, and its own in there.
    pub(super) place: (u32, u32),
    /// The weight of its source.
    pub(super) weight: usize,
    /// The label and the type that won, where there was a conflict.
    pub(super) names: Option<Box<[Value; 2]>>,
}

/// The lists of this name, one for each graph.
fn lists<'a>(graphs: &'a mut [Value], name: &str) -> Vec<&'a mut [Value]> {
    let list = |graph: &'a mut Value| match graph[name].as_array_mut() {
        Some(all) => all.as_mut_slice(),
        None => &mut [],
    };
    graphs.iter_mut().map(list).collect()
}

/// The nodes that were picked, and the root where nothing was.
pub(super) fn nodes(graphs: &mut [Value], picks: Vec<Option<Pick>>, root: &Value) -> Vec<Value> {
    let mut lists = lists(graphs, "nodes");
    let take = |pick: Option<Pick>| match pick {
        Some(pick) => {
            let (graph, at) = pick.place;
            merged(lists[graph as usize][at as usize].take(), pick)
        }
        None => root.clone(),
    };
    picks.into_iter().map(take).collect()
}

fn merged(mut node: Value, pick: Pick) -> Value {
    let attributes = node.get_mut("attributes").and_then(Value::as_object_mut);
    if let Some(attributes) = attributes.filter(|map| !map.is_empty()) {
        attributes.insert("source_weight".to_owned(), Value::from(pick.weight));
    }
    if let Some(names) = pick.names {
        let [label, kind] = *names;
        node["label"] = label;
        node["type"] = kind;
    }
    compact(node)
}

/// Where an edge begins, and of which type it is.
fn start(edge: &Value) -> (&str, &str) {
    let (source, kind, _) = edge_key(edge);
    (source, kind)
}

/// All edges in their order. Those from the new root to the roots of the sources are told anew.
pub(super) fn edges(
    graphs: &mut [Value],
    order: &[EdgePlace],
    included: BTreeMap<String, Value>,
    root: &str,
) -> Vec<Value> {
    let mut lists = lists(graphs, "edges");
    let at = |lists: &[&mut [Value]], bound: (&str, &str), or_equal: bool| {
        order.partition_point(|(graph, edge)| {
            let start = start(&lists[*graph as usize][*edge as usize]);
            start < bound || or_equal && start == bound
        })
    };
    let first = at(&lists, (root, INCLUDES), false);
    let after = at(&lists, (root, INCLUDES), true);
    let mut take = |(graph, edge): &EdgePlace| lists[*graph as usize][*edge as usize].take();
    let mut all: Vec<Value> = Vec::with_capacity(order.len() + included.len());
    all.extend(order[..first].iter().map(&mut take));
    let mut mine: BTreeMap<String, Value> = order[first..after]
        .iter()
        .map(&mut take)
        .map(|edge| (text(&edge, "target").to_owned(), edge))
        .collect();
    mine.extend(included);
    all.extend(mine.into_values());
    all.extend(order[after..].iter().map(take));
    all
}
