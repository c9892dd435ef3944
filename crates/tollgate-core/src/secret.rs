//! Values that must not be printed by accident.

use std::fmt;

/// A secret: no `Display`, no `Serialize`, and `Debug` prints `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Wraps a secret.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// Hands the secret out at the place that really needs it.
    pub fn reveal(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Seals what must not be read where it is kept, and opens it again.
pub trait Sealer: Send + Sync {
    /// Seals a text for one place; elsewhere it does not open.
    fn seal(&self, place: &str, plain: &[u8]) -> Result<Vec<u8>, SealError>;

    /// Opens what was sealed for this place and not altered since.
    fn open(&self, place: &str, sealed: &[u8]) -> Result<Vec<u8>, SealError>;
}

/// Why something is not sealed or not opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// There is no key.
    #[error("there is no key: {0}")]
    NoKey(String),
    /// The key could not seal.
    #[error("it could not be sealed")]
    NotSealed,
    /// It was altered, belongs elsewhere or was sealed with another key.
    #[error("it was altered, or sealed with another key")]
    NotOurs,
}
