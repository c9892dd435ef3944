//! Schemas as compiled validators.
//!
//! A schema may come from an upstream server, so it is hostile input: bounded in
//! size and depth, patterns in linear time, formats asserted, and no reference
//! that leads out of the document.
//!
//! Invariant: nothing is validated whose work is not bounded before. A schema that costs too
//! much whatever it is given does not compile; for the rest, the steps that schema and value
//! take together are counted where they could be many. Few are done at once, more are for
//! threads of their own ([`pool`]), and too many are refused.

mod cost;
mod count;
pub(crate) mod fuzzing;
mod graph;
mod pool;

use std::{collections::BTreeSet, sync::Arc};

use jsonschema::{PatternOptions, ValidationError, Validator, error::ValidationErrorKind};
use serde_json::{Map, Value};

pub(crate) use pool::{Pool, PoolError};

const MAX_BYTES: usize = 512 << 10;
const MAX_DEPTH: usize = 64;
const MAX_PROBLEMS: usize = 8;
const PATTERN_BYTES: usize = 1 << 20;
/// What all the patterns of a schema may take together, once compiled.
const ALL_PATTERN_BYTES: usize = 32 << 20;
const MAX_PATTERNS: usize = 1000;
/// From so many bytes on a schema may nest deeper than the stack of a worker allows.
const LARGE: usize = 8 << 10;
const LARGE_STACK: usize = 256 << 20;
/// Steps that are done where the call is, a few milliseconds at most.
const QUICK: u64 = 100_000;
/// The most steps of one validation, a few seconds on a thread of the pool.
const MAX_STEPS: u64 = 20_000_000;
/// Beyond so many steps a misfit is not explained: each step may leave an error.
const EXPLAINED: u64 = 500_000;
/// The longest message about one value.
const MAX_MESSAGE: usize = 2000;
/// The longest list of the values that are allowed.
const MAX_ALLOWED: usize = 16_000;
/// Alternatives of a schema that a message explains one by one.
const MAX_ALTERNATIVES: usize = 4;

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SchemaError {
    #[error("the schema is larger than {MAX_BYTES} bytes")]
    TooLarge,
    #[error("the schema nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("the schema refers to something outside itself: {0}")]
    Remote(String),
    #[error("the schema is too expensive to check anything against")]
    TooExpensive,
    #[error("the schema refers to itself without looking into the value")]
    Circular,
    #[error("the schema is not valid: {0}")]
    Invalid(String),
}

/// What one value does wrong, at most a few of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) at: String,
    pub(crate) message: String,
}

/// A compiled schema, and what its validations cost.
#[derive(Debug)]
pub(crate) struct Checker {
    validator: Validator,
    graph: graph::Graph,
    cost: cost::Cost,
}

/// Checking the value against the schema would take too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("checking it against the schema would take too long")]
pub(crate) struct TooLong;

/// Compiles a schema once.
pub(crate) fn compile(schema: &Value) -> Result<Arc<Checker>, SchemaError> {
    let bytes = schema.to_string().len();
    if bytes > MAX_BYTES {
        return Err(SchemaError::TooLarge);
    }
    inspect(schema, 0)?;
    if bytes < LARGE {
        return build(schema).map(Arc::new);
    }
    let failed = |cause: &str| SchemaError::Invalid(format!("it could not be compiled: {cause}"));
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(LARGE_STACK);
        let made = thread
            .spawn_scoped(scope, || build(schema))
            .map_err(|error| failed(&error.to_string()))?;
        made.join().map_err(|_| failed("a fault of the compiler"))?
    })
    .map(Arc::new)
}

fn build(schema: &Value) -> Result<Checker, SchemaError> {
    let graph = graph::build(schema)?;
    let cost = cost::of(&graph)?;
    if graph.patterns > MAX_PATTERNS {
        return Err(SchemaError::TooExpensive);
    }
    let pattern_bytes = PATTERN_BYTES.min(ALL_PATTERN_BYTES / graph.patterns.max(1));
    let validator = jsonschema::draft202012::options()
        .should_validate_formats(true)
        .with_pattern_options(PatternOptions::regex().size_limit(pattern_bytes))
        .build(schema)
        .map_err(|error| SchemaError::Invalid(error.to_string()))?;
    Ok(Checker {
        validator,
        graph,
        cost,
    })
}

/// Compiles the schema of arguments. A property with a default need not be sent: many servers list it as required,
/// because it is always there once they have filled it in.
pub(crate) fn compile_input(schema: &Value) -> Result<Arc<Checker>, SchemaError> {
    inspect(schema, 0)?;
    let mut relaxed = schema.clone();
    relax(&mut relaxed);
    compile(&relaxed)
}

/// Takes properties with a default off the lists of required ones.
fn relax(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(properties) = fields.get("properties").and_then(Value::as_object) {
                let optional = with_default(properties);
                if let Some(Value::Array(required)) = fields.get_mut("required") {
                    required
                        .retain(|name| name.as_str().is_none_or(|name| !optional.contains(name)));
                }
            }
            let literal = |name: &str| matches!(name, "const" | "enum" | "default" | "examples");
            let below = fields.iter_mut().filter(|(name, _)| !literal(name));
            below.for_each(|(_, inner)| relax(inner));
        }
        Value::Array(items) => items.iter_mut().for_each(relax),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn with_default(properties: &Map<String, Value>) -> BTreeSet<String> {
    let optional = properties
        .iter()
        .filter(|(_, it)| it.get("default").is_some());
    optional.map(|(name, _)| name.clone()).collect()
}

impl Checker {
    /// What is wrong with a value, if that takes few steps; `None` if it is work for [`Pool`].
    pub(crate) fn quickly(&self, value: &Value) -> Option<Vec<Problem>> {
        let steps = self.steps(value, QUICK, false)?;
        Some(self.problems(value, steps))
    }

    /// The same in as many steps as may be taken at all.
    pub(crate) fn at_length(&self, value: &Value) -> Result<Vec<Problem>, TooLong> {
        let steps = self.steps(value, MAX_STEPS, true).ok_or(TooLong)?;
        Ok(self.problems(value, steps))
    }

    /// The same without another thread, for schemas that are not a stranger's; a value that
    /// takes long does not fit.
    pub(crate) fn at_once(&self, value: &Value) -> Vec<Problem> {
        let Some(steps) = self.steps(value, EXPLAINED, false) else {
            return vec![Problem {
                at: String::new(),
                message: TooLong.to_string(),
            }];
        };
        self.problems(value, steps)
    }

    /// At least the steps of a validation; `None` if they are more than `limit`.
    fn steps(&self, value: &Value, limit: u64, deep: bool) -> Option<u64> {
        if self.cost.plain {
            let most = limit / self.cost.steps.max(1);
            let values = count::values(value, most.saturating_add(1));
            if values <= most {
                return Some(values.saturating_mul(self.cost.steps));
            }
        }
        count::steps(&self.graph, value, limit, deep)
    }

    fn problems(&self, value: &Value, steps: u64) -> Vec<Problem> {
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        if steps > EXPLAINED {
            return vec![Problem {
                at: String::new(),
                message: "the value does not fit, and is too large to say where".to_owned(),
            }];
        }
        let errors = self.validator.iter_errors(value).take(MAX_PROBLEMS);
        let told = errors.map(|error| Problem {
            at: error.instance_path().to_string(),
            message: message(&error),
        });
        told.collect()
    }
}

/// What is wrong in words that do not repeat the value, which may be secret.
fn message(error: &ValidationError<'_>) -> String {
    let kind = error.kind();
    if let ValidationErrorKind::Enum { options } = kind {
        let allowed = options.as_array().map(Vec::as_slice).unwrap_or_default();
        let allowed: Vec<String> = allowed.iter().map(Value::to_string).collect();
        return one_of(&allowed);
    }
    let (ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }) =
        kind
    else {
        return bounded(error.masked().to_string(), MAX_MESSAGE);
    };
    let alternatives = context.iter().filter_map(|errors| errors.first());
    // Alternatives that are constants are the allowed values, spelled one by one.
    let constants: Option<Vec<String>> = context.iter().map(|errors| constant(errors)).collect();
    if let Some(allowed) = constants.filter(|allowed| !allowed.is_empty()) {
        return one_of(&allowed);
    }
    let reasons: Vec<String> = alternatives.take(MAX_ALTERNATIVES).map(message).collect();
    let all = format!("{} ({})", error.masked(), reasons.join("; "));
    bounded(all, MAX_MESSAGE)
}

fn one_of(allowed: &[String]) -> String {
    let all = format!("value is not one of {}", allowed.join(", "));
    bounded(all, MAX_ALLOWED)
}

/// The constant that an alternative allows, if that is all it asks for.
fn constant(errors: &[ValidationError<'_>]) -> Option<String> {
    let [error] = errors else { return None };
    let ValidationErrorKind::Constant { expected_value } = error.kind() else {
        return None;
    };
    Some(expected_value.to_string())
}

/// A message that names thousands of keys helps nobody.
fn bounded(mut message: String, most: usize) -> String {
    if let Some((at, _)) = message.char_indices().nth(most) {
        message.truncate(at);
        message.push('…');
    }
    message
}

fn inspect(schema: &Value, depth: usize) -> Result<(), SchemaError> {
    if depth > MAX_DEPTH {
        return Err(SchemaError::TooDeep);
    }
    match schema {
        Value::Object(fields) => {
            for (key, inner) in fields {
                if matches!(key.as_str(), "$ref" | "$dynamicRef")
                    && let Value::String(target) = inner
                    && !target.starts_with('#')
                {
                    return Err(SchemaError::Remote(target.clone()));
                }
                inspect(inner, depth + 1)?;
            }
            Ok(())
        }
        Value::Array(items) => items.iter().try_for_each(|item| inspect(item, depth + 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

#[cfg(test)]
mod attacks;
#[cfg(test)]
mod tests;
