//! How tools are named, and the other spellings a client may need.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The longest name clients accept.
const SAFE_LENGTH: usize = 64;
/// The longest canonical id; an upstream server's own name is part of it.
const MAX_LENGTH: usize = 256;

/// A tool's canonical id, such as `keepa.products_get` or `run_task_template`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolName(String);

/// Why a text is not a tool name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing there.
    #[error("a tool name is empty")]
    Empty,
    /// More than 256 bytes.
    #[error("a tool name is longer than {MAX_LENGTH} characters")]
    TooLong,
    /// A character outside letters, digits and `_ - . /`.
    #[error("a tool name holds the character {0:?}")]
    Character(char),
}

impl ToolName {
    /// Checks the grammar once; nothing downstream has to.
    pub fn new(name: impl Into<String>) -> Result<Self, NameError> {
        let name = name.into();
        if name.is_empty() {
            return Err(NameError::Empty);
        }
        if name.len() > MAX_LENGTH {
            return Err(NameError::TooLong);
        }
        match name.chars().find(|c| !is_allowed(*c)) {
            Some(odd) => Err(NameError::Character(odd)),
            None => Ok(Self(name)),
        }
    }

    /// The canonical id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part before the first dot, if there is one.
    pub fn namespace(&self) -> Option<&str> {
        self.0.split_once('.').map(|(namespace, _)| namespace)
    }

    /// The spelling every known client accepts: `^[a-zA-Z0-9_-]{1,64}$`.
    pub fn safe(&self) -> String {
        self.dotted().replace(['.', '/'], "_")
    }

    /// The spelling for clients that take dots, but no more than 64 characters.
    ///
    /// A longer name keeps its beginning and gets a stable hash at its end.
    pub fn dotted(&self) -> String {
        if !self.is_long() {
            return self.0.clone();
        }
        let digest = Sha256::digest(self.0.as_bytes());
        let suffix: String = digest[..4].iter().map(|b| format!("{b:02x}")).collect();
        format!("{}_{suffix}", &self.0[..SAFE_LENGTH - 9])
    }

    /// Whether it has to be shortened for clients.
    pub fn is_long(&self) -> bool {
        self.0.len() > SAFE_LENGTH
    }

    /// Whether a text is this name, in any spelling.
    pub fn is_spelled(&self, text: &str) -> bool {
        self.0 == text || self.safe() == text || self.dotted() == text
    }
}

/// How names are spelled for one client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Spelling {
    /// As canonical ids.
    #[default]
    Canonical,
    /// As canonical ids, as far as clients take them: long ones are shortened.
    Dotted,
    /// So that every known client accepts them.
    Safe,
}

impl Spelling {
    /// The name in this spelling.
    pub fn of(self, name: &ToolName) -> String {
        match self {
            Self::Canonical => name.as_str().to_owned(),
            Self::Dotted => name.dotted(),
            Self::Safe => name.safe(),
        }
    }
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/')
}

impl TryFrom<String> for ToolName {
    type Error = NameError;

    fn try_from(name: String) -> Result<Self, NameError> {
        Self::new(name)
    }
}

impl From<ToolName> for String {
    fn from(name: ToolName) -> Self {
        name.0
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_spelling_fits_every_client() {
        let name = ToolName::new("mcp.files.read").unwrap();
        assert_eq!(name.safe(), "mcp_files_read");
        let long = ToolName::new(format!("mcp.files.{}", "x".repeat(100))).unwrap();
        assert_eq!(long.safe().len(), 64);
        assert_ne!(
            long.safe(),
            ToolName::new(format!("mcp.files.{}", "x".repeat(101)))
                .unwrap()
                .safe()
        );
    }

    #[test]
    fn a_long_name_is_shortened_and_known_by_every_spelling() {
        let name = |length: usize| ToolName::new("a.b".to_owned() + &"x".repeat(length - 3));
        let fits = name(64).unwrap();
        assert_eq!(fits.dotted(), fits.as_str());
        let long = name(65).unwrap();
        let spelled = [Spelling::Canonical, Spelling::Dotted, Spelling::Safe];
        let spelled = spelled.map(|spelling| spelling.of(&long));
        assert_eq!(spelled.each_ref().map(String::len), [65, 64, 64]);
        assert!(spelled[1].starts_with("a.bx") && spelled[2].starts_with("a_bx"));
        assert_eq!(spelled[1].replace('.', "_"), spelled[2]);
        assert!(spelled.iter().all(|text| long.is_spelled(text)));
        assert!(!long.is_spelled(fits.as_str()) && !fits.is_spelled(long.as_str()));
    }

    #[test]
    fn odd_names_are_refused() {
        assert_eq!(ToolName::new(""), Err(NameError::Empty));
        assert_eq!(ToolName::new("a b"), Err(NameError::Character(' ')));
        assert_eq!(ToolName::new("名"), Err(NameError::Character('名')));
        assert_eq!(ToolName::new("x".repeat(300)), Err(NameError::TooLong));
    }
}
