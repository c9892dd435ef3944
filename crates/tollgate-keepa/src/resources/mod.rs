//! What can be read by address: schemas, samples, evidence, pages, plans, tools and answers of this session.
//!
//! Invariants: an address never leads outside the places the world offers; nothing longer than a megabyte is shown, and
//! what was cut says so.

mod catalog;
mod condense;
mod text;

use serde_json::{Map, Value, json};

pub use condense::condensed;
pub(crate) use text::fields;
pub use text::{decode, encode, manifest_rows};

use catalog::{GUIDE, runtime_contract, schema, tool, tools_index, toolset};
use text::{MANIFEST_HEAD, heading, mime, params_of, plain, slug_of};

use crate::{
    Error, Kind,
    graph::graphs_in,
    key::call_key,
    plan, prompts,
    service::{Place, Shelf, World, policy},
};

const VERSION: &str = "2026-05-11.1";
/// The most of one document that is shown.
const MOST: usize = 1_000_000;
const RECENT: usize = 8;
const JSON: &str = "application/json";

/// Documents with an address of their own: address, name, what it is, media type.
pub const STATIC: &[(&str, &str, &str, &str)] = &[
    (
        "keepa://schema/products-agent-view",
        "products-agent-view",
        "The shape of the product view.",
        JSON,
    ),
    (
        "keepa://schema/workflow-runtime-contract",
        "workflow-runtime-contract",
        "The shape of the contract for handing results on.",
        JSON,
    ),
    (
        "keepa://schema/risk-taxonomy",
        "risk-taxonomy",
        "The shape and the codes of risks.",
        JSON,
    ),
    (
        "keepa://fixtures/manifest",
        "fixtures",
        "Samples and evidence there is.",
        "text/csv",
    ),
    (
        "keepa://guides/cassette-promotion",
        "cassette-promotion",
        "How a live answer becomes a sample.",
        "text/markdown",
    ),
    (
        "keepa://evidence/recent",
        "evidence-recent",
        "The latest evidence.",
        JSON,
    ),
    (
        "keepa://context/policy",
        "context-policy",
        "What may be done here.",
        JSON,
    ),
    ("keepa://tools/index", "tools", "Tools and sets.", JSON),
    (
        "keepa://workflow/runtime-contract",
        "runtime-contract",
        "Which tools take earlier results, and how.",
        JSON,
    ),
    ("keepa://prompts/index", "prompts", "Ways to begin.", JSON),
    (
        "keepa://zread/wiki/current",
        "wiki",
        "The handbook, and where it begins.",
        JSON,
    ),
    (
        "keepa://zread/wiki/toc",
        "wiki-toc",
        "What the handbook holds.",
        JSON,
    ),
    (
        "keepa://zread/wiki/pages",
        "wiki-pages",
        "Its pages, each with its address.",
        JSON,
    ),
];

/// Families of addresses: address, name, what its members are.
pub const TEMPLATES: &[(&str, &str, &str)] = &[
    ("keepa://schema/{name}", "schema", "A schema by name."),
    ("keepa://fixtures/{name}", "fixture", "A sample by name."),
    (
        "keepa://cache-key/{command}/{encoded_params}",
        "cache-key",
        "The key of a command with parameters, without running it.",
    ),
    (
        "keepa://workflow/{encoded_params}/policy",
        "workflow-policy",
        "How a plan is to be run.",
    ),
    (
        "keepa://research/{cache_key}",
        "research",
        "An answer of this session, in short.",
    ),
    (
        "keepa://research/{cache_key}/brief",
        "research-brief",
        "A brief of this session, in full.",
    ),
    (
        "keepa://research/{cache_key}/graph",
        "research-graph",
        "The graph of an answer of this session.",
    ),
    (
        "keepa://graphs/{root}",
        "graph",
        "Where a graph with this root was seen.",
    ),
    (
        "keepa://toolsets/{toolset}",
        "toolset",
        "The tools of a set.",
    ),
    ("keepa://tools/{name}", "tool", "A tool with its schema."),
    ("keepa://prompts/{name}", "prompt", "A way to begin."),
    (
        "keepa://asin/{asin}/fixture",
        "asin-fixture",
        "Samples named after a product.",
    ),
    (
        "keepa://evidence/{encoded_logical_path}",
        "evidence",
        "A piece of evidence.",
    ),
    (
        "keepa://chunk/{encoded_path}",
        "chunk",
        "A section that was written to a file.",
    ),
    (
        "keepa://output/{encoded_path}",
        "output",
        "A file that was written.",
    ),
    (
        "keepa://zread/wiki/page/{slug_or_file}",
        "wiki-page",
        "A page of the handbook.",
    ),
];

/// A document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// What kind it is.
    pub mime_type: &'static str,
    /// What it says.
    pub text: String,
}

impl Content {
    fn json(value: &Value) -> Self {
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        Self::text(JSON, text)
    }

    fn text(mime_type: &'static str, mut text: String) -> Self {
        if text.len() > MOST {
            let mut end = MOST;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
            text.push_str("\n[cut at 1000000 bytes]\n");
        }
        Self { mime_type, text }
    }
}

/// Reads addresses in a world.
pub struct Reader<'a, W> {
    world: &'a W,
}

impl<'a, W: World> Reader<'a, W> {
    /// A reader of this world.
    pub fn new(world: &'a W) -> Self {
        Self { world }
    }

    /// What an address leads to.
    pub fn read(&self, uri: &str) -> Result<Content, Error> {
        let unknown = || {
            Error::new(
                Kind::ResourceNotFound,
                format!("there is nothing at {uri:?}"),
            )
        };
        let path = uri.strip_prefix("keepa://").ok_or_else(unknown)?;
        let parts: Vec<&str> = path.split('/').collect();
        match parts.as_slice() {
            ["schema", name] => schema(name)
                .map(|value| Content::json(&value))
                .ok_or_else(unknown),
            ["fixtures", "manifest"] => Ok(Content::text("text/csv", self.manifest())),
            ["fixtures", name] => {
                let text = self.world.load(Place::Fixture(&plain(name)))?;
                Ok(Content::text(JSON, text))
            }
            ["guides", "cassette-promotion"] => {
                Ok(Content::text("text/markdown", GUIDE.to_owned()))
            }
            ["evidence", "recent"] => Ok(Content::json(&self.recent())),
            ["evidence", encoded] => {
                let path = decode(encoded).unwrap_or_else(|| plain(encoded));
                let text = self.world.load(Place::Evidence(&path))?;
                Ok(Content::text(mime(&path), text))
            }
            ["context", "policy"] => Ok(Content::json(&policy(self.world))),
            ["tools", "index"] => Ok(Content::json(&tools_index())),
            ["tools", name] => tool(&plain(name))
                .map(|value| Content::json(&value))
                .ok_or_else(unknown),
            ["toolsets", set] => toolset(&plain(set))
                .map(|value| Content::json(&value))
                .ok_or_else(unknown),
            ["prompts", "index"] => Ok(Content::json(&prompts::index())),
            ["prompts", name] => prompts::shown(&plain(name)).map(|value| Content::json(&value)),
            ["workflow", "runtime-contract"] => Ok(Content::json(&runtime_contract())),
            ["workflow", encoded, "policy"] => {
                let params = params_of(encoded)?;
                Ok(Content::json(&plan::compact_policy(&params.into())?))
            }
            ["cache-key", command, encoded] => {
                let params = params_of(encoded)?;
                let key = call_key(command, &params);
                Ok(Content::json(&json!({
                    "command": command,
                    "params": crate::secrets::redacted(&Value::Object(params)),
                    "cache_key": key,
                    "note": "Only worked out; no answer was looked for.",
                })))
            }
            ["research", key] => Ok(Content::json(&self.research(&plain(key), Part::Whole))),
            ["research", key, "brief"] => {
                Ok(Content::json(&self.research(&plain(key), Part::Brief)))
            }
            ["research", key, "graph"] => {
                Ok(Content::json(&self.research(&plain(key), Part::Graph)))
            }
            ["graphs", root] => Ok(Content::json(&self.graphs(&plain(root)))),
            ["asin", asin, "fixture"] => Ok(Content::json(&self.samples_of(asin))),
            ["chunk" | "output", encoded] => {
                let path = decode(encoded).ok_or_else(unknown)?;
                let text = self.world.load(Place::Written(&path))?;
                Ok(Content::text(mime(&path), text))
            }
            ["zread", "wiki", "current"] => Ok(Content::json(&json!({
                "version": env!("CARGO_PKG_VERSION"),
                "page_count": self.world.names(Shelf::Pages).len(),
                "toc": "keepa://zread/wiki/toc",
                "pages": "keepa://zread/wiki/pages",
            }))),
            ["zread", "wiki", "toc"] => Ok(Content::json(&json!({"toc": self.pages(false)}))),
            ["zread", "wiki", "pages"] => Ok(Content::json(&json!({"pages": self.pages(true)}))),
            ["zread", "wiki", "page", name] => self.page(&plain(name)),
            _ => Err(unknown()),
        }
    }

    fn manifest(&self) -> String {
        let written = crate::service::manifest(self.world);
        let mut text = written.unwrap_or_else(|| MANIFEST_HEAD.to_owned());
        if !text.ends_with('\n') {
            text.push('\n');
        }
        for name in self.world.names(Shelf::Fixtures) {
            text.push_str(&format!("fixtures/{name},{name},available,,sample\n"));
        }
        text
    }

    fn recent(&self) -> Value {
        let rows = manifest_rows(self.world);
        let recent: Vec<&Map<String, Value>> = rows.iter().rev().take(RECENT).collect();
        json!({"schema_version": VERSION, "count": recent.len(), "recent": recent})
    }

    fn pages(&self, with_address: bool) -> Vec<Value> {
        let names = self.world.names(Shelf::Pages);
        let entry = |name: &String| {
            let slug = name.trim_end_matches(".md");
            let title = self
                .world
                .load(Place::Page(name))
                .ok()
                .and_then(|text| heading(&text));
            let mut page = json!({"slug": slug, "file": name, "title": title});
            if with_address {
                page["uri"] = Value::from(format!("keepa://zread/wiki/page/{slug}"));
            }
            page
        };
        names.iter().map(entry).collect()
    }

    fn page(&self, wanted: &str) -> Result<Content, Error> {
        let slug = wanted.trim_end_matches(".md").to_lowercase();
        let names = self.world.names(Shelf::Pages);
        let by_name = names
            .iter()
            .find(|name| name.trim_end_matches(".md").to_lowercase() == slug);
        let by_title = || {
            names.iter().find(|name| {
                let text = self.world.load(Place::Page(name)).unwrap_or_default();
                heading(&text).is_some_and(|title| slug_of(&title) == slug)
            })
        };
        let name = by_name.or_else(by_title).ok_or_else(|| {
            let error = Error::new(
                Kind::ResourceNotFound,
                format!("there is no page {wanted:?}"),
            );
            error.with("pages", names.clone())
        })?;
        Ok(Content::text(
            "text/markdown",
            self.world.load(Place::Page(name))?,
        ))
    }

    fn samples_of(&self, asin: &str) -> Value {
        let wanted = asin.to_lowercase();
        let names = self.world.names(Shelf::Fixtures);
        let found: Vec<Value> = names
            .iter()
            .filter(|name| name.to_lowercase().contains(&wanted))
            .map(|name| json!({"name": name, "uri": format!("keepa://fixtures/{name}")}))
            .collect();
        json!({"schema_version": VERSION, "asin": asin, "match_count": found.len(), "matches": found})
    }

    fn research(&self, key: &str, part: Part) -> Value {
        let note = "Answers live as long as the session.";
        let Some(kept) = self.world.recall(key) else {
            return json!({
                "schema_version": VERSION,
                "cache_key": key,
                "found": false,
                "available_cache_keys": self.world.recalled(),
                "note": note,
            });
        };
        let data = &kept["data"];
        let mut shown = json!({
            "schema_version": VERSION,
            "cache_key": key,
            "found": true,
            "source": "session",
            "note": note,
            "ok": true,
            "command": kept["command"],
            "cache_hit": data["provenance"]["mcp"]["cache_hit"] == true,
            "budget_ledger": self.world.ledger(),
        });
        match part {
            Part::Brief => shown["brief"] = data["brief"].clone(),
            Part::Graph => {
                let (graph, inputs) = graph_summary(data, key);
                shown["entity_graph_summary"] = graph;
                shown["input_summary"] = inputs;
            }
            Part::Whole => {
                for name in [
                    "agent_brief",
                    "data_quality",
                    "evidence_index",
                    "provenance",
                ] {
                    shown[name] = data[name].clone();
                }
                shown["token_bucket"] = kept["token_bucket"].clone();
                let graphs = graphs_in(data);
                shown["research_graph_count"] = Value::from(graphs.len());
                let audit: Vec<Value> = graphs
                    .iter()
                    .map(|graph| audit(graph, key, "session"))
                    .collect();
                shown["research_graphs"] = Value::Array(audit);
            }
        }
        shown
    }

    fn graphs(&self, root: &str) -> Value {
        let mut matches = Vec::new();
        let keys = self.world.recalled();
        for key in &keys {
            let Some(kept) = self.world.recall(key) else {
                continue;
            };
            let found = graphs_in(&kept["data"]);
            let found = found.into_iter().filter(|graph| graph["root"] == root);
            matches.extend(found.map(|graph| audit(graph, key, "session")));
        }
        let samples = self.world.names(Shelf::Fixtures);
        for name in &samples {
            let text = self.world.load(Place::Fixture(name)).unwrap_or_default();
            if !text.contains("\"entity_counts\"") {
                continue;
            }
            let Ok(value) = serde_json::from_str::<Value>(&text) else {
                continue;
            };
            let found = graphs_in(&value);
            let found = found.into_iter().filter(|graph| graph["root"] == root);
            matches.extend(found.map(|graph| audit(graph, name, "fixture")));
        }
        json!({
            "schema_version": VERSION,
            "root": root,
            "match_count": matches.len(),
            "matches": matches,
            "sources_scanned": {"session": keys.len(), "fixtures": samples.len()},
        })
    }
}

#[derive(Clone, Copy)]
enum Part {
    Whole,
    Brief,
    Graph,
}

/// What the graph of an answer is like and what it was made of: a brief says it itself, of anything else the graph with
/// the most nodes counts, which is the merged one where there are several.
fn graph_summary(data: &Value, key: &str) -> (Value, Value) {
    let brief = &data["brief"];
    if !brief["entity_graph_summary"].is_null() {
        return (
            brief["entity_graph_summary"].clone(),
            brief["input_summary"].clone(),
        );
    }
    let graphs = graphs_in(data);
    let nodes = |graph: &&&Value| graph["nodes"].as_array().map_or(0, Vec::len);
    let largest = graphs.iter().max_by_key(nodes);
    let inputs = json!({
        "payload_count": 1,
        "research_graph_count": graphs.len(),
        "sources": [{"kind": "session", "cache_key": key}],
    });
    (
        largest.map_or(Value::Null, |graph| crate::brief::summary(graph)),
        inputs,
    )
}

/// A graph without its lists, and where it was seen.
fn audit(graph: &Value, place: &str, source: &str) -> Value {
    let uri = match source {
        "session" => format!("keepa://research/{place}/graph"),
        _ => format!("keepa://fixtures/{place}"),
    };
    json!({
        "root": graph["root"],
        "source": source,
        "source_ref": place,
        "resource_uri": uri,
        "node_count": graph["node_count"],
        "edge_count": graph["edge_count"],
        "entity_counts": graph["entity_counts"],
        "summary": crate::brief::summary(graph),
        "diagnostics": graph["diagnostics"],
        "graph_sources": graph["sources"],
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn there_are_as_many_as_published() {
        assert_eq!((STATIC.len(), TEMPLATES.len()), (13, 16));
        for name in [
            "products-agent-view",
            "workflow-runtime-contract",
            "risk-taxonomy",
        ] {
            let schema = schema(name).unwrap();
            assert_eq!(schema["$id"], format!("keepa://schema/{name}"));
        }
    }

    #[test]
    fn quoted_cells_keep_their_commas() {
        assert_eq!(fields(r#"a,"b,""c""",,d"#), ["a", "b,\"c\"", "", "d"]);
    }

    #[test]
    fn parts_of_addresses_come_in_three_spellings() {
        for part in ["a:b", "b64:YTpi", "a%3Ab"] {
            assert_eq!(plain(part), "a:b", "{part}");
        }
        assert_eq!(plain("%zz%"), "%zz%");
    }

    #[test]
    fn a_long_text_is_cut_between_letters() {
        let content = Content::text("text/plain", "ä".repeat(MOST));
        assert!(content.text.len() < MOST + 40 && content.text.ends_with("bytes]\n"));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(text in ".{0,60}") {
            prop_assert_eq!(decode(&encode(&text)), Some(text));
        }

        #[test]
        fn no_address_breaks_it(text in "[ -~]{0,40}") {
            let _ = (decode(&text), plain(&text), fields(&text));
        }
    }
}
