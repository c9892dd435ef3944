//! Says which rules decide a question, and what would change the answer.

use std::fmt;

use super::{
    Consent, Decision, Origin, Policies, Question, Verdict,
    compile::Rule,
    decide::{Inquiry, unaskable},
};

/// Why a verdict is what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// What was decided.
    pub verdict: Verdict,
    /// Every rule that determined it, in the order they were written.
    pub rules: Vec<RuleNote>,
    /// The least consent that would be enough, if any is.
    pub enough: Option<Consent>,
}

/// A rule's part in a verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleNote {
    /// Its `@id`.
    pub id: String,
    /// Its part.
    pub part: Part,
    /// Whose it is.
    pub origin: Origin,
    /// The file it is in.
    pub file: String,
    /// The line it starts at, counted from one.
    pub line: usize,
    /// Its `@reason`.
    pub reason: Option<String>,
}

/// What a rule did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// It permits the call.
    Permits,
    /// It forbids the call.
    Forbids,
    /// It would permit the call with this consent.
    WouldPermit(Consent),
    /// It could not be evaluated, for this reason.
    Errs(String),
}

impl Policies {
    /// Every rule that determines the outcome, and what consent would be enough.
    pub fn explain(&self, question: &Question<'_>) -> Explanation {
        let inquiry = self
            .tool(question)
            .and_then(|tool| self.inquire(question, &tool));
        let inquiry = match inquiry {
            Ok(inquiry) => inquiry,
            Err(cause) => {
                return Explanation {
                    verdict: unaskable(cause),
                    rules: Vec::new(),
                    enough: None,
                };
            }
        };
        let verdict = self.verdict(&inquiry);
        let enough = match verdict.decision {
            Decision::Allow => Some(question.consent),
            Decision::NeedsConsent(consent) => Some(consent),
            Decision::Deny | Decision::Error => None,
        };
        Explanation {
            rules: self.notes(&inquiry),
            verdict,
            enough,
        }
    }

    fn notes(&self, inquiry: &Inquiry) -> Vec<RuleNote> {
        let errs = inquiry
            .now
            .errors
            .iter()
            .map(|(rule, message)| (*rule, Part::Errs(message.clone())));
        let decided = inquiry.now.rules.iter().map(|rule| {
            let part = if inquiry.now.allowed {
                Part::Permits
            } else {
                Part::Forbids
            };
            (*rule, part)
        });
        let later = inquiry.enough.iter().flat_map(|(consent, answer)| {
            let part = Part::WouldPermit(*consent);
            answer.rules.iter().map(move |rule| (*rule, part.clone()))
        });
        errs.chain(decided)
            .chain(later)
            .filter_map(|(place, part)| Some(note(self.rules.get(place)?, part)))
            .collect()
    }
}

fn note(rule: &Rule, part: Part) -> RuleNote {
    RuleNote {
        id: rule.id.clone(),
        part,
        origin: rule.origin,
        file: rule.file.clone(),
        line: rule.line,
        reason: rule.reason.clone(),
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Permits => f.write_str("permits"),
            Self::Forbids => f.write_str("forbids"),
            Self::WouldPermit(consent) => {
                write!(f, "would permit with consent `{}`", consent.as_str())
            }
            Self::Errs(message) => write!(f, "cannot be evaluated: {message}"),
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headline = match self.verdict.decision {
            Decision::Allow => "allowed".to_owned(),
            Decision::NeedsConsent(consent) => format!("needs consent: {}", consent.as_str()),
            Decision::Deny => "denied, whoever agrees".to_owned(),
            Decision::Error => "denied, because it could not be decided".to_owned(),
        };
        writeln!(f, "{headline} (rule {})", self.verdict.rule)?;
        for rule in &self.rules {
            let RuleNote { id, part, .. } = rule;
            let (origin, file, line) = (rule.origin.as_str(), &rule.file, rule.line);
            writeln!(f, "  {id} {part} ({origin}, {file}:{line})")?;
            if let Some(reason) = &rule.reason {
                writeln!(f, "    {reason}")?;
            }
        }
        if self.rules.is_empty() {
            match self.verdict.errors.first() {
                Some(cause) => writeln!(f, "  {cause}")?,
                None => writeln!(f, "  no rule permits it")?,
            }
        }
        Ok(())
    }
}
