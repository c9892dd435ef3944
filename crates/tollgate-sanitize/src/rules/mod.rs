//! The rules as data: what the TOML files say, checked and ready to be searched with.
//!
//! Patterns are compiled on the first candidate, so that starting up costs only the literals.

mod file;
mod words;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use regex_automata::meta::Regex;
use regex_automata::util::syntax;

use crate::Kind;
pub(crate) use file::{File, Names};
pub(crate) use words::{Bytes, Fnv, Words};

/// A rules file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// The text is not the TOML these rules are written in.
    #[error("rules are not valid: {0}")]
    Syntax(#[from] toml::de::Error),
    /// A pattern does not compile.
    #[error("rule {rule} has a bad pattern: {reason}")]
    Pattern {
        /// The rule's id.
        rule: String,
        /// What the pattern compiler said.
        reason: String,
    },
    /// A rule lacks something, or says something unknown.
    #[error("rule {rule}: {reason}")]
    Rule {
        /// The rule's id.
        rule: String,
        /// What is wrong.
        reason: &'static str,
    },
}

/// The shipped rules, in the order they are read.
pub(crate) const SHIPPED: &[&str] = &[
    include_str!("../../rules/vendors.toml"),
    include_str!("../../rules/names.toml"),
    include_str!("../../rules/personal.toml"),
    include_str!("../../rules/instructions.toml"),
];

/// One rule found by literals and confirmed by a pattern.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) id: Arc<str>,
    pub(crate) kind: Kind,
    pub(crate) replacement: Box<str>,
    pub(crate) literals: Vec<String>,
    /// How far before the literal the pattern may begin.
    pub(crate) before: usize,
    /// How far after the literal the pattern may reach.
    pub(crate) after: usize,
    pub(crate) check: Check,
    pattern: Pattern,
}

/// An instruction-like phrase: anchor words and a pattern over normalised text.
#[derive(Debug)]
pub(crate) struct Phrase {
    pub(crate) id: Arc<str>,
    pub(crate) anchors: Vec<String>,
    pattern: Pattern,
}

/// A further condition on what a pattern matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Check {
    None,
    /// The value must look random.
    Random,
    /// The value must not be words: what stands around it says already that it is a secret.
    Token,
    /// The value must contain a digit.
    Digit,
    /// The value must be base64 of `user:password`.
    BasicAuth,
}

#[derive(Debug)]
struct Pattern {
    source: String,
    unicode: bool,
    compiled: OnceLock<Option<Regex>>,
}

impl Rule {
    pub(crate) fn regex(&self) -> Option<&Regex> {
        self.pattern.regex()
    }
}

impl Phrase {
    pub(crate) fn regex(&self) -> Option<&Regex> {
        self.pattern.regex()
    }
}

impl Pattern {
    fn new(source: &str, unicode: bool) -> Self {
        Pattern {
            source: source.to_owned(),
            unicode,
            compiled: OnceLock::new(),
        }
    }

    fn regex(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| self.compile().ok()).as_ref()
    }

    /// In a phrase a space stands for whatever whitespace was folded to one character.
    fn spelled(&self) -> Cow<'_, str> {
        if self.unicode {
            self.source.replace(' ', r"\s").into()
        } else {
            self.source.as_str().into()
        }
    }

    fn compile(&self) -> Result<Regex, Box<regex_automata::meta::BuildError>> {
        Regex::builder()
            .syntax(syntax::Config::new().unicode(self.unicode).utf8(false))
            .configure(
                Regex::config()
                    .utf8_empty(false)
                    .nfa_size_limit(Some(1 << 20)),
            )
            .build(&self.spelled())
            .map_err(Box::new)
    }
}

/// All rules together.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(crate) rules: Vec<Rule>,
    pub(crate) phrases: Vec<Phrase>,
    pub(crate) names: Names,
    disabled: Vec<String>,
}

impl Rules {
    /// Adds a file; `check` compiles its patterns at once, for files that were not tested beforehand.
    pub(crate) fn read(&mut self, text: &str, check: bool) -> Result<(), RulesError> {
        let file: File = toml::from_str(text)?;
        self.names.extend(file.names);
        self.disabled.extend(file.disabled);
        for rule in file.rule {
            self.rules.push(rule.into_rule()?);
        }
        for phrase in file.phrase {
            self.phrases.push(phrase.into_phrase()?);
        }
        if check {
            self.compile()?;
        }
        self.rules
            .retain(|rule| !self.disabled.iter().any(|id| **id == *rule.id));
        self.phrases
            .retain(|phrase| !self.disabled.iter().any(|id| **id == *phrase.id));
        Ok(())
    }

    pub(crate) fn enabled(&self, id: &str) -> bool {
        !self.disabled.iter().any(|disabled| disabled == id)
    }

    fn compile(&self) -> Result<(), RulesError> {
        let rules = self.rules.iter().map(|rule| (&rule.id, &rule.pattern));
        let phrases = self
            .phrases
            .iter()
            .map(|phrase| (&phrase.id, &phrase.pattern));
        for (id, pattern) in rules.chain(phrases) {
            if let Err(error) = pattern.compile() {
                return Err(RulesError::Pattern {
                    rule: id.to_string(),
                    reason: error
                        .syntax_error()
                        .map_or_else(|| error.to_string(), ToString::to_string),
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Rules, SHIPPED};

    #[test]
    fn every_shipped_pattern_compiles() {
        let mut rules = Rules::default();
        for text in SHIPPED {
            rules.read(text, true).expect("shipped rules are valid");
        }
        assert!(rules.rules.len() > 30);
        assert!(rules.phrases.len() > 10);
    }

    #[test]
    fn shipped_ids_are_unique() {
        let mut rules = Rules::default();
        for text in SHIPPED {
            rules.read(text, false).expect("shipped rules are valid");
        }
        let mut ids: Vec<_> = rules.rules.iter().map(|rule| rule.id.to_string()).collect();
        ids.extend(rules.phrases.iter().map(|phrase| phrase.id.to_string()));
        ids.sort();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }

    #[test]
    fn bad_rules_are_refused() {
        let mut rules = Rules::default();
        assert!(rules.read("rule = 3", true).is_err());
        let no_literal = "[[rule]]\nid = \"x\"\nkind = \"secret\"\npattern = 'a'\n";
        assert!(rules.read(no_literal, true).is_err());
        let bad_pattern =
            "[[rule]]\nid = \"x\"\nkind = \"secret\"\nliterals = [\"abc\"]\npattern = '('\n";
        assert!(rules.read(bad_pattern, true).is_err());
    }
}
