//! Says which rules decide a question, and what would change the answer.

use std::fmt;

use super::{
    Consent, Decision, Origin, Policies, Question, Verdict,
    compile::Rule,
    decide::{Inquiry, unaskable},
    entities::Kept,
    lift,
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
    /// It would permit the call, but does not lift the human for such a tool.
    DoesNotLift,
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
            rules: self.notes(&inquiry, self.not_lifting(question)),
            verdict,
            enough,
        }
    }

    /// The permits that hold with this consent, but do not count for such a tool.
    fn not_lifting(&self, question: &Question<'_>) -> Vec<usize> {
        let asked = || {
            let tool = self.tool(question).ok()?;
            let scene = self.scene(question, &tool, Kept::No).ok()?;
            self.ask(&tool.reach.set, &scene, question.consent).ok()
        };
        let is_delicate = lift::is_delicate(question.tool.annotations);
        let held = asked()
            .filter(|answer| answer.allowed && is_delicate && question.consent < Consent::Human);
        let provider = &question.tool.provider_id;
        let counts = |rule: &Rule| rule.lifts_for(provider);
        let mut rules = held.map(|answer| answer.rules).unwrap_or_default();
        rules.retain(|place| self.rules.get(*place).is_some_and(|rule| !counts(rule)));
        rules
    }

    fn notes(&self, inquiry: &Inquiry, not_lifting: Vec<usize>) -> Vec<RuleNote> {
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
        let not_lifting = not_lifting
            .into_iter()
            .map(|rule| (rule, Part::DoesNotLift));
        errs.chain(decided)
            .chain(not_lifting)
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
            Self::DoesNotLift => f.write_str(
                "would permit it, but lifts no human for a tool that may destroy something or carry data out",
            ),
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
