//! What can be wrong with a configuration, and where it was said.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// One problem of the configuration; a load reports all of them at once.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// Who said it.
    pub origin: Origin,
    /// The dotted key, if the problem belongs to one.
    pub key: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Where a value of the configuration comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Tollgate itself.
    Defaults,
    /// A file, and the line if it is known.
    File {
        /// The file.
        path: PathBuf,
        /// Counted from one.
        line: Option<usize>,
    },
    /// An environment variable.
    Variable(String),
    /// A flag of the command line.
    Flag(String),
}

/// Something that is not an error but that the user should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Who said it.
    pub origin: Origin,
    /// The dotted key it is about, if there is one.
    pub key: Option<String>,
    /// What happened and what to do.
    pub message: String,
}

impl ConfigError {
    pub(super) fn new(origin: Origin, message: impl Into<String>) -> Self {
        Self {
            origin,
            key: None,
            message: message.into(),
            hint: None,
        }
    }

    pub(super) fn at(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl Origin {
    /// A file as a whole.
    pub fn file(path: &Path) -> Self {
        Self::File {
            path: path.to_owned(),
            line: None,
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.origin)?;
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.origin)?;
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Defaults => f.write_str("defaults"),
            Self::File { path, line: None } => write!(f, "{}", path.display()),
            Self::File {
                path,
                line: Some(line),
            } => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}
