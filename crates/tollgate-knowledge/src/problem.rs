//! What can be wrong with knowledge files, and where.
//!
//! Codes are a public contract: they are added, never renamed.

use std::{fmt, sync::Arc};

use serde::Serialize;

/// A line and a column, both counted from one; the column counts characters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The base cannot be used.
    Fatal,
    /// The base works, but not as its author wants.
    Error,
    /// Worth a look.
    Warning,
}

impl Severity {
    /// The word people read.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fatal | Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One thing that is wrong, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// What kind of thing.
    pub code: ProblemCode,
    /// How bad it is.
    pub severity: Severity,
    /// The file, as the author named it.
    pub file: Arc<str>,
    /// Where in the file.
    pub place: Place,
    /// One sentence about it.
    pub message: String,
}

impl Problem {
    /// A problem at a place.
    pub fn new(
        code: ProblemCode,
        file: &Arc<str>,
        place: Place,
        message: impl Into<String>,
    ) -> Self {
        Self {
            code,
            severity: code.severity(),
            file: Arc::clone(file),
            place,
            message: message.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { line, column } = self.place;
        let (file, word) = (&self.file, self.severity.as_str());
        if line == 0 {
            write!(f, "{file}: {word}[{}]: {}", self.code, self.message)
        } else {
            write!(
                f,
                "{file}:{line}:{column}: {word}[{}]: {}",
                self.code, self.message
            )
        }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $severity:ident;)*) => {
        /// A stable name for a kind of problem.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ProblemCode {
            $($(#[$doc])* $name,)*
        }

        impl ProblemCode {
            /// Every code there is.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The code as it is written everywhere.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// How bad it is.
            pub const fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)* }
            }
        }
    };
}

codes! {
    /// The file cannot be read, or is too large.
    File = "file", Fatal;
    /// The file is not in UTF-8.
    Encoding = "encoding", Fatal;
    /// The file is not well-formed.
    Syntax = "syntax", Fatal;
    /// Something is nested too deeply, or there is too much of it.
    Limit = "limit", Fatal;
    /// The same key or id stands twice.
    Duplicate = "duplicate", Fatal;
    /// A field has the wrong type or value.
    Field = "field", Fatal;
    /// A field that nobody reads, probably misspelled.
    UnknownField = "unknown-field", Fatal;
    /// A condition that cannot be understood.
    Condition = "condition", Fatal;
    /// An included file is missing, outside the folder or includes itself.
    Include = "include", Fatal;
    /// There are no nodes, or the root is missing.
    NoRoot = "no-root", Fatal;
    /// A link to a node that does not exist.
    BrokenLink = "broken-link", Error;
    /// A `then` without a sub-flow before it.
    UnusedThen = "unused-then", Error;
    /// A node that nothing leads to.
    Unreachable = "unreachable", Warning;
    /// A node that ends the session without saying anything.
    DeadEnd = "dead-end", Error;
    /// Nodes that lead to each other and never to an end.
    NoExit = "no-exit", Error;
    /// Nodes that pass on to each other without ever asking anything.
    Spin = "spin", Error;
    /// A text that lacks a language which others have.
    MissingLanguage = "missing-language", Warning;
    /// An option or branch whose condition can never hold.
    NeverTrue = "never-true", Error;
    /// A question after which no branch may fit the answer.
    NoBranch = "no-branch", Warning;
    /// A keyword that two nodes share.
    SharedKeyword = "shared-keyword", Warning;
    /// The base has no sentence for what it does not understand.
    NoFallback = "no-fallback", Warning;
    /// The base has no sentence for letting the user choose among nodes.
    NoChoose = "no-choose", Warning;
    /// A keyword that has a sign in it which only looks as if it separated keywords.
    KeywordSeparator = "keyword-separator", Warning;
}

impl fmt::Display for ProblemCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ProblemCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_a_contract() {
        let table: Vec<_> = ProblemCode::ALL
            .iter()
            .map(|code| format!("{code}: {:?}", code.severity()))
            .collect();
        insta::assert_snapshot!(table.join("\n"));
    }
}
