//! References to secrets; the secret itself is read at the last moment and never kept here.

use std::{fmt, path::PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};
use tollgate_core::Secret;
use tollgate_sanitize::{Kind, Sanitizer};

use super::env::Environment;

/// The longest file a secret is read from.
const MAX_SECRET_BYTES: u64 = 64 * 1024;

/// Where a secret is to be found: `env:NAME` or `file:PATH`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecretRef {
    /// An environment variable.
    Env(String),
    /// A file whose content, without the newline at its end, is the secret.
    File(PathBuf),
}

/// A variable of a program's environment: a reference to a secret, or a value that is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvValue {
    /// Where the secret is to be found.
    Reference(SecretRef),
    /// The value itself.
    Plain(String),
}

/// The last words of names whose values are secrets whatever they look like.
const SECRET_ENDS: [&str; 9] = [
    "key",
    "token",
    "secret",
    "password",
    "passwd",
    "pwd",
    "pat",
    "credentials",
    "authorization",
];

/// Whether a value looks like a secret, or has the name of one.
pub(crate) fn looks_secret(name: &str, value: &str) -> bool {
    let lower = name.to_lowercase();
    let last = lower.rsplit(['_', '-']).next().unwrap_or_default();
    if !value.is_empty() && SECRET_ENDS.iter().any(|end| last.ends_with(end)) {
        return true;
    }
    let text = if name.is_empty() {
        value.to_owned()
    } else {
        format!("{name}={value}")
    };
    let seen = Sanitizer::shipped().sightings(&text);
    seen.iter().any(|sighting| sighting.kind == Kind::Secret)
}

/// Why a text is not a reference. It never quotes the text: that may be the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a secret must not be written here")]
pub struct NotAReference;

/// Why a secret could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The variable is not set, or empty, or not text.
    #[error("the environment variable {0} is not set")]
    Unset(String),
    /// The file could not be read.
    #[error("the secret file {path} cannot be read")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file is empty or too large to be a secret.
    #[error("the secret file {0} is empty or larger than 64 KiB")]
    Size(PathBuf),
}

impl SecretRef {
    /// Reads a reference.
    pub fn parse(text: &str) -> Result<Self, NotAReference> {
        match text.split_once(':') {
            Some(("env", name)) if is_variable(name) => Ok(Self::Env(name.to_owned())),
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(path.into())),
            _ => Err(NotAReference),
        }
    }

    /// Reads the secret itself.
    pub fn read(&self, environment: &Environment) -> Result<Secret<String>, SecretError> {
        let text = match self {
            Self::Env(name) => environment
                .text(name)
                .filter(|value| !value.is_empty())
                .ok_or_else(|| SecretError::Unset(name.clone()))?
                .to_owned(),
            Self::File(path) => read_file(path)?,
        };
        Ok(Secret::new(text))
    }
}

fn read_file(path: &PathBuf) -> Result<String, SecretError> {
    let unreadable = |source| SecretError::Unreadable {
        path: path.clone(),
        source,
    };
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > MAX_SECRET_BYTES {
        return Err(SecretError::Size(path.clone()));
    }
    let mut text = std::fs::read_to_string(path).map_err(unreadable)?;
    text.truncate(text.trim_end_matches(['\r', '\n']).len());
    if text.is_empty() {
        return Err(SecretError::Size(path.clone()));
    }
    Ok(text)
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "env:{name}"),
            Self::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}

impl<'de> Deserialize<'de> for SecretRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for EnvValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(match SecretRef::parse(&text) {
            Ok(reference) => Self::Reference(reference),
            Err(NotAReference) => Self::Plain(text),
        })
    }
}

impl JsonSchema for EnvValue {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EnvValue".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "variable",
            "description": "A value that is no secret, or where a secret is to be found: `env:NAME` or `file:PATH`.",
        })
    }
}

impl JsonSchema for SecretRef {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SecretRef".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "secret-reference",
            "pattern": "^(env:[A-Za-z_][A-Za-z0-9_]*|file:.+)$",
            "description": "Where a secret is to be found: `env:NAME` or `file:PATH`.",
        })
    }
}
