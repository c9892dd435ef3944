//! The JSON Schema of knowledge files, so that editors complete and explain every field.

use serde_json::{Map, Value, json};

use crate::base::slot_types;

/// The schema, with a description of everything that can be written.
pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Tollgate knowledge base",
        "description": "A conversation that an expert has prepared: what to say, what can be chosen, where each choice leads.",
        "type": "object",
        "properties": fields(TOP),
        "patternProperties": own(),
        "additionalProperties": false,
        "$defs": {
            "text": {
                "description": "A text, or the same text in several languages: {\"zh\": \"你好\", \"en\": \"Hello\"}. `{slot}` is replaced by what was answered.",
                "anyOf": [
                    {"type": ["string", "number", "boolean", "null"]},
                    {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}},
                ],
            },
            "words": {
                "description": "Words: a list, or one text with commas between them. By language they may stand in a group.",
                "anyOf": [
                    {"type": ["string", "null"]},
                    {"type": "array", "items": {"type": ["string", "number", "boolean"]}},
                    {"type": "object", "additionalProperties": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": ["string", "number", "boolean"]}}]}},
                ],
            },
            "id": {
                "description": "An id of 1 to 200 characters.",
                "type": ["string", "number", "boolean"],
                "minLength": 1,
                "maxLength": 200,
            },
            "next": {
                "description": "Where it leads: the id of a node; `null` ends the session, or the sub-flow; a list takes the first branch whose condition holds.",
                "anyOf": [
                    {"type": ["string", "number", "boolean", "null"]},
                    {"$ref": "#/$defs/branch"},
                    {"type": "array", "items": {"$ref": "#/$defs/branch"}},
                ],
            },
            "node": group("One step of the conversation.", NODE, &[]),
            "option": group("Something the user can choose.", OPTION, &["id"]),
            "branch": group("One way of several; without `when` it always fits.", BRANCH, &[]),
            "slot": group("Something that a node can ask for.", SLOT, &[]),
            "choice": group("One of the answers to a choice.", CHOICE, &["id"]),
        },
    })
}

/// A field: its name, what it means, and what it takes.
type Explained = (&'static str, &'static str, fn() -> Value);

const TOP: &[Explained] = &[
    (
        "id",
        "What the base is called by programs; else the name of the file.",
        id,
    ),
    ("title", "What the base is called by people.", text),
    ("description", "What the base is about.", text),
    (
        "language",
        "The language of texts that name none, such as `zh` or `en`.",
        string,
    ),
    (
        "root",
        "The node to begin with; else the one called `root`, else the first.",
        string,
    ),
    (
        "fallback",
        "Said when something was not understood, or a link leads nowhere.",
        text,
    ),
    (
        "closing",
        "Said when `next_node: null` ends the session.",
        text,
    ),
    (
        "choose",
        "Said when a question fits several nodes, which then become the options.",
        text,
    ),
    (
        "offer",
        "Descriptions for the words that always work; those given are listed as options.",
        offer,
    ),
    (
        "keywords",
        "Words in a question that lead to the root of this base.",
        words,
    ),
    ("synonyms", "Groups of words that mean the same.", synonyms),
    ("include", "More files, beside this one or below.", include),
    ("slots", "What nodes can ask for, by name.", slots),
    ("nodes", "The steps, by their ids.", nodes),
];

const NODE: &[Explained] = &[
    ("title", "What the step is called.", text),
    ("response", "What is said to the user.", text),
    (
        "options",
        "What the user can choose; without any the session ends here.",
        options,
    ),
    ("keywords", "Words in a question that lead here.", words),
    ("ask", "The slot that the user's words fill.", string),
    (
        "next_node",
        "What follows the answer, or follows at once where nothing is asked.",
        next,
    ),
    (
        "then",
        "Makes `next_node` a sub-flow: when it ends, the session goes on here.",
        then,
    ),
    (
        "fallback",
        "The sentence for what is not understood, at this node alone.",
        text,
    ),
    (
        "entry",
        "Whether a question can enter here; it can unless this is false.",
        truth,
    ),
];

const OPTION: &[Explained] = &[
    ("id", "What is sent back when it is chosen.", id),
    ("description", "What the user sees.", text),
    ("next_node", "Where it leads.", next),
    (
        "then",
        "Makes it a sub-flow: when that ends, the session goes on here.",
        then,
    ),
    ("keywords", "Other words for it.", words),
    (
        "when",
        "A condition such as `speed < 50 and kind == fiber`; the option is shown only if it holds.",
        string,
    ),
    (
        "set",
        "Slots and the values that choosing this gives them.",
        set,
    ),
];

const BRANCH: &[Explained] = &[
    ("when", "A condition such as `speed < 50`.", string),
    ("next_node", "The node it leads to; `null` ends.", then),
    (
        "then",
        "Makes it a sub-flow: when that ends, the session goes on here.",
        then,
    ),
];

const SLOT: &[Explained] = &[
    (
        "type",
        "What kind of answer fits; `text` if left out.",
        kind,
    ),
    (
        "description",
        "What stands beside `provide_more_info` when this is asked for.",
        text,
    ),
    ("invalid", "Said when an answer does not fit.", text),
    (
        "min",
        "The least number, or the first day as 2026-05-31.",
        limit,
    ),
    (
        "max",
        "The greatest number, the last day, or the most characters of a text.",
        limit,
    ),
    ("unit", "The unit of the number.", string),
    (
        "units",
        "Other units an answer may be in, and what one of each is worth.",
        units,
    ),
    ("choices", "The answers to choose from.", choices),
    ("yes", "What stands beside the option `yes`.", text),
    ("no", "What stands beside the option `no`.", text),
    ("yes_words", "More words that mean yes.", words),
    ("no_words", "More words that mean no.", words),
];

const CHOICE: &[Explained] = &[
    ("id", "The value that the slot then has.", id),
    ("description", "What the user sees.", text),
    ("keywords", "Other words for it.", words),
];

fn fields(explained: &[Explained]) -> Value {
    let field = |(name, about, takes): &Explained| {
        let mut schema = takes();
        schema["description"] = Value::from(*about);
        ((*name).to_owned(), schema)
    };
    Value::Object(explained.iter().map(field).collect::<Map<String, Value>>())
}

fn group(about: &str, explained: &[Explained], required: &[&str]) -> Value {
    let mut schema = json!({
        "description": about,
        "type": "object",
        "properties": fields(explained),
        "patternProperties": own(),
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// Fields of the author's own, which nobody reads.
fn own() -> Value {
    json!({"^(x-|\\$|_)": {}})
}

fn refer(to: &str) -> Value {
    json!({"$ref": format!("#/$defs/{to}")})
}

fn text() -> Value {
    refer("text")
}

fn words() -> Value {
    refer("words")
}

fn id() -> Value {
    refer("id")
}

fn next() -> Value {
    refer("next")
}

fn string() -> Value {
    json!({"type": ["string", "number", "boolean"]})
}

fn then() -> Value {
    json!({"type": ["string", "number", "boolean", "null"]})
}

fn truth() -> Value {
    json!({"enum": [true, false, "true", "false"]})
}

fn limit() -> Value {
    json!({"type": ["number", "string"]})
}

fn kind() -> Value {
    json!({"enum": slot_types()})
}

fn offer() -> Value {
    let words = [
        ("back", "Back to the question before this one."),
        ("restart", "Back to the beginning."),
        ("why", "The path so far."),
        ("provide_more_info", "The user says it in their own words."),
    ];
    let word = |(name, about): (&str, &str)| {
        (
            name.to_owned(),
            json!({"$ref": "#/$defs/text", "description": about}),
        )
    };
    let properties: Map<String, Value> = words.into_iter().map(word).collect();
    json!({"type": "object", "properties": properties, "patternProperties": own(), "additionalProperties": false})
}

fn synonyms() -> Value {
    json!({"anyOf": [
        {"type": "array", "items": {"$ref": "#/$defs/words"}},
        {"type": "object", "additionalProperties": {"$ref": "#/$defs/words"}},
    ]})
}

fn include() -> Value {
    json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})
}

fn slots() -> Value {
    json!({"type": "object", "propertyNames": {"pattern": "^[\\p{L}\\p{N}_]+$"}, "additionalProperties": {"$ref": "#/$defs/slot"}})
}

fn nodes() -> Value {
    json!({"type": "object", "propertyNames": {"minLength": 1}, "additionalProperties": {"$ref": "#/$defs/node"}})
}

fn options() -> Value {
    json!({"type": ["array", "null"], "items": {"$ref": "#/$defs/option"}})
}

fn choices() -> Value {
    json!({"type": "array", "items": {"$ref": "#/$defs/choice"}})
}

fn set() -> Value {
    json!({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}})
}

fn units() -> Value {
    json!({"type": "object", "additionalProperties": {"type": ["number", "string"]}})
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::{
        Format,
        base::known_fields,
        read::{self, Entry, Item, Kind},
    };

    fn value(item: &Item<'_>) -> Value {
        match &item.kind {
            Kind::Null => Value::Null,
            Kind::Bool(truth) => Value::from(*truth),
            Kind::Number(number) => serde_json::from_str(number).unwrap(),
            Kind::Text(text) => Value::from(&**text),
            Kind::List(items) => items.iter().map(value).collect(),
            Kind::Map(fields) => {
                let fields = fields.iter();
                fields
                    .map(|field| (field.key.to_string(), value(&field.value)))
                    .collect()
            }
        }
    }

    /// A file as an editor sees it.
    fn file(text: &str, format: Format) -> Value {
        let mut whole = json!({});
        read::read(text, format, &mut |entry| {
            match entry {
                Entry::Field(field) => whole[&*field.key] = value(&field.value),
                Entry::Node(field) => whole["nodes"][&*field.key] = value(&field.value),
            }
            Ok(())
        })
        .unwrap();
        whole
    }

    #[test]
    fn what_is_shipped_fits_the_schema() {
        let validator = jsonschema::validator_for(&schema()).unwrap();
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folders = ["home-network", "technology-investment"]
            .map(|name| here.join("../../knowledge").join(name));
        let entries = folders
            .iter()
            .flat_map(|folder| fs::read_dir(folder).unwrap());
        let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| !path.to_string_lossy().contains(".test."));
        assert_eq!(files.len(), 3, "{files:?}");
        files.push(here.join("tests/fixtures/document.json"));
        for path in files {
            let text = fs::read_to_string(&path).unwrap();
            let whole = file(&text, Format::of(&path).unwrap());
            let wrong: Vec<String> = validator
                .iter_errors(&whole)
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            assert!(wrong.is_empty(), "{}: {}", path.display(), wrong.join("\n"));
        }
    }

    #[test]
    fn the_schema_refuses_what_the_reader_refuses() {
        let validator = jsonschema::validator_for(&schema()).unwrap();
        for text in [
            r#"{"nodes": {"root": {"respose": "x"}}}"#,
            r#"{"nodes": [], "title": "x"}"#,
            r#"{"nodes": {"root": {"options": [{"description": "no id"}]}}}"#,
            r#"{"nodes": {"root": {}}, "slots": {"a b": {}}}"#,
            r#"{"nodes": {"root": {}}, "slots": {"a": {"type": "colour"}}}"#,
        ] {
            assert!(!validator.is_valid(&file(text, Format::Json)), "{text}");
            assert!(crate::load_text("k", text, Format::Json).is_err(), "{text}");
        }
    }

    #[test]
    fn every_field_that_is_read_is_explained_and_no_other() {
        let own = [TOP, NODE, OPTION, BRANCH, SLOT, CHOICE];
        for (explained, known) in own.into_iter().zip(known_fields()) {
            let names: Vec<&str> = explained.iter().map(|(name, _, _)| *name).collect();
            assert_eq!(names, known);
            let words = explained.iter().all(|(_, about, _)| about.ends_with('.'));
            assert!(words, "{names:?}");
        }
    }
}
