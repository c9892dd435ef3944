//! What was typed into fields for secrets stays out of every answer of its session, also where a
//! form puts it into an address or a page shows it again.
//!
//! Invariant: a secret that this session was given leaves it in no text, as it is or as an
//! address spells it.

use serde_json::Value;
use tollgate_core::{Answer, Payload, ProviderError, ToolCall};

use crate::escape::unescaped;

/// What stands for a secret.
pub(super) const HIDDEN: &str = "********";
/// What ends a part of an address, or of a text that quotes one.
const ENDS: &[char] = &[
    '?', '#', '&', ';', '=', '/', ' ', '\n', '"', '\'', '<', '>', '(', ')', ',',
];
/// Shorter texts are parts of too many others.
const SHORTEST: usize = 4;
/// The same of numbers.
const SHORTEST_NUMBER: usize = 6;

/// The secrets that a call types.
pub(super) fn typed(call: &ToolCall) -> Vec<String> {
    let tool = call.tool.as_str().trim_start_matches("browser.");
    if !matches!(tool, "type_text" | "set_value" | "fill_form" | "log_in") {
        return Vec::new();
    }
    let arguments = call.arguments.value();
    let fields = arguments["fields"].as_array().into_iter().flatten();
    let mut found: Vec<&str> = Vec::new();
    for field in fields.chain([arguments]) {
        let id = field["element_id"].as_str().unwrap_or_default();
        if id.starts_with("secret_") {
            found.extend(["text", "value"].iter().filter_map(|it| field[it].as_str()));
        }
    }
    found.extend(arguments["credentials"]["password"].as_str());
    found.retain(|secret| {
        let is_number = secret.bytes().all(|byte| byte.is_ascii_digit());
        let shortest = if is_number { SHORTEST_NUMBER } else { SHORTEST };
        secret.chars().count() >= shortest
    });
    found.into_iter().map(str::to_owned).collect()
}

/// Takes secrets out of what a call came to.
pub(super) fn hide(answer: &mut Result<Answer, ProviderError>, secrets: &[String]) {
    match answer {
        Ok(Answer::Done(result)) => {
            hide_in(&mut result.payload, secrets);
            if let Some(whole) = &mut result.whole {
                hide_in(whole, secrets);
            }
        }
        Ok(Answer::NeedsInput(_)) => {}
        Err(error) => {
            error.message = hidden(&error.message, secrets).unwrap_or(error.message.clone());
            for text in [&mut error.detail, &mut error.suggestion] {
                if let Some(shown) = text.as_ref().and_then(|it| hidden(it, secrets)) {
                    *text = Some(shown);
                }
            }
            for value in error.details.values_mut() {
                hide_value(value, secrets);
            }
        }
    }
}

fn hide_in(payload: &mut Payload, secrets: &[String]) {
    let mut value = payload.value().clone();
    if hide_value(&mut value, secrets) {
        *payload = value.into();
    }
}

/// Whether there was anything to hide.
fn hide_value(value: &mut Value, secrets: &[String]) -> bool {
    match value {
        Value::String(text) => match hidden(text, secrets) {
            Some(shown) => {
                *text = shown;
                true
            }
            None => false,
        },
        Value::Array(all) => hide_all(all.iter_mut(), secrets),
        Value::Object(all) => hide_all(all.values_mut(), secrets),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn hide_all<'v>(all: impl Iterator<Item = &'v mut Value>, secrets: &[String]) -> bool {
    let mut found = false;
    for value in all {
        found |= hide_value(value, secrets);
    }
    found
}

/// A text without these secrets, if it has one.
pub(super) fn hidden(text: &str, secrets: &[String]) -> Option<String> {
    let mut shown = text.to_owned();
    for secret in secrets {
        if shown.contains(secret.as_str()) {
            shown = shown.replace(secret.as_str(), HIDDEN);
        }
        if !shown.contains(['%', '+']) {
            continue;
        }
        let mut parts = String::new();
        for part in shown.split_inclusive(ENDS) {
            let (part, end) = part.split_at(part.trim_end_matches(ENDS).len());
            let is_secret = readings(part).any(|meant| meant.contains(secret.as_str()));
            parts.extend([if is_secret { HIDDEN } else { part }, end]);
        }
        shown = parts;
    }
    (shown != text).then_some(shown)
}

/// What a part of an address can mean.
pub(super) fn readings(part: &str) -> impl Iterator<Item = String> {
    let filled_in = part.replace('+', " ");
    let meant = [unescaped(part), unescaped(&filled_in)];
    meant.into_iter().flatten().chain([part.to_owned()])
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tollgate_core::{CallId, ToolName, ToolResult};

    use super::*;

    fn call(tool: &str, arguments: Value) -> ToolCall {
        ToolCall {
            id: CallId("c".into()),
            tool: ToolName::new(tool).unwrap(),
            arguments: arguments.into(),
        }
    }

    #[test]
    fn what_is_typed_into_secret_fields_is_a_secret() {
        for (tool, arguments, expected) in [
            (
                "browser.type_text",
                json!({"element_id": "secret_Word_4", "text": "sesame"}),
                vec!["sesame"],
            ),
            (
                "browser.set_value",
                json!({"element_id": "secret_Word_4", "value": "sesame"}),
                vec!["sesame"],
            ),
            (
                "browser.type_text",
                json!({"element_id": "input_Word_4", "text": "sesame"}),
                vec![],
            ),
            (
                "browser.fill_form",
                json!({"fields": [{"element_id": "input_a_1", "value": "anna"}, {"element_id": "secret_b_2", "value": "sesame"}]}),
                vec!["sesame"],
            ),
            (
                "browser.log_in",
                json!({"credentials": {"username": "anna", "password": "sesame"}}),
                vec!["sesame"],
            ),
            (
                "browser.navigate",
                json!({"element_id": "secret_Word_4", "text": "sesame"}),
                vec![],
            ),
            (
                "browser.type_text",
                json!({"element_id": "secret_Pin_4", "text": "4711"}),
                vec![],
            ),
            (
                "browser.type_text",
                json!({"element_id": "secret_Pin_4", "text": "471147"}),
                vec!["471147"],
            ),
            (
                "browser.type_text",
                json!({"element_id": "secret_Pin_4", "text": "a1"}),
                vec![],
            ),
        ] {
            assert_eq!(
                typed(&call(tool, arguments.clone())),
                expected,
                "{arguments}"
            );
        }
    }

    #[test]
    fn an_answer_shows_no_secret_however_it_is_spelled() {
        let secrets = ["open sesame&4711".to_owned(), "naïve+key".to_owned()];
        let shown = json!({
            "url": "http://x/go?u=anna&p=open+sesame%264711#top",
            "log": [{"text": "sent open sesame&4711 to http://x/open%20sesame%264711/in"}],
            "other": "http://x/?k=na%C3%AFve%2Bkey and naïve+key",
            "plain": "50% off + more", "number": 4711,
        });
        let mut answer = Ok(Answer::Done(ToolResult::ok(shown.clone().into())));
        hide(&mut answer, &secrets);
        let Ok(Answer::Done(result)) = answer else {
            panic!("{answer:?}");
        };
        assert_eq!(
            *result.payload.value(),
            json!({
                "url": "http://x/go?u=anna&p=********#top",
                "log": [{"text": "sent ******** to http://x/********/in"}],
                "other": "http://x/?k=******** and ********",
                "plain": "50% off + more", "number": 4711,
            })
        );
        let mut failed = Err(ProviderError::rejected("no page at /open+sesame%264711"));
        hide(&mut failed, &secrets);
        assert_eq!(failed.unwrap_err().message, "no page at /********");
    }
}
