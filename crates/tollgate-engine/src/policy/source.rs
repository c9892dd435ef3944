//! Where rules come from, and everything that can be wrong with them.
//!
//! Invariant: a problem names its file and line, so that all of them can be fixed
//! in one go.

use std::fmt;

/// A file of rules.
#[derive(Debug, Clone)]
pub struct Source {
    /// The file name shown in errors.
    pub name: String,
    /// The rules.
    pub text: String,
    /// Whose they are.
    pub origin: Origin,
}

/// Whose rules they are, which decides what they may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Tollgate's own.
    Shipped,
    /// Those of a skill that comes with Tollgate: may only forbid, and the tests have held
    /// them against the schema.
    ShippedSkill,
    /// The user's, or a project's that the user trusts.
    User,
    /// A skill's or a project's: may only forbid.
    Restricting,
}

impl Origin {
    /// The origin as it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shipped => "shipped",
            Self::User => "user",
            Self::ShippedSkill | Self::Restricting => "restricting",
        }
    }

    /// Whether its rules may do nothing but forbid.
    pub(super) const fn only_forbids(self) -> bool {
        matches!(self, Self::ShippedSkill | Self::Restricting)
    }
}

/// One thing wrong with the rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct PolicyError {
    /// The file it is in.
    pub file: String,
    /// The line, counted from one, where it is known.
    pub line: Option<usize>,
    /// What it is.
    #[source]
    pub problem: Problem,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.problem),
            None => write!(f, "{}: {}", self.file, self.problem),
        }
    }
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Cedar cannot read it.
    #[error("{0}")]
    Syntax(String),
    /// A verdict could not name the rule.
    #[error("a rule has no @id; write @id(\"some-name\") above it")]
    MissingId,
    /// The id could not be shown or told apart.
    #[error(
        "the @id {0:?} cannot be used; use 1 to 64 letters, digits and `. _ - : /`, and neither `{deny}` nor `{unaskable}`",
        deny = super::DEFAULT_DENY,
        unaskable = super::UNASKABLE
    )]
    BadId(String),
    /// Two rules would answer to one name.
    #[error("the @id `{id}` is taken by a rule in {file}, line {line}")]
    DuplicateId {
        /// The id.
        id: String,
        /// Where its first owner is.
        file: String,
        /// The line of the first owner.
        line: usize,
    },
    /// A template has slots nobody would fill.
    #[error("`{0}` is a template; write the principal and the resource out")]
    Template(String),
    /// The file may only narrow.
    #[error("the rule `{0}` permits, but rules of skills and projects may only forbid")]
    PermitNotAllowed(String),
    /// Only a permit can lift a consent, and only a human's.
    #[error("the rule `{0}` cannot lift that; only a permit can be marked @lifts(\"human\")")]
    BadLift(String),
    /// It does not fit the schema.
    #[error("the rule `{rule}` does not fit the schema: {message}")]
    Schema {
        /// The rule.
        rule: String,
        /// What Cedar says about it.
        message: String,
    },
    /// The schema or the whole set cannot be built; a fault of ours.
    #[error("the rules cannot be put together: {0}")]
    Internal(String),
}

impl Source {
    /// The line, counted from one, of a position in the text.
    pub(super) fn line_at(&self, offset: usize) -> usize {
        let end = offset.min(self.text.len());
        let before = self.text.as_bytes().get(..end).unwrap_or_default();
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    pub(super) fn problem(&self, line: Option<usize>, problem: Problem) -> PolicyError {
        PolicyError {
            file: self.name.clone(),
            line,
            problem,
        }
    }
}
