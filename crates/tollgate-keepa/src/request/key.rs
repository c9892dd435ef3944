//! The key, and addresses that contain it.

use std::fmt;

/// What stands where a secret was.
const REDACTED: &str = "[REDACTED]";

/// An access key. It cannot be printed or serialised.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Takes a key as it was configured.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into().trim().to_owned())
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Takes the key out of a text that came from elsewhere, in plain and in percent-encoded form.
    pub fn scrub(&self, text: &str) -> String {
        if self.0.is_empty() {
            return text.to_owned();
        }
        text.replace(&self.0, REDACTED)
            .replace(&super::encode(&self.0), REDACTED)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(***)")
    }
}

/// An address with the key in it, for the transport alone.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretUrl(String);

impl SecretUrl {
    pub(super) fn new(url: String) -> Self {
        Self(url)
    }

    /// The address, for sending and for nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.0.split('?').next().unwrap_or_default();
        write!(f, "SecretUrl({path}?***)")
    }
}
