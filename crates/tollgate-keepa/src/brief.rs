//! What several answers come to: decisions, risks, what to do next, and where it can be checked.
//!
//! Invariant: nothing is said twice. Decisions are told apart by their line, risks by their code, actions by their
//! command and evidence by its path.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::{
    Error,
    compare::row_facts,
    graph::{MergeOptions, graphs_in, id_part, merge},
};

const VERSION: &str = "2026-05-11.1";
const DECISIONS: usize = 20;
const ACTIONS: usize = 20;
const LINKS: usize = 50;
/// Answers nest their own parts; what is deeper than this is no answer of ours.
const DEEP: usize = 24;

/// How a brief is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BriefOptions {
    /// Its heading.
    pub title: String,
    /// Its id, if the caller has one.
    pub id: Option<String>,
}

#[derive(Default)]
struct Found {
    decisions: Vec<Value>,
    risks: BTreeMap<String, Value>,
    actions: Vec<Value>,
    links: Vec<Value>,
}

/// Makes a brief of payloads.
pub fn brief(
    payloads: &[Value],
    sources: Vec<Value>,
    options: &BriefOptions,
) -> Result<Value, Error> {
    let mut found = Found::default();
    for (at, payload) in payloads.iter().enumerate() {
        walk(payload, &format!("$.{at}"), 0, &mut found);
    }
    let graphs: Vec<&Value> = payloads.iter().flat_map(graphs_in).collect();
    let graph = match graphs.as_slice() {
        [] => None,
        [only] => Some((*only).clone()),
        several => {
            let several = several.iter().copied().cloned().collect();
            Some(merge(several, &MergeOptions::default())?)
        }
    };
    let root = graph.as_ref().and_then(|graph| graph["root"].as_str());
    let id = options.id.clone().or_else(|| root.map(str::to_owned));
    let id = id.unwrap_or_else(|| id_part(&options.title));
    let one_line = found
        .decisions
        .first()
        .map_or_else(|| json!(options.title), |first| first["one_line"].clone());
    let mut present = Vec::new();
    let mut missing = Vec::new();
    let parts = [
        ("decision_summary", !found.decisions.is_empty()),
        ("risk_summary", !found.risks.is_empty()),
        ("entity_graph_summary", graph.is_some()),
        ("follow_up_plan", !found.actions.is_empty()),
        ("evidence_links", !found.links.is_empty()),
    ];
    for (name, is_there) in parts {
        if is_there {
            present.push(name);
        } else {
            missing.push(name);
        }
    }
    let confidence = match present.len() {
        4.. => "high",
        2..=3 => "medium",
        _ => "low",
    };
    Ok(json!({
        "schema_version": VERSION,
        "view": "research_brief_export",
        "id": id,
        "title": options.title,
        "decision_summary": {"one_line": one_line, "items": found.decisions},
        "risk_summary": risks(&found.risks),
        "entity_graph_summary": graph.as_ref().map(summary),
        "input_summary": {
            "payload_count": payloads.len(),
            "research_graph_count": graphs.len(),
            "sources": sources,
        },
        "follow_up_plan": {"action_count": found.actions.len(), "next_actions": found.actions},
        "evidence_links": found.links,
        "data_quality": {"present": present, "missing": missing, "confidence": confidence},
        "provenance": {"source": "local", "network": false},
        "recommended_read_order": [
            "decision_summary", "risk_summary", "entity_graph_summary", "follow_up_plan", "evidence_links",
        ],
    }))
}

/// A graph without its nodes and edges.
pub fn summary(graph: &Value) -> Value {
    let kept = [
        "schema_version",
        "root",
        "node_count",
        "edge_count",
        "entity_counts",
        "diagnostics",
    ];
    let kept = kept
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), graph.get(name)?.clone())));
    Value::Object(kept.collect())
}

fn walk(value: &Value, path: &str, depth: usize, found: &mut Found) {
    if depth > DEEP {
        return;
    }
    if let Some(all) = value.as_array() {
        for (at, one) in all.iter().enumerate() {
            walk(one, &format!("{path}.{at}"), depth + 1, found);
        }
    }
    let Some(map) = value.as_object() else {
        return;
    };
    // What is inside a graph is the graph's own.
    if map.contains_key("nodes") && map.contains_key("edges") {
        return;
    }
    take_decision(map, path, found);
    take_risks(map, path, found);
    take_actions(map, path, found);
    take_links(map, path, found);
    for (name, one) in map {
        if !["body", "evidence_index"].contains(&name.as_str()) {
            walk(one, &format!("{path}.{name}"), depth + 1, found);
        }
    }
}

fn take_decision(map: &Map<String, Value>, path: &str, found: &mut Found) {
    let mut add = |line: &Value, decision: Value| {
        let is_new = !found.decisions.iter().any(|one| one["one_line"] == *line);
        if line.is_string() && is_new && found.decisions.len() < DECISIONS {
            found.decisions.push(decision);
        }
    };
    if let Some(brief) = map.get("agent_brief") {
        let line = &brief["one_line"];
        let decision = json!({
            "one_line": line,
            "key_facts": brief["key_facts"],
            "risk_flags": brief["risk_flags"],
            "confidence": brief["confidence"],
            "path": format!("{path}.agent_brief"),
        });
        add(line, decision);
    }
    // Each row of a comparison is a product to decide about.
    if map
        .get("view")
        .is_none_or(|view| view != "products_compare")
    {
        return;
    }
    let rows = map.get("rows").and_then(Value::as_array);
    for (at, row) in rows.into_iter().flatten().enumerate() {
        let (facts, line) = row_facts(row);
        let line = Value::from(line);
        let decision = json!({
            "one_line": line,
            "key_facts": facts,
            "risk_flags": row["risk_flags"],
            "confidence": row["data_quality"]["confidence"],
            "path": format!("{path}.rows.{at}"),
        });
        add(&line, decision);
    }
}

fn take_risks(map: &Map<String, Value>, path: &str, found: &mut Found) {
    if let Some(taxonomy) = map.get("risk_taxonomy") {
        for item in taxonomy["items"].as_array().into_iter().flatten() {
            let Some(code) = item["code"].as_str() else {
                continue;
            };
            let entry = found.risks.entry(code.to_owned()).or_default();
            let count = entry["count"].as_u64().unwrap_or(0) + 1;
            // Of several products with a risk the one that has most of it is told.
            if weight(item) > weight(entry) {
                *entry = item.clone();
                entry["path"] = Value::from(format!("{path}.risk_taxonomy"));
            }
            entry["count"] = Value::from(count);
        }
    }
    // Where the rows tell their risks themselves, a summary of them would count each twice.
    let rows = map.get("rows").and_then(Value::as_array);
    let mut rows = rows.into_iter().flatten();
    if rows.any(|row| row["risk_taxonomy"]["items"].is_array()) {
        return;
    }
    let by_code = map.get("risk_summary").map(|summary| &summary["by_code"]);
    for (code, count) in by_code.and_then(Value::as_object).into_iter().flatten() {
        found.risks.entry(code.clone()).or_insert_with(|| {
            json!({
                "code": code, "severity": "medium", "count": count,
                "path": format!("{path}.risk_summary"),
            })
        });
    }
}

/// How grave a risk is; what is none weighs nothing.
fn weight(risk: &Value) -> u8 {
    match risk["severity"].as_str() {
        Some("high") => 3,
        Some("low") => 1,
        _ if risk["code"].is_string() => 2,
        _ => 0,
    }
}

fn take_actions(map: &Map<String, Value>, path: &str, found: &mut Found) {
    for name in ["next_actions", "recommended_next_actions"] {
        let actions = map.get(name).and_then(Value::as_array);
        for (at, one) in actions.into_iter().flatten().enumerate() {
            let is_new = !found
                .actions
                .iter()
                .any(|known| known["tool"] == one["tool"] && known["params"] == one["params"]);
            if one["tool"].is_string() && is_new && found.actions.len() < ACTIONS {
                let mut one = one.clone();
                one["path"] = Value::from(format!("{path}.{name}.{at}"));
                found.actions.push(one);
            }
        }
    }
}

fn take_links(map: &Map<String, Value>, path: &str, found: &mut Found) {
    let mut add = |link: Value| {
        let is_new = !found
            .links
            .iter()
            .any(|known| known["path"] == link["path"]);
        if is_new && found.links.len() < LINKS {
            found.links.push(link);
        }
    };
    let index = map.get("evidence_index").and_then(Value::as_object);
    for (name, place) in index.into_iter().flatten() {
        if let Some(below) = place["path"].as_str() {
            add(json!({"name": name, "path": format!("{path}.{below}"), "why": place["why"]}));
        }
    }
    if let Some(file) = map.get("output").and_then(|output| output["path"].as_str()) {
        add(json!({"name": "output", "path": file, "why": "A file that was written."}));
    }
}

fn risks(all: &BTreeMap<String, Value>) -> Value {
    let mut by_code = Map::new();
    let mut by_severity: BTreeMap<String, u64> = BTreeMap::new();
    for (code, item) in all {
        by_code.insert(code.clone(), item["count"].clone());
        let severity = item["severity"].as_str().unwrap_or("medium");
        *by_severity.entry(severity.to_owned()).or_default() += 1;
    }
    let items: Vec<&Value> = all.values().collect();
    json!({
        "risk_count": all.len(),
        "by_code": by_code,
        "by_severity": by_severity,
        "items": items,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(payloads: &[Value]) -> Value {
        let options = BriefOptions {
            title: "Kettles".to_owned(),
            id: None,
        };
        brief(payloads, Vec::new(), &options).unwrap()
    }

    #[test]
    fn nothing_is_said_twice() {
        let risk = json!({"code": "data_missing", "severity": "low", "evidence_path": "x"});
        let action = json!({"tool": "products.get", "params": {"asin": "B0FIXTURE1"}});
        let answer = json!({"data": {
            "agent_brief": {"one_line": "a kettle"},
            "risk_taxonomy": {"items": [risk]},
            "next_actions": [action, action],
            "evidence_index": {"pricing": {"path": "pricing.current", "why": "w"}},
        }});
        let brief = made(&[answer.clone(), answer]);
        assert_eq!(
            brief["decision_summary"]["items"].as_array().unwrap().len(),
            1
        );
        assert_eq!(brief["risk_summary"]["by_code"], json!({"data_missing": 2}));
        assert_eq!(brief["follow_up_plan"]["action_count"], 1);
        assert_eq!(
            brief["evidence_links"][0]["path"],
            "$.0.data.pricing.current"
        );
        assert_eq!(brief["id"], "kettles");
    }

    #[test]
    fn every_row_of_a_comparison_is_decided_about() {
        let text = crate::fixtures::find("products_compare.json").unwrap();
        let products = crate::Product::read_all(text).unwrap();
        let compared = crate::compare(&products, &crate::compare_options());
        let brief = made(&[json!({"data": compared})]);
        let items = brief["decision_summary"]["items"].as_array().unwrap();
        assert_eq!(items.len(), products.len());
        for (at, (item, product)) in items.iter().zip(&products).enumerate() {
            assert_eq!(item["key_facts"]["asin"], product.asin());
            assert_eq!(item["path"], format!("$.0.data.rows.{at}"));
            assert!(item["one_line"].as_str().unwrap().contains(product.asin()));
            assert!(item["confidence"].is_string());
        }
        let present = brief["data_quality"]["present"].as_array().unwrap();
        assert!(present.contains(&json!("decision_summary")));
        // Risks are counted once each, as the comparison itself counts them.
        let risks = &brief["risk_summary"];
        assert_eq!(risks["by_code"], compared["risk_summary"]["by_code"]);
        for item in risks["items"].as_array().unwrap() {
            assert!(item["reason"].is_string(), "{item}");
        }
        // Something else with rows is no comparison.
        let other = json!({"view": "report", "rows": compared["rows"]});
        let items = made(&[other])["decision_summary"]["items"].clone();
        assert_eq!(items, json!([]));
    }

    #[test]
    fn of_equal_risks_the_gravest_is_told() {
        let with = |severity: &str| json!({"risk_taxonomy": {"items": [{"code": "price_unstable", "severity": severity}]}});
        let brief = made(&[json!([with("low"), with("high"), with("medium")])]);
        let risks = &brief["risk_summary"];
        assert_eq!(risks["by_severity"], json!({"high": 1}));
        assert_eq!(risks["by_code"], json!({"price_unstable": 3}));
        assert_eq!(risks["items"][0]["path"], "$.0.1.risk_taxonomy");
    }

    #[test]
    fn an_empty_answer_says_what_it_lacks() {
        let brief = made(&[json!({})]);
        assert_eq!(brief["data_quality"]["confidence"], "low");
        assert_eq!(
            brief["data_quality"]["missing"].as_array().unwrap().len(),
            5
        );
    }

    #[test]
    fn no_depth_breaks_it() {
        let mut deep = json!({"agent_brief": {"one_line": "deep"}});
        for _ in 0..100 {
            deep = json!([deep]);
        }
        assert_eq!(made(&[deep])["decision_summary"]["items"], json!([]));
    }
}
