//! Arguments that headers repeat, as a tool's schema wants it (`x-mcp-header`).

use serde_json::Value;
use tollgate_core::{Fields, Payload};

/// Which properties are repeated: property and header, in lower case. A schema that breaks
/// the rules makes its tool unusable, so it says why.
pub(super) fn properties(schema: Option<&Value>) -> Result<Vec<(String, String)>, &'static str> {
    let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
    let mut found: Vec<(String, String)> = Vec::new();
    for (name, schema) in properties.into_iter().flatten() {
        let Some(header) = schema.get("x-mcp-header") else {
            continue;
        };
        let header = header.as_str().filter(|header| is_token(header));
        let header = header.ok_or("a header it wants has no proper name")?;
        if !is_plain(&schema["type"]) {
            return Err("a header it wants is for something that is no plain value");
        }
        let header = header.to_ascii_lowercase();
        if found.iter().any(|(_, other)| *other == header) {
            return Err("two headers it wants have one name");
        }
        found.push((name.clone(), header));
    }
    Ok(found)
}

/// What the headers of a call say.
pub(super) fn headers(wanted: &[(String, String)], arguments: &Payload) -> Vec<(String, String)> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let given: Fields<'_> = serde_json::from_str(arguments.raw()).unwrap_or_default();
    let each = |(property, header): &(String, String)| {
        let raw = given.get(property)?.get();
        let text = match raw.as_bytes().first()? {
            b'{' | b'[' | b'n' => return None,
            b'"' => serde_json::from_str(raw).ok()?,
            // A number may be longer than any that can be reckoned with.
            _ => raw.to_owned(),
        };
        Some((header.clone(), text))
    };
    wanted.iter().filter_map(each).collect()
}

fn is_token(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !name.is_empty() && name.len() <= 128 && name.chars().all(fits)
}

fn is_plain(kind: &Value) -> bool {
    let plain = |kind: &Value| kind == "string" || kind == "integer" || kind == "boolean";
    match kind.as_array() {
        Some(kinds) => kinds.iter().all(|kind| plain(kind) || kind == "null"),
        None => plain(kind),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_plain_values_with_proper_names_are_repeated() {
        let of = |properties: Value| {
            let schema = json!({"type": "object", "properties": properties});
            super::properties(Some(&schema))
        };
        let good = of(json!({"a": {"type": "string", "x-mcp-header": "One"},
                             "b": {"type": "integer", "x-mcp-header": "Two"}, "c": {}}));
        let good = good.unwrap();
        let expected = [("a", "one"), ("b", "two")];
        assert_eq!(good, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
        for header in ["", "a b", "a:b", "é", "a\tb"] {
            assert!(of(json!({"a": {"type": "string", "x-mcp-header": header}})).is_err());
        }
        for kind in ["object", "array", "null", "number"] {
            assert!(
                of(json!({"a": {"type": kind, "x-mcp-header": "A"}})).is_err(),
                "{kind}"
            );
        }
        assert!(
            of(json!({"a": {"type": "string", "x-mcp-header": "A"},
                      "b": {"type": "string", "x-mcp-header": "a"}}))
            .is_err()
        );
        let said = |arguments: &str| {
            let arguments = Payload::parse(arguments.to_owned()).unwrap();
            headers(&good, &arguments)
        };
        let one = |text: &str| ("one".to_owned(), text.to_owned());
        assert_eq!(said(r#"{"a": "x\n", "b": null}"#), [one("x\n")]);
        assert_eq!(
            said(r#"{"a": 12345678901234567890123}"#),
            [one("12345678901234567890123")]
        );
        assert_eq!(said(r#"{"a": true, "b": [1]}"#), [one("true")]);
    }
}
