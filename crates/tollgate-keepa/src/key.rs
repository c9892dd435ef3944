//! The key under which a session finds an answer again.
//!
//! Invariants: consent and reuse are no part of it; the value of a name that could be a secret never is. The gate makes
//! the same key of the same parameters; a test holds them together.

use serde_json::{Map, Value};

use crate::{
    Command,
    request::digest,
    secrets::REDACTED,
    tool::{self, Spelling},
};

/// What is no part of a question.
const CONTROL: [&str; 2] = ["from_cache", "yes"];
/// Parts of names whose values could be secrets.
const SECRET: [&str; 5] = ["key", "token", "authorization", "password", "secret"];
const LENGTH: usize = 24;

/// The key of a command with these parameters.
pub fn cache_key(command: &str, params: &Map<String, Value>) -> String {
    let digest = digest(&plain(&Value::Object(params.clone())));
    format!("{command}:{}", digest.get(..LENGTH).unwrap_or(&digest))
}

/// The key a session keeps a call under, however the names of its parameters are spelled.
pub fn call_key(command: &str, params: &Map<String, Value>) -> String {
    let Some(known) = Command::named(command) else {
        return cache_key(command, params);
    };
    let spelling = Spelling::of(&tool::input(known));
    let named = params.iter().map(|(name, value)| {
        let own = spelling.own(name).unwrap_or_else(|| name.clone());
        (own, value.clone())
    });
    cache_key(command, &named.collect())
}

/// Whether a text could be such a key.
pub fn is_cache_key(text: &str) -> bool {
    text.split_once(':').is_some_and(|(command, digest)| {
        digest.len() == LENGTH
            && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
            && Command::named(command).is_some()
    })
}

fn plain(value: &Value) -> Value {
    if let Some(map) = value.as_object() {
        let kept = map
            .iter()
            .filter(|(name, _)| !CONTROL.contains(&name.as_str()));
        let kept = kept.map(|(name, value)| {
            let lower = name.to_ascii_lowercase();
            let value = if SECRET.iter().any(|part| lower.contains(part)) {
                Value::from(REDACTED)
            } else {
                plain(value)
            };
            (name.clone(), value)
        });
        return Value::Object(kept.collect());
    }
    match value.as_array() {
        Some(all) => all.iter().map(plain).collect(),
        None => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(command: &str, params: Value) -> String {
        cache_key(command, params.as_object().unwrap())
    }

    #[test]
    fn a_published_key() {
        let params = json!({"limit": 5, "category": "1055398", "domain": "US", "fixture": "bestsellers_home.json", "yes": true});
        assert_eq!(
            of("categories.products", params),
            "categories.products:6f25fe463674001668f4a5df"
        );
    }

    #[test]
    fn a_call_has_one_key_however_its_names_are_spelled() {
        let key = |params: Value| call_key("products.get", params.as_object().unwrap());
        let plain = key(json!({"asin": "B0FIXTURE1", "history_limit": 2}));
        assert_eq!(
            plain,
            key(json!({"history-limit": 2, "asin": "B0FIXTURE1"}))
        );
        assert_eq!(
            plain,
            of(
                "products.get",
                json!({"asin": "B0FIXTURE1", "history_limit": 2})
            )
        );
        assert_eq!(
            call_key("nope.cmd", &Map::new()),
            "nope.cmd:44136fa355b3678a1146ad16"
        );
    }

    #[test]
    fn consent_and_secrets_are_no_part_of_it() {
        let plain = of(
            "finder.query",
            json!({"selection": {"a": 1}, "max_tokens": 5}),
        );
        assert_eq!(
            plain,
            of(
                "finder.query",
                json!({"max_tokens": 9, "yes": true, "selection": {"a": 1, "from_cache": "x"}})
            )
        );
        assert_ne!(
            plain,
            of(
                "finder.query",
                json!({"selection": {"a": 2}, "max_tokens": 5})
            )
        );
        assert!(is_cache_key(&plain));
        assert!(!is_cache_key("nope.cmd:44136fa355b3678a1146ad16"));
        assert!(!is_cache_key("products.get:44"));
    }
}
