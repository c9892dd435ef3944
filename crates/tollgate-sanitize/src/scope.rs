//! What the caller knows about a text: where it comes from, and which JSON fields hold identifiers.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::placeholder::Seals;

static NONE: Identifiers = Identifiers {
    names: BTreeSet::new(),
    paths: Vec::new(),
};

/// The circumstances under which a text is cleaned.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// The text comes from outside, so instruction-like places are listed.
    pub open_world: bool,
    /// JSON fields exempt from the phone, card and entropy rules.
    pub identifiers: &'a Identifiers,
    /// Who keeps what is taken out; without one it is gone.
    pub seals: Option<&'a dyn Seals>,
    /// What looks like a placeholder is none: it is escaped.
    pub escapes: bool,
}

impl Scope<'static> {
    /// A scope for text of our own making.
    pub fn trusted() -> Self {
        Scope {
            open_world: false,
            identifiers: &NONE,
            seals: None,
            escapes: false,
        }
    }

    /// A scope for text from the outside world.
    pub fn open_world() -> Self {
        Scope {
            open_world: true,
            identifiers: &NONE,
            seals: None,
            escapes: false,
        }
    }
}

impl Default for Scope<'static> {
    fn default() -> Self {
        Scope::trusted()
    }
}

impl<'a> Scope<'a> {
    /// The same scope with fields that hold identifiers.
    pub fn with_identifiers<'b>(self, identifiers: &'b Identifiers) -> Scope<'b>
    where
        'a: 'b,
    {
        Scope {
            identifiers,
            ..self
        }
    }
}

/// JSON fields that hold identifiers, by name anywhere or by a pointer pattern with `*`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identifiers {
    names: BTreeSet<String>,
    paths: Vec<Vec<String>>,
}

/// Schema formats whose values are identifiers.
const FORMATS: &[&str] = &[
    "identifier",
    "uuid",
    "uri",
    "uri-reference",
    "iri",
    "date",
    "time",
    "date-time",
    "json-pointer",
];

const MAX_DEPTH: usize = 24;
const MAX_VISITS: usize = 20_000;

impl Identifiers {
    /// No field is an identifier.
    pub fn none() -> Self {
        Identifiers::default()
    }

    /// Fields of these names hold identifiers wherever they appear.
    pub fn from_names<I, S>(names: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        Identifiers {
            names: names.into_iter().map(Into::into).collect(),
            paths: Vec::new(),
        }
    }

    /// Collects the properties an output schema marks with `"x-identifier": true` or an identifier `format`.
    pub fn from_schema(schema: &Value) -> Self {
        let mut walk = Walk {
            root: schema,
            path: Vec::new(),
            depth: 0,
            visits: 0,
            found: Vec::new(),
        };
        walk.visit(schema);
        walk.found.sort();
        walk.found.dedup();
        Identifiers {
            names: BTreeSet::new(),
            paths: walk.found,
        }
    }

    /// Adds a field by name, or by a JSON pointer pattern in which `*` stands for any one segment.
    pub fn insert(&mut self, field: &str) {
        match field.strip_prefix('/') {
            Some(path) => self.paths.push(path.split('/').map(unescape).collect()),
            None => {
                self.names.insert(field.to_owned());
            }
        }
    }

    /// Whether no field is named.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.paths.is_empty()
    }

    pub(crate) fn covers(&self, name: Option<&str>, path: &[Segment<'_>]) -> bool {
        if self.is_empty() {
            return false;
        }
        name.is_some_and(|name| self.names.contains(name))
            || self.paths.iter().any(|pattern| {
                pattern.len() == path.len()
                    && pattern.iter().zip(path).all(|(want, have)| match have {
                        _ if want == "*" => true,
                        Segment::Key(key) => want == key,
                        Segment::Index(index) => want.parse() == Ok(*index),
                    })
            })
    }
}

/// One step of a JSON pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Segment<'a> {
    Key(Cow<'a, str>),
    Index(usize),
}

/// A schema is hostile input: depth, visits and references are all bounded.
struct Walk<'a> {
    root: &'a Value,
    path: Vec<String>,
    depth: usize,
    visits: usize,
    found: Vec<Vec<String>>,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, schema: &'a Value) {
        self.visits += 1;
        if self.depth > MAX_DEPTH || self.visits > MAX_VISITS {
            return;
        }
        self.depth += 1;
        if let Some(object) = self.resolve(schema).as_object() {
            self.mark(object);
            for (keyword, inner) in object {
                self.keyword(keyword, inner);
            }
        }
        self.depth -= 1;
    }

    fn mark(&mut self, object: &Map<String, Value>) {
        let marked = object.get("x-identifier") == Some(&Value::Bool(true));
        let format = object.get("format").and_then(Value::as_str);
        if !self.path.is_empty()
            && (marked || format.is_some_and(|format| FORMATS.contains(&format)))
        {
            self.found.push(self.path.clone());
        }
    }

    fn keyword(&mut self, keyword: &str, inner: &'a Value) {
        match keyword {
            "properties" => {
                for (name, inner) in inner.as_object().into_iter().flatten() {
                    self.step(name, inner);
                }
            }
            "patternProperties" => {
                for (_, inner) in inner.as_object().into_iter().flatten() {
                    self.step("*", inner);
                }
            }
            "items" | "additionalProperties" | "unevaluatedProperties" => self.step("*", inner),
            "prefixItems" => {
                for (index, inner) in inner.as_array().into_iter().flatten().enumerate() {
                    self.step(&index.to_string(), inner);
                }
            }
            "allOf" | "anyOf" | "oneOf" => {
                for inner in inner.as_array().into_iter().flatten() {
                    self.visit(inner);
                }
            }
            "if" | "then" | "else" => self.visit(inner),
            _ => {}
        }
    }

    fn step(&mut self, name: &str, inner: &'a Value) {
        self.path.push(name.to_owned());
        self.visit(inner);
        self.path.pop();
    }

    fn resolve(&self, schema: &'a Value) -> &'a Value {
        let mut current = schema;
        for _ in 0..8 {
            let Some(target) = current
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|target| target.strip_prefix('#'))
                .and_then(|pointer| self.root.pointer(pointer))
            else {
                return current;
            };
            current = target;
        }
        current
    }
}

fn unescape(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Identifiers, Segment};

    fn path<'a>(segments: &[&'a str]) -> Vec<Segment<'a>> {
        segments
            .iter()
            .map(|segment| match segment.parse() {
                Ok(index) => Segment::Index(index),
                Err(_) => Segment::Key((*segment).into()),
            })
            .collect()
    }

    #[test]
    fn schema_marks_become_paths() {
        let schema = json!({
            "properties": {
                "asin": {"type": "string", "x-identifier": true},
                "offers": {"items": {"$ref": "#/$defs/offer"}},
                "note": {"type": "string"}
            },
            "$defs": {"offer": {"properties": {"id": {"format": "uuid"}}}}
        });
        let identifiers = Identifiers::from_schema(&schema);
        assert!(identifiers.covers(Some("asin"), &path(&["asin"])));
        assert!(identifiers.covers(Some("id"), &path(&["offers", "3", "id"])));
        assert!(!identifiers.covers(Some("note"), &path(&["note"])));
        assert!(!identifiers.covers(Some("id"), &path(&["id"])));
    }

    #[test]
    fn endless_schemas_end() {
        let schema = json!({"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}, "allOf": [{"$ref": "#"}]});
        assert!(Identifiers::from_schema(&schema).is_empty());
    }

    #[test]
    fn names_and_patterns_can_be_added() {
        let mut identifiers = Identifiers::from_names(["ean"]);
        identifiers.insert("/rows/*/code");
        assert!(identifiers.covers(Some("ean"), &path(&["deep", "ean"])));
        assert!(identifiers.covers(Some("code"), &path(&["rows", "0", "code"])));
    }
}
