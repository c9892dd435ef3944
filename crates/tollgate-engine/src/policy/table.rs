//! Cases that rules must decide in a given way, read from a TOML file.
//!
//! A table is how an operator knows that a change of rules changed only what it
//! should. Invariant: a key nobody knows is an error, never a case that tests less
//! than it says.

use serde::Deserialize;
use serde_json::{Map, Value};
use tollgate_core::{Estimate, Payload, Principal, Surface, ToolSpec, TrustLevel};
use toml::Spanned;

use super::{Action, Consent, Decision, Policies, Question, Verdict};

/// Cases to run.
#[derive(Debug, Clone)]
pub struct Table {
    cases: Vec<(usize, Case)>,
}

/// Why a file is not a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct TableError {
    /// The line, counted from one.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

/// One question and the verdict it must get.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What the case is about, for people.
    #[serde(default)]
    pub name: Option<String>,
    /// The tool's canonical id.
    pub tool: String,
    /// The arguments, as a table or as JSON text.
    #[serde(default)]
    arguments: Option<Spanned<toml::Value>>,
    #[serde(default)]
    action: ActionName,
    #[serde(default)]
    principal: Option<String>,
    #[serde(default)]
    consent: ConsentName,
    #[serde(default)]
    trust: Option<TrustLevel>,
    #[serde(default)]
    surface: Option<Surface>,
    #[serde(default)]
    profile: Option<String>,
    #[serde(default)]
    skill: Option<String>,
    #[serde(default)]
    session: Option<String>,
    #[serde(default)]
    budget_left: Option<u64>,
    #[serde(default)]
    estimated: Option<u64>,
    #[serde(default)]
    worst_case: Option<u64>,
    #[serde(default)]
    cost_confirm: Option<bool>,
    #[serde(default)]
    tainted: bool,
    /// The decision it must get.
    pub expect: Expected,
    /// The rule that must have a part in it.
    #[serde(default)]
    pub rule: Option<String>,
}

/// A decision, as tables spell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    /// It may go on.
    Allow,
    /// It may not, whoever agrees.
    Deny,
    /// The caller's own yes would be enough.
    NeedsAgent,
    /// A human has to agree.
    NeedsHuman,
    /// A rule cannot be evaluated.
    Error,
}

impl Expected {
    /// The decision as tables spell it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::NeedsAgent => "needs_agent",
            Self::NeedsHuman => "needs_human",
            Self::Error => "error",
        }
    }
}

impl From<Decision> for Expected {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Allow | Decision::NeedsConsent(Consent::None) => Self::Allow,
            Decision::NeedsConsent(Consent::Agent) => Self::NeedsAgent,
            Decision::NeedsConsent(Consent::Human) => Self::NeedsHuman,
            Decision::Deny => Self::Deny,
            Decision::Error => Self::Error,
        }
    }
}

/// How a case went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseResult {
    /// The line of the case, counted from one.
    pub line: usize,
    /// The case's name, or its tool.
    pub name: String,
    /// What was decided, if the question could be put.
    pub verdict: Option<Verdict>,
    /// What is wrong; `None` if the case holds.
    pub problem: Option<String>,
}

impl CaseResult {
    /// Whether the case holds.
    pub fn passed(&self) -> bool {
        self.problem.is_none()
    }
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ActionName {
    #[default]
    Call,
    Read,
    GetPrompt,
    Complete,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ConsentName {
    #[default]
    None,
    Agent,
    Human,
}

impl From<ActionName> for Action {
    fn from(name: ActionName) -> Self {
        match name {
            ActionName::Call => Self::Call,
            ActionName::Read => Self::Read,
            ActionName::GetPrompt => Self::GetPrompt,
            ActionName::Complete => Self::Complete,
        }
    }
}

impl From<ConsentName> for Consent {
    fn from(name: ConsentName) -> Self {
        match name {
            ConsentName::None => Self::None,
            ConsentName::Agent => Self::Agent,
            ConsentName::Human => Self::Human,
        }
    }
}

impl Table {
    /// Reads a table: `[[case]]` with `tool`, `expect` and whatever else the question needs.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            #[serde(default)]
            case: Vec<Spanned<Case>>,
        }
        let line_at = |offset: usize| {
            let before = text.as_bytes().get(..offset).unwrap_or_default();
            before.iter().filter(|byte| **byte == b'\n').count() + 1
        };
        let file: File = toml::from_str(text).map_err(|error| TableError {
            line: error.span().map_or(1, |span| line_at(span.start)),
            message: error.message().to_owned(),
        })?;
        let cases: Vec<(usize, Case)> = file
            .case
            .into_iter()
            .map(|case| (line_at(case.span().start), case.into_inner()))
            .collect();
        for arguments in cases.iter().filter_map(|(_, case)| case.arguments.as_ref()) {
            payload(arguments.get_ref()).map_err(|message| TableError {
                line: line_at(arguments.span().start),
                message,
            })?;
        }
        Ok(Self { cases })
    }

    /// The tools the table asks about.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        self.cases.iter().map(|(_, case)| case.tool.as_str())
    }

    /// Asks every case; `lookup` knows the tools by their canonical ids.
    pub fn run(
        &self,
        policies: &Policies,
        lookup: impl Fn(&str) -> Option<ToolSpec>,
    ) -> Vec<CaseResult> {
        self.cases
            .iter()
            .map(|(line, case)| {
                let verdict = case.ask(policies, &lookup);
                let problem = match &verdict {
                    Ok(verdict) => case.mismatch(verdict),
                    Err(problem) => Some(problem.clone()),
                };
                CaseResult {
                    line: *line,
                    name: case.name.clone().unwrap_or_else(|| case.tool.clone()),
                    verdict: verdict.ok(),
                    problem,
                }
            })
            .collect()
    }
}

impl Case {
    fn ask(
        &self,
        policies: &Policies,
        lookup: impl Fn(&str) -> Option<ToolSpec>,
    ) -> Result<Verdict, String> {
        let tool = lookup(&self.tool).ok_or_else(|| format!("no tool is named `{}`", self.tool))?;
        let arguments = match &self.arguments {
            Some(arguments) => payload(arguments.get_ref())?,
            None => Payload::empty_object(),
        };
        let arguments = tool.telling.respelled(arguments);
        let none = Map::new();
        let fields = arguments.value().as_object().unwrap_or(&none);
        let principal = match &self.principal {
            Some(name) => Principal::from_stored(name.clone()),
            None => Principal::user(1000),
        };
        Ok(policies.decide(&Question {
            principal: &principal,
            action: self.action.into(),
            tool: &tool,
            capability: tool.capability_with(fields),
            consent: self.consent.into(),
            trust: self.trust.unwrap_or(TrustLevel::Local),
            surface: self.surface.unwrap_or(Surface::Cli),
            profile: self.profile.as_deref(),
            skill: self.skill.as_deref(),
            session: self.session.as_deref().unwrap_or("default"),
            budget_left: self.budget_left,
            estimate: self.estimate(&tool, fields),
            tainted: self.tainted,
            arguments: &arguments,
        }))
    }

    /// The tool's own estimate, with what the case says instead.
    fn estimate(&self, tool: &ToolSpec, arguments: &Map<String, Value>) -> Estimate {
        let own = tool.cost.estimate(arguments);
        Estimate {
            estimated: self.estimated.unwrap_or(own.estimated),
            worst_case: self.worst_case.unwrap_or(own.worst_case),
            confirm: self.cost_confirm.unwrap_or(own.confirm),
        }
    }

    fn mismatch(&self, verdict: &Verdict) -> Option<String> {
        let decided = Expected::from(verdict.decision);
        if decided != self.expect {
            let mut problem = format!(
                "expected {}, got {} by {}",
                self.expect.as_str(),
                decided.as_str(),
                verdict.rule
            );
            for error in &verdict.errors {
                problem.push_str("; ");
                problem.push_str(error);
            }
            return Some(problem);
        }
        let wanted = self.rule.as_deref()?;
        let found = verdict.rule == wanted || verdict.rules.iter().any(|rule| rule == wanted);
        (!found).then(|| {
            format!(
                "{} as expected, but by {}, not by {wanted}",
                decided.as_str(),
                verdict.rule
            )
        })
    }
}

/// Arguments are a table, or JSON text where TOML cannot say it.
fn payload(arguments: &toml::Value) -> Result<Payload, String> {
    let payload = match arguments {
        toml::Value::String(json) => Payload::parse(json.clone()),
        toml::Value::Table(_) => Payload::from_serialize(arguments),
        toml::Value::Integer(_)
        | toml::Value::Float(_)
        | toml::Value::Boolean(_)
        | toml::Value::Datetime(_)
        | toml::Value::Array(_) => {
            return Err("`arguments` is neither a table nor JSON text".to_owned());
        }
    };
    payload.map_err(|cause| format!("`arguments` is {cause}"))
}
