//! How a run ended, once nothing is left to do.

use serde_json::{Map, Value};

use super::{
    Status, StepError, StepState,
    run::{Node, Run},
    scope::summary,
};
use crate::{expression::is_true, template::StepKind};

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// Where it stands for good.
    pub status: Status,
    /// Why it is no success.
    pub error: Option<RunError>,
    /// What it came to, as far as it got.
    pub result: Value,
}

/// Why a run is no success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunError {
    /// A step failed.
    Step {
        /// The first that did.
        failed_step: String,
        /// Why.
        error: StepError,
    },
    /// Its time was up.
    Timeout,
    /// Somebody called it off.
    Canceled,
}

impl Run {
    /// Whether a caller who leaves the choice to the template waits for the result.
    pub fn is_sync_by_default(&self) -> bool {
        let rule = self.template.sync_if.as_ref();
        rule.is_none_or(|rule| is_true(&rule.evaluate(&self.view().scope(None))))
    }

    /// What it comes to with what there is so far.
    pub fn result(&self) -> Value {
        if let Some(shape) = &self.template.result {
            return shape.fill(&self.view().scope(None));
        }
        use crate::expression::Steps as _;
        let view = self.view();
        let mut result = Map::new();
        for (at, step) in self.template.steps.iter().enumerate() {
            match &step.kind {
                StepKind::Group(_) if self.has_one_group() => {
                    result.insert("summary".to_owned(), summary(self, at));
                    let items = view.field(&step.id, "items");
                    result.extend(items.map(|items| ("items".to_owned(), items.into_owned())));
                }
                StepKind::Call(_) | StepKind::Group(_) => {
                    let output = view.field(&step.id, "output");
                    result.extend(output.map(|output| (step.id.clone(), output.into_owned())));
                }
            }
        }
        Value::Object(result)
    }

    fn has_one_group(&self) -> bool {
        let groups = self.nodes.iter();
        groups.filter(|node| matches!(node, Node::Group(_))).count() == 1
    }

    pub(super) fn ending(&self) -> Ending {
        let (status, error) = self.verdict();
        Ending {
            status,
            error,
            result: self.result(),
        }
    }

    fn verdict(&self) -> (Status, Option<RunError>) {
        if self.is_canceled {
            return (Status::Canceled, Some(RunError::Canceled));
        }
        if self.is_late {
            return (Status::Failed, Some(RunError::Timeout));
        }
        let Some((failed_step, error)) = self.first_failure() else {
            return (Status::Succeeded, None);
        };
        let error = RunError::Step { failed_step, error };
        let (good, all) = self.units();
        let share = if all == 0 {
            0.0
        } else {
            good as f64 / all as f64
        };
        let threshold = self.template.threshold.unwrap_or(self.threshold);
        let enough = self.template.supports_partial_success
            && good > 0
            && share >= threshold
            && !self.lacks_a_needed_call();
        let status = if enough {
            Status::PartialSuccess
        } else {
            Status::Failed
        };
        (status, Some(error))
    }

    /// The first failure of a step without which the run is no full success.
    fn first_failure(&self) -> Option<(String, StepError)> {
        for (at, (step, node)) in self.template.steps.iter().zip(&self.nodes).enumerate() {
            if step.optional {
                continue;
            }
            match node {
                Node::Call(record) => {
                    if let (StepState::Failed, Some(error)) = (record.state, &record.error) {
                        return Some((step.id.clone(), error.clone()));
                    }
                }
                Node::Group(group) => {
                    if let Some(error) = &group.error {
                        return Some((step.id.clone(), error.clone()));
                    }
                    if let Some(found) = self.failed_item(at) {
                        return Some(found);
                    }
                }
            }
        }
        None
    }

    fn failed_item(&self, step: usize) -> Option<(String, StepError)> {
        let (Node::Group(node), StepKind::Group(group)) =
            (self.nodes.get(step)?, &self.template.steps.get(step)?.kind)
        else {
            return None;
        };
        for (item, known) in node.items.iter().enumerate() {
            for (inner, record) in known.calls.iter().enumerate() {
                let is_optional = group.steps.get(inner).is_some_and(|inner| inner.optional);
                if let (StepState::Failed, Some(error), false) =
                    (record.state, &record.error, is_optional)
                {
                    let key = super::Key {
                        step,
                        item: Some((item, inner)),
                    };
                    return Some((self.name(key), error.clone()));
                }
            }
        }
        None
    }

    /// What is counted: items where there are any, else steps; and how many worked.
    fn units(&self) -> (usize, usize) {
        let has_groups = self.nodes.iter().any(|node| matches!(node, Node::Group(_)));
        let (mut good, mut all) = (0, 0);
        for (at, (step, node)) in self.template.steps.iter().zip(&self.nodes).enumerate() {
            match node {
                Node::Group(group) => {
                    all += group.items.len();
                    good += self.good_items(at);
                }
                Node::Call(_) if has_groups || step.optional || step.always => {}
                Node::Call(record) => {
                    let left_out = record.because == Some(super::Because::Condition);
                    all += usize::from(!left_out);
                    good += usize::from(record.state == StepState::Succeeded);
                }
            }
        }
        (good, all)
    }

    pub(super) fn good_items(&self, step: usize) -> usize {
        let Some(Node::Group(group)) = self.nodes.get(step) else {
            return 0;
        };
        let is_good = |item: &usize| self.item_state(step, *item) == StepState::Succeeded;
        (0..group.items.len()).filter(is_good).count()
    }

    /// Beside items, a failed single call cannot be made up for.
    fn lacks_a_needed_call(&self) -> bool {
        let has_groups = self.nodes.iter().any(|node| matches!(node, Node::Group(_)));
        let steps = self.template.steps.iter().zip(&self.nodes);
        has_groups
            && steps
                .filter(|(step, _)| !step.optional)
                .any(|(_, node)| match node {
                    Node::Call(record) => record.state == StepState::Failed,
                    Node::Group(group) => group.error.is_some(),
                })
    }
}
