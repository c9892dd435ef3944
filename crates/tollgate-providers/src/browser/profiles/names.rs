//! What a profile may be called.

use std::fmt;

/// The name of a profile: lower-case letters, digits, `-` and `_`; it is also a file's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProfileName(String);

impl ProfileName {
    /// How long it may be.
    const LONGEST: usize = 64;

    /// Reads a name.
    pub fn new(text: &str) -> Result<Self, String> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let is_fine = text.starts_with(is_plain)
            && text.len() <= Self::LONGEST
            && text.chars().all(|c| is_plain(c) || matches!(c, '-' | '_'));
        if is_fine {
            Ok(Self(text.to_owned()))
        } else {
            Err(
                "a profile has a name of lower-case letters, digits, `-` and `_`, 64 at most"
                    .to_owned(),
            )
        }
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProfileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
