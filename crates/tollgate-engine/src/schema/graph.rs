//! A schema as a graph of its subschemas, from which the work of a validation follows.
//!
//! Invariant: wherever the validator applies a subschema to a value, the graph has an edge.
//! An edge too many makes a schema look more expensive, one too few would hide its cost.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value};

use super::SchemaError;

/// A subschema by its number.
pub(super) type Id = usize;

/// One subschema: its own work, and where it applies others.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// Steps for its keywords, whatever the value is.
    pub(super) weight: u64,
    /// To the same value.
    pub(super) in_place: Vec<Id>,
    /// To members of these names.
    pub(super) named: BTreeMap<String, Id>,
    /// To members whose names match; taken to be all of them.
    pub(super) patterns: Vec<Id>,
    /// To members that `named` does not have.
    pub(super) additional: Vec<Id>,
    /// To the names of members.
    pub(super) names: Vec<Id>,
    /// To the first items, one by one.
    pub(super) prefix: Vec<Id>,
    /// To the other items.
    pub(super) rest: Vec<Id>,
    /// To every item.
    pub(super) contains: Vec<Id>,
    /// To members and items that nothing else in this place evaluates.
    pub(super) unevaluated: Vec<Id>,
    /// Compares all items with each other.
    pub(super) unique: bool,
    /// Matches text against patterns or formats.
    pub(super) reads_text: bool,
}

/// All subschemas; the first is the schema itself.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    /// How many different patterns there are.
    pub(super) patterns: usize,
}

/// References are counted where they lead.
pub(super) fn build(schema: &Value) -> Result<Graph, SchemaError> {
    let mut builder = Builder {
        nodes: Vec::new(),
        known: HashMap::new(),
        anchors: HashMap::new(),
        queue: Vec::new(),
        patterns: HashSet::new(),
    };
    builder.find_anchors(schema, schema);
    builder.node(schema, schema);
    while let Some((id, schema, base)) = builder.queue.pop() {
        let node = builder.read(schema, base)?;
        builder.nodes[id] = node;
    }
    Ok(Graph {
        nodes: builder.nodes,
        patterns: builder.patterns.len(),
    })
}

struct Builder<'a> {
    nodes: Vec<Node>,
    known: HashMap<*const Value, Id>,
    /// By name: the subschemas, and the documents they stand in.
    anchors: HashMap<&'a str, Vec<(&'a Value, &'a Value)>>,
    queue: Vec<(Id, &'a Value, &'a Value)>,
    patterns: HashSet<&'a str>,
}

/// Work for comparing with a constant.
fn size(value: &Value) -> u64 {
    match value {
        Value::Object(fields) => fields.values().map(size).sum::<u64>() + 1,
        Value::Array(items) => items.iter().map(size).sum::<u64>() + 1,
        Value::String(text) => 1 + text.len() as u64 / 64,
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

/// A schema with an id is a document of its own, in which `#` means itself.
fn base_of<'a>(schema: &'a Value, base: &'a Value) -> &'a Value {
    match schema.get("$id") {
        Some(Value::String(id)) if !id.starts_with('#') => schema,
        Some(_) | None => base,
    }
}

impl<'a> Builder<'a> {
    /// The number of a subschema that stands in the document `base`.
    fn node(&mut self, schema: &'a Value, base: &'a Value) -> Id {
        let base = base_of(schema, base);
        if let Some(id) = self.known.get(&std::ptr::from_ref(schema)) {
            return *id;
        }
        let id = self.nodes.len();
        self.nodes.push(Node::default());
        self.known.insert(schema, id);
        self.queue.push((id, schema, base));
        id
    }

    fn find_anchors(&mut self, schema: &'a Value, base: &'a Value) {
        let base = base_of(schema, base);
        match schema {
            Value::Object(fields) => {
                for keyword in ["$anchor", "$dynamicAnchor"] {
                    if let Some(Value::String(name)) = fields.get(keyword) {
                        self.anchors.entry(name).or_default().push((schema, base));
                    }
                }
                fields.values().for_each(|it| self.find_anchors(it, base));
            }
            Value::Array(items) => items.iter().for_each(|it| self.find_anchors(it, base)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn read(&mut self, schema: &'a Value, base: &'a Value) -> Result<Node, SchemaError> {
        let mut node = Node {
            weight: 1,
            ..Node::default()
        };
        let Value::Object(fields) = schema else {
            return Ok(node);
        };
        node.weight += fields.len() as u64;
        for (keyword, value) in fields {
            self.apply(&mut node, (keyword, value), base);
        }
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(Value::String(target)) = fields.get(keyword) {
                let places = self.resolve(target, base)?;
                for (schema, base) in places {
                    node.in_place.push(self.node(schema, base));
                }
            }
        }
        Ok(node)
    }

    fn apply(&mut self, node: &mut Node, (keyword, value): (&str, &'a Value), base: &'a Value) {
        match keyword {
            "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" => {
                node.in_place.extend(self.several(value, base));
            }
            "dependentSchemas" | "dependencies" => {
                node.in_place.extend(self.members(value, base));
            }
            "properties" => {
                let fields = value.as_object().into_iter().flatten();
                for (name, schema) in fields {
                    let id = self.node(schema, base);
                    node.named.insert(name.clone(), id);
                }
            }
            "patternProperties" => {
                let fields = value.as_object().into_iter().flat_map(Map::keys);
                self.patterns.extend(fields.map(String::as_str));
                node.patterns.extend(self.members(value, base));
            }
            "additionalProperties" => node.additional.push(self.node(value, base)),
            "propertyNames" => node.names.push(self.node(value, base)),
            "prefixItems" => node.prefix.extend(self.several(value, base)),
            "items" | "additionalItems" => node.rest.extend(self.several(value, base)),
            "contains" => node.contains.push(self.node(value, base)),
            "unevaluatedProperties" | "unevaluatedItems" => {
                node.unevaluated.push(self.node(value, base));
            }
            "enum" | "const" | "required" | "dependentRequired" => node.weight += size(value),
            "uniqueItems" => node.unique |= value == &Value::Bool(true),
            "pattern" => {
                self.patterns.extend(value.as_str());
                node.reads_text = true;
            }
            "format" => node.reads_text = true,
            _ => {}
        }
    }

    fn several(&mut self, value: &'a Value, base: &'a Value) -> Vec<Id> {
        match value.as_array() {
            Some(items) => items.iter().map(|item| self.node(item, base)).collect(),
            None => vec![self.node(value, base)],
        }
    }

    fn members(&mut self, value: &'a Value, base: &'a Value) -> Vec<Id> {
        let fields = value.as_object().into_iter().flat_map(Map::values);
        fields.map(|schema| self.node(schema, base)).collect()
    }

    /// Every place that a reference could mean, each with its document.
    fn resolve(
        &self,
        target: &str,
        base: &'a Value,
    ) -> Result<Vec<(&'a Value, &'a Value)>, SchemaError> {
        let unknown = || SchemaError::Invalid(format!("`{target}` leads nowhere"));
        let Some(fragment) = target.strip_prefix('#') else {
            return Err(SchemaError::Remote(target.to_owned()));
        };
        if fragment.is_empty() {
            return Ok(vec![(base, base)]);
        }
        let fragment = percent_decoded(fragment);
        if !fragment.starts_with('/') {
            let found = self.anchors.get(fragment.as_str());
            return found.cloned().ok_or_else(unknown);
        }
        let (mut at, mut base) = (base, base);
        for part in fragment.split('/').skip(1) {
            let name = part.replace("~1", "/").replace("~0", "~");
            let inner = match at.as_array() {
                Some(items) => name.parse().ok().and_then(|at: usize| items.get(at)),
                None => at.get(&name),
            };
            at = inner.ok_or_else(unknown)?;
            base = base_of(at, base);
        }
        Ok(vec![(at, base)])
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = match tail {
            [high, low, ..] if *first == b'%' => std::str::from_utf8(&[*high, *low])
                .ok()
                .and_then(|code| u8::from_str_radix(code, 16).ok()),
            _ => None,
        };
        match code {
            Some(code) => {
                bytes.push(code);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
