//! Several graphs as one, with an account of where they agree and where they do not.
//!
//! Invariants: merging is linear but for the sorting of names; a conflict is always decided, by the source the caller prefers or
//! by the heaviest, and always reported; the same inputs in the same order give the same graph.

mod table;
mod take;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Map, Value, json};

use super::{
    VERSION,
    source::{Source, extract},
};
use crate::{Error, view::compact};
use table::{Seen, Sighting, Table};
use take::Pick;

/// How long a list of findings may get.
const MOST: usize = 20;

/// The type of a merged graph's own node.
const ROOT: &str = "research_graph";

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
    let by_kind = nodes_by_kind(&table, &findings, &options.root);
    let counts: BTreeMap<&str, usize> = by_kind
        .iter()
        .map(|(kind, nodes)| (*kind, nodes.len()))
        .collect();
    let counts = json!(counts);
    let root = json!({
        "id": options.root,
        "type": ROOT,
        "label": options.label,
        "attributes": {"graph_count": sources.len()},
    });
    let picks: Vec<Option<Pick>> = by_kind
        .into_values()
        .flatten()
        .map(|(_, chosen)| chosen.map(|chosen| chosen.pick(&sources)))
        .collect();
    let included = included(&table, &sources, &options.root);
    let diagnostics = findings.diagnostics(&sources);
    drop(findings);
    let order = table.edges();
    let sources: Vec<Value> = sources.iter().map(Source::json).collect();
    let nodes = take::nodes(&mut graphs, picks, &root);
    let edges = take::edges(&mut graphs, &order, included, &options.root);
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

/// A node that becomes part of the merged graph, with what it is called if that was in conflict.
struct Chosen<'a> {
    last: Sighting<'a>,
    winner: Option<&'a Value>,
}

impl<'a> Chosen<'a> {
    /// That of the source that was chosen, or of the last.
    fn kind(&self) -> &'a str {
        text(self.winner.unwrap_or(self.last.node), "type")
    }

    fn pick(&self, sources: &[Source<'_>]) -> Pick {
        let winner = self.winner;
        Pick {
            place: (self.last.graph, self.last.at),
            weight: sources[self.last.graph as usize].weight,
            names: winner.map(|node| Box::new([node["label"].clone(), node["type"].clone()])),
        }
    }
}

/// Nodes with their ids, in the order of these. The new root is nothing that could be chosen.
type Nodes<'a> = Vec<(&'a str, Option<Chosen<'a>>)>;

/// All nodes by type and id. The new root takes the place of one that had its id.
fn nodes_by_kind<'a>(
    table: &Table<'a>,
    findings: &Findings<'a, '_>,
    root: &'a str,
) -> BTreeMap<&'a str, Nodes<'a>> {
    let mut all: BTreeMap<&str, Nodes<'_>> = BTreeMap::new();
    let mut decided = findings.resolutions.iter().peekable();
    for (id, seen) in table.nodes() {
        let winner = decided.next_if(|(decided, _)| *decided == id);
        let Some(last) = seen.last().filter(|_| id != root) else {
            continue;
        };
        let chosen = Chosen {
            last: *last,
            winner: winner.map(|(_, winner)| winner.node),
        };
        all.entry(chosen.kind())
            .or_default()
            .push((id, Some(chosen)));
    }
    let roots = all.entry(ROOT).or_default();
    let at = roots.partition_point(|(id, _)| *id < root);
    roots.insert(at, (root, None));
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

/// A text of a node or an edge. These are small, so looking at one name after the other finds it soonest.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    let mut fields = value.as_object().into_iter().flatten();
    let found = fields.find(|(field, _)| *field == name);
    found
        .and_then(|(_, value)| value.as_str())
        .unwrap_or_default()
}

/// Source, type and target of an edge.
pub(super) fn edge_key(edge: &Value) -> (&str, &str, &str) {
    let (mut source, mut kind, mut target) = ("", "", "");
    for (name, value) in edge.as_object().into_iter().flatten() {
        let part = match name.as_str() {
            "source" => &mut source,
            "type" => &mut kind,
            "target" => &mut target,
            _ => continue,
        };
        *part = value.as_str().unwrap_or_default();
    }
    (source, kind, target)
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
        // They are in the order of their graphs, and one node may be in very many of them.
        let seen = table.seen(target);
        let at = seen.binary_search_by_key(&place, |one| one.graph as usize);
        if at.is_ok() {
            let evidence = format!("graphs.{place}.root");
            let edge = json!({
                "source": root, "target": target, "type": INCLUDES, "evidence_path": evidence,
            });
            edges.insert(target.to_owned(), edge);
        }
    }
    edges
}

/// What merging found out.
struct Findings<'a, 't> {
    duplicates: Vec<(&'a str, usize)>,
    orphans: Vec<&'a str>,
    conflicts: Vec<(&'a str, &'t Seen<'a>)>,
    /// Which sighting wins each conflict.
    resolutions: Vec<(&'a str, Sighting<'a>)>,
}

impl<'a, 't> Findings<'a, 't> {
    fn of(sources: &[Source<'a>], table: &'t Table<'a>, preferred: Option<usize>) -> Self {
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
        let decide = |all: &Seen<'a>| {
            let wanted = all.iter().find(|one| Some(one.graph as usize) == preferred);
            let weight = |one: &&Sighting<'_>| sources[one.graph as usize].weight;
            let heaviest = all.iter().rev().max_by_key(weight);
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
            let variants = all.iter().map(|one| {
                let (source, node) = (&sources[one.graph as usize], one.node);
                let mut variant =
                    json!({"label": node["label"], "type": node["type"], "source_index": one.graph});
                variant["source_root"] = json!(source.root);
                variant["source_weight"] = json!(source.weight);
                variant["confidence"] = json!(source.confidence());
                variant
            });
            let mut change = conflict(id, all);
            change.insert("variants".to_owned(), variants.collect());
            Value::Object(change)
        });
        let resolutions = self.resolutions.iter().take(MOST).map(|(id, winner)| {
            let (place, node) = (winner.graph as usize, winner.node);
            let is_preferred = Some(place) == preferred;
            json!({
                "id": id,
                "selected_label": node["label"],
                "selected_type": node["type"],
                "source_index": place,
                "source_root": sources[place].root,
                "source_weight": sources[place].weight,
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
    let mut names = all.iter().map(|one| text(one.node, name));
    let first = names.next();
    names.any(|one| Some(one) != first)
}

fn names<'a>(all: &Seen<'a>, name: &str) -> BTreeSet<&'a str> {
    all.iter().map(|one| text(one.node, name)).collect()
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
