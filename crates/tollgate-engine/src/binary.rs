//! Binary content inside JSON, kept away from rules that are made for text.
//!
//! An image in base64 holds every pattern there is. Only what says its type, and
//! really is base64, counts as binary; everything else is text and is cleaned.

use serde_json::Value;
use tollgate_core::Payload;

/// A payload whose binary content was taken out.
pub(crate) struct Emptied {
    /// The payload with a word in the place of each content.
    pub(crate) payload: Payload,
    taken: Vec<String>,
}

/// Takes binary content out; nothing if there is none.
pub(crate) fn take(payload: &Payload) -> Option<Emptied> {
    if !payload.raw().contains("\"mimeType\"") {
        return None;
    }
    let mut found = Vec::new();
    collect(payload.value(), &mut found);
    let mut text = payload.raw().to_owned();
    let mut taken = Vec::new();
    for content in found {
        let quoted = format!("\"{content}\"");
        let word = word(taken.len());
        let Some(start) = find(&text, &quoted) else {
            continue;
        };
        let end = start + quoted.len();
        if !text[..start].contains(&word) && !text[end..].contains(&word) {
            text.replace_range(start..end, &word);
            taken.push(quoted);
        }
    }
    let payload = Payload::parse(text).ok().filter(|_| !taken.is_empty())?;
    Some(Emptied { payload, taken })
}

impl Emptied {
    /// Puts the content back.
    pub(crate) fn refill(&self, clean: &Payload) -> Option<Payload> {
        let mut text = clean.raw().to_owned();
        for (number, content) in self.taken.iter().enumerate() {
            text = text.replacen(&word(number), content, 1);
        }
        Payload::parse(text).ok()
    }
}

/// Where the content stands. It is looked for by its beginning: to prepare a search for
/// the whole of it takes longer than everything else.
fn find(text: &str, quoted: &str) -> Option<usize> {
    const BEGINNING: usize = 64;
    let beginning = quoted.get(..BEGINNING)?;
    text.match_indices(beginning)
        .map(|(at, _)| at)
        .find(|at| text[*at..].starts_with(quoted))
}

fn word(number: usize) -> String {
    format!("\"(binary content {number})\"")
}

fn collect<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            if fields.get("mimeType").is_some_and(Value::is_string) {
                let contents = ["data", "blob"]
                    .into_iter()
                    .filter_map(|name| fields.get(name));
                found.extend(
                    contents
                        .filter_map(Value::as_str)
                        .filter(|it| is_base64(it)),
                );
            }
            fields.values().for_each(|value| collect(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| collect(value, found)),
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() >= 64
        && text.len() - body.len() <= 2
        && body
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_typed_base64_is_binary() {
        let content = "QUtJ".repeat(20);
        let typed =
            format!(r#"{{"type":"image","mimeType":"image/png","data":"{content}","x":1.50}}"#);
        let typed = Payload::parse(typed).unwrap();
        let emptied = take(&typed).unwrap();
        assert!(!emptied.payload.raw().contains("QUtJ"));
        assert_eq!(emptied.refill(&emptied.payload).unwrap(), typed);
        // Contents that begin alike, and one that stands there twice.
        let (one, other) = (format!("{content}QUtK"), format!("{content}QUtM"));
        let several = format!(
            r#"[{{"mimeType":"a/b","data":"{one}"}},{{"mimeType":"a/b","blob":"{other}"}},{{"mimeType":"a/b","data":"{one}"}}]"#
        );
        let several = Payload::parse(several).unwrap();
        let emptied = take(&several).unwrap();
        assert!(!emptied.payload.raw().contains("QUt"));
        assert_eq!(emptied.refill(&emptied.payload).unwrap(), several);
        for text in [
            format!(r#"{{"data":"{content}"}}"#),
            r#"{"mimeType":"text/plain","data":"call me at 13800138000"}"#.to_owned(),
            r#"{"mimeType":"image/png","data":"AKIAIOSFODNN7EXAMPLE"}"#.to_owned(),
        ] {
            assert!(
                take(&Payload::parse(text.clone()).unwrap()).is_none(),
                "{text}"
            );
        }
    }
}
