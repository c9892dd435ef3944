//! A JSON value as lines for people: names and values, lists as tables, texts as they are.

use serde_json::{Map, Value};

use tollgate_core::Capability;

use super::{table, visible, visible_lines};

/// How far parts of a value stand in.
const STEP: usize = 2;

/// The lines of a value, fitted to a width.
pub(super) fn lines(value: &Value, limit: Option<usize>) -> Vec<String> {
    match value {
        Value::Object(fields) => object(fields, limit),
        Value::Array(items) => list(items, limit),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text(value).lines().map(str::to_owned).collect()
        }
    }
}

/// Short values beside their names, the others below theirs.
fn object(fields: &Map<String, Value>, limit: Option<usize>) -> Vec<String> {
    let mut out = Vec::new();
    let mut short = Vec::new();
    for (name, value) in fields {
        if is_absent(value) {
            continue;
        }
        match shown(name, value) {
            Some(text) => short.push((visible(name), text)),
            None => {
                flush(&mut short, &mut out, limit);
                out.push(visible(name));
                let inner = limit.map(|limit| limit.saturating_sub(STEP));
                for line in lines(value, inner) {
                    out.push(format!("{:STEP$}{line}", "").trim_end().to_owned());
                }
            }
        }
    }
    flush(&mut short, &mut out, limit);
    out
}

/// Prints the names and values collected so far in two columns.
fn flush(short: &mut Vec<(String, String)>, out: &mut Vec<String>, limit: Option<usize>) {
    out.extend(table::pairs(short, limit));
    short.clear();
}

fn list(items: &[Value], limit: Option<usize>) -> Vec<String> {
    if let Some(columns) = columns(items) {
        let head: Vec<String> = columns.iter().map(|name| visible(name)).collect();
        let cell = |item: &Value, name: &str| {
            shown(name, item.get(name).unwrap_or(&Value::Null)).unwrap_or_default()
        };
        let rows: Vec<Vec<String>> = items
            .iter()
            .map(|item| columns.iter().map(|name| cell(item, name)).collect())
            .collect();
        let table = table::render(&head, &rows, limit, &[]);
        let head = table.head.into_iter();
        return head.chain(table.rows.into_iter().flatten()).collect();
    }
    if let Some(line) = in_a_line(&Value::Array(items.to_vec())) {
        return table::paragraph(&line, limit);
    }
    let inner = limit.map(|limit| limit.saturating_sub(STEP));
    let mut out = Vec::new();
    for item in items {
        for (at, line) in lines(item, inner).into_iter().enumerate() {
            let mark = if at == 0 { "- " } else { "  " };
            out.push(format!("{mark}{line}").trim_end().to_owned());
        }
    }
    out
}

/// The columns of a list of flat objects, in the order in which they first appear.
fn columns(items: &[Value]) -> Option<Vec<&str>> {
    let mut columns: Vec<&str> = Vec::new();
    for item in items {
        for (name, value) in item.as_object()? {
            in_a_line(value)?;
            if !is_absent(value) && !columns.contains(&name.as_str()) {
                columns.push(name);
            }
        }
    }
    (!columns.is_empty()).then_some(columns)
}

fn is_absent(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// A field in a line: the level of a tool has its meaning beside it.
fn shown(name: &str, value: &Value) -> Option<String> {
    let level = (name == "capability").then(|| serde_json::from_value::<Capability>(value.clone()));
    match level {
        Some(Ok(level)) => Some(level.described().to_owned()),
        Some(Err(_)) | None => in_a_line(value),
    }
}

/// A value without parts of its own, or a list of such values.
fn in_a_line(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.contains('\n') => None,
        Value::Array(items) => {
            let plain =
                |item: &Value| (!item.is_object() && !item.is_array()).then(|| in_a_line(item))?;
            let all: Option<Vec<String>> = items.iter().map(plain).collect();
            all.map(|all| all.join(", "))
        }
        Value::Object(fields) => fields.is_empty().then(String::new),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(text(value)),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => visible_lines(text),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_values_lists_and_texts_are_lines() {
        let value = json!({
            "kind": "ending", "error_code": null, "warnings": [],
            "tags": ["a", "b"],
            "steps": [{"id": "read", "ms": 3}, {"id": "write", "tries": 2}],
            "report": "# Title\n\nA text.",
            "nested": {"deep": {"n": 1.50}},
        });
        let shown = lines(&value, Some(40)).join("\n");
        insta::assert_snapshot!(shown, @r"
        kind  ending
        tags  a, b
        steps
          id     ms  tries
          read   3
          write      2
        report
          # Title

          A text.
        nested
          deep
            n  1.5
        ");
    }

    #[test]
    fn nothing_steers_the_terminal() {
        let value = json!({"a\u{1b}[2J": "b\u{1b}[2J", "c": ["\u{1b}"]});
        let shown = lines(&value, None).join("\n");
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
    }
}
