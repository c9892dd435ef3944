//! Every key of the configuration: its schema, and the flat list that follows from it.
//!
//! Sub-schemas are inlined and `null` is gone (TOML has none), so walking it is simple.

pub(super) mod browser;
pub(super) mod docs;
pub(super) mod keepa;
pub(super) mod markdown;
pub(super) mod mcp;
pub(super) mod raw;
pub(super) mod runs;
pub(super) mod sandbox;
pub(super) mod serve;
pub(super) mod skills;
pub(super) mod values;
pub(super) mod web;

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use raw::RawConfig;

use super::layer;

/// Stands for any name in the path of a key below a table of free names.
pub(super) const ANY: &str = "<name>";

/// Keys that had another name once, each with the one of today.
const RENAMED: [(&str, &str); 2] = [
    ("providers.choice", "provider_choice"),
    ("providers.preferred_order", "preferred_provider_order"),
];

static SCHEMA: LazyLock<Value> = LazyLock::new(generate);

/// The JSON Schema of `tollgate.toml`, with defaults.
pub fn json_schema() -> Value {
    SCHEMA.clone()
}

/// The schema itself, made once.
pub(super) fn root() -> &'static Value {
    &SCHEMA
}

/// One key that holds a value.
pub(super) struct Leaf {
    /// From the outermost table to the key; [`ANY`] stands for a free name.
    pub path: Vec<String>,
    /// What it may hold.
    pub schema: &'static Value,
}

/// Every key that holds a value, in the order of the documentation.
pub(super) fn leaves() -> Vec<Leaf> {
    let mut found = Vec::new();
    collect(root(), &mut Vec::new(), &mut found);
    found
}

fn collect(schema: &'static Value, path: &mut Vec<String>, found: &mut Vec<Leaf>) {
    if !is_table(schema) {
        found.push(Leaf {
            path: path.clone(),
            schema,
        });
        return;
    }
    for (name, below) in properties(schema) {
        path.push(name.clone());
        collect(below, path, found);
        path.pop();
    }
    if let Some(below) = free_names(schema) {
        path.push(ANY.to_owned());
        collect(below, path, found);
        path.pop();
    }
}

/// The keys of each entry of a list of tables.
pub(super) fn entries(leaf: &Leaf) -> Vec<Leaf> {
    let mut found = Vec::new();
    if let Some(items) = leaf.schema.get("items").filter(|items| is_table(items)) {
        collect(items, &mut Vec::new(), &mut found);
    }
    found
}

/// What a path may hold, if there is such a key.
pub(super) fn find(path: &[String]) -> Option<&'static Value> {
    path.iter().try_fold(root(), |schema, name| {
        schema
            .get("properties")
            .and_then(|all| all.get(name))
            .or_else(|| free_names(schema))
    })
}

/// The name of today of a key that had another one.
pub(super) fn renamed(is_it: impl Fn(&str) -> bool) -> Option<&'static str> {
    let mut known = RENAMED.iter();
    known.find(|(old, _)| is_it(old)).map(|(_, today)| *today)
}

pub(super) fn is_table(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
}

pub(super) fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

/// The schema of each entry of a table with free names.
pub(super) fn free_names(schema: &Value) -> Option<&Value> {
    schema.get("additionalProperties").filter(|s| s.is_object())
}

/// The words a key chooses from, if it does.
pub(super) fn words(schema: &Value) -> Vec<&str> {
    let listed = schema.get("enum").and_then(Value::as_array);
    let described = schema.get("oneOf").and_then(Value::as_array);
    let plain = listed.into_iter().flatten().filter_map(Value::as_str);
    let consts = described
        .into_iter()
        .flatten()
        .filter_map(|one| one.get("const")?.as_str());
    plain.chain(consts).collect()
}

fn generate() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<RawConfig>()
        .to_value();
    tidy(&mut schema);
    for (path, value) in layer::defaults() {
        if let (Some(slot), Ok(value)) = (slot(&mut schema, &path), serde_json::to_value(value)) {
            slot.insert("default".to_owned(), value);
        }
    }
    schema
}

/// Removes what only makes sense where `null` exists and where nothing has a default.
fn tidy(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    object.remove("required");
    object.remove("default");
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    if let Some(Value::Array(types)) = object.get("type") {
        let real: Vec<Value> = types.iter().filter(|t| *t != "null").cloned().collect();
        if let [one] = real.as_slice() {
            object.insert("type".to_owned(), one.clone());
        }
    }
    unwrap_optional(object);
    if let Some(Value::Object(below)) = object.get_mut("properties") {
        below.values_mut().for_each(tidy);
    }
    for key in ["additionalProperties", "items"] {
        if let Some(below) = object.get_mut(key) {
            tidy(below);
        }
    }
}

/// Turns `anyOf: [x, null]` into `x`, keeping the key's own description.
fn unwrap_optional(object: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = object.get("anyOf") else {
        return;
    };
    let real: Vec<&Value> = choices
        .iter()
        .filter(|one| one.get("type").is_none_or(|t| t != "null"))
        .collect();
    let [Value::Object(inner)] = real.as_slice() else {
        return;
    };
    let inner = inner.clone();
    object.remove("anyOf");
    for (key, value) in inner {
        object.entry(key).or_insert(value);
    }
}

/// The schema object of one key.
fn slot<'s>(schema: &'s mut Value, path: &[String]) -> Option<&'s mut Map<String, Value>> {
    let mut here = schema;
    for name in path {
        here = here.get_mut("properties")?.get_mut(name)?;
    }
    here.as_object_mut()
}
