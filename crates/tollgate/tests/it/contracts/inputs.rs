//! What every tool of ours says of its input: how long each text and list may be, and in words
//! what success and the usual failure look like.

use std::path::PathBuf;

use serde_json::{Map, Value};
use tollgate::{config::Environment, wire};
use tollgate_core::ToolSpec;

use super::{defaults, repository};

/// Words of which a description has one, for success and for the usual failure.
const SUCCESS: [&str; 2] = ["Success:", "Returns"];
const FAILURE: [&str; 5] = ["Fails", "Always succeeds", "Unknown", "rejected", "refused"];

/// Every tool of ours, those included that there are only with something configured.
async fn own_specs() -> Vec<ToolSpec> {
    let mut config = defaults();
    config.docs.roots = [("handbook".to_owned(), PathBuf::from("."))].into();
    config.knowledge.paths = vec![repository("knowledge/tea")];
    let catalog = wire::listed(&config, &Environment::default())
        .await
        .unwrap();
    assert!(catalog.problems().is_empty());
    let specs: Vec<ToolSpec> = catalog.listings().map(|one| (*one.spec).clone()).collect();
    assert!(
        specs
            .iter()
            .any(|spec| spec.name.as_str() == "initiate_session")
    );
    specs
}

/// Finds texts and lists without a bound, by their places in the schema.
struct Unbounded<'s> {
    definitions: Option<&'s Map<String, Value>>,
    found: Vec<String>,
}

impl<'s> Unbounded<'s> {
    fn of(tool: &str, schema: &'s Value) -> Vec<String> {
        let definitions = schema.get("$defs").and_then(Value::as_object);
        let mut search = Self {
            definitions,
            found: Vec::new(),
        };
        search.look(schema, tool, 0);
        search.found
    }

    fn look(&mut self, schema: &'s Value, place: &str, depth: usize) {
        let Some(fields) = schema.as_object().filter(|_| depth < 32) else {
            return;
        };
        let has = |names: &[&str]| names.iter().any(|name| fields.contains_key(*name));
        let is = |wanted: &str| {
            let kind = &schema["type"];
            let mut listed = kind.as_array().into_iter().flatten();
            kind == wanted || listed.any(|one| one == wanted)
        };
        // A part that only says what is required beside what has a type elsewhere.
        let says = [
            "type", "$ref", "enum", "const", "anyOf", "oneOf", "allOf", "required",
        ];
        if !has(&says) {
            self.found.push(format!("{place}: anything"));
        }
        if is("string") && !has(&["maxLength", "pattern", "format", "enum", "const"]) {
            self.found.push(format!("{place}: text"));
        }
        if is("array") && !has(&["maxItems", "enum", "const"]) {
            self.found.push(format!("{place}: list"));
        }
        for (name, below) in schema["properties"].as_object().into_iter().flatten() {
            self.look(below, &format!("{place}.{name}"), depth + 1);
        }
        for name in ["items", "additionalProperties"] {
            self.look(&schema[name], &format!("{place}[{name}]"), depth + 1);
        }
        for name in ["anyOf", "oneOf", "allOf", "prefixItems"] {
            for below in schema[name].as_array().into_iter().flatten() {
                self.look(below, place, depth + 1);
            }
        }
        let name = schema["$ref"].as_str().and_then(|it| it.rsplit('/').next());
        if let Some(below) = name.and_then(|name| self.definitions?.get(name)) {
            self.look(below, place, depth + 1);
        }
    }
}

#[tokio::test]
async fn every_input_text_and_list_has_a_bound() {
    let mut unbounded = Vec::new();
    for spec in own_specs().await {
        unbounded.extend(Unbounded::of(spec.name.as_str(), &spec.input_schema));
    }
    let count = unbounded.len();
    assert!(unbounded.is_empty(), "{count}:\n{}", unbounded.join("\n"));
}

#[tokio::test]
async fn every_description_names_success_and_the_usual_failure() {
    let lacks = |text: &str, words: &[&str]| !words.iter().any(|word| text.contains(word));
    let mut silent = Vec::new();
    for spec in own_specs().await {
        let text = spec.description.as_str();
        if lacks(text, &SUCCESS) {
            silent.push(format!("{}: success", spec.name));
        }
        if lacks(text, &FAILURE) {
            silent.push(format!("{}: failure", spec.name));
        }
    }
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}
