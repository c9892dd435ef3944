//! Secrets stay out of every answer of their session, also where a form puts them into an address
//! or a page shows them again: what was typed into fields for secrets, and what such fields held.
//!
//! Invariant: a secret that this session knows leaves it in no text, as it is or as an address
//! spells it, unless it is so short that it could be any word (see [`Reach`]).

mod text;

use serde_json::Value;
use tollgate_core::{Answer, Payload, ProviderError, ToolCall};

use text::{Reach, without_all};
pub(super) use text::{hidden, readings};

/// What stands for a secret.
pub(super) const HIDDEN: &str = "********";
/// Names of what a field holds.
const VALUES: &[&str] = &["value", "defaultValue"];
/// Names of what is ours and no page wrote; a number there is no secret.
const OURS: &[&str] = &[
    "activeTabId",
    "artifactId",
    "nextCursor",
    "path",
    "sessionId",
    "since",
    "tabId",
    "view",
];

/// The secrets that a call types. Signs that are typed one by one are a secret together.
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
    found.retain(|secret| !secret.is_empty());
    let is_sign = |it: &&str| Reach::of(it) == Reach::Value;
    let signs: Vec<&str> = found.iter().copied().filter(is_sign).collect();
    let together = (signs.len() > 1).then(|| signs.concat());
    let all = found.into_iter().map(str::to_owned);
    all.chain(together).collect()
}

/// Takes secrets out of what a call came to.
pub(super) fn hide(answer: &mut Result<Answer, ProviderError>, secrets: &[String]) {
    if secrets.is_empty() {
        return;
    }
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
                hide_value(value, secrets, Place::default());
            }
        }
    }
}

fn hide_in(payload: &mut Payload, secrets: &[String]) {
    let mut value = payload.value().clone();
    if hide_value(&mut value, secrets, Place::default()) {
        *payload = value.into();
    }
}

/// What a value of an answer is.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// Something that the caller's script gave.
    is_given: bool,
    /// All of what a field holds.
    is_value: bool,
    is_ours: bool,
}

impl Place {
    fn below(self, name: &str) -> Self {
        let is_given = self.is_given || name == "result";
        Self {
            is_given,
            is_value: is_given || VALUES.contains(&name),
            is_ours: !is_given && OURS.contains(&name),
        }
    }
}

/// Whether there was anything to hide.
fn hide_value(value: &mut Value, secrets: &[String], place: Place) -> bool {
    let shown = match value {
        Value::String(text) => without_all(text, secrets, place).map(Value::String),
        Value::Number(number) if place.is_given => {
            let text = number.to_string();
            let is_secret = |it: &&String| Reach::of(it) != Reach::Value && **it == text;
            let secret = secrets.iter().find(is_secret);
            secret.map(|_| Value::String(HIDDEN.to_owned()))
        }
        Value::Array(all) => {
            let mut found = false;
            for it in all {
                found |= hide_value(it, secrets, place);
            }
            return found;
        }
        Value::Object(all) => {
            let mut found = false;
            for (name, it) in all {
                found |= hide_value(it, secrets, place.below(name));
            }
            return found;
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    };
    let Some(shown) = shown else {
        return false;
    };
    *value = shown;
    true
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
                vec!["4711"],
            ),
            (
                "browser.type_text",
                json!({"element_id": "secret_Pin_4", "text": "471147"}),
                vec!["471147"],
            ),
            (
                "browser.type_text",
                json!({"element_id": "secret_Pin_4", "text": "a1"}),
                vec!["a1"],
            ),
            (
                "browser.type_text",
                json!({"element_id": "secret_Pin_4", "text": ""}),
                vec![],
            ),
            (
                "browser.fill_form",
                json!({"fields": [{"element_id": "secret_a_1", "value": "4"}, {"element_id": "input_b_2", "value": "x"}, {"element_id": "secret_c_3", "value": "71"}]}),
                vec!["4", "71", "471"],
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

    #[test]
    fn fields_and_what_scripts_give_hide_the_shortest_secrets_too() {
        let secrets = ["12".to_owned(), "473".to_owned()];
        let answer = json!({
            "elements": [{"label": "12", "state": {"value": "12"}}, {"state": {"value": "473 12"}}],
            "nextCursor": "473", "tabId": "473", "size": 473,
            "result": {"all": ["12", 473, 12, "at 12"]},
        });
        let mut value = answer;
        assert!(hide_value(&mut value, &secrets, Place::default()));
        assert_eq!(
            value,
            json!({
                "elements": [{"label": "12", "state": {"value": HIDDEN}}, {"state": {"value": "******** 12"}}],
                "nextCursor": "473", "tabId": "473", "size": 473,
                "result": {"all": [HIDDEN, HIDDEN, 12, "at 12"]},
            })
        );
        assert!(!hide_value(&mut value, &secrets, Place::default()));
    }
}
