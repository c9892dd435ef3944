//! Conditions that can never hold, and answers that no branch is for.
//!
//! Comparisons are with constants only, so it is enough to try each constant and a value
//! on either side of it.

use super::Linting;
use crate::{
    base::{Base, Choice, Condition, Facts, NodeId, SlotKind, Value},
    problem::ProblemCode,
};

/// The most combinations of answers that are tried.
const MOST: usize = 20_000;

pub(super) fn check(linting: &mut Linting<'_>) {
    let base = linting.base;
    let filled = filled(base);
    for choice in &base.choices {
        if let Some(when) = choice.when()
            && !any(base, &filled, &[when], |facts| when.holds(facts))
        {
            let id = crate::short(base.text(choice.id));
            let message = format!("the condition of option `{id}` can never hold");
            linting.at(ProblemCode::NeverTrue, choice.spot, message);
        }
    }
    for node in &base.nodes {
        let choices = base.choices(node);
        let whens: Vec<&Condition> = choices.iter().filter_map(|one| one.when()).collect();
        let is_open = base.asked(node).is_some() || node.link().is_some();
        if choices.is_empty() || whens.len() < choices.len() || is_open {
            continue;
        }
        let hidden = |facts: &dyn Facts| whens.iter().all(|when| !when.holds(facts));
        if any(base, &filled, &whens, hidden) {
            let id = crate::short(base.text(node.id));
            let message = format!("for some answers `{id}` has no option to show, and ends");
            linting.at(ProblemCode::NoBranch, node.spot, message);
        }
    }
    for branches in &base.branches {
        let mut before: Vec<&Condition> = Vec::new();
        let mut is_open = true;
        for branch in branches {
            if !is_open {
                let message = "this branch can never be taken: one before it has no `when`";
                linting.at(ProblemCode::NeverTrue, branch.spot, message.to_owned());
                continue;
            }
            let Some(when) = &branch.when else {
                is_open = false;
                continue;
            };
            let mut conditions = before.clone();
            conditions.push(when);
            let reaches = |facts: &dyn Facts| {
                when.holds(facts) && before.iter().all(|earlier| !earlier.holds(facts))
            };
            if !any(base, &filled, &conditions, reaches) {
                let message = "this branch can never be taken".to_owned();
                linting.at(ProblemCode::NeverTrue, branch.spot, message);
            }
            before.push(when);
        }
        let none = |facts: &dyn Facts| before.iter().all(|when| !when.holds(facts));
        if let Some(first) = branches.first()
            && is_open
            && any(base, &filled, &before, none)
        {
            let message = "for some answers there is no branch; add a last one without `when`";
            linting.at(ProblemCode::NoBranch, first.spot, message.to_owned());
        }
    }
}

/// One combination of answers and of nodes that were passed.
struct Tried<'a> {
    values: &'a [(u16, Option<Value>)],
    visited: &'a [(NodeId, bool)],
}

impl Facts for Tried<'_> {
    fn slot(&self, number: u16) -> Option<&Value> {
        let found = self.values.iter().find(|(slot, _)| *slot == number)?;
        found.1.as_ref()
    }

    fn was_at(&self, node: NodeId) -> bool {
        let found = self.visited.iter().find(|(known, _)| *known == node);
        found.is_some_and(|(_, was_at)| *was_at)
    }
}

/// What conditions depend on, with the values that are worth trying.
#[derive(Default)]
struct Axes {
    slots: Vec<(u16, Vec<Option<Value>>)>,
    nodes: Vec<NodeId>,
}

impl Axes {
    /// What these conditions depend on; nothing if it cannot be tried.
    fn of(base: &Base, filled: &[bool], conditions: &[&Condition]) -> Option<Self> {
        let mut leaves = Vec::new();
        for condition in conditions {
            condition.leaves(&mut leaves);
        }
        let mut axes = Self::default();
        for leaf in leaves {
            match leaf {
                Condition::Slot { slot, value, .. } => {
                    let near = around(base, *slot, value);
                    axes.slot(base, *slot).extend(near);
                }
                // Whoever asks whether there is an answer thinks of there being none.
                Condition::Known(slot) => axes.slot(base, *slot).push(None),
                // What depends on several answers at once is for the author to think through.
                Condition::Computed { .. } | Condition::Slots { .. } => return None,
                Condition::Visited(node) if axes.nodes.contains(node) => {}
                Condition::Visited(node) => axes.nodes.push(*node),
                Condition::All(_) | Condition::Any(_) | Condition::Not(_) => {}
            }
        }
        for (slot, values) in &mut axes.slots {
            if !filled[usize::from(*slot)] {
                *values = vec![None];
            }
        }
        Some(axes)
    }

    fn slot(&mut self, base: &Base, slot: u16) -> &mut Vec<Option<Value>> {
        let at = self.slots.iter().position(|(known, _)| *known == slot);
        let at = at.unwrap_or_else(|| {
            self.slots.push((slot, usual(base, slot)));
            self.slots.len() - 1
        });
        &mut self.slots[at].1
    }

    /// How many combinations there are, unless they are too many to try.
    fn count(&self) -> Option<usize> {
        let sizes = self.slots.iter().map(|(_, values)| values.len());
        let sizes = sizes.chain(self.nodes.iter().map(|_| 2));
        let count = sizes.fold(1_usize, usize::saturating_mul);
        (count <= MOST).then_some(count)
    }
}

/// Which slots can have a value at all: those that a node asks for or an option sets.
pub(super) fn filled(base: &Base) -> Vec<bool> {
    let mut filled = vec![false; base.slots.len()];
    let asked = base.nodes.iter().filter_map(|node| base.asked(node));
    let asked = asked.map(|(number, _)| number);
    let set = base.choices.iter().flat_map(Choice::sets);
    for number in asked.chain(set.map(|(number, _)| *number)) {
        filled[usize::from(number)] = true;
    }
    filled
}

/// Whether some combination of answers makes it true; unsure is yes.
fn any(
    base: &Base,
    filled: &[bool],
    conditions: &[&Condition],
    holds: impl Fn(&dyn Facts) -> bool,
) -> bool {
    some(base, filled, conditions, holds).unwrap_or(true)
}

/// Whether some combination of answers makes it true, if that can be told.
pub(super) fn some(
    base: &Base,
    filled: &[bool],
    conditions: &[&Condition],
    holds: impl Fn(&dyn Facts) -> bool,
) -> Option<bool> {
    let axes = Axes::of(base, filled, conditions)?;
    let count = axes.count()?;
    let is_found = (0..count).any(|mut number| {
        let mut next = |size: usize| {
            let at = number % size;
            number /= size;
            at
        };
        let slots = axes.slots.iter();
        let values: Vec<(u16, Option<Value>)> = slots
            .map(|(slot, values)| (*slot, values[next(values.len())].clone()))
            .collect();
        let nodes = axes.nodes.iter();
        let visited: Vec<(NodeId, bool)> = nodes.map(|node| (*node, next(2) == 1)).collect();
        holds(&Tried {
            values: &values,
            visited: &visited,
        })
    });
    Some(is_found)
}

/// Answers that make sense for a slot whatever a condition says.
fn usual(base: &Base, slot: u16) -> Vec<Option<Value>> {
    let texts = |texts: &[&str]| -> Vec<Option<Value>> {
        let texts = texts.iter().map(|text| Value::Text((*text).to_owned()));
        texts.map(Some).collect()
    };
    match &base.slots[usize::from(slot)].kind {
        SlotKind::Choice(picks) => {
            let ids: Vec<&str> = picks.iter().map(|pick| pick.id.as_str()).collect();
            texts(&ids)
        }
        SlotKind::YesNo { .. } => [true, false]
            .map(|truth| Some(Value::Truth(truth)))
            .to_vec(),
        SlotKind::Text { .. } => texts(&["…"]),
        SlotKind::Date { min, max } => {
            let first = min.as_deref().unwrap_or("0001-01-01");
            texts(&[first, max.as_deref().unwrap_or("9999-12-31")])
        }
        SlotKind::Number { min, max, .. } => {
            let numbers = match (min, max) {
                (None, None) => vec![0.0],
                (min, max) => [*min, *max].into_iter().flatten().collect(),
            };
            let numbers = numbers.into_iter().map(Value::Number);
            numbers.map(Some).collect()
        }
    }
}

/// A constant and its neighbours, as far as the slot allows them.
fn around(base: &Base, slot: u16, value: &Value) -> Vec<Option<Value>> {
    let kind = &base.slots[usize::from(slot)].kind;
    let near = match (value, kind) {
        (Value::Number(number), _) => {
            let step = number.abs().max(1.0) * 1e-6;
            [number - step, *number, number + step]
                .map(Value::Number)
                .to_vec()
        }
        (Value::Text(day), SlotKind::Date { .. }) => {
            // As texts these lie just before and just after the day.
            let mut before = day.clone();
            let digit = before.pop().map_or(0, u32::from);
            let last = char::from_u32(digit.saturating_sub(1)).unwrap_or('0');
            before.extend([last, '~']);
            vec![
                Value::Text(before),
                value.clone(),
                Value::Text(format!("{day}~")),
            ]
        }
        (Value::Truth(_) | Value::Text(_), _) => return vec![Some(value.clone())],
    };
    let fits = |value: &Value| match (value, kind) {
        (Value::Number(number), SlotKind::Number { min, max, .. }) => {
            min.is_none_or(|min| *number >= min) && max.is_none_or(|max| *number <= max)
        }
        (Value::Text(day), SlotKind::Date { min, max }) => {
            min.as_ref().is_none_or(|min| day >= min) && max.as_ref().is_none_or(|max| day <= max)
        }
        (_, _) => false,
    };
    near.into_iter().filter(fits).map(Some).collect()
}
