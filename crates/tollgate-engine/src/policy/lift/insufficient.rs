//! Permits that would let a delicate tool run without a human but do not lift the human, and
//! what to add where that is meant.
//!
//! Whoever wrote such a permit believes that it suffices, so start-up and `doctor` name it.
//! What only a call can tell (arguments, budget, caller) is guessed in favour of the permit.

use std::{collections::BTreeSet, fmt, sync::Arc};

use cedar_policy::{PolicySet, pst};
use tollgate_core::{Estimate, Payload, Principal, Surface, ToolSpec, TrustLevel};

use super::is_delicate;
use crate::policy::{
    Action, Consent, Origin, Policies, Question, compile::Rule, entities::Kept,
    rewrite::for_any_call,
};

/// Tools that a message names one by one; the others are counted.
const NAMED: usize = 3;

/// A permit that does not do what it says for some tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InsufficientPermit {
    /// Its `@id`.
    pub rule: String,
    /// The file it is in.
    pub file: String,
    /// The line it starts at, counted from one.
    pub line: usize,
    /// The tools that still need a human.
    pub tools: Vec<String>,
    /// What to add, and where.
    pub remedy: String,
}

impl InsufficientPermit {
    /// What is wrong, without what to do.
    pub fn problem(&self) -> String {
        let named: Vec<&str> = self.tools.iter().take(NAMED).map(String::as_str).collect();
        let rest = self.tools.len().saturating_sub(NAMED);
        let more = if rest > 0 {
            format!(" and {rest} more")
        } else {
            String::new()
        };
        let Self {
            rule, file, line, ..
        } = self;
        format!(
            "{file}:{line}: the permit `{rule}` does not lift the human for {}{more}, which may destroy something or carry data out",
            named.join(", ")
        )
    }
}

impl fmt::Display for InsufficientPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.problem(), self.remedy)
    }
}

impl Policies {
    /// The user's permits that do not suffice for some of these tools, in the order they were
    /// written.
    pub fn insufficient_permits<'a>(
        &self,
        tools: impl Iterator<Item = &'a ToolSpec>,
    ) -> Vec<InsufficientPermit> {
        let written = |rule: &&Rule| rule.permits && rule.origin == Origin::User;
        if !self.rules.iter().any(|rule| written(&rule)) {
            return Vec::new();
        }
        let tools: Vec<&ToolSpec> = tools
            .filter(|tool| is_delicate(tool.annotations))
            .filter(|tool| !self.is_lifted(tool))
            .collect();
        let rules = self.rules.iter().filter(written);
        rules
            .filter_map(|rule| self.insufficient(rule, &tools))
            .collect()
    }

    fn insufficient(&self, rule: &Rule, tools: &[&ToolSpec]) -> Option<InsufficientPermit> {
        let tree = rule.policy.to_pst().ok()?;
        let short: Vec<&ToolSpec> = tools
            .iter()
            .filter(|tool| self.could_hold(rule, &tree, tool))
            .copied()
            .collect();
        let remedy = remedy(rule, &tree, &short)?;
        Some(InsufficientPermit {
            rule: rule.id.clone(),
            file: rule.file.clone(),
            line: rule.line,
            tools: short.iter().map(|it| it.name.as_str().to_owned()).collect(),
            remedy,
        })
    }

    /// Whether another permit lifts the human for this tool.
    fn is_lifted(&self, tool: &ToolSpec) -> bool {
        self.rules
            .iter()
            .filter(|rule| rule.permits && rule.lifts && rule.names.include(&tool.provider_id))
            .any(|rule| {
                let tree = rule.policy.to_pst();
                tree.is_ok_and(|tree| self.could_hold(rule, &tree, tool))
            })
    }

    /// Whether this permit could hold for a call of this tool that no human agreed to.
    fn could_hold(&self, rule: &Rule, tree: &pst::Policy, tool: &ToolSpec) -> bool {
        let only = rule.only.as_deref();
        if only.is_some_and(|only| only != tool.name.as_str()) {
            return false;
        }
        let (principal, arguments) = (Principal::anonymous(), Payload::empty_object());
        let question = Question {
            principal: &principal,
            action: Action::Call,
            tool,
            capability: tool.capability,
            consent: Consent::None,
            trust: TrustLevel::Local,
            surface: Surface::Cli,
            profile: None,
            skill: None,
            session: "",
            budget_left: None,
            estimate: Estimate::default(),
            tainted: false,
            arguments: &arguments,
        };
        // What cannot be asked is no permit, and is reported where it is asked.
        let holds = || -> Option<bool> {
            let set = PolicySet::from_policies([for_any_call(tree).ok()?]).ok()?;
            let prepared: Arc<_> = self.tool(&question).ok()?;
            let scene = self.scene(&question, &prepared, Kept::No).ok()?;
            let without_a_human = [Consent::None, Consent::Agent];
            let mut asked = without_a_human.into_iter();
            Some(asked.any(|consent| {
                let answer = self.ask(&set, &scene, consent);
                answer.is_ok_and(|answer| answer.allowed)
            }))
        };
        holds().unwrap_or(false)
    }
}

/// What to add so that a permit suffices for these tools; `None` if there are none.
fn remedy(rule: &Rule, tree: &pst::Policy, tools: &[&ToolSpec]) -> Option<String> {
    tools.first()?;
    if tools
        .iter()
        .all(|tool| rule.names.include(&tool.provider_id))
    {
        let line = r#"write the line @lifts("human") above it"#;
        return Some(format!("if they may run without one, {line}"));
    }
    let providers: BTreeSet<&str> = tools.iter().map(|it| it.provider_id.as_str()).collect();
    let body = tree.body();
    let conditions: String = body.clauses().iter().map(|it| format!(" {it}")).collect();
    let scope = [
        constrained("principal", &body.principal),
        constrained("action", &body.action),
        constrained("resource", &body.resource),
    ]
    .join(", ");
    let lines: Vec<String> = providers
        .iter()
        .map(|provider| {
            format!(
                r#"@id("{}.{provider}") @lifts("human") permit ({scope}) when {{ resource.provider == "{provider}" }}{conditions};"#,
                rule.id
            )
        })
        .collect();
    Some(format!(
        "it names neither tool nor server; for each server whose tools may run without one, add: {}",
        lines.join(" ")
    ))
}

/// A part of a scope as it is written in a rule; the constraint alone prints without its variable.
fn constrained(variable: &str, constraint: &impl fmt::Display) -> String {
    format!("{variable} {constraint}").trim_end().to_owned()
}
