//! Takes secrets out of values that are shown or kept.
//!
//! The key of an account is never in a value to begin with; this is for what people record and send along.

use serde_json::Value;

/// What stands where a secret was.
pub const REDACTED: &str = "[REDACTED]";
/// Names whose values are secrets.
const NAMES: [&str; 5] = ["key", "api_key", "apikey", "token", "authorization"];

/// Whether a value under this name is a secret.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.contains(&name.as_str())
}

/// The value without secrets.
pub fn redacted(value: &Value) -> Value {
    let mut names = Vec::new();
    redact(value, &mut names)
}

/// The value without secrets, and the names they stood under.
pub fn redact(value: &Value, found: &mut Vec<String>) -> Value {
    if let Some(map) = value.as_object() {
        let clean = map.iter().map(|(name, value)| {
            if is_secret(name) && !value.is_null() {
                if !found.contains(name) {
                    found.push(name.clone());
                }
                return (name.clone(), Value::from(REDACTED));
            }
            let value = match value.as_str() {
                Some(text) if name.to_ascii_lowercase().ends_with("url") => {
                    let clean = address(text);
                    if clean != text && !found.contains(name) {
                        found.push(name.clone());
                    }
                    Value::from(clean)
                }
                _ => redact(value, found),
            };
            (name.clone(), value)
        });
        return Value::Object(clean.collect());
    }
    match value.as_array() {
        Some(all) => all.iter().map(|one| redact(one, found)).collect(),
        None => value.clone(),
    }
}

/// An address without the secrets in its query, and without a name and password before its host.
pub fn address(text: &str) -> String {
    let (path, query) = match text.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (text, None),
    };
    let path = anonymous(path);
    let Some(query) = query else {
        return path;
    };
    let pairs: Vec<String> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some((name, _)) if is_secret(name) || name.to_ascii_lowercase().contains("secret") => {
                format!("{name}={REDACTED}")
            }
            _ => pair.to_owned(),
        })
        .collect();
    format!("{path}?{}", pairs.join("&"))
}

fn anonymous(path: &str) -> String {
    let Some((scheme, rest)) = path.split_once("://") else {
        return path.to_owned();
    };
    let (host, below) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    match host.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{REDACTED}@{host}{below}"),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_go_at_every_depth_and_twice_is_once() {
        let value = json!({
            "API_KEY": "s1", "tokensLeft": 5,
            "requests": [{"url": "https://x.test/product?key=s2&asin=B0", "Authorization": "s3"}],
        });
        let mut names = Vec::new();
        let clean = redact(&value, &mut names);
        let text = clean.to_string();
        assert!(
            !["s1", "s2", "s3"]
                .iter()
                .any(|secret| text.contains(secret)),
            "{text}"
        );
        assert_eq!(clean["tokensLeft"], 5);
        assert_eq!(names.len(), 3);
        assert_eq!(redacted(&clean), clean);
    }

    #[test]
    fn addresses_lose_their_secrets_and_nothing_else() {
        let cases = [
            ("https://x.test/a@b", "https://x.test/a@b"),
            ("https://x.test/a?b=c@d", "https://x.test/a?b=c@d"),
            ("https://me:pw@x.test/a", "https://[REDACTED]@x.test/a"),
            ("https://me:pw@x.test?a", "https://[REDACTED]@x.test?a"),
            ("/a?token=1&b=2", "/a?token=[REDACTED]&b=2"),
        ];
        for (given, expected) in cases {
            assert_eq!(address(given), expected);
            assert_eq!(address(expected), expected);
        }
    }
}
