//! What an expression is worth.

use std::{borrow::Cow, cmp::Ordering};

use serde_json::Value;

use super::{Comparison, Expression, Function, Segment};

/// The longest text that is joined; the rest of a longer one is left out.
pub(super) const LONGEST: usize = 16 << 20;

/// What steps have come to so far.
pub(crate) trait Steps {
    /// A field of a step: `data`, `output`, `state`, `error`, `items`, `summary`.
    fn field(&self, step: &str, field: &str) -> Option<Cow<'_, Value>>;
}

/// What an expression can see.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) inputs: &'a Value,
    pub(crate) run: &'a Value,
    pub(crate) item: Option<(&'a Value, usize)>,
    pub(crate) data: Option<&'a Value>,
    pub(crate) steps: Option<&'a dyn Steps>,
}

static NULL: Value = Value::Null;

/// Whether a value counts as yes.
pub(crate) fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(it) => *it,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

impl Expression {
    pub(crate) fn evaluate<'a>(&'a self, scope: &Scope<'a>) -> Cow<'a, Value> {
        match self {
            Self::Literal(value) => Cow::Borrowed(value),
            Self::Path(path) => scope.look_up(path),
            Self::Not(inner) => truth(!is_true(&inner.evaluate(scope))),
            Self::And(one, other) => {
                truth(is_true(&one.evaluate(scope)) && is_true(&other.evaluate(scope)))
            }
            Self::Or(one, other) => {
                truth(is_true(&one.evaluate(scope)) || is_true(&other.evaluate(scope)))
            }
            Self::Compare(how, one, other) => {
                truth(compare(*how, &one.evaluate(scope), &other.evaluate(scope)))
            }
            Self::Apply(function, arguments) => apply(*function, arguments, scope),
        }
    }
}

fn truth(is: bool) -> Cow<'static, Value> {
    Cow::Owned(Value::Bool(is))
}

fn compare(how: Comparison, one: &Value, other: &Value) -> bool {
    let order = || order(one, other);
    match how {
        Comparison::Equal => equal(one, other),
        Comparison::Unequal => !equal(one, other),
        Comparison::Less => order() == Some(Ordering::Less),
        Comparison::AtMost => matches!(order(), Some(Ordering::Less | Ordering::Equal)),
        Comparison::Greater => order() == Some(Ordering::Greater),
        Comparison::AtLeast => matches!(order(), Some(Ordering::Greater | Ordering::Equal)),
    }
}

fn equal(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one == other,
        (None, None) => one == other,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn order(one: &Value, other: &Value) -> Option<Ordering> {
    if let (Some(one), Some(other)) = (one.as_f64(), other.as_f64()) {
        return one.partial_cmp(&other);
    }
    Some(one.as_str()?.cmp(other.as_str()?))
}

fn apply<'a>(function: Function, arguments: &'a [Expression], scope: &Scope<'a>) -> Cow<'a, Value> {
    let value = |at: usize| {
        let argument = arguments.get(at);
        argument.map_or(Cow::Borrowed(&NULL), |it| it.evaluate(scope))
    };
    match function {
        Function::Size => Cow::Owned(size(&value(0)).into()),
        Function::Exists => truth(!value(0).is_null()),
        Function::Default => {
            let first = arguments.iter().map(|argument| argument.evaluate(scope));
            let mut there = first.filter(|value| !value.is_null());
            there.next().unwrap_or(Cow::Borrowed(&NULL))
        }
        Function::Contains => truth(contains(&value(0), &value(1))),
        Function::Min => {
            let numbers = arguments.iter().map(|argument| argument.evaluate(scope));
            let numbers = numbers.filter(|value| value.is_number());
            let least = numbers.min_by(|one, other| order(one, other).unwrap_or(Ordering::Equal));
            least.unwrap_or(Cow::Borrowed(&NULL))
        }
        Function::Join => {
            let list = value(0);
            let items = list.as_array().into_iter().flatten().map(text);
            Cow::Owned(joined(items, &text(&value(1))).into())
        }
        Function::If => value(if is_true(&value(0)) { 1 } else { 2 }),
        Function::First => first(value(0), &value(1)),
    }
}

/// Texts as one. Joined with what was joined before, a few of them would soon fill the memory.
fn joined(items: impl Iterator<Item = String>, between: &str) -> String {
    let mut out = String::new();
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push_str(between);
        }
        out.push_str(&item);
        if out.len() > LONGEST {
            out.truncate(out.floor_char_boundary(LONGEST));
            break;
        }
    }
    out
}

/// The beginning of a text or a list; anything else is taken whole.
fn first<'a>(value: Cow<'a, Value>, most: &Value) -> Cow<'a, Value> {
    let most = most.as_u64().and_then(|most| usize::try_from(most).ok());
    let Some(most) = most.filter(|most| size(&value) > *most) else {
        return value;
    };
    match &*value {
        Value::String(text) => Cow::Owned(text.chars().take(most).collect::<String>().into()),
        Value::Array(items) => Cow::Owned(items.iter().take(most).cloned().collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value,
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Null => 0,
        Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
    }
}

fn contains(holder: &Value, wanted: &Value) -> bool {
    match holder {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => wanted.as_str().is_some_and(|part| text.contains(part)),
        Value::Array(items) => items.iter().any(|item| equal(item, wanted)),
        Value::Object(fields) => wanted
            .as_str()
            .is_some_and(|name| fields.contains_key(name)),
    }
}

/// A value inside a longer text.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

impl<'a> Scope<'a> {
    fn look_up(&self, path: &'a [Segment]) -> Cow<'a, Value> {
        let Some((Segment::Name(root), rest)) = path.split_first() else {
            return Cow::Borrowed(&NULL);
        };
        let found = match root.as_str() {
            "inputs" => Some(Cow::Borrowed(self.inputs)),
            "run" => Some(Cow::Borrowed(self.run)),
            "item" => self.item.map(|(item, _)| Cow::Borrowed(item)),
            "index" => self.item.map(|(_, index)| Cow::Owned(index.into())),
            "data" => self.data.map(Cow::Borrowed),
            "steps" => {
                let [Segment::Name(step), Segment::Name(field), rest @ ..] = rest else {
                    return Cow::Borrowed(&NULL);
                };
                let found = self.steps.and_then(|steps| steps.field(step, field));
                return found.map_or(Cow::Borrowed(&NULL), |value| walk(value, rest));
            }
            _ => None,
        };
        found.map_or(Cow::Borrowed(&NULL), |value| walk(value, rest))
    }
}

fn walk<'a>(value: Cow<'a, Value>, path: &[Segment]) -> Cow<'a, Value> {
    match value {
        Cow::Borrowed(value) => Cow::Borrowed(below(value, path)),
        Cow::Owned(value) if path.is_empty() => Cow::Owned(value),
        Cow::Owned(value) => Cow::Owned(below(&value, path).clone()),
    }
}

fn below<'a>(mut value: &'a Value, path: &[Segment]) -> &'a Value {
    for segment in path {
        let next = match segment {
            Segment::Name(name) => value.get(name),
            Segment::Index(index) => value.get(index),
        };
        value = next.unwrap_or(&NULL);
    }
    value
}
