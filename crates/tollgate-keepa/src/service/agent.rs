//! The page to read first, for answers that are not products: what it is, what is missing, where the evidence lies.
//!
//! Invariant: every path of an evidence index resolves, in the answer itself or, from `request` on, beside it.

use serde_json::{Map, Value, json};

/// What to read, in this order.
const READ_ORDER: [&str; 5] = [
    "agent_brief",
    "data_quality",
    "selection_signals",
    "next_actions",
    "evidence_index",
];

/// What is said about an answer.
#[derive(Default)]
pub(super) struct About<'a> {
    pub(super) view: &'a str,
    pub(super) one_line: String,
    pub(super) key_facts: Value,
    pub(super) present: Vec<&'a str>,
    pub(super) missing: Vec<&'a str>,
    pub(super) notes: Vec<&'a str>,
    pub(super) signals: Value,
    /// Name, path, section and why to look there.
    pub(super) evidence: &'a [(&'a str, &'a str, &'a str, &'a str)],
}

impl About<'_> {
    /// Adds the page to an answer.
    pub(super) fn put(self, data: &mut Map<String, Value>) {
        let mut key_facts = self.key_facts;
        if let Some(counts) = data
            .get("research_graph")
            .and_then(|graph| graph.get("entity_counts"))
            && key_facts.is_object()
        {
            key_facts["research_graph_entities"] = counts.clone();
        }
        let mut present = self.present;
        present.sort_unstable();
        present.dedup();
        let confidence = confidence(present.len(), self.missing.len());
        data.insert(
            "agent_brief".to_owned(),
            json!({
                "view": self.view,
                "one_line": self.one_line,
                "key_facts": key_facts,
                "read_order": READ_ORDER,
            }),
        );
        data.insert(
            "data_quality".to_owned(),
            json!({
                "present": present,
                "missing": self.missing,
                "confidence": confidence,
                "notes": self.notes,
            }),
        );
        data.insert("selection_signals".to_owned(), self.signals);
        if let Some(provenance) = data.get("cache_provenance").cloned() {
            data.insert("provenance".to_owned(), provenance);
        }
        let index = index(self.evidence, data);
        data.insert("evidence_index".to_owned(), index);
    }
}

/// How far an answer can be trusted.
pub(super) fn confidence(present: usize, missing: usize) -> &'static str {
    match (missing, present) {
        (0, _) => "high",
        (_, 3..) => "medium",
        _ => "low",
    }
}

/// A place of evidence: its name, its path, the view it belongs to, what it says.
pub(super) type Place = (&'static str, &'static str, &'static str, &'static str);

/// The file an answer was written to.
pub(super) const OUTPUT: Place = (
    "output",
    "output",
    "audit",
    "The file the answer was written to.",
);
/// Where an answer came from.
pub(super) const PROVENANCE: Place = (
    "provenance",
    "cache_provenance",
    "audit",
    "Where the answer came from.",
);

/// The places that are really there.
pub(super) fn index(places: &[(&str, &str, &str, &str)], data: &Map<String, Value>) -> Value {
    let found = places
        .iter()
        .filter(|(_, path, _, _)| path.starts_with("request") || resolves(path, data));
    let entries = found.map(|(name, path, section, why)| {
        let place = json!({"path": path, "section": section, "why": why});
        ((*name).to_owned(), place)
    });
    Value::Object(entries.collect())
}

fn resolves(path: &str, data: &Map<String, Value>) -> bool {
    let mut parts = path.split('.');
    let first = parts.next().and_then(|name| data.get(name));
    let Some(first) = first else {
        return false;
    };
    parts
        .try_fold(first, |value, name| match name.parse::<usize>() {
            Ok(at) if value.is_array() => value.get(at),
            _ => value.get(name),
        })
        .is_some_and(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_places_that_exist_are_named() {
        let data = json!({"body": {"list": [{"a": 1}]}, "empty": null});
        let places = [
            ("one", "body.list.0.a", "summary", "w"),
            ("two", "body.list.1", "summary", "w"),
            ("three", "empty", "summary", "w"),
            ("four", "request.params_redacted", "audit", "w"),
        ];
        let index = index(&places, data.as_object().unwrap());
        let names: Vec<&String> = index.as_object().unwrap().keys().collect();
        assert_eq!(names, ["one", "four"]);
    }

    #[test]
    fn trust_falls_with_what_is_missing() {
        assert_eq!(
            [confidence(1, 0), confidence(3, 1), confidence(2, 1)],
            ["high", "medium", "low"]
        );
    }
}
