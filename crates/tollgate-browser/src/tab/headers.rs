//! What was sent and received beside the bodies, as little of it as says the same.
//!
//! Invariant: what tells of a secret is never kept, so whoever reads it cannot give it away.
//! Requests of a page say nearly the same; each of a few hundred in every tab with words of its
//! own would take more room than all the rest that is known of a page.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use serde_json::Value;

use super::logs::cut;

/// The longest value.
const LONGEST: usize = 500;
/// Among how many texts it is looked for one that says the same.
const REMEMBERED: usize = 16;
/// Stands after every name and every value, and in none of them.
const END: char = '\0';

/// What the name of a header has in it whose value is a secret.
const SECRET: &[&str] = &[
    "auth",
    "cookie",
    "credential",
    "csrf",
    "key",
    "password",
    "secret",
    "session",
    "signature",
    "token",
    "xsrf",
];
/// Names of that kind that say nothing secret.
const PLAIN: &[&str] = &[
    ":authority",
    "sec-websocket-key",
    "www-authenticate",
    "proxy-authenticate",
];

fn is_secret(name: &str) -> bool {
    !PLAIN.contains(&name) && SECRET.iter().any(|word| name.contains(word))
}

/// The headers of a request and of its answer, secrets left out.
#[derive(Debug, Clone, Default)]
pub struct Headers {
    pub(crate) sent: Option<Arc<str>>,
    pub(crate) received: Option<Arc<str>>,
}

impl Headers {
    /// Names in lower case, and values: what was sent, then what was received.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let texts = [&self.sent, &self.received].into_iter().flatten();
        texts.flat_map(|text| {
            let mut words = text.split_terminator(END);
            std::iter::from_fn(move || Some((words.next()?, words.next()?)))
        })
    }
}

/// Texts that the next requests may say as well.
#[derive(Debug, Default)]
pub(crate) struct Said(VecDeque<Arc<str>>);

impl Said {
    pub(crate) fn share(&mut self, headers: &BTreeMap<String, Value>) -> Option<Arc<str>> {
        let mut text = String::new();
        for (name, value) in headers {
            let name = name.to_ascii_lowercase().replace(END, "");
            let value = match is_secret(&name) {
                true => "********".to_owned(),
                false => cut(value.as_str().unwrap_or_default(), LONGEST).replace(END, ""),
            };
            text.extend([name.as_str(), "\0", value.as_str(), "\0"]);
        }
        if text.is_empty() {
            return None;
        }
        if let Some(same) = self.0.iter().find(|it| ***it == *text) {
            return Some(Arc::clone(same));
        }
        let text: Arc<str> = text.into();
        self.0.push_back(Arc::clone(&text));
        if self.0.len() > REMEMBERED {
            self.0.pop_front();
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(said: &mut Said, pairs: &[(&str, &str)]) -> Headers {
        let all = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!(value)));
        Headers {
            sent: said.share(&all.collect()),
            received: None,
        }
    }

    #[test]
    fn headers_that_tell_of_a_secret_are_hidden() {
        let all = [
            "Authorization",
            "Cookie",
            "Set-Cookie",
            "Proxy-Authorization",
            "X-Api-Key",
            "apikey",
            "X-Auth-Token",
            "X-CSRF-Token",
            "X-XSRF-TOKEN",
            "X-Amz-Security-Token",
            "X-Session-Id",
            "X-Client-Secret",
            "X-Hub-Signature-256",
        ];
        let sent = shown(&mut Said::default(), &all.map(|name| (name, "sesame")));
        assert_eq!(sent.iter().count(), all.len());
        for (name, value) in sent.iter() {
            assert_eq!(value, "********", "{name}");
        }
        let plain = [
            "accept",
            "content-type",
            "user-agent",
            "www-authenticate",
            "etag",
        ];
        let sent = shown(&mut Said::default(), &plain.map(|name| (name, "plain")));
        assert_eq!(sent.iter().count(), plain.len());
        for (name, value) in sent.iter() {
            assert_eq!(value, "plain", "{name}");
        }
    }

    #[test]
    fn who_says_the_same_says_it_in_the_same_place() {
        let mut said = Said::default();
        let first = shown(
            &mut said,
            &[("Accept", "*/*"), ("Empty", ""), ("X", "a\0b\nc")],
        );
        let pairs = [("accept", "*/*"), ("empty", ""), ("x", "ab\nc")];
        assert_eq!(first.iter().collect::<Vec<_>>(), pairs);
        let same = shown(
            &mut said,
            &[("accept", "*/*"), ("empty", ""), ("x", "ab\nc")],
        );
        assert!(Arc::ptr_eq(&first.sent.unwrap(), &same.sent.unwrap()));
        assert!(shown(&mut said, &[]).sent.is_none());
        for number in 0..100 {
            shown(&mut said, &[("number", &number.to_string())]);
        }
        assert_eq!(said.0.len(), REMEMBERED);
    }
}
