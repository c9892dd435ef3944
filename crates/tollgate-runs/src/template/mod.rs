//! Templates: what a run does, as a file.
//!
//! Invariant: a [`Template`] that exists was checked: its steps form no cycle, refer only
//! to what comes before them, and every expression in it can be read.

mod check;
mod fields;
mod load;

use serde_json::{Map, Value};

use crate::{
    expression::{Expression, Shape},
    read::Place,
};

pub use load::parse;

/// What a run does.
#[derive(Debug, Clone)]
pub struct Template {
    /// The name callers use.
    pub id: String,
    /// The version, as its author counts.
    pub version: String,
    /// The name for people.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The trust levels whose callers may run it.
    pub trust: Vec<String>,
    /// Whether a run may succeed although some of its items failed.
    pub supports_partial_success: bool,
    /// How much must succeed for that; the global default if it does not say.
    pub threshold: Option<f64>,
    /// How long a run may take.
    pub max_timeout_ms: u64,
    /// How many calls of one run are under way at once.
    pub max_concurrency: u32,
    /// How many items one step may be repeated for.
    pub max_items: u32,
    /// Limits as the catalogue shows them.
    pub limits: Map<String, Value>,
    /// What a run is given, as JSON Schema.
    pub inputs_schema: Value,
    /// What a run comes to, as JSON Schema.
    pub outputs_schema: Value,
    /// The steps, in the order of the file.
    pub steps: Vec<Step>,
    /// The file it was read from, as problems call it.
    pub file: String,
    /// Where the schema of the inputs stands there, and that of what it comes to.
    pub schema_places: [Place; 2],
    /// The digest of the file, which approvals are bound to.
    pub digest: String,
    /// The file itself, which a run keeps.
    pub source: String,
    pub(crate) sync_if: Option<Expression>,
    pub(crate) result: Option<Shape>,
}

/// One step of a template.
#[derive(Debug, Clone)]
pub struct Step {
    /// The name other steps use.
    pub id: String,
    /// The steps it waits for, by their place.
    pub after: Vec<usize>,
    /// Whether it runs whatever happened before, to clean up.
    pub always: bool,
    /// Whether the run goes on without it.
    pub optional: bool,
    /// What it does.
    pub kind: StepKind,
    pub(crate) when: Option<Expression>,
}

impl Step {
    /// Whether it only cleans up behind the run, whatever becomes of that.
    pub const fn cleans_up(&self) -> bool {
        self.always && self.optional
    }
}

/// What a step does.
#[derive(Debug, Clone)]
pub enum StepKind {
    /// One call.
    Call(CallStep),
    /// The same calls for every item of a list.
    Group(Group),
}

/// A call of a tool.
#[derive(Debug, Clone)]
pub struct CallStep {
    /// The tool, by its canonical id.
    pub tool: String,
    /// Where it is named in the file.
    pub place: Place,
    /// How often it is tried again, and when.
    pub retry: Retry,
    /// How long one attempt may take.
    pub timeout_ms: Option<u64>,
    pub(crate) arguments: Shape,
    pub(crate) fail_when: Option<Expression>,
    pub(crate) output: Option<Shape>,
    pub(crate) artifacts: Vec<ArtifactRule>,
}

/// How often a call is tried again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retry {
    /// How often.
    pub times: u32,
    /// How long to wait before the first; twice as long before each that follows.
    pub delay_ms: u64,
    /// Only after these codes, if any are named.
    pub on: Vec<String>,
}

/// Calls for every item of a list.
#[derive(Debug, Clone)]
pub struct Group {
    /// What is done for each item, one after the other.
    pub steps: Vec<InnerStep>,
    pub(crate) items: Expression,
    pub(crate) concurrency: Option<Expression>,
    pub(crate) output: Option<Shape>,
}

/// A step for one item.
#[derive(Debug, Clone)]
pub struct InnerStep {
    /// The name the other steps of the item use.
    pub id: String,
    /// Whether it runs whatever happened before.
    pub always: bool,
    /// Whether the item succeeds without it.
    pub optional: bool,
    /// What it calls.
    pub call: CallStep,
    pub(crate) when: Option<Expression>,
}

/// What of an answer becomes an artifact.
#[derive(Debug, Clone)]
pub(crate) struct ArtifactRule {
    pub(crate) name: Shape,
    pub(crate) kind: Shape,
    pub(crate) mime: Option<Shape>,
    pub(crate) each: Option<Expression>,
    pub(crate) when: Option<Expression>,
    pub(crate) text: Option<Shape>,
    pub(crate) base64: Option<Shape>,
}

impl Template {
    /// Every tool it calls, with what is known of the arguments before it runs.
    pub fn calls(&self) -> impl Iterator<Item = (String, &CallStep)> {
        self.steps.iter().flat_map(|step| match &step.kind {
            StepKind::Call(call) => vec![(step.id.clone(), call)],
            StepKind::Group(group) => group
                .steps
                .iter()
                .map(|inner| (format!("{}[].{}", step.id, inner.id), &inner.call))
                .collect(),
        })
    }

    /// The place of a step by its name.
    pub(crate) fn place_of(&self, id: &str) -> Option<usize> {
        self.steps.iter().position(|step| step.id == id)
    }
}

#[cfg(test)]
mod tests;
