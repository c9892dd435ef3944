//! Asks the rules, with the consent there is and then with more.
//!
//! Invariants: an evaluation error denies, whatever the other rules say; and more
//! consent is only ever reported as enough if the rules were asked with it.

use std::sync::Arc;

use cedar_policy::{AuthorizationError, PolicySet};
use tollgate_core::Payload;

use super::{
    Consent, DEFAULT_DENY, Decision, Policies, Question, UNASKABLE, Verdict,
    arguments::convert,
    entities::{Kept, PreparedTool, Scene},
    memo::Key,
};

/// How much of an evaluation error is told; it can quote an argument.
const MAX_MESSAGE: usize = 300;

/// What the rules say to one consent.
pub(super) struct Answer {
    pub(super) allowed: bool,
    /// The rules that determined it, in order.
    pub(super) rules: Vec<usize>,
    /// The rules that could not be evaluated, in order.
    pub(super) errors: Vec<(usize, String)>,
}

impl Answer {
    fn permits(&self) -> bool {
        self.allowed && self.errors.is_empty()
    }
}

/// What the rules say to as many consents as it took.
pub(super) struct Inquiry {
    pub(super) now: Answer,
    /// The least greater consent that is enough, and what was said to it.
    pub(super) enough: Option<(Consent, Answer)>,
    /// The rules that only err with more consent.
    later_errors: Vec<(usize, String)>,
}

impl Policies {
    /// Whether this call may go on, and if not, what consent would be enough.
    pub fn decide(&self, question: &Question<'_>) -> Verdict {
        let tool = match self.tool(question) {
            Ok(tool) => tool,
            Err(cause) => return unaskable(cause),
        };
        let Some(key) = Key::of(question, &tool) else {
            return self.judge(question, &tool);
        };
        if let Some(verdict) = self.verdicts.get(&key) {
            return verdict;
        }
        let verdict = self.judge(question, &tool);
        self.verdicts.put(key, verdict.clone());
        verdict
    }

    /// Whether some call of this tool by this principal could be permitted.
    ///
    /// Takes full consent for granted. What only a call can tell (arguments, costs,
    /// taint) is guessed in favour of the tool; a rule that must forbid still hides it.
    pub fn could_permit(&self, question: &Question<'_>) -> bool {
        self.could(question, Consent::Human)
    }

    /// Whether no call of this tool by this principal goes on without a human, as far as a list
    /// can tell: what only a call can tell is guessed in favour of the tool.
    pub fn needs_human(&self, question: &Question<'_>) -> bool {
        !self.could(question, Consent::Agent)
    }

    /// Whether some call of this tool could be permitted with this consent.
    fn could(&self, question: &Question<'_>, consent: Consent) -> bool {
        let arguments = Payload::empty_object();
        let mut question = Question {
            consent,
            tainted: false,
            arguments: &arguments,
            ..*question
        };
        question.estimate.confirm = false;
        let Ok(tool) = self.tool(&question) else {
            return false;
        };
        let key = Key::for_listing(&question, &tool);
        if let Some(known) = self.listings.get(&key) {
            return known;
        }
        let answer = self.listable(&question, &tool);
        self.listings.put(key, answer);
        answer
    }

    fn listable(&self, question: &Question<'_>, tool: &PreparedTool) -> bool {
        let rules = tool.rules(self, question.action, question.consent);
        let answer = rules.and_then(|rules| {
            let scene = self.scene(question, tool, Kept::No)?;
            self.ask(&rules.listing, &scene, question.consent)
        });
        answer.is_ok_and(|answer| {
            let of_one_call = |place: usize| {
                let rule = self.rules.get(place);
                rule.is_some_and(|rule| rule.mentions.is_of_one_call())
            };
            // A rule that errs whatever the call is denies every call.
            let hopeless = answer.errors.iter().any(|(rule, _)| !of_one_call(*rule));
            let could = |(rule, _): &(usize, String)| self.permits(*rule);
            let undecided = answer.rules.is_empty() && answer.errors.iter().any(could);
            !hopeless && (answer.allowed || undecided)
        })
    }

    /// Decides without remembering.
    pub(super) fn judge(&self, question: &Question<'_>, tool: &PreparedTool) -> Verdict {
        match self.inquire(question, tool) {
            Ok(inquiry) => self.verdict(&inquiry),
            Err(cause) => unaskable(cause),
        }
    }

    /// The tool of a question, ready to be asked about.
    pub(super) fn tool(&self, question: &Question<'_>) -> Result<Arc<PreparedTool>, String> {
        self.cast
            .tool(question.tool, |name| self.reach(name))
            .map_err(|cause| cause.to_string())
    }

    /// Asks with the consent there is, and with more until it is enough.
    pub(super) fn inquire(
        &self,
        question: &Question<'_>,
        tool: &PreparedTool,
    ) -> Result<Inquiry, String> {
        let scene = self.scene(question, tool, Kept::ForCalls)?;
        let rules = |consent| tool.rules(self, question.action, consent);
        let now = self.ask(&rules(question.consent)?.set, &scene, question.consent)?;
        let mut inquiry = Inquiry {
            now,
            enough: None,
            later_errors: Vec::new(),
        };
        if inquiry.now.allowed || !inquiry.now.errors.is_empty() {
            return Ok(inquiry);
        }
        for consent in Consent::ALL {
            if consent > question.consent {
                let answer = self.ask(&rules(consent)?.set, &scene, consent)?;
                if answer.permits() {
                    inquiry.enough = Some((consent, answer));
                    break;
                }
                inquiry.later_errors.extend(answer.errors);
            }
        }
        Ok(inquiry)
    }

    pub(super) fn scene(
        &self,
        question: &Question<'_>,
        tool: &PreparedTool,
        kept: Kept,
    ) -> Result<Scene, String> {
        let arguments = convert(question.arguments, &tool.reach.mentions.arguments)
            .map_err(|cause| cause.to_string())?;
        self.cast
            .scene(question, tool, arguments, kept)
            .map_err(|cause| cause.to_string())
    }

    pub(super) fn ask(
        &self,
        set: &PolicySet,
        scene: &Scene,
        consent: Consent,
    ) -> Result<Answer, String> {
        let request = scene.request(consent).map_err(|cause| cause.to_string())?;
        let response = self
            .authorizer
            .is_authorized(&request, set, &scene.entities);
        let diagnostics = response.diagnostics();
        let mut rules: Vec<usize> = diagnostics
            .reason()
            .filter_map(|id| self.places.get(id).copied())
            .collect();
        rules.sort_unstable();
        let mut errors = Vec::new();
        for AuthorizationError::PolicyEvaluationError(error) in diagnostics.errors() {
            let place = self.places.get(error.policy_id()).copied();
            let place = place.ok_or_else(|| error.to_string())?;
            errors.push((place, clipped(&error.inner().to_string())));
        }
        errors.sort_unstable();
        Ok(Answer {
            allowed: response.decision() == cedar_policy::Decision::Allow,
            rules,
            errors,
        })
    }

    pub(super) fn verdict(&self, inquiry: &Inquiry) -> Verdict {
        let now = &inquiry.now;
        if !now.errors.is_empty() {
            let erring = now.errors.iter().map(|(rule, _)| *rule);
            return self.worded(Decision::Error, erring, &now.errors);
        }
        if now.allowed {
            return self.worded(Decision::Allow, now.rules.iter().copied(), &[]);
        }
        match &inquiry.enough {
            Some((consent, answer)) => {
                let rules = now.rules.iter().chain(&answer.rules).copied();
                self.worded(Decision::NeedsConsent(*consent), rules, &[])
            }
            None => self.worded(
                Decision::Deny,
                now.rules.iter().copied(),
                &inquiry.later_errors,
            ),
        }
    }

    fn worded(
        &self,
        decision: Decision,
        rules: impl Iterator<Item = usize>,
        errors: &[(usize, String)],
    ) -> Verdict {
        let rules: Vec<String> = rules.map(|rule| self.id(rule).to_owned()).collect();
        let mut errors: Vec<String> = errors
            .iter()
            .map(|(rule, message)| format!("{}: {message}", self.id(*rule)))
            .collect();
        errors.dedup();
        Verdict {
            decision,
            rule: rules
                .first()
                .map_or(DEFAULT_DENY, String::as_str)
                .to_owned(),
            rules,
            errors,
        }
    }

    fn id(&self, place: usize) -> &str {
        self.rules.get(place).map_or("", |rule| &rule.id)
    }

    fn permits(&self, place: usize) -> bool {
        self.rules.get(place).is_some_and(|rule| rule.permits)
    }
}

/// A question that cannot be put is denied, never skipped.
pub(super) fn unaskable(cause: String) -> Verdict {
    Verdict {
        decision: Decision::Error,
        rule: UNASKABLE.to_owned(),
        rules: Vec::new(),
        errors: vec![cause],
    }
}

fn clipped(message: &str) -> String {
    match message.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", message.get(..end).unwrap_or_default()),
        None => message.to_owned(),
    }
}
