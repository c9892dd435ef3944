//! Holds rules against the schema when they are loaded.
//!
//! A misspelt attribute would make its rule err on every call, which denies them all;
//! it is better found before the first. What a rule says about arguments is left
//! out: no schema can list the arguments of every tool.

use std::sync::OnceLock;

use cedar_policy::{
    PolicySet, Schema, ValidationMode, ValidationWarning, Validator, ffi::DetailedError,
};

use super::{
    Action, PolicyError, Problem, Source,
    compile::{Draft, internal, with_help},
    rewrite::for_validation,
};

/// What rules may look at.
const SCHEMA: &str = include_str!("../../policies/tollgate.cedarschema");

/// Holds every rule against the schema, its arguments aside.
pub(super) fn violations(sources: &[Source], drafts: &[Draft]) -> Vec<PolicyError> {
    let mut problems = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let unproven: Vec<&Draft> = drafts
            .iter()
            .filter(|draft| draft.source == index && !source.is_known_good())
            .collect();
        if unproven.is_empty() {
            continue;
        }
        match validator() {
            Ok(validator) => {
                let found = unproven
                    .iter()
                    .flat_map(|draft| check(validator, source, draft));
                problems.extend(found);
            }
            Err(cause) => problems.push(internal(cause.clone())),
        }
    }
    problems
}

fn check(validator: &Validator, source: &Source, draft: &Draft) -> Vec<PolicyError> {
    let rule = &draft.rule;
    let faulty = |message: String| {
        let problem = Problem::Schema {
            rule: rule.id.clone(),
            message,
        };
        source.problem(Some(rule.line), problem)
    };
    let visible = if rule.mentions.arguments.is_none() {
        Ok(rule.policy.clone())
    } else {
        for_validation(&draft.tree).map_err(|cause| cause.to_string())
    };
    let set = visible
        .and_then(|policy| PolicySet::from_policies([policy]).map_err(|cause| cause.to_string()));
    let set = match set {
        Ok(set) => set,
        Err(message) => return vec![faulty(message)],
    };
    let result = validator.validate(&set, ValidationMode::Strict);
    let errors = result.validation_errors().map(DetailedError::from);
    let warnings = result
        .validation_warnings()
        .filter(|warning| is_serious(warning))
        .map(DetailedError::from);
    let mut problems: Vec<PolicyError> = errors
        .chain(warnings)
        .map(|error| {
            let place = error.source_locations.first();
            let line = place.map_or(rule.line, |label| source.line_at(label.loc.start));
            PolicyError {
                line: Some(line),
                ..faulty(without_action(&with_help(&error), &rule.id))
            }
        })
        .collect();
    let mut seen = Vec::new();
    problems.retain(|problem| {
        let unheard = !seen.contains(problem);
        seen.push(problem.clone());
        unheard
    });
    problems
}

/// Cedar says the same once for each action a rule applies to; it is told once.
fn without_action(message: &str, rule: &str) -> String {
    let mut message = message.replace(&format!("for policy `{rule}`, "), "");
    for action in Action::ALL {
        message = message.replace(&format!(" for Action::\"{}\"", action.as_str()), "");
    }
    message
}

/// A rule that can never apply, or that reads otherwise than it looks, is a mistake;
/// a string in two scripts is not.
fn is_serious(warning: &ValidationWarning) -> bool {
    matches!(
        warning,
        ValidationWarning::ImpossiblePolicy(_)
            | ValidationWarning::BidiCharsInString(_)
            | ValidationWarning::BidiCharsInIdentifier(_)
    )
}

fn validator() -> Result<&'static Validator, &'static String> {
    static VALIDATOR: OnceLock<Result<Validator, String>> = OnceLock::new();
    VALIDATOR
        .get_or_init(|| match Schema::from_cedarschema_str(SCHEMA) {
            Ok((schema, _)) => Ok(Validator::new(schema)),
            Err(cause) => Err(cause.to_string()),
        })
        .as_ref()
}
