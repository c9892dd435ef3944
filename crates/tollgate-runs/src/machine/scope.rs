//! What expressions see of a run.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::{
    Record, StepError, StepState,
    run::{GroupNode, Item, Node, Run},
};
use crate::{
    expression::{Scope, Steps},
    template::{CallStep, Group, StepKind},
};

/// The steps of a run, and those of one item before them.
pub(super) struct View<'a> {
    run: &'a Run,
    item: Option<(usize, usize)>,
}

impl Run {
    pub(super) fn view(&self) -> View<'_> {
        View {
            run: self,
            item: None,
        }
    }

    pub(super) fn view_of(&self, step: usize, item: usize) -> View<'_> {
        View {
            run: self,
            item: Some((step, item)),
        }
    }
}

impl<'a> View<'a> {
    pub(super) fn scope<'s>(&'s self, data: Option<&'s Value>) -> Scope<'s> {
        Scope {
            inputs: &self.run.inputs,
            run: &self.run.about,
            item: self.item().map(|(item, at)| (&item.value, at)),
            data,
            steps: Some(self),
        }
    }

    fn item(&self) -> Option<(&'a Item, usize)> {
        let (step, at) = self.item?;
        match self.run.nodes.get(step)? {
            Node::Group(group) => group.items.get(at).map(|item| (item, at)),
            Node::Call(_) => None,
        }
    }

    fn inner(&self, name: &str) -> Option<(&'a Record, &'a CallStep)> {
        let (step, _) = self.item?;
        let (item, _) = self.item()?;
        let StepKind::Group(group) = &self.run.template.steps.get(step)?.kind else {
            return None;
        };
        let at = group.steps.iter().position(|inner| inner.id == name)?;
        Some((item.calls.get(at)?, &group.steps.get(at)?.call))
    }
}

impl Steps for View<'_> {
    fn field(&self, name: &str, field: &str) -> Option<Cow<'_, Value>> {
        if let Some((record, call)) = self.inner(name) {
            return of_record(self, record, call, field);
        }
        let at = self.run.template.place_of(name)?;
        let step = self.run.template.steps.get(at)?;
        match (self.run.nodes.get(at)?, &step.kind) {
            (Node::Call(record), StepKind::Call(call)) => of_record(self, record, call, field),
            (Node::Group(node), StepKind::Group(group)) => {
                of_group(self.run, (at, node), group, field)
            }
            (Node::Call(_), StepKind::Group(_)) | (Node::Group(_), StepKind::Call(_)) => None,
        }
    }
}

fn of_record<'a>(
    view: &View<'_>,
    record: &'a Record,
    call: &CallStep,
    field: &str,
) -> Option<Cow<'a, Value>> {
    match field {
        "data" => record.data.as_deref().map(Cow::Borrowed),
        "output" => match &call.output {
            None => record.data.as_deref().map(Cow::Borrowed),
            Some(shape) => {
                let data = record.data.as_deref()?;
                Some(Cow::Owned(shape.fill(&view.scope(Some(data)))))
            }
        },
        "state" => Some(Cow::Owned(record.state.as_str().into())),
        "error" => record.error.as_ref().map(|error| Cow::Owned(error.shown())),
        "artifacts" => {
            // What stands for a large answer is not what the template wanted kept.
            let spilled = record.spilled.as_deref();
            let notes = record.artifacts.iter();
            let kept = notes.filter(|note| Some(note.artifact_id.as_str()) != spilled);
            Some(Cow::Owned(json!(kept.collect::<Vec<_>>())))
        }
        _ => None,
    }
}

fn of_group<'a>(
    run: &Run,
    (at, node): (usize, &GroupNode),
    group: &Group,
    field: &str,
) -> Option<Cow<'a, Value>> {
    match field {
        "items" | "output" => {
            let items = (0..node.items.len()).map(|item| entry(run, at, item, group));
            Some(Cow::Owned(items.collect()))
        }
        "summary" => Some(Cow::Owned(summary(run, at))),
        "state" => Some(Cow::Owned(node.state.as_str().into())),
        "error" => node.error.as_ref().map(|error| Cow::Owned(error.shown())),
        _ => None,
    }
}

/// What became of one item: its output, and whether it worked.
fn entry(run: &Run, step: usize, item: usize, group: &Group) -> Value {
    let view = run.view_of(step, item);
    let shaped = match (&group.output, group.steps.as_slice()) {
        (Some(shape), _) => shape.fill(&view.scope(None)),
        (None, [only]) => view
            .field(&only.id, "output")
            .map_or(Value::Null, Cow::into_owned),
        (None, many) => {
            let fields = many.iter().filter_map(|inner| {
                let output = view.field(&inner.id, "output")?;
                Some((inner.id.clone(), output.into_owned()))
            });
            Value::Object(fields.collect())
        }
    };
    let mut fields = match shaped {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Map::from_iter([("value".to_owned(), other)])
        }
    };
    let state = run.item_state(step, item);
    fields.insert("success".to_owned(), (state == StepState::Succeeded).into());
    if state == StepState::Skipped {
        fields.insert("skipped".to_owned(), true.into());
    }
    if let Some(error) = run.item_error(step, item) {
        fields.insert("error".to_owned(), error);
    }
    Value::Object(fields)
}

/// How many items there are, how many worked and how many did not; the others were left out, or
/// have not ended.
pub(super) fn summary(run: &Run, step: usize) -> Value {
    let items = match run.nodes.get(step) {
        Some(Node::Group(group)) => group.items.len(),
        Some(Node::Call(_)) | None => 0,
    };
    let count = |wanted: StepState| {
        let states = (0..items).map(|item| run.item_state(step, item));
        states.filter(|state| *state == wanted).count()
    };
    let (succeeded, failed) = (count(StepState::Succeeded), count(StepState::Failed));
    let mut summary = json!({"total": items, "succeeded": succeeded, "failed": failed});
    let skipped = count(StepState::Skipped);
    if skipped > 0 {
        summary["skipped"] = skipped.into();
    }
    summary
}

impl Run {
    /// Where an item stands: as its steps do, those that may fail aside.
    pub(super) fn item_state(&self, step: usize, item: usize) -> StepState {
        let (Some(Node::Group(node)), Some(StepKind::Group(group))) = (
            self.nodes.get(step),
            self.template.steps.get(step).map(|step| &step.kind),
        ) else {
            return StepState::Skipped;
        };
        let Some(known) = node.items.get(item) else {
            return StepState::Skipped;
        };
        let calls = || known.calls.iter().zip(&group.steps);
        if calls().any(|(record, _)| !record.state.is_settled()) {
            let begun = calls().any(|(record, _)| record.state != StepState::Pending);
            return if begun {
                StepState::Running
            } else {
                StepState::Pending
            };
        }
        let mut needed = calls().filter(|(_, inner)| !inner.optional);
        if needed
            .clone()
            .any(|(record, _)| record.state == StepState::Failed)
        {
            return StepState::Failed;
        }
        let left_out = |record: &Record| {
            record.state == StepState::Skipped && record.because != Some(super::Because::Condition)
        };
        if needed.any(|(record, _)| left_out(record)) {
            return StepState::Skipped;
        }
        StepState::Succeeded
    }

    pub(super) fn item_error(&self, step: usize, item: usize) -> Option<Value> {
        let Some(Node::Group(group)) = self.nodes.get(step) else {
            return None;
        };
        if self.item_state(step, item) != StepState::Failed {
            return None;
        }
        let StepKind::Group(steps) = &self.template.steps.get(step)?.kind else {
            return None;
        };
        // What may fail says why only if nothing else does.
        let calls = || {
            group
                .items
                .get(item)
                .into_iter()
                .flat_map(|it| it.calls.iter().zip(&steps.steps))
        };
        let needed = calls().filter(|(_, inner)| !inner.optional);
        let mut errors = needed
            .chain(calls())
            .filter_map(|(record, _)| record.error.as_ref());
        errors.next().map(StepError::shown)
    }
}
