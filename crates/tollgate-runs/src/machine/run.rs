//! A run as a value: its template, its inputs, and how far every step has come.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;

use super::{Because, Key, Record, Status, StepError, StepState};
use crate::template::{CallStep, Step, StepKind, Template};

/// A run.
pub struct Run {
    pub(super) template: Arc<Template>,
    pub(super) inputs: Value,
    /// What expressions see as `run`.
    pub(super) about: Value,
    pub(super) nodes: Vec<Node>,
    pub(super) status: Status,
    pub(super) is_canceled: bool,
    pub(super) is_late: bool,
    /// The share that must succeed if the template does not say.
    pub(super) threshold: f64,
    /// What was known of calls before a crash, by name.
    restored: HashMap<String, Record>,
}

/// How far one step has come.
#[expect(
    clippy::large_enum_variant,
    reason = "a run has few steps, and most of them are calls"
)]
pub(super) enum Node {
    Call(Record),
    Group(GroupNode),
}

#[derive(Default)]
pub(super) struct GroupNode {
    pub(super) state: StepState,
    pub(super) because: Option<Because>,
    pub(super) error: Option<StepError>,
    pub(super) concurrency: usize,
    pub(super) items: Vec<Item>,
}

pub(super) struct Item {
    pub(super) value: Value,
    pub(super) calls: Vec<Record>,
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Calls there are, as far as that is known.
    pub total: usize,
    /// Calls that have ended, also by being left out.
    pub done: usize,
}

/// One call as people see it.
#[derive(Debug, Clone)]
pub struct StepView<'a> {
    /// Its name in records.
    pub name: String,
    /// The tool.
    pub tool: &'a str,
    /// All that is known of it.
    pub record: &'a Record,
}

impl Run {
    /// A run that has not begun; `about` is what its expressions see as `run`.
    pub fn new(template: Arc<Template>, inputs: Value, about: Value, threshold: f64) -> Self {
        let nodes = template.steps.iter().map(|step| match &step.kind {
            StepKind::Call(_) => Node::Call(Record::default()),
            StepKind::Group(_) => Node::Group(GroupNode::default()),
        });
        Self {
            nodes: nodes.collect(),
            template,
            inputs,
            about,
            status: Status::Queued,
            is_canceled: false,
            is_late: false,
            threshold,
            restored: HashMap::new(),
        }
    }

    /// Takes over what was kept before a crash. What was under way begins again with the
    /// same attempt, so that whoever makes the call can tell whether it happened; what
    /// waited for somebody goes on waiting.
    #[must_use]
    pub fn restored(mut self, records: impl IntoIterator<Item = (String, Record)>) -> Self {
        self.restored = records
            .into_iter()
            .map(|(name, mut record)| {
                if record.state == StepState::Running && record.waits.is_none() {
                    record.state = StepState::Pending;
                    record.attempts = record.attempts.saturating_sub(1);
                }
                (name, record)
            })
            .collect();
        for (step, node) in self.template.steps.iter().zip(&mut self.nodes) {
            if let Node::Call(record) = node
                && let Some(kept) = self.restored.remove(&step.id)
            {
                *record = kept;
            }
        }
        self
    }

    /// Whether calls of a group had begun before a crash; they are not begun anew.
    pub(super) fn was_begun(&self, step: usize) -> bool {
        let Some(Node::Group(_)) = self.nodes.get(step) else {
            return false;
        };
        let id = self.template.steps.get(step).map_or("", |step| &step.id);
        let mut names = self.restored.keys();
        names.any(|name| {
            name.strip_prefix(id)
                .is_some_and(|rest| rest.starts_with('['))
        })
    }

    pub(super) fn kept(&mut self, name: &str) -> Record {
        self.restored.remove(name).unwrap_or_default()
    }

    /// Where it stands.
    pub fn status(&self) -> Status {
        self.status
    }

    /// What it does.
    pub fn template(&self) -> &Arc<Template> {
        &self.template
    }

    /// Whether somebody wants it called off.
    pub fn is_canceled(&self) -> bool {
        self.is_canceled
    }

    /// Whether no new work is begun.
    pub(super) fn is_stopping(&self) -> bool {
        self.is_canceled
            || self.is_late
            || (!self.template.supports_partial_success && self.has_failed())
    }

    /// Whether a step without which the run cannot succeed has failed.
    fn has_failed(&self) -> bool {
        let steps = self.template.steps.iter().zip(&self.nodes);
        steps
            .filter(|(step, _)| !step.optional)
            .any(|(_, node)| match node {
                Node::Call(record) => record.state == StepState::Failed,
                Node::Group(group) => group.state == StepState::Failed,
            })
    }

    /// All that is known of a call.
    pub fn record(&self, key: Key) -> Option<&Record> {
        match (self.nodes.get(key.step)?, key.item) {
            (Node::Call(record), None) => Some(record),
            (Node::Group(group), Some((item, inner))) => group.items.get(item)?.calls.get(inner),
            (Node::Call(_), Some(_)) | (Node::Group(_), None) => None,
        }
    }

    pub(super) fn record_mut(&mut self, key: Key) -> Option<&mut Record> {
        match (self.nodes.get_mut(key.step)?, key.item) {
            (Node::Call(record), None) => Some(record),
            (Node::Group(group), Some((item, inner))) => {
                group.items.get_mut(item)?.calls.get_mut(inner)
            }
            (Node::Call(_), Some(_)) | (Node::Group(_), None) => None,
        }
    }

    /// Notes when a call began or failed, once, what it calls, and where it stands in the template.
    pub fn note_time(&mut self, key: Key, at: i64) {
        let tool = self.call_step(key).map(|call| call.tool.clone());
        let (Some(tool), Some(record)) = (tool, self.record_mut(key)) else {
            return;
        };
        let (item, inner) = key.item.unwrap_or_default();
        record.place = [key.step, item, inner];
        record.tool = tool;
        match record.state {
            StepState::Running => {
                record.began_at.get_or_insert(at);
            }
            StepState::Failed => {
                record.ended_at.get_or_insert(at);
            }
            StepState::Pending | StepState::Succeeded | StepState::Skipped => {}
        }
    }

    /// What a call calls.
    pub(super) fn call_step(&self, key: Key) -> Option<&CallStep> {
        match (&self.template.steps.get(key.step)?.kind, key.item) {
            (StepKind::Call(call), None) => Some(call),
            (StepKind::Group(group), Some((_, inner))) => {
                group.steps.get(inner).map(|inner| &inner.call)
            }
            (StepKind::Call(_), Some(_)) | (StepKind::Group(_), None) => None,
        }
    }

    /// The name of a call in records: `exec`, `page[3].open` or `fetch[3]`.
    pub fn name(&self, key: Key) -> String {
        let step = self.template.steps.get(key.step);
        let id = step.map_or("", |step| step.id.as_str());
        match (step.map(|step| &step.kind), key.item) {
            (Some(StepKind::Group(group)), Some((item, inner))) => {
                let inner = group.steps.get(inner).map_or("", |inner| inner.id.as_str());
                if inner == id {
                    format!("{id}[{item}]")
                } else {
                    format!("{id}[{item}].{inner}")
                }
            }
            (Some(_) | None, _) => id.to_owned(),
        }
    }

    /// Every call there is, in order.
    pub fn steps(&self) -> Vec<StepView<'_>> {
        self.keys()
            .into_iter()
            .filter_map(|key| {
                Some(StepView {
                    name: self.name(key),
                    tool: &self.call_step(key)?.tool,
                    record: self.record(key)?,
                })
            })
            .collect()
    }

    /// The arguments of a call, if its inputs alone decide them.
    pub fn known_arguments(&self, call: &CallStep) -> Option<Value> {
        let shape = &call.arguments;
        let known = shape.is_known_early();
        known.then(|| shape.fill(&self.view().scope(None)))
    }

    pub(super) fn keys(&self) -> Vec<Key> {
        let mut keys = Vec::new();
        for (step, node) in self.nodes.iter().enumerate() {
            match node {
                Node::Call(_) => keys.push(Key { step, item: None }),
                Node::Group(group) => {
                    for (item, known) in group.items.iter().enumerate() {
                        keys.extend((0..known.calls.len()).map(|inner| Key {
                            step,
                            item: Some((item, inner)),
                        }));
                    }
                }
            }
        }
        keys
    }

    /// How far it has come. An item of a group is one step, whatever calls it takes, and a group
    /// that has not begun counts as one. What cleans up behind the run is no step of it.
    pub fn progress(&self) -> Progress {
        let mut progress = Progress::default();
        for (node, step) in self.nodes.iter().zip(&self.template.steps) {
            if step.cleans_up() {
                continue;
            }
            match node {
                Node::Call(record) => {
                    progress.total += 1;
                    progress.done += usize::from(record.state.is_settled());
                }
                Node::Group(group) if group.items.is_empty() => {
                    progress.total += 1;
                    progress.done += usize::from(group.state.is_settled());
                }
                Node::Group(group) => {
                    for item in &group.items {
                        let is_done = item.calls.iter().all(|call| call.state.is_settled());
                        progress.total += 1;
                        progress.done += usize::from(is_done);
                    }
                }
            }
        }
        progress
    }

    /// Whether any answer so far holds text that reads like instructions.
    pub fn is_tainted(&self) -> bool {
        self.keys()
            .into_iter()
            .filter_map(|key| self.record(key))
            .any(|record| record.tainted)
    }

    /// Calls that are under way or wait to be tried again.
    pub(super) fn in_flight(&self) -> usize {
        let running = |record: &&Record| record.state == StepState::Running;
        self.nodes
            .iter()
            .map(|node| match node {
                Node::Call(record) => usize::from(running(&record)),
                Node::Group(group) => {
                    let calls = group.items.iter().flat_map(|item| &item.calls);
                    calls.filter(running).count()
                }
            })
            .sum()
    }

    pub(super) fn settled(&self, step: usize) -> bool {
        self.state_of(step).is_settled()
    }

    pub(super) fn state_of(&self, step: usize) -> StepState {
        match self.nodes.get(step) {
            Some(Node::Call(record)) => record.state,
            Some(Node::Group(group)) => group.state,
            None => StepState::Skipped,
        }
    }

    /// Whether a step keeps those that wait for it from running.
    pub(super) fn blocks(&self, step: usize) -> bool {
        let is_optional = self
            .template
            .steps
            .get(step)
            .is_some_and(|step: &Step| step.optional);
        let because = match self.nodes.get(step) {
            Some(Node::Call(record)) => record.because,
            Some(Node::Group(group)) => group.because,
            None => None,
        };
        match self.state_of(step) {
            StepState::Failed => !is_optional,
            StepState::Skipped => because != Some(Because::Condition),
            StepState::Pending | StepState::Running | StepState::Succeeded => false,
        }
    }
}
