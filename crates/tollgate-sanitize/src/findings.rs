//! What cleaning did, in a form that can be shown: counts per rule, never the removed text itself.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A cleaned text together with what was done to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleaned<'a> {
    /// The clean text, borrowed when nothing had to change.
    pub text: Cow<'a, str>,
    /// What was replaced, removed or marked.
    pub findings: Findings,
}

/// Everything one cleaning found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// Replacements and removals, one entry per rule.
    pub redactions: Vec<Redaction>,
    /// Instruction-like spans, in the coordinates of the clean text.
    pub tainted: Vec<TaintSpan>,
}

/// How often one rule replaced or removed something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redaction {
    /// The rule's id.
    pub rule: Arc<str>,
    /// What sort of thing it removes.
    pub kind: Kind,
    /// The number of places.
    pub count: usize,
}

/// What sort of thing a rule removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Keys, tokens, passwords, signed URLs.
    Secret,
    /// Personal data.
    Pii,
    /// Escape sequences and control characters.
    Terminal,
    /// Zero-width, bidirectional and other invisible characters.
    Invisible,
}

/// A place that reads like an instruction to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaintSpan {
    /// JSON pointer of the string, empty for plain text.
    pub pointer: String,
    /// First byte of the span in the clean, decoded string.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The rule's id.
    pub rule: Arc<str>,
}

impl Findings {
    /// Whether anything was replaced or removed.
    pub fn redacted(&self) -> bool {
        !self.redactions.is_empty()
    }

    /// Whether personal data was replaced.
    pub fn has_pii(&self) -> bool {
        self.count(Kind::Pii) > 0
    }

    /// Whether a secret was replaced.
    pub fn has_secrets(&self) -> bool {
        self.count(Kind::Secret) > 0
    }

    /// Whether any text reads like an instruction.
    pub fn is_tainted(&self) -> bool {
        !self.tainted.is_empty()
    }

    /// How many invisible characters were removed.
    pub fn stripped_invisible(&self) -> usize {
        self.count(Kind::Invisible)
    }

    /// How many terminal sequences and control characters were removed.
    pub fn stripped_terminal(&self) -> usize {
        self.count(Kind::Terminal)
    }

    /// How many secrets and personal data were replaced, for the heavy-redaction review rule.
    pub fn replaced(&self) -> usize {
        self.count(Kind::Secret) + self.count(Kind::Pii)
    }

    /// How many places were replaced or removed in all.
    pub fn total(&self) -> usize {
        self.redactions
            .iter()
            .map(|redaction| redaction.count)
            .sum()
    }

    /// How many places of one kind were replaced or removed.
    pub fn count(&self, kind: Kind) -> usize {
        self.redactions
            .iter()
            .filter(|redaction| redaction.kind == kind)
            .map(|redaction| redaction.count)
            .sum()
    }

    /// Adds what another cleaning found.
    pub fn merge(&mut self, other: Findings) {
        for redaction in other.redactions {
            self.add(&redaction.rule, redaction.kind, redaction.count);
        }
        self.tainted.extend(other.tainted);
    }

    pub(crate) fn add(&mut self, rule: &Arc<str>, kind: Kind, count: usize) {
        if count == 0 {
            return;
        }
        match self
            .redactions
            .iter_mut()
            .find(|known| known.kind == kind && known.rule == *rule)
        {
            Some(known) => known.count += count,
            None => self.redactions.push(Redaction {
                rule: Arc::clone(rule),
                kind,
                count,
            }),
        }
    }
}
