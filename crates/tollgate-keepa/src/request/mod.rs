//! What is sent to Keepa, built once for every entry.
//!
//! Invariant: a request holds no key. The key joins it in [`Request::url`], at the last moment, and what comes out of
//! that cannot be printed; so neither a log line nor a cache key made from a request can leak it.

mod build;
mod graph;
mod key;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

pub(crate) use build::two_selections;
pub use build::{build, check_selection};
pub use key::{ApiKey, SecretUrl};

/// Paths whose answers are about this moment, so that an earlier one would be wrong.
const ABOUT_NOW: [&str; 2] = ["/token", "/tracking"];

/// How it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Method {
    /// Everything in the address.
    #[serde(rename = "GET")]
    Get,
    /// With a body.
    #[serde(rename = "POST")]
    Post,
}

/// One request, without the key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Request {
    /// How it is sent.
    pub method: Method,
    /// The path.
    pub endpoint: String,
    /// What follows the question mark, by name.
    pub query: BTreeMap<String, String>,
    /// What is sent along.
    pub body: Option<Value>,
    /// Whether it changes anything: only what does not is ever sent twice.
    pub is_read: bool,
    /// Whether the answer is a picture.
    pub is_binary: bool,
    /// What the caller should know about how it was understood.
    pub warnings: Vec<&'static str>,
}

impl Request {
    /// A read of a path.
    pub fn get(endpoint: &str) -> Self {
        Self {
            method: Method::Get,
            endpoint: endpoint.to_owned(),
            query: BTreeMap::new(),
            body: None,
            is_read: true,
            is_binary: false,
            warnings: Vec::new(),
        }
    }

    fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.query.insert(name.to_owned(), value.to_string());
        self
    }

    /// Whether its answer may be used again: it changes nothing, is no picture and is not about this moment.
    pub fn may_be_kept(&self) -> bool {
        self.is_read && !self.is_binary && !self.is_about_now()
    }

    /// Whether its answer is true at this moment only.
    pub fn is_about_now(&self) -> bool {
        ABOUT_NOW.contains(&self.endpoint.as_str())
    }

    /// The whole address, with the key in it.
    pub fn url(&self, base: &str, key: &ApiKey) -> SecretUrl {
        let mut url = format!(
            "{}{}?key={}",
            base.trim_end_matches('/'),
            self.endpoint,
            encode(key.expose())
        );
        for (name, value) in &self.query {
            url.push('&');
            url.push_str(&encode(name));
            url.push('=');
            url.push_str(&encode(value));
        }
        SecretUrl::new(url)
    }

    /// A fingerprint of the parameters, the same for every key.
    pub fn params_hash(&self) -> String {
        let text = match &self.body {
            None => serde_json::to_string(&self.query),
            Some(body) => serde_json::to_string(&(&self.query, body)),
        };
        hex(text.unwrap_or_default().as_bytes())
    }
}

/// A fingerprint of a value: names sorted, compact, so that equal values have equal ones.
pub fn digest(value: &Value) -> String {
    hex(build::sorted(value).to_string().as_bytes())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Percent-encodes all but unreserved characters.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests;
