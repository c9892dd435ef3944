//! `tollgate tools show` for people: what a tool does, what it takes and what it answers.

use serde_json::Value;
use tollgate_core::Capability;
use tollgate_engine::Outcome;

use super::{Scene, Stop, call};
use crate::frontends::cli::console::Paint;

/// Which column says whether something has to be there.
const NEEDED: usize = 2;
/// How deep the parts of arguments and answers are shown.
const DEPTH: usize = 3;

pub(super) fn show(outcome: &Outcome, scene: &Scene<'_>) -> Result<(), Stop> {
    let envelope = outcome.envelope.get();
    let console = scene.console;
    let Some(data) = envelope.data.as_ref().filter(|_| !console.is_json()) else {
        return call::show(outcome, scene);
    };
    let data = data.value();
    let title = format!("{}  {}", text(&data["name"]), text(&data["title"]));
    console.line(&console.paint(Paint::Strong, title.trim_end()))?;
    for line in text(&data["description"]).lines() {
        console.paragraph(line)?;
    }
    console.table(&["", ""], &facts(data))?;
    section("takes", "ARGUMENT", &data["input_schema"], scene)?;
    section("answers", "FIELD", answer(&data["output_schema"]), scene)?;
    console.note(&console.paint_note(Paint::Faint, "--json shows the schemas as they are"));
    Ok(())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// What is known of the tool beside its schemas.
fn facts(data: &Value) -> Vec<Vec<String>> {
    let capability: Option<Capability> = serde_json::from_value(data["capability"].clone()).ok();
    let hints = data["annotations"].as_object().into_iter().flatten();
    let hints: Vec<String> = hints
        .filter(|(_, holds)| **holds == true)
        .map(|(name, _)| name.replace('_', " "))
        .collect();
    let toolsets = data["toolsets"].as_array().into_iter().flatten();
    let toolsets: Vec<String> = toolsets.map(text).collect();
    let asks = match data["requires_confirm"].as_bool() {
        Some(true) => "a human, each time",
        _ => "",
    };
    let timeout = data["timeout_ms"].as_u64();
    let rows = [
        (
            "can",
            capability.map_or(String::new(), |it| it.described().to_owned()),
        ),
        ("is", hints.join(", ")),
        ("risk", text(&data["risk_level"])),
        ("asks", asks.to_owned()),
        ("provider", text(&data["provider"])),
        ("toolsets", toolsets.join(", ")),
        (
            "timeout",
            timeout.map_or(String::new(), |ms| format!("{ms} ms")),
        ),
    ];
    let rows = rows.into_iter().filter(|(_, value)| !value.is_empty());
    rows.map(|(name, value)| vec![name.to_owned(), value])
        .collect()
}

/// The tool's own object, where the schema is one of an envelope around it.
fn answer(schema: &Value) -> &Value {
    let inner = &schema["properties"]["data"];
    let is_envelope = schema["properties"]["budget_ledger"].is_object();
    let mut choices = inner["anyOf"].as_array().into_iter().flatten();
    match choices.find(|choice| choice["properties"].is_object()) {
        Some(own) if is_envelope => own,
        _ if is_envelope => inner,
        _ => schema,
    }
}

/// The properties of a schema as a table.
fn section(label: &str, head: &str, schema: &Value, scene: &Scene<'_>) -> Result<(), Stop> {
    let mut rows = Vec::new();
    properties(schema, schema, "", DEPTH, &mut rows);
    if rows.is_empty() {
        return Ok(());
    }
    let console = scene.console;
    console.line(&console.paint(Paint::Faint, label))?;
    let mut head = vec![head, "TYPE", "NEEDED", "WHAT"];
    if rows
        .iter()
        .all(|row| row.get(NEEDED).is_none_or(String::is_empty))
    {
        head.remove(NEEDED);
        for row in &mut rows {
            row.remove(NEEDED);
        }
    }
    Ok(console.table(&head, &rows)?)
}

fn properties(
    schema: &Value,
    root: &Value,
    above: &str,
    depth: usize,
    rows: &mut Vec<Vec<String>>,
) {
    let schema = resolved(schema, root);
    let needed = schema["required"].as_array().into_iter().flatten();
    let needed: Vec<&Value> = needed.collect();
    for (name, own) in schema["properties"].as_object().into_iter().flatten() {
        let own = resolved(own, root);
        let path = format!("{above}{name}");
        // What has a default can be left out, whatever its schema says.
        let is_needed = needed.iter().any(|one| *one == name) && own.get("default").is_none();
        rows.push(vec![
            path.clone(),
            kind(own, root),
            if is_needed { "yes" } else { "" }.to_owned(),
            about(own),
        ]);
        if depth > 1 {
            properties(own, root, &format!("{path}."), depth - 1, rows);
            let items = resolved(&own["items"], root);
            properties(items, root, &format!("{path}[]."), depth - 1, rows);
        }
    }
}

/// What a reference within the schema leads to.
fn resolved<'s>(schema: &'s Value, root: &'s Value) -> &'s Value {
    let reference = schema["$ref"].as_str();
    let pointer = reference.and_then(|reference| reference.strip_prefix('#'));
    let found = pointer.and_then(|pointer| root.pointer(pointer));
    found.unwrap_or(schema)
}

/// The types a value may have.
fn kind(schema: &Value, root: &Value) -> String {
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values.iter().map(plain).collect();
        return values.join(", ");
    }
    let names: Vec<String> = match &schema["type"] {
        Value::String(name) => vec![name.clone()],
        Value::Array(names) => names.iter().map(plain).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            let choices = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
            let choices = choices.into_iter().flatten();
            choices
                .map(|choice| kind(resolved(choice, root), root))
                .collect()
        }
    };
    let names: Vec<String> = names.into_iter().filter(|name| name != "null").collect();
    if names == ["array"] {
        let items = kind(resolved(&schema["items"], root), root);
        return format!("list of {items}")
            .trim_end_matches(" of ")
            .to_owned();
    }
    names.join(" or ")
}

/// What a property is for, and the bounds that hold.
fn about(schema: &Value) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(schema["description"].as_str().map(str::to_owned));
    let bounds = [
        ("default", "default"),
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("format", "format"),
    ];
    let bounds: Vec<String> = bounds
        .iter()
        .filter(|(name, _)| !schema[*name].is_null())
        .map(|(name, word)| format!("{word} {}", plain(&schema[*name])))
        .collect();
    if !bounds.is_empty() {
        parts.push(format!("({})", bounds.join(", ")));
    }
    parts.join(" ")
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
