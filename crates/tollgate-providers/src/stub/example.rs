//! An answer that fits a schema, made from the schema alone.
//!
//! Invariant: the same schema and seed give the same answer, and only so deep and so wide a one
//! that it is small, whatever the schema says.

use serde_json::{Map, Number, Value, json};
use tollgate_core::canonical::hex_digest;

/// How deep optional parts are filled in; required ones go deeper.
const OPTIONAL_DEPTH: usize = 6;
const MAX_DEPTH: usize = 32;
const MAX_ITEMS: u64 = 64;
const MAX_VALUES: usize = 5_000;
const MAX_TEXT: u64 = 4_096;

/// A value that fits `schema`, as far as its keywords can be followed.
pub(super) fn of(schema: &Value, seed: &str) -> Value {
    let mut maker = Maker {
        root: schema,
        seed,
        made: 0,
    };
    maker.value(schema, "", 0)
}

struct Maker<'s> {
    root: &'s Value,
    seed: &'s str,
    made: usize,
}

impl<'s> Maker<'s> {
    /// `name` is the field the value is for; it makes texts tell what they stand for.
    fn value(&mut self, schema: &'s Value, name: &str, depth: usize) -> Value {
        self.made += 1;
        let Some(schema) = self.resolved(schema) else {
            return Value::Null;
        };
        if depth > MAX_DEPTH || self.made > MAX_VALUES {
            return Value::Null;
        }
        if let Some(only) = schema.get("const") {
            return only.clone();
        }
        if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
            return self.pick(choices, name);
        }
        for keyword in ["oneOf", "anyOf"] {
            let branches = schema.get(keyword).and_then(Value::as_array);
            if let Some(branch) = branches.and_then(|branches| most_telling(branches)) {
                let branch = self.value(branch, name, depth + 1);
                return self.merged(branch, schema, name, depth);
            }
        }
        if let Some(parts) = schema.get("allOf").and_then(Value::as_array) {
            let mut whole = Value::Object(Map::new());
            for part in parts {
                whole = joined(whole, self.value(part, name, depth + 1));
            }
            return self.merged(whole, schema, name, depth);
        }
        self.plain(schema, name, depth)
    }

    /// A branch together with what the schema says beside it.
    fn merged(
        &mut self,
        branch: Value,
        schema: &'s Map<String, Value>,
        name: &str,
        depth: usize,
    ) -> Value {
        if schema.contains_key("properties") {
            let own = self.object(schema, depth);
            return joined(own, branch);
        }
        if branch.is_null() && schema.contains_key("type") {
            return self.plain(schema, name, depth);
        }
        branch
    }

    fn plain(&mut self, schema: &'s Map<String, Value>, name: &str, depth: usize) -> Value {
        match kind(schema) {
            "object" => self.object(schema, depth),
            "array" => self.array(schema, name, depth),
            "string" => Value::String(self.text(schema, name)),
            "integer" => integer(schema),
            "number" => number(schema),
            "boolean" => Value::Bool(true),
            _ => Value::Null,
        }
    }

    fn object(&mut self, schema: &'s Map<String, Value>, depth: usize) -> Value {
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| {
            let mut required = required.into_iter().flatten();
            required.any(|one| one == name)
        };
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut fields = Map::new();
        for (name, property) in properties.into_iter().flatten() {
            if depth < OPTIONAL_DEPTH || is_required(name) {
                fields.insert(name.clone(), self.value(property, name, depth + 1));
            }
        }
        // What is required and described nowhere may be anything.
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                let text = self.words(name);
                fields.insert(name.to_owned(), Value::String(text));
            }
        }
        Value::Object(fields)
    }

    fn array(&mut self, schema: &'s Map<String, Value>, name: &str, depth: usize) -> Value {
        let limit = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
        let first = schema.get("prefixItems").and_then(Value::as_array);
        let first = first.map_or(&[][..], Vec::as_slice);
        let least = limit("minItems").unwrap_or(0);
        let usual = if depth < OPTIONAL_DEPTH { 1 } else { 0 };
        let count = least
            .max(usual)
            .max(first.len() as u64)
            .min(limit("maxItems").unwrap_or(MAX_ITEMS))
            .min(MAX_ITEMS);
        let others = schema.get("items");
        let items = (0..count).map_while(|at| {
            let at = usize::try_from(at).ok()?;
            let item = first
                .get(at)
                .or(others)
                .filter(|it| **it != Value::Bool(false));
            item.map(|item| self.value(item, &format!("{name} {}", at + 1), depth + 1))
        });
        Value::Array(items.collect())
    }

    fn text(&self, schema: &Map<String, Value>, name: &str) -> String {
        let digest = hex_digest(format!("{}\n{name}", self.seed).as_bytes());
        if let Some(text) = pattern(schema) {
            return text;
        }
        let word = &digest[..8];
        let text = match schema.get("format").and_then(Value::as_str) {
            Some("date-time") => "2026-01-01T00:00:00Z".to_owned(),
            Some("date") => "2026-01-01".to_owned(),
            Some("time") => "00:00:00Z".to_owned(),
            Some("duration") => "PT1S".to_owned(),
            Some("email" | "idn-email") => format!("{word}@example.com"),
            Some("hostname" | "idn-hostname") => "example.com".to_owned(),
            Some("ipv4") => "192.0.2.1".to_owned(),
            Some("ipv6") => "2001:db8::1".to_owned(),
            Some("uri" | "iri" | "uri-reference" | "iri-reference") => {
                format!("https://example.com/{word}")
            }
            Some("uuid") => uuid(&digest),
            Some("json-pointer") => String::new(),
            _ if is_address(name) => format!("https://example.com/{word}"),
            _ => self.words(name),
        };
        fitted(text, schema)
    }

    /// A text that tells what it stands for.
    fn words(&self, name: &str) -> String {
        let digest = hex_digest(format!("{}\n{name}", self.seed).as_bytes());
        let name = if name.is_empty() { "text" } else { name };
        format!("stub {} {}", name.replace('_', " "), &digest[..4])
    }

    fn pick(&self, choices: &[Value], name: &str) -> Value {
        let digest = hex_digest(format!("{}\n{name}", self.seed).as_bytes());
        let number = u64::from_str_radix(&digest[..8], 16).unwrap_or(0);
        let count = u64::try_from(choices.len()).unwrap_or(1).max(1);
        let at = usize::try_from(number % count).unwrap_or(0);
        choices.get(at).cloned().unwrap_or_default()
    }

    /// The schema itself, references within it followed.
    fn resolved(&self, schema: &'s Value) -> Option<&'s Map<String, Value>> {
        static ANY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
        let mut current = schema;
        for _ in 0..MAX_DEPTH {
            if current == &Value::Bool(true) {
                return Some(&ANY);
            }
            let fields = current.as_object()?;
            let Some(reference) = fields.get("$ref").and_then(Value::as_str) else {
                return Some(fields);
            };
            current = self.root.pointer(reference.strip_prefix('#')?)?;
        }
        None
    }
}

/// The branch with most to show: one that is not just `null`.
fn most_telling(branches: &[Value]) -> Option<&Value> {
    let is_null = |branch: &&Value| branch.get("type").is_some_and(|kind| kind == "null");
    let told = branches.iter().find(|branch| !is_null(branch));
    told.or_else(|| branches.first())
}

/// Both objects in one, or the second value.
fn joined(first: Value, second: Value) -> Value {
    match (first, second) {
        (Value::Object(mut all), Value::Object(more)) => {
            all.extend(more);
            Value::Object(all)
        }
        (_, second) => second,
    }
}

/// The type to make a value of.
fn kind(schema: &Map<String, Value>) -> &str {
    match schema.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => {
            let told = kinds.iter().filter_map(Value::as_str);
            told.into_iter()
                .find(|kind| *kind != "null")
                .unwrap_or("null")
        }
        _ if schema.contains_key("properties") || schema.contains_key("required") => "object",
        _ if schema.contains_key("items") || schema.contains_key("prefixItems") => "array",
        _ if schema.contains_key("minimum") || schema.contains_key("maximum") => "number",
        _ => "string",
    }
}

fn integer(schema: &Map<String, Value>) -> Value {
    let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_i64);
    let least = bound("minimum").or_else(|| Some(bound("exclusiveMinimum")?.saturating_add(1)));
    let most = bound("maximum").or_else(|| Some(bound("exclusiveMaximum")?.saturating_sub(1)));
    let step = bound("multipleOf").filter(|step| *step > 0).unwrap_or(1);
    let wanted = least.unwrap_or(1).max(1).min(most.unwrap_or(i64::MAX));
    let wanted = least.map_or(wanted, |least| wanted.max(least));
    let up = wanted.div_euclid(step) * step;
    let up = if up < wanted {
        up.saturating_add(step)
    } else {
        up
    };
    let fits = most.is_none_or(|most| up <= most);
    json!(if fits {
        up
    } else {
        wanted.div_euclid(step) * step
    })
}

fn number(schema: &Map<String, Value>) -> Value {
    let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
    let least = bound("minimum").or(bound("exclusiveMinimum"));
    let most = bound("maximum").or(bound("exclusiveMaximum"));
    let value = match (least, most) {
        (Some(least), Some(most)) => f64::midpoint(least, most),
        (Some(least), None) => least + 1.0,
        (None, Some(most)) => most - 1.0,
        (None, None) => 1.0,
    };
    let value = match bound("multipleOf").filter(|step| *step > 0.0) {
        Some(step) => (value / step).floor() * step,
        None => value,
    };
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

fn uuid(digest: &str) -> String {
    let part = |from: usize, to: usize| &digest[from..to];
    let (a, b, c, d, e) = (
        part(0, 8),
        part(8, 12),
        part(13, 16),
        part(17, 20),
        part(20, 32),
    );
    format!("{a}-{b}-4{c}-8{d}-{e}")
}

fn is_address(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let last = name.rsplit([' ', '_']).next().unwrap_or_default();
    matches!(last, "url" | "uri" | "href" | "link")
}

/// A text as long as the schema wants it.
fn fitted(text: String, schema: &Map<String, Value>) -> String {
    let limit = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
    let most = limit("maxLength").unwrap_or(MAX_TEXT);
    let least = limit("minLength").unwrap_or(0).min(MAX_TEXT);
    let mut text: String = text
        .chars()
        .take(usize::try_from(most).unwrap_or(usize::MAX))
        .collect();
    while (text.chars().count() as u64) < least {
        text.push('x');
    }
    text
}

/// The plainest text that a pattern takes.
fn pattern(schema: &Map<String, Value>) -> Option<String> {
    let pattern = schema.get("pattern")?.as_str()?;
    let parsed = regex_syntax::parse(pattern).ok()?;
    let mut text = String::new();
    plainest(&parsed, &mut text)?;
    Some(fitted(text, schema))
}

fn plainest(part: &regex_syntax::hir::Hir, text: &mut String) -> Option<()> {
    use regex_syntax::hir::{Class, HirKind};

    if text.len() > usize::try_from(MAX_TEXT).unwrap_or(usize::MAX) {
        return None;
    }
    match part.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(Class::Unicode(class)) => text.push(letter(class)?),
        HirKind::Class(Class::Bytes(class)) => {
            text.push(char::from(class.ranges().first()?.start()));
        }
        HirKind::Repetition(repeated) => {
            let enough = u32::from(repeated.max != Some(0));
            for _ in 0..repeated.min.max(enough) {
                plainest(&repeated.sub, text)?;
            }
        }
        HirKind::Capture(group) => plainest(&group.sub, text)?,
        HirKind::Concat(parts) => {
            for part in parts {
                plainest(part, text)?;
            }
        }
        HirKind::Alternation(choices) => plainest(choices.first()?, text)?,
    }
    Some(())
}

/// A letter of a class, if it has one, else its first character.
fn letter(class: &regex_syntax::hir::ClassUnicode) -> Option<char> {
    let has = |c: char| {
        let mut ranges = class.ranges().iter();
        ranges.any(|range| (range.start()..=range.end()).contains(&c))
    };
    let plain = ['a', 'A', '1', '0'].into_iter().find(|c| has(*c));
    plain.or_else(|| Some(class.ranges().first()?.start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn fits(schema: &Value) -> Value {
        let made = of(schema, "seed");
        let checked = jsonschema::options()
            .should_validate_formats(true)
            .build(schema)
            .unwrap();
        let problems: Vec<String> = checked
            .iter_errors(&made)
            .map(|problem| problem.to_string())
            .collect();
        assert!(problems.is_empty(), "{schema}: {made}: {problems:?}");
        assert_eq!(made, of(schema, "seed"), "the same again");
        made
    }

    #[test]
    fn an_answer_fits_its_schema() {
        for schema in [
            json!({"type": "object", "properties": {"a": {"type": "string", "minLength": 40}, "b": {"type": "integer", "minimum": 5, "maximum": 7, "multipleOf": 3}}, "required": ["a", "c"]}),
            json!({"type": "array", "items": {"type": "number", "minimum": 0.25, "maximum": 0.5}, "minItems": 3}),
            json!({"type": "array", "prefixItems": [{"const": 7}, {"type": "boolean"}], "items": false}),
            json!({"type": "string", "pattern": "^[0-9a-f]{64}$"}),
            json!({"type": "string", "pattern": "^(GET|POST) /[a-z]+$"}),
            json!({"type": ["null", "string"], "maxLength": 3}),
            json!({"anyOf": [{"type": "null"}, {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}]}),
            json!({"oneOf": [{"properties": {"kind": {"const": "a"}}, "required": ["kind"]}, {"properties": {"kind": {"const": "b"}}, "required": ["kind"]}], "type": "object"}),
            json!({"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}]}),
            json!({"$defs": {"tree": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}, "required": ["kids"]}}, "$ref": "#/$defs/tree"}),
            json!({"type": "integer", "maximum": -3}),
            json!({"enum": ["x", 1, null]}),
            json!({}),
        ] {
            fits(&schema);
        }
        for format in [
            "date-time",
            "date",
            "email",
            "uri",
            "uuid",
            "ipv4",
            "hostname",
            "time",
        ] {
            fits(&json!({"type": "string", "format": format}));
        }
    }

    #[test]
    fn lists_hold_something_and_addresses_are_addresses() {
        let item = json!({"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]});
        let made = fits(
            &json!({"type": "object", "properties": {"items": {"type": "array", "items": item}}}),
        );
        let url = made["items"][0]["url"].as_str().unwrap();
        assert!(url.starts_with("https://example.com/"), "{made}");
    }

    #[test]
    fn another_call_gives_another_answer() {
        let schema = json!({"type": "object", "properties": {"title": {"type": "string"}}});
        assert_ne!(of(&schema, "one"), of(&schema, "two"));
    }
}
