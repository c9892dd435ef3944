//! The order of steps, and whether each refers only to what comes before it.

use std::collections::BTreeSet;

use super::{CallStep, StepKind, Template};
use crate::{
    expression::{Expression, Segment, Shape},
    read::{Fault, Place},
};

/// What a step says about its place among the others.
pub(super) struct Order {
    pub(super) place: Place,
    /// The steps it waits for; the one before it, if it says nothing.
    pub(super) after: Option<Vec<(String, Place)>>,
}

/// Names a step can be asked for.
const FIELDS: [&str; 7] = [
    "data",
    "output",
    "state",
    "error",
    "items",
    "summary",
    "artifacts",
];

/// Turns names into places, and finds cycles and references that lead nowhere.
pub(super) fn order(template: &mut Template, orders: &[Order], faults: &mut Vec<Fault>) {
    let before = faults.len();
    names(template, orders, faults);
    let mut edges = Vec::new();
    for (at, order) in orders.iter().enumerate() {
        let mut after = Vec::new();
        match &order.after {
            None => after.extend(at.checked_sub(1)),
            Some(names) => {
                for (name, place) in names {
                    match template.place_of(name) {
                        Some(other) => after.push(other),
                        None => {
                            faults.push(Fault::new(*place, format!("there is no step `{name}`")));
                        }
                    }
                }
            }
        }
        edges.push(after);
    }
    for (step, after) in template.steps.iter_mut().zip(edges) {
        step.after = after;
    }
    for (at, order) in orders.iter().enumerate() {
        if ancestors(template, at).contains(&at) {
            let id = &template.steps[at].id;
            faults.push(Fault::new(
                order.place,
                format!("`{id}` waits for itself: the steps form a cycle"),
            ));
        }
    }
    if faults.len() == before {
        references(template, orders, faults);
    }
}

fn names(template: &Template, orders: &[Order], faults: &mut Vec<Fault>) {
    let mut seen = BTreeSet::new();
    for (step, order) in template.steps.iter().zip(orders) {
        if !step.id.is_empty() && !seen.insert(step.id.clone()) {
            faults.push(Fault::new(
                order.place,
                format!("there are two steps `{}`", step.id),
            ));
        }
        if let StepKind::Group(group) = &step.kind {
            if group.steps.is_empty() {
                faults.push(Fault::new(order.place, "`for_each` has no steps"));
            }
            let mut inside = BTreeSet::new();
            for inner in &group.steps {
                if !inside.insert(&inner.id) {
                    let message = format!("there are two steps `{}`", inner.id);
                    faults.push(Fault::new(order.place, message));
                }
            }
        }
    }
}

/// Every step that has ended when this one begins.
fn ancestors(template: &Template, at: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut left = template.steps[at].after.clone();
    while let Some(next) = left.pop() {
        if found.insert(next) {
            left.extend(template.steps[next].after.iter().copied());
        }
    }
    found
}

/// What expressions of one place may name.
struct Sight<'a> {
    place: Place,
    steps: BTreeSet<&'a str>,
    roots: &'a [&'static str],
}

fn references(template: &Template, orders: &[Order], faults: &mut Vec<Fault>) {
    let inputs = template.inputs_schema.get("properties").cloned();
    let known = |path: &[Segment]| match (&inputs, path.get(1)) {
        (Some(inputs), Some(Segment::Name(name))) => inputs.get(name).is_some(),
        (Some(_) | None, _) => true,
    };
    let mut check = |sight: &Sight<'_>, paths: Vec<&[Segment]>| {
        for path in paths {
            if let Some(message) = wrong(sight, path, &known) {
                faults.push(Fault::new(sight.place, message));
            }
        }
    };
    for (at, order) in orders.iter().enumerate() {
        let step = &template.steps[at];
        let before: BTreeSet<&str> = ancestors(template, at)
            .into_iter()
            .map(|other| template.steps[other].id.as_str())
            .collect();
        let sight = |steps: BTreeSet<&'_ str>, roots: &'static [&'static str]| Sight {
            place: order.place,
            steps: steps
                .into_iter()
                .filter_map(|id| name_in(template, id))
                .collect(),
            roots,
        };
        let plain = sight(before.clone(), &["inputs", "run", "steps"]);
        check(&plain, of_expressions(&[step.when.as_ref()]));
        match &step.kind {
            StepKind::Call(call) => {
                let own = sight(before.clone(), &["inputs", "run", "steps", "data", "item"]);
                check(&plain, of_shapes(&[Some(&call.arguments)]));
                check(&own, after_call(call));
            }
            StepKind::Group(group) => {
                check(
                    &plain,
                    of_expressions(&[Some(&group.items), group.concurrency.as_ref()]),
                );
                let roots: &[&str] = &["inputs", "run", "steps", "item", "index", "data"];
                let mut seen = before.clone();
                for inner in &group.steps {
                    let inside = sight(seen.clone(), roots);
                    check(&inside, of_expressions(&[inner.when.as_ref()]));
                    check(&inside, of_shapes(&[Some(&inner.call.arguments)]));
                    check(&inside, after_call(&inner.call));
                    seen.insert(&inner.id);
                }
                check(&sight(seen, roots), of_shapes(&[group.output.as_ref()]));
            }
        }
    }
    let all = Sight {
        place: orders.first().map(|order| order.place).unwrap_or_default(),
        steps: template.steps.iter().map(|step| step.id.as_str()).collect(),
        roots: &["inputs", "run", "steps"],
    };
    check(&all, of_shapes(&[template.result.as_ref()]));
    let early = Sight {
        steps: BTreeSet::new(),
        roots: &["inputs", "run"],
        ..all
    };
    check(&early, of_expressions(&[template.sync_if.as_ref()]));
}

/// The same name with the life of the template.
fn name_in<'t>(template: &'t Template, id: &str) -> Option<&'t str> {
    let inner = template.steps.iter().flat_map(|step| match &step.kind {
        StepKind::Call(_) => Vec::new(),
        StepKind::Group(group) => group.steps.iter().map(|inner| inner.id.as_str()).collect(),
    });
    let outer = template.steps.iter().map(|step| step.id.as_str());
    outer.chain(inner).find(|known| *known == id)
}

fn after_call(call: &CallStep) -> Vec<&[Segment]> {
    let mut paths = of_expressions(&[call.fail_when.as_ref()]);
    paths.extend(of_shapes(&[call.output.as_ref()]));
    for rule in &call.artifacts {
        paths.extend(of_expressions(&[rule.each.as_ref(), rule.when.as_ref()]));
        paths.extend(of_shapes(&[
            Some(&rule.name),
            Some(&rule.kind),
            rule.mime.as_ref(),
            rule.text.as_ref(),
            rule.base64.as_ref(),
        ]));
    }
    paths
}

fn of_expressions<'a>(expressions: &[Option<&'a Expression>]) -> Vec<&'a [Segment]> {
    let mut paths = Vec::new();
    for expression in expressions.iter().flatten() {
        expression.paths(&mut paths);
    }
    paths
}

fn of_shapes<'a>(shapes: &[Option<&'a Shape>]) -> Vec<&'a [Segment]> {
    let mut paths = Vec::new();
    for shape in shapes.iter().flatten() {
        shape.paths(&mut paths);
    }
    paths
}

fn wrong(
    sight: &Sight<'_>,
    path: &[Segment],
    known: &dyn Fn(&[Segment]) -> bool,
) -> Option<String> {
    let Some(Segment::Name(root)) = path.first() else {
        return Some("a path begins with a name".to_owned());
    };
    if !sight.roots.contains(&root.as_str()) {
        return Some(format!(
            "`{root}` is not known here; there are {}",
            sight.roots.join(", ")
        ));
    }
    match (root.as_str(), path) {
        ("inputs", path) if !known(path) => {
            let name = written(path);
            Some(format!("`{name}` is not among the inputs"))
        }
        ("steps", [_, Segment::Name(step), Segment::Name(field), ..]) => {
            if !sight.steps.contains(step.as_str()) {
                return Some(format!("`{step}` is no step that has ended before this"));
            }
            let is_field = FIELDS.contains(&field.as_str());
            (!is_field).then(|| format!("a step has {}, and no `{field}`", FIELDS.join(", ")))
        }
        ("steps", _) => Some("write `steps.<step>.<field>`".to_owned()),
        _ => None,
    }
}

fn written(path: &[Segment]) -> String {
    let parts = path.iter().map(|segment| match segment {
        Segment::Name(name) => name.clone(),
        Segment::Index(index) => index.to_string(),
    });
    parts.collect::<Vec<_>>().join(".")
}
