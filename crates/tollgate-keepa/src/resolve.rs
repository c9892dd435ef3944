//! Hands the results of earlier steps on: addresses, keys, files and values become the arguments a tool takes.
//!
//! Invariants: what the caller gives by name is never overwritten; the arguments that carried results are gone
//! afterwards, so equal questions have equal keys; what could not be found is named, with what would do.

use serde_json::{Map, Value, json};

use crate::{
    Command, Error, Kind,
    graph::graphs_in,
    key::is_cache_key,
    resources::{Reader, decode},
    service::{CATEGORY_DIGITS, Place, Target, World, has_histories, is_asin, is_number},
    tool::{RUNTIME_ARGUMENTS, Tool},
};

const VERSION: &str = "2026-05-11.1";
/// How many products are compared when a list is handed on.
pub const MOST_COMPARED: usize = 10;
/// Where results of earlier steps lie in a context.
pub(crate) const CONTAINERS: [&str; 5] = [
    "steps",
    "outputs",
    "results",
    "step_outputs",
    "previous_outputs",
];
const DEEP: usize = 16;

/// What was found.
#[derive(Default)]
struct Found {
    resolved: Vec<Value>,
    payloads: Vec<Value>,
    paths: Vec<String>,
    asins: Vec<String>,
    categories: Vec<String>,
    tracked: Vec<String>,
    temporary: Vec<String>,
}

/// Arguments with results in their place, and the account of where they came from.
pub struct Resolved {
    /// What the tool is called with.
    pub arguments: Map<String, Value>,
    /// Where it came from; nothing if no result was handed on.
    pub account: Option<Value>,
}

/// Puts results into the arguments of a tool.
pub fn resolve<W: World>(
    world: &W,
    tool: &Tool,
    mut arguments: Map<String, Value>,
) -> Result<Resolved, Error> {
    let given: Vec<(&str, Value)> = RUNTIME_ARGUMENTS
        .iter()
        .filter_map(|name| Some((*name, arguments.shift_remove(*name)?)))
        .collect();
    let given: Vec<(&str, Value)> = given
        .into_iter()
        .filter(|(_, one)| !one.is_null())
        .collect();
    if given.is_empty() {
        return match missing(tool, &arguments) {
            Some(fields) if tool.takes_results => Err(lacking(tool, &fields, None)),
            _ => Ok(Resolved {
                arguments,
                account: None,
            }),
        };
    }
    let mut found = Found::default();
    for (name, value) in &given {
        collect(world, name, value, 0, &mut found);
    }
    derive(&mut found);
    fill(world, tool, &mut arguments, &mut found)?;
    let fields = missing(tool, &arguments);
    let account = account(&found, fields.as_deref());
    match fields {
        Some(fields) => Err(lacking(tool, &fields, Some(account))),
        None => Ok(Resolved {
            arguments,
            account: Some(account),
        }),
    }
}

fn collect<W: World>(world: &W, name: &str, value: &Value, depth: usize, found: &mut Found) {
    if depth > DEEP {
        return;
    }
    match name {
        "artifacts" | "resource_uris" => {
            let inner: Vec<&Value> = match (value.as_array(), value.as_object()) {
                (Some(all), _) => all.iter().collect(),
                (None, Some(map)) => map.values().collect(),
                (None, None) => vec![value],
            };
            for one in inner {
                take(world, one, found);
            }
        }
        "workflow_inputs" => {
            for one in value.as_object().into_iter().flat_map(Map::values) {
                let value = one.get("value").unwrap_or(one);
                let several = value.as_array().cloned();
                for one in several.unwrap_or_else(|| vec![value.clone()]) {
                    if one.as_str().is_some_and(looks_like_a_reference) {
                        take(world, &one, found);
                    }
                }
            }
        }
        "workflow_context" => context(world, value, depth, found),
        _ => take(world, value, found),
    }
}

fn looks_like_a_reference(text: &str) -> bool {
    text.starts_with("keepa://") || text.ends_with(".json") || is_cache_key(text)
}

/// Looks through what happened before, however it is nested.
fn context<W: World>(world: &W, value: &Value, depth: usize, found: &mut Found) {
    if depth > DEEP {
        return;
    }
    if let Some(all) = value.as_array() {
        all.iter()
            .for_each(|one| context(world, one, depth + 1, found));
        return;
    }
    let Some(map) = value.as_object() else {
        return;
    };
    let holds = |name: &str| map.get(name).is_some_and(|one| !one.is_null());
    if holds("payload") || holds("graph") || path_of(value).is_some() || map.contains_key("data") {
        take(world, value, found);
        return;
    }
    for name in ["artifact", "artifacts", "resource_uri", "resource_uris"] {
        if let Some(one) = map.get(name) {
            collect(world, name, one, depth + 1, found);
        }
    }
    for name in CONTAINERS {
        let Some(inner) = map.get(name) else {
            continue;
        };
        match inner.as_object() {
            Some(by_name) => by_name
                .values()
                .for_each(|one| context(world, one, depth + 1, found)),
            None => context(world, inner, depth + 1, found),
        }
    }
}

/// The file an earlier result was written to.
fn path_of(value: &Value) -> Option<&str> {
    let places = [value, &value["data"], &value["raw"]];
    places.into_iter().find_map(|place| {
        ["output", "merged_graph", "brief", "report"]
            .iter()
            .find_map(|name| place.get(name)?.get("path")?.as_str())
    })
}

fn take<W: World>(world: &W, value: &Value, found: &mut Found) {
    if let Some(text) = value.as_str() {
        named(world, text, found);
        return;
    }
    let index = found.resolved.len();
    for name in ["payload", "graph"] {
        if let Some(inner) = value.get(name).filter(|inner| !inner.is_null()) {
            found
                .resolved
                .push(json!({"index": index, "kind": format!("inline_{name}")}));
            found.payloads.push(inner.clone());
            return;
        }
    }
    if let Some(path) = path_of(value) {
        if !file(world, path, found) {
            found
                .resolved
                .push(json!({"index": index, "kind": "unresolved", "reference": path}));
        }
        return;
    }
    for name in ["resource_uri", "uri", "path", "cache_key"] {
        if let Some(text) = value.get(name).and_then(Value::as_str) {
            named(world, text, found);
            return;
        }
    }
    if value.get("data").is_some() || !graphs_in(value).is_empty() {
        found
            .resolved
            .push(json!({"index": index, "kind": "inline_payload"}));
        found.payloads.push(value.clone());
    } else {
        found
            .resolved
            .push(json!({"index": index, "kind": "unresolved"}));
    }
}

fn file<W: World>(world: &W, path: &str, found: &mut Found) -> bool {
    let index = found.resolved.len();
    let Ok(text) = world.load(Place::Input(path)) else {
        return false;
    };
    found
        .resolved
        .push(json!({"index": index, "kind": "path", "path": path}));
    found.paths.push(path.to_owned());
    if let Ok(value) = serde_json::from_str(&text) {
        found.payloads.push(value);
    }
    true
}

fn kept<W: World>(world: &W, key: &str, is_graph: bool, found: &mut Found) -> bool {
    let Some(answer) = world.recall(key) else {
        return false;
    };
    let index = found.resolved.len();
    let kind = if is_graph {
        "research_graph"
    } else {
        "research_cache"
    };
    found.resolved.push(json!({
        "index": index, "kind": kind, "cache_key": key, "command": answer["command"],
    }));
    if is_graph {
        let graphs = graphs_in(&answer["data"]);
        found.payloads.extend(graphs.into_iter().cloned());
    } else {
        found.payloads.push(Value::clone(&answer));
    }
    true
}

/// A text: an address, a file, or the key of an answer.
fn named<W: World>(world: &W, text: &str, found: &mut Found) {
    let index = found.resolved.len();
    let is_found = match text.strip_prefix("keepa://") {
        Some(rest) => address(world, text, rest, found),
        None => kept(world, text, false, found) || file(world, text, found),
    };
    if !is_found {
        found
            .resolved
            .push(json!({"index": index, "kind": "unresolved", "reference": text}));
    }
}

fn address<W: World>(world: &W, uri: &str, rest: &str, found: &mut Found) -> bool {
    let index = found.resolved.len();
    let parts: Vec<&str> = rest.split('/').collect();
    match parts.as_slice() {
        ["research", key] => kept(world, &plain_key(key), false, found),
        ["research", key, "graph"] => kept(world, &plain_key(key), true, found),
        ["research", key, _] => kept(world, &plain_key(key), false, found),
        ["output" | "chunk", encoded] => {
            decode(encoded).is_some_and(|path| file(world, &path, found))
        }
        _ => {
            let Ok(content) = Reader::new(world).read(uri) else {
                return false;
            };
            found
                .resolved
                .push(json!({"index": index, "kind": "resource", "uri": uri}));
            if let Ok(value) = serde_json::from_str(&content.text) {
                found.payloads.push(value);
            }
            true
        }
    }
}

fn plain_key(key: &str) -> String {
    let encoded = key.strip_prefix("b64:").and_then(decode);
    encoded.unwrap_or_else(|| key.replace("%3A", ":"))
}

/// Looks for numbers of products and categories in what was found.
fn derive(found: &mut Found) {
    let payloads = std::mem::take(&mut found.payloads);
    for payload in &payloads {
        search(payload, 0, found);
    }
    found.payloads = payloads;
}

fn search(value: &Value, depth: usize, found: &mut Found) {
    if depth > DEEP {
        return;
    }
    if let Some(all) = value.as_array() {
        all.iter().for_each(|one| search(one, depth + 1, found));
        return;
    }
    for (name, value) in value.as_object().into_iter().flatten() {
        let target = match name.as_str() {
            "asin" | "asins" | "asinList" => (&mut found.asins, asin as IdOf),
            "category_id" | "category" => (&mut found.categories, category as IdOf),
            "trackings" => {
                for one in value.as_array().into_iter().flatten() {
                    add(&mut found.tracked, asin(one.get("asin").unwrap_or(one)));
                }
                continue;
            }
            _ => {
                search(value, depth + 1, found);
                continue;
            }
        };
        let (all, id_of) = target;
        match value.as_array() {
            Some(values) => values.iter().for_each(|one| add(all, id_of(one))),
            None => add(all, id_of(value)),
        }
    }
}

/// The id a value is, if it is one: placeholders, names and words of other results are none.
type IdOf = fn(&Value) -> Option<String>;

fn asin(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim().to_ascii_uppercase();
    is_asin(&text).then_some(text)
}

fn category(value: &Value) -> Option<String> {
    let text = match (value.as_str(), value.as_u64()) {
        (Some(text), _) => text.trim().to_owned(),
        (None, Some(number)) => number.to_string(),
        (None, None) => return None,
    };
    is_number(&text, CATEGORY_DIGITS).then_some(text)
}

fn add(all: &mut Vec<String>, id: Option<String>) {
    if let Some(id) = id.filter(|id| !all.contains(id)) {
        all.push(id);
    }
}

fn fill<W: World>(
    world: &W,
    tool: &Tool,
    arguments: &mut Map<String, Value>,
    found: &mut Found,
) -> Result<(), Error> {
    let first = |all: &[String]| all.first().map(|one| Value::from(one.as_str()));
    let has = |arguments: &Map<String, Value>, names: &[&str]| {
        names.iter().any(|name| arguments.contains_key(*name))
    };
    let command = tool.command;
    let by_category = [
        Command::CategoriesProducts,
        Command::CategoriesFinderSelection,
    ];
    let filled = if by_category.contains(&command) {
        first(&found.categories).map(|value| ("category", value))
    } else if command == Command::ProductsCompare {
        let some: Vec<&String> = found.asins.iter().take(MOST_COMPARED).collect();
        (some.len() >= 2).then(|| ("asin", json!(some)))
    } else if command == Command::ProductsGet && !has(arguments, &["code"]) {
        first(&found.asins).map(|value| ("asin", value))
    } else if command == Command::TrackingGet {
        let one = first(&found.tracked).or_else(|| first(&found.asins));
        one.map(|value| ("asin", value))
    } else if command == Command::ResearchGraphMerge && !has(arguments, &["graph"]) {
        let graphs: Vec<&Value> = found.payloads.iter().flat_map(graphs_in).collect();
        if found.paths.is_empty() {
            (!graphs.is_empty()).then(|| ("graph", json!(graphs)))
        } else {
            Some(("input", json!(found.paths)))
        }
    } else if command == Command::ResearchBriefExport && !has(arguments, &["payload", "graph"]) {
        if found.paths.is_empty() {
            (!found.payloads.is_empty()).then(|| ("payload", json!(found.payloads)))
        } else {
            Some(("input", json!(found.paths)))
        }
    } else if [Command::ReportsBuild, Command::BrowseSnapshot].contains(&command)
        && !has(arguments, &["input"])
    {
        input_file(world, command, found)?.map(|path| ("input", Value::from(path)))
    } else {
        None
    };
    if let Some((name, value)) = filled {
        arguments.entry(name).or_insert(value);
    }
    if command == Command::AuditCost
        && let Some(asin) = first(&found.asins)
    {
        let inner = arguments.entry("params").or_insert_with(|| json!({}));
        if inner.get("asin").is_none() {
            inner["asin"] = asin;
        }
    }
    Ok(())
}

/// A file for what takes files only: the one that was handed on, or a new one of a graph or the first payload. A page shows
/// charts, so for one a payload with histories goes first; its graph is in it.
fn input_file<W: World>(
    world: &W,
    command: Command,
    found: &mut Found,
) -> Result<Option<String>, Error> {
    if let Some(path) = found.paths.first() {
        return Ok(Some(path.clone()));
    }
    let is_page = command == Command::BrowseSnapshot;
    let mut drawn = found.payloads.iter();
    let drawn = drawn.find(|one| is_page && has_histories(one));
    // A comparison holds a graph of each row and one of all: the largest of the first payload that has any says most.
    let graph = || {
        let mut all = found.payloads.iter().map(graphs_in);
        let graphs = all.find(|graphs| !graphs.is_empty())?;
        let nodes = |graph: &&Value| graph["nodes"].as_array().map_or(0, Vec::len);
        graphs.into_iter().rev().max_by_key(nodes)
    };
    let Some(value) = drawn.or_else(graph).or(found.payloads.first()) else {
        return Ok(None);
    };
    let digest = crate::request::digest(value);
    let name = format!("handed-on-{}.json", digest.get(..12).unwrap_or_default());
    let saved = world.save(Target::Own(&name), value.to_string().as_bytes())?;
    found.temporary.push(saved.path.clone());
    Ok(Some(saved.path))
}

/// What a tool still needs, and what would do.
fn missing(tool: &Tool, arguments: &Map<String, Value>) -> Option<Vec<Value>> {
    let has = |names: &[&str]| names.iter().any(|name| arguments.contains_key(*name));
    let choices: [(Command, &[&str], &str); 3] = [
        (Command::ProductsGet, &["asin", "code"], "asin"),
        (Command::ResearchGraphMerge, &["input", "graph"], "graph"),
        (
            Command::ResearchBriefExport,
            &["input", "payload", "graph"],
            "payload",
        ),
    ];
    let choice = choices
        .iter()
        .find(|(command, _, _)| *command == tool.command);
    let lacking: Vec<&str> = match choice {
        Some((_, names, _)) if has(names) => Vec::new(),
        Some((_, _, field)) => vec![*field],
        None => tool
            .takes()
            .filter(|(name, must)| *must && !arguments.contains_key(*name))
            .map(|(name, _)| name)
            .collect(),
    };
    let fields = lacking
        .into_iter()
        .map(|name| json!({"field": name, "accepts": RUNTIME_ARGUMENTS}));
    let fields: Vec<Value> = fields.collect();
    (!fields.is_empty()).then_some(fields)
}

fn account(found: &Found, missing: Option<&[Value]>) -> Value {
    let graphs: usize = found.payloads.iter().map(|one| graphs_in(one).len()).sum();
    json!({
        "schema_version": VERSION,
        "resolved": found.resolved,
        "derived_values": {
            "asins": found.asins,
            "category_ids": found.categories,
            "tracking_asins": found.tracked,
        },
        "payload_count": found.payloads.len(),
        "graph_count": graphs,
        "temp_paths": found.temporary,
        "missing_inputs": missing.unwrap_or(&[]),
    })
}

fn lacking(tool: &Tool, fields: &[Value], account: Option<Value>) -> Error {
    let names: Vec<&str> = fields
        .iter()
        .filter_map(|one| one["field"].as_str())
        .collect();
    let message = format!("{} needs {}", tool.name(), names.join(" and "));
    let error = Error::new(Kind::MissingInputs, message).with("missing_inputs", fields.to_vec());
    match account {
        Some(account) => error.with("workflow_resolution", account),
        None => error,
    }
}
