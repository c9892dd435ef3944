//! Several graphs as one, with an account of where they agree and where they do not.
//!
//! Invariants: merging is linear but for the sorting; a conflict is always decided, by the source the caller prefers or
//! by the heaviest, and always reported; the same inputs in the same order give the same graph.

mod table;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Map, Value, json};

use super::{
    VERSION,
    source::{Source, extract},
};
use crate::{Error, view::compact};
use table::{EdgePlace, Seen, Table};

/// How long a list of findings may get.
const MOST: usize = 20;

/// What leads from a merged graph to those it was made of.
const INCLUDES: &str = "includes_graph";

/// How to merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeOptions {
    /// The id of the new root.
    pub root: String,
    /// What it is called.
    pub label: String,
    /// The source that wins conflicts: its index or its root.
    pub prefer_source: Option<String>,
}

impl Default for MergeOptions {
    fn default() -> Self {
        Self {
            root: "merged_research_graph".to_owned(),
            label: "merged research graph".to_owned(),
            prefer_source: None,
        }
    }
}

/// Merges all graphs found in `payloads`, however deep they lie.
pub fn merge(payloads: Vec<Value>, options: &MergeOptions) -> Result<Value, Error> {
    let mut graphs = extract(payloads);
    let sources: Vec<Source<'_>> = graphs
        .iter()
        .enumerate()
        .map(|(index, graph)| Source::new(graph, index))
        .collect();
    if sources.is_empty() {
        return Err(Error::argument("there is no research graph in the input"));
    }
    let table = Table::of(&sources);
    let preferred = preferred(&sources, options);
    let findings = Findings::of(&sources, &table, preferred);
    let diff = findings.diff(&sources, options, preferred);
    let nodes = nodes(&table, &sources, &findings, options);
    let order = table.edges();
    let included = included(&table, &sources, &options.root);
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for node in &nodes {
        *counts.entry(text(node, "type")).or_default() += 1;
    }
    let counts = json!(counts);
    let diagnostics = findings.diagnostics(&sources);
    let sources: Vec<Value> = sources.iter().map(Source::json).collect();
    let edges = edges(&mut graphs, order, included, &options.root);
    let graph = json!({
        "schema_version": VERSION,
        "root": options.root,
        "node_count": nodes.len(),
        "edge_count": edges.len(),
        "entity_counts": counts,
        "sources": sources,
        "diagnostics": diagnostics,
        "diff": diff,
    });
    Ok(with_lists(graph, nodes, edges))
}

/// The type of a node: that of the source that was chosen, or of the last.
fn kind_of<'a>(id: &str, seen: &Seen<'a>, findings: &Findings<'a>) -> &'a str {
    let chosen = findings.resolutions.get(id).map(|(_, node)| *node);
    let last = || seen.last().map(|(_, node)| *node);
    chosen.or_else(last).map_or("", |node| text(node, "type"))
}

/// All nodes by type and id. The new root takes the place of one that had its id.
fn nodes<'a>(
    table: &'a Table<'a>,
    sources: &[Source<'a>],
    findings: &Findings<'a>,
    options: &MergeOptions,
) -> Vec<Value> {
    let old = table.nodes().filter(|(id, _)| *id != options.root);
    let mut all: Vec<(&str, &str, Option<&Seen<'_>>)> = old
        .map(|(id, seen)| (kind_of(id, seen, findings), id, Some(seen)))
        .collect();
    all.push(("research_graph", &options.root, None));
    all.sort_unstable_by_key(|(kind, id, _)| (*kind, *id));
    let root = || {
        json!({
            "id": options.root,
            "type": "research_graph",
            "label": options.label,
            "attributes": {"graph_count": sources.len()},
        })
    };
    all.into_iter()
        .filter_map(|(_, id, seen)| match seen {
            Some(seen) => Some(merged(id, seen.last()?, sources, findings)),
            None => Some(root()),
        })
        .collect()
}

/// Where an edge begins, and of which type it is.
fn start(edge: &Value) -> (&str, &str) {
    let (source, kind, _) = edge_key(edge);
    (source, kind)
}

/// All edges in their order, taken out of their graphs. Those from the new root to the
/// roots of the sources are told anew.
fn edges(
    graphs: &mut [Value],
    order: Vec<EdgePlace>,
    included: BTreeMap<String, Value>,
    root: &str,
) -> Vec<Value> {
    let mut lists: Vec<&mut [Value]> = graphs
        .iter_mut()
        .map(|graph| match graph["edges"].as_array_mut() {
            Some(edges) => edges.as_mut_slice(),
            None => &mut [],
        })
        .collect();
    let at = |lists: &[&mut [Value]], bound: (&str, &str), or_equal: bool| {
        order.partition_point(|(graph, edge)| {
            let start = start(&lists[*graph][*edge]);
            start < bound || or_equal && start == bound
        })
    };
    let first = at(&lists, (root, INCLUDES), false);
    let after = at(&lists, (root, INCLUDES), true);
    let mut take = |(graph, edge): &EdgePlace| lists[*graph][*edge].take();
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

/// Puts the long lists in without copying them.
fn with_lists(mut graph: Value, nodes: Vec<Value>, edges: Vec<Value>) -> Value {
    if let Some(map) = graph.as_object_mut() {
        map.insert("nodes".to_owned(), Value::Array(nodes));
        map.insert("edges".to_owned(), Value::Array(edges));
    }
    graph
}

pub(super) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

pub(super) fn edge_key(edge: &Value) -> (&str, &str, &str) {
    (
        text(edge, "source"),
        text(edge, "type"),
        text(edge, "target"),
    )
}

fn preferred(sources: &[Source<'_>], options: &MergeOptions) -> Option<usize> {
    let wanted = options.prefer_source.as_deref()?;
    let by_index = wanted.parse().ok().filter(|index| *index < sources.len());
    by_index.or_else(|| {
        sources
            .iter()
            .position(|source| source.root == Some(wanted))
    })
}

/// The edges from the new root to the roots of the sources that have theirs among their nodes, by target.
fn included(table: &Table<'_>, sources: &[Source<'_>], root: &str) -> BTreeMap<String, Value> {
    let mut edges = BTreeMap::new();
    for (place, source) in sources.iter().enumerate() {
        let Some(target) = source.root.filter(|target| *target != root) else {
            continue;
        };
        let seen = table.seen(target);
        if seen.is_some_and(|seen| seen.iter().any(|(at, _)| *at == place)) {
            let evidence = format!("graphs.{place}.root");
            let edge = json!({
                "source": root, "target": target, "type": INCLUDES, "evidence_path": evidence,
            });
            edges.insert(target.to_owned(), edge);
        }
    }
    edges
}

fn merged(
    id: &str,
    last: &(usize, &Value),
    sources: &[Source<'_>],
    findings: &Findings<'_>,
) -> Value {
    let (place, node) = *last;
    let mut node = node.clone();
    if let Some(attributes) = node["attributes"]
        .as_object_mut()
        .filter(|map| !map.is_empty())
    {
        attributes.insert(
            "source_weight".to_owned(),
            Value::from(sources[place].weight),
        );
    }
    if let Some((_, winner)) = findings.resolutions.get(id) {
        node["label"] = winner["label"].clone();
        node["type"] = winner["type"].clone();
    }
    compact(node)
}

/// What merging found out.
struct Findings<'a> {
    duplicates: Vec<(&'a str, usize)>,
    orphans: Vec<&'a str>,
    conflicts: Vec<(&'a str, &'a Seen<'a>)>,
    resolutions: BTreeMap<&'a str, (usize, &'a Value)>,
}

impl<'a> Findings<'a> {
    fn of(sources: &[Source<'a>], table: &'a Table<'a>, preferred: Option<usize>) -> Self {
        let roots: HashSet<&str> = sources.iter().filter_map(|source| source.root).collect();
        let mut orphans = table.alone();
        orphans.retain(|id| !roots.contains(id));
        let mut duplicates: Vec<(&str, usize)> = Vec::new();
        let mut conflicts = Vec::new();
        for (id, all) in table.nodes().filter(|(_, all)| all.len() > 1) {
            duplicates.push((id, all.len()));
            if differs(all, "label") || differs(all, "type") {
                conflicts.push((id, all));
            }
        }
        duplicates.sort_unstable();
        orphans.sort_unstable();
        conflicts.sort_unstable_by_key(|(id, _)| *id);
        let decide = |all: &Seen<'a>| {
            let wanted = all.iter().find(|(place, _)| Some(*place) == preferred);
            let heaviest = all
                .iter()
                .rev()
                .max_by_key(|(place, _)| sources[*place].weight);
            wanted.or(heaviest).copied()
        };
        let resolutions = conflicts
            .iter()
            .filter_map(|(id, all)| Some((*id, decide(all)?)));
        Self {
            resolutions: resolutions.collect(),
            duplicates,
            orphans,
            conflicts,
        }
    }

    fn conflict(&self) -> Vec<Value> {
        let first = self.conflicts.iter().take(MOST);
        first
            .map(|(id, all)| Value::Object(conflict(id, all)))
            .collect()
    }

    fn diagnostics(&self, sources: &[Source<'_>]) -> Value {
        let duplicates = self.duplicates.iter().take(MOST);
        let duplicates: Vec<Value> = duplicates
            .map(|(id, seen)| json!({"id": id, "seen": seen}))
            .collect();
        let weights = sources.iter().map(|source| source.weight);
        compact(json!({
            "duplicate_node_count": self.duplicates.len(),
            "duplicate_nodes": duplicates,
            "orphan_node_count": self.orphans.len(),
            "orphan_nodes": self.orphans.iter().take(MOST).collect::<Vec<_>>(),
            "conflict_count": self.conflicts.len(),
            "conflicts": self.conflict(),
            "highest_source_weight": weights.clone().max(),
            "lowest_source_weight": weights.min(),
        }))
    }

    fn diff(
        &self,
        sources: &[Source<'_>],
        options: &MergeOptions,
        preferred: Option<usize>,
    ) -> Value {
        let changes = self.conflicts.iter().take(MOST).map(|(id, all)| {
            let variants = all.iter().map(|(place, node)| {
                let source = &sources[*place];
                let mut variant =
                    json!({"label": node["label"], "type": node["type"], "source_index": place});
                variant["source_root"] = json!(source.root);
                variant["source_weight"] = json!(source.weight);
                variant["confidence"] = json!(source.confidence());
                variant
            });
            let mut change = conflict(id, all);
            change.insert("variants".to_owned(), variants.collect());
            Value::Object(change)
        });
        let resolutions = self.resolutions.iter().take(MOST).map(|(id, (place, node))| {
            let is_preferred = Some(*place) == preferred;
            json!({
                "id": id,
                "selected_label": node["label"],
                "selected_type": node["type"],
                "source_index": place,
                "source_root": sources[*place].root,
                "source_weight": sources[*place].weight,
                "strategy": if is_preferred { "preferred_source" } else { "highest_source_weight" },
            })
        });
        let requested = options.prefer_source.as_ref();
        let preferred = requested.map(|requested| match preferred {
            None => json!({"requested": requested, "matched": false}),
            Some(place) => json!({
                "requested": requested,
                "matched": true,
                "index": place,
                "root": sources[place].root,
                "source_weight": sources[place].weight,
                "confidence": sources[place].confidence(),
            }),
        });
        compact(json!({
            "changed_node_count": self.conflicts.len(),
            "conflict_count": self.conflicts.len(),
            "resolved_conflict_count": self.resolutions.len(),
            "preferred_source": preferred,
            "conflicts": self.conflict(),
            "changes": changes.collect::<Vec<_>>(),
            "resolutions": resolutions.collect::<Vec<_>>(),
        }))
    }
}

/// Whether a node is called differently in different places.
fn differs(all: &Seen<'_>, name: &str) -> bool {
    let mut names = all.iter().map(|(_, node)| text(node, name));
    let first = names.next();
    names.any(|one| Some(one) != first)
}

fn names<'a>(all: &Seen<'a>, name: &str) -> BTreeSet<&'a str> {
    all.iter().map(|(_, node)| text(node, name)).collect()
}

fn conflict(id: &str, all: &Seen<'_>) -> Map<String, Value> {
    let pairs = [
        ("id", json!(id)),
        ("labels", json!(names(all, "label"))),
        ("types", json!(names(all, "type"))),
        ("seen", json!(all.len())),
    ];
    pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

#[cfg(test)]
mod tests;
