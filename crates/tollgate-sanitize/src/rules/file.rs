//! The shape of a rules file.

use std::sync::{Arc, OnceLock};

use serde::Deserialize;

use super::words::Words;
use super::{Check, Pattern, Phrase, Rule, RulesError};
use crate::Kind;
use crate::prefilter::SHORTEST_LITERAL;

const REACH: usize = 512;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    #[serde(default)]
    pub(crate) rule: Vec<RuleEntry>,
    #[serde(default)]
    pub(crate) phrase: Vec<PhraseEntry>,
    #[serde(default)]
    pub(crate) names: Names,
    #[serde(default)]
    pub(crate) disabled: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleEntry {
    id: String,
    kind: Kind,
    literals: Vec<String>,
    pattern: String,
    #[serde(default)]
    before: usize,
    #[serde(default)]
    after: Option<usize>,
    #[serde(default)]
    check: Option<Check>,
    #[serde(default)]
    replacement: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PhraseEntry {
    id: String,
    anchors: Vec<String>,
    pattern: String,
}

/// The words that tell what a value beside them is.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Names {
    /// Words for passwords.
    pub(crate) password: Vec<String>,
    /// Words for secrets and tokens.
    pub(crate) secret: Vec<String>,
    /// Words for keys, which are often something else.
    pub(crate) key: Vec<String>,
    /// Words that only count beside a very random value.
    pub(crate) weak: Vec<String>,
    /// Parts of the names of cookies that hold a session.
    pub(crate) cookies: Vec<String>,
    /// Words that, before a key or token, make it harmless.
    pub(crate) harmless_before: Words,
    /// Words that, after a telling word, make it harmless.
    pub(crate) harmless_after: Words,
    /// Words that may be glued in front of `key` without a boundary.
    pub(crate) glued: Words,
    /// Names of query parameters that are secret whatever their value.
    pub(crate) url_parameters: Words,
    /// Schemes of an Authorization header.
    pub(crate) schemes: Words,
    /// Words before a phone number.
    pub(crate) phone: Words,
    /// Words before a card number.
    pub(crate) card: Words,
    /// Last words of field names that hold identifiers.
    pub(crate) identifier: Words,
    /// Words before a US social security number without dashes.
    pub(crate) ssn: Words,
    /// Words before a passport number.
    pub(crate) passport: Words,
    /// Words before a Japanese individual number.
    pub(crate) my_number: Words,
}

impl Names {
    pub(crate) fn extend(&mut self, other: Names) {
        self.password.extend(other.password);
        self.secret.extend(other.secret);
        self.key.extend(other.key);
        self.weak.extend(other.weak);
        self.cookies.extend(other.cookies);
        self.harmless_before.extend(other.harmless_before);
        self.harmless_after.extend(other.harmless_after);
        self.glued.extend(other.glued);
        self.url_parameters.extend(other.url_parameters);
        self.schemes.extend(other.schemes);
        self.phone.extend(other.phone);
        self.card.extend(other.card);
        self.identifier.extend(other.identifier);
        self.ssn.extend(other.ssn);
        self.passport.extend(other.passport);
        self.my_number.extend(other.my_number);
    }
}

impl RuleEntry {
    pub(crate) fn into_rule(self) -> Result<Rule, RulesError> {
        literals_are_usable(&self.id, &self.literals)?;
        let replacement = self
            .replacement
            .unwrap_or_else(|| format!("[REDACTED:{}]", self.id));
        Ok(Rule {
            pattern: Pattern::new(&self.pattern, false),
            kind: self.kind,
            literals: self.literals,
            before: self.before,
            after: self.after.unwrap_or(REACH),
            check: self.check.unwrap_or(Check::None),
            replacement: replacement.into(),
            id: Arc::from(self.id),
        })
    }
}

impl PhraseEntry {
    pub(crate) fn into_phrase(self) -> Result<Phrase, RulesError> {
        literals_are_usable(&self.id, &self.anchors)?;
        Ok(Phrase {
            pattern: Pattern {
                source: self.pattern,
                unicode: true,
                compiled: OnceLock::new(),
            },
            anchors: self.anchors,
            id: Arc::from(self.id),
        })
    }
}

fn literals_are_usable(id: &str, literals: &[String]) -> Result<(), RulesError> {
    let reason = if id.is_empty()
        || !id
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    {
        "an id is lower-case letters, digits and hyphens"
    } else if literals.is_empty() {
        "needs at least one literal"
    } else if literals
        .iter()
        .any(|literal| literal.len() < SHORTEST_LITERAL)
    {
        "literals need three bytes or more"
    } else {
        return Ok(());
    };
    Err(RulesError::Rule {
        rule: id.to_owned(),
        reason,
    })
}
