//! Conditions that can never hold, and answers that no branch is for.
//!
//! Comparisons are with constants only, so it is enough to try each constant and a value
//! on either side of it.

use super::Linting;
use crate::{
    base::{Base, Condition, Facts, NodeId, SlotKind, Value},
    problem::ProblemCode,
};

/// The most combinations of answers that are tried.
const MOST: usize = 20_000;

pub(super) fn check(linting: &mut Linting<'_>) {
    let base = linting.base;
    for choice in &base.choices {
        if let Some(when) = choice.when()
            && !any(base, &[when], |facts| when.holds(facts))
        {
            let id = crate::short(base.text(choice.id));
            let message = format!("the condition of option `{id}` can never hold");
            linting.at(ProblemCode::NeverTrue, choice.spot, message);
        }
    }
    for branches in &base.branches {
        let mut before: Vec<&Condition> = Vec::new();
        let mut is_open = true;
        for branch in branches {
            let Some(when) = &branch.when else {
                is_open = false;
                break;
            };
            let mut conditions = before.clone();
            conditions.push(when);
            let reaches = |facts: &dyn Facts| {
                when.holds(facts) && before.iter().all(|earlier| !earlier.holds(facts))
            };
            if !any(base, &conditions, reaches) {
                let message = "this branch can never be taken".to_owned();
                linting.at(ProblemCode::NeverTrue, branch.spot, message);
            }
            before.push(when);
        }
        let none = |facts: &dyn Facts| before.iter().all(|when| !when.holds(facts));
        if let Some(first) = branches.first()
            && is_open
            && any(base, &before, none)
        {
            let message = "for some answers there is no branch; add a last one without `when`";
            linting.at(ProblemCode::NoBranch, first.spot, message.to_owned());
        }
    }
}

/// One combination of answers.
struct Tried<'a> {
    values: &'a [(u16, Option<Value>)],
    visited: bool,
}

impl Facts for Tried<'_> {
    fn slot(&self, number: u16) -> Option<&Value> {
        let found = self.values.iter().find(|(slot, _)| *slot == number)?;
        found.1.as_ref()
    }

    fn was_at(&self, _: NodeId) -> bool {
        self.visited
    }
}

/// Whether some combination of answers makes it true; unsure is yes.
fn any(base: &Base, conditions: &[&Condition], holds: impl Fn(&dyn Facts) -> bool) -> bool {
    let mut leaves = Vec::new();
    for condition in conditions {
        condition.leaves(&mut leaves);
    }
    let mut axes: Vec<(u16, Vec<Option<Value>>)> = Vec::new();
    for leaf in leaves {
        let (slot, value) = match leaf {
            Condition::Slot { slot, value, .. } => (*slot, Some(value)),
            Condition::Known(slot) => (*slot, None),
            // What depends on several answers at once is for the author to think through.
            Condition::Computed { .. } | Condition::Slots { .. } => return true,
            Condition::All(_) | Condition::Any(_) | Condition::Not(_) | Condition::Visited(_) => {
                continue;
            }
        };
        let at = match axes.iter().position(|(known, _)| *known == slot) {
            Some(at) => at,
            None => {
                axes.push((slot, usual(base, slot)));
                axes.len() - 1
            }
        };
        if let Some(value) = value {
            axes[at].1.extend(around(base, slot, value));
        }
    }
    let count: usize = axes.iter().map(|(_, values)| values.len()).product();
    if count > MOST {
        return true;
    }
    (0..count).any(|mut number| {
        let values: Vec<(u16, Option<Value>)> = axes
            .iter()
            .map(|(slot, values)| {
                let value = values[number % values.len()].clone();
                number /= values.len();
                (*slot, value)
            })
            .collect();
        [false, true].into_iter().any(|visited| {
            holds(&Tried {
                values: &values,
                visited,
            })
        })
    })
}

/// Answers that make sense for a slot whatever a condition says.
fn usual(base: &Base, slot: u16) -> Vec<Option<Value>> {
    match &base.slots[usize::from(slot)].kind {
        SlotKind::Choice(picks) => picks
            .iter()
            .map(|pick| Some(Value::Text(pick.id.clone())))
            .collect(),
        SlotKind::YesNo { .. } => [true, false]
            .map(|truth| Some(Value::Truth(truth)))
            .to_vec(),
        SlotKind::Text { .. } => vec![Some(Value::Text("…".to_owned()))],
        SlotKind::Date { .. } => ["0001-01-01", "9999-12-31"]
            .map(|day| Some(Value::Text(day.to_owned())))
            .to_vec(),
        SlotKind::Number { .. } => Vec::new(),
    }
}

/// A constant and its neighbours, as far as the slot allows them.
fn around(base: &Base, slot: u16, value: &Value) -> Vec<Option<Value>> {
    let near = match value {
        Value::Number(number) => {
            let step = number.abs().max(1.0) * 1e-6;
            vec![number - step, *number, number + step]
        }
        Value::Truth(_) | Value::Text(_) => return vec![Some(value.clone())],
    };
    let fits = |number: &f64| match &base.slots[usize::from(slot)].kind {
        SlotKind::Number { min, max, .. } => {
            min.is_none_or(|min| *number >= min) && max.is_none_or(|max| *number <= max)
        }
        SlotKind::Text { .. }
        | SlotKind::Choice(_)
        | SlotKind::Date { .. }
        | SlotKind::YesNo { .. } => false,
    };
    let near = near.into_iter().filter(fits);
    near.map(|number| Some(Value::Number(number))).collect()
}
