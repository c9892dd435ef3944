//! An answer in short: what to read first of its products, and the addresses of the files it refers to.
//!
//! Invariant: nothing is invented. What is left out lies whole in the answer itself or behind an address that is named.

use serde_json::{Map, Value, json};

use super::{VERSION, encode, text::mime};

/// What is kept of an answer.
const KEPT: [&str; 18] = [
    "view",
    "profile",
    "schema_version",
    "product_count",
    "chunks",
    "output",
    "summary",
    "input_graph_count",
    "sources",
    "risk_summary",
    "agent_brief",
    "data_quality",
    "selection_signals",
    "evidence_index",
    "provenance",
    "next_actions",
    "workflow_resolution",
    "row_count",
];
/// What is kept of a product.
const OF_PRODUCT: [&str; 5] = [
    "identity",
    "data_quality",
    "risk_taxonomy",
    "selection_signals",
    "next_actions",
];
/// What is kept of the page to read first.
const OF_BRIEF: [&str; 7] = [
    "one_line",
    "key_facts",
    "risk_flags",
    "risk_codes",
    "highest_risk_severity",
    "missing_data",
    "confidence",
];
/// What is left out of a row.
const LONG: [&str; 2] = ["research_graph", "history_points"];
/// What is kept of a row's risks.
const OF_RISKS: [&str; 3] = ["codes", "highest_severity", "risk_count"];
const DEEP: usize = 32;

/// The answer in short and what it refers to; nothing if it shows no products and refers to no files.
pub fn condensed(data: &Value) -> Option<(Value, Vec<Value>)> {
    let mut found = Vec::new();
    collect(data, "data", false, 0, &mut found);
    let shows_products = ["products", "rows"]
        .iter()
        .any(|name| data[*name].as_array().is_some_and(|all| !all.is_empty()));
    let all = data.as_object();
    let all = all.filter(|_| shows_products || !found.is_empty())?;
    let mut short = picked(all, &KEPT);
    if let Some(graph) = graph_summary(data) {
        short.insert("research_graph_summary".to_owned(), graph);
    }
    for (name, shorten) in [
        ("products", product as fn(&Value) -> Value),
        ("rows", row as fn(&Value) -> Value),
    ] {
        if let Some(all) = data[name].as_array() {
            short.insert(name.to_owned(), all.iter().map(shorten).collect());
        }
    }
    let kept = || short.keys().map(String::as_str);
    let left_out = all.keys().filter(|name| !kept().any(|one| one == *name));
    let left_out: Vec<&String> = left_out.collect();
    let left_out = json!(left_out);
    short.insert("left_out".to_owned(), left_out);
    short.insert("manifest_version".to_owned(), Value::from(VERSION));
    Some((Value::Object(short), found))
}

fn picked(from: &Map<String, Value>, names: &[&str]) -> Map<String, Value> {
    let found = names
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), from.get(*name)?.clone())));
    found.collect()
}

fn graph_summary(value: &Value) -> Option<Value> {
    let graph = [&value["research_graph"], &value["graph"]]
        .into_iter()
        .find(|graph| graph.is_object())?;
    Some(crate::brief::summary(graph))
}

fn product(product: &Value) -> Value {
    let none = Map::new();
    let mut short = picked(product.as_object().unwrap_or(&none), &OF_PRODUCT);
    if let Some(brief) = product["agent_brief"].as_object() {
        short.insert("agent_brief".to_owned(), picked(brief, &OF_BRIEF).into());
    }
    if let Some(index) = product["evidence_index"].as_object() {
        let names: Vec<&String> = index.keys().collect();
        short.insert("evidence_index_summary".to_owned(), json!(names));
    }
    if let Some(graph) = graph_summary(product) {
        short.insert("research_graph_summary".to_owned(), graph);
    }
    Value::Object(short)
}

fn row(row: &Value) -> Value {
    let mut short = row.clone();
    if let Some(map) = short.as_object_mut() {
        map.retain(|name, _| !LONG.contains(&name.as_str()));
        if let Some(risks) = map.get_mut("risk_taxonomy")
            && let Some(all) = risks.as_object()
        {
            *risks = picked(all, &OF_RISKS).into();
        }
    }
    if let Some(graph) = graph_summary(row) {
        short["research_graph_summary"] = graph;
    }
    short
}

/// Files in an answer: whatever has a path and a format or a size.
fn collect(value: &Value, at: &str, is_chunk: bool, depth: usize, found: &mut Vec<Value>) {
    if depth > DEEP {
        return;
    }
    if let Some(all) = value.as_array() {
        for (index, one) in all.iter().enumerate() {
            collect(one, &format!("{at}.{index}"), is_chunk, depth + 1, found);
        }
    }
    let Some(map) = value.as_object() else {
        return;
    };
    let is_file = map.contains_key("format") || map.contains_key("size_bytes");
    if let Some(path) = map.get("path").and_then(Value::as_str).filter(|_| is_file) {
        found.push(reference(map, path, at, is_chunk));
        return;
    }
    for (name, one) in map {
        // What an answer of Keepa's calls a path is no file here.
        if name != "body" {
            let is_chunk = is_chunk || name == "chunks";
            collect(one, &format!("{at}.{name}"), is_chunk, depth + 1, found);
        }
    }
}

fn reference(map: &Map<String, Value>, path: &str, at: &str, is_chunk: bool) -> Value {
    let kind = if is_chunk { "chunk" } else { "output" };
    let file = path.rsplit('/').next().unwrap_or(path);
    let name = map.get("name").and_then(Value::as_str).unwrap_or(file);
    let mut shown = json!({
        "uri": format!("keepa://{kind}/{}", encode(path)),
        "name": name,
        "type": kind,
        "path": path,
        "mimeType": mime(path),
        "json_path": at,
    });
    if let Some(size) = map.get("size_bytes").filter(|size| size.is_u64()) {
        shown["size_bytes"] = size.clone();
    }
    if let Some(asin) = map.get("asin").filter(|asin| asin.is_string()) {
        shown["asin"] = asin.clone();
        shown["section"] = Value::from(name);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_address_and_the_rest_is_short() {
        let product = json!({
            "identity": {"asin": "B0KETTLE01"}, "pricing": {"long": true},
            "agent_brief": {"one_line": "a kettle", "temporal_takeaways": [1, 2]},
            "research_graph": {"root": "product:B0KETTLE01", "node_count": 1, "nodes": [1], "edges": []},
        });
        let data = json!({
            "view": "agent_product", "products": [product], "field_notes": ["x"],
            "chunks": [{"asin": "B0KETTLE01", "name": "identity", "path": "/out/a.json", "format": "json", "size_bytes": 5}],
            "raw": {"output": {"path": "/out/raw.json", "size_bytes": 9}},
        });
        let (short, files) = condensed(&data).unwrap();
        assert_eq!(files.len(), 2);
        assert_eq!(
            files[0]["uri"],
            format!("keepa://chunk/{}", encode("/out/a.json"))
        );
        assert_eq!(
            (&files[0]["section"], &files[0]["json_path"]),
            (&json!("identity"), &json!("data.chunks.0"))
        );
        assert_eq!(
            (&files[1]["type"], &files[1]["name"]),
            (&json!("output"), &json!("raw.json"))
        );
        let product = &short["products"][0];
        assert_eq!(product["agent_brief"], json!({"one_line": "a kettle"}));
        assert_eq!(product.get("pricing"), None);
        assert_eq!(product["research_graph_summary"].get("nodes"), None);
        assert_eq!(short["left_out"], json!(["field_notes", "raw"]));
    }

    #[test]
    fn products_without_files_have_a_digest_too() {
        let product = json!({"identity": {"asin": "B0KETTLE01"}, "pricing": {}, "risk_taxonomy": {"codes": ["data_missing"]}});
        let (short, files) =
            condensed(&json!({"view": "agent_product", "products": [product]})).unwrap();
        assert_eq!(files, Vec::<Value>::new());
        let wanted = json!({"identity": {"asin": "B0KETTLE01"}, "risk_taxonomy": {"codes": ["data_missing"]}});
        assert_eq!(short["products"][0], wanted);
        let row = json!({"asin": "B0KETTLE01", "risk_taxonomy": {"codes": [], "risk_count": 0, "items": [1]}, "history_points": {}});
        let (short, _) = condensed(&json!({"rows": [row]})).unwrap();
        let wanted = json!({"asin": "B0KETTLE01", "risk_taxonomy": {"codes": [], "risk_count": 0}});
        assert_eq!(short["rows"][0], wanted);
    }

    #[test]
    fn an_answer_without_files_and_products_is_left_as_it_is() {
        assert_eq!(condensed(&json!({"view": "x", "path": "a.b"})), None);
        assert_eq!(
            condensed(&json!({"body": {"path": "/x", "format": "json"}})),
            None
        );
        assert_eq!(condensed(&json!([{"path": "/x", "format": "json"}])), None);
    }
}
