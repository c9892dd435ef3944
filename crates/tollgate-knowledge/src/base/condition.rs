//! Conditions such as `speed < 50 and kind == fiber`, compiled when a base is loaded.
//!
//! They compare what was answered with what the author wrote and nothing else. A
//! comparison with something not yet answered does not hold.

use super::{Base, NodeId, Slot, SlotKind, Value, linear::Linear};

/// What is known while walking.
pub(crate) trait Facts {
    fn slot(&self, number: u16) -> Option<&Value>;
    fn was_at(&self, node: NodeId) -> bool;
}

/// A compiled condition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Condition {
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    Slot {
        slot: u16,
        compare: Compare,
        value: Value,
    },
    /// A number beside one that is worked out from other answers.
    Computed {
        slot: u16,
        compare: Compare,
        sum: Linear,
    },
    /// Two answers of one kind beside each other.
    Slots {
        slot: u16,
        compare: Compare,
        other: u16,
    },
    Known(u16),
    Visited(NodeId),
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compare {
    Equal,
    Differs,
    Less,
    AtMost,
    More,
    AtLeast,
}

impl Compare {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::Differs => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::More => ">",
            Self::AtLeast => ">=",
        }
    }

    fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Differs => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::More => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        }
    }
}

impl Condition {
    pub(crate) fn holds(&self, facts: &dyn Facts) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.holds(facts)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(facts)),
            Self::Not(part) => !part.holds(facts),
            Self::Slot {
                slot,
                compare,
                value,
            } => {
                let known = facts.slot(*slot).and_then(|known| known.compare(value));
                known.is_some_and(|order| compare.holds(order))
            }
            Self::Computed { slot, compare, sum } => {
                let known = match facts.slot(*slot) {
                    Some(Value::Number(known)) => *known,
                    Some(Value::Truth(_) | Value::Text(_)) | None => return false,
                };
                let order = sum.value(facts).and_then(|sum| known.partial_cmp(&sum));
                order.is_some_and(|order| compare.holds(order))
            }
            Self::Slots {
                slot,
                compare,
                other,
            } => {
                let other = facts.slot(*other);
                let order = other.and_then(|other| facts.slot(*slot)?.compare(other));
                order.is_some_and(|order| compare.holds(order))
            }
            Self::Known(slot) => facts.slot(*slot).is_some(),
            Self::Visited(node) => facts.was_at(*node),
        }
    }

    /// Whether it holds whatever else is answered, if what is known now settles that.
    pub(crate) fn settled(&self, facts: &dyn Facts) -> Option<bool> {
        let is_known = |slot: &u16| facts.slot(*slot).is_some();
        let settles = |parts: &[Self], by: bool| {
            let parts = parts.iter().map(|part| part.settled(facts));
            let found: Vec<Option<bool>> = parts.collect();
            match found.contains(&Some(by)) {
                true => Some(by),
                false => (!found.contains(&None)).then_some(!by),
            }
        };
        let is_settled = match self {
            Self::All(parts) => return settles(parts, false),
            Self::Any(parts) => return settles(parts, true),
            Self::Not(part) => return part.settled(facts).map(|holds| !holds),
            Self::Slot { slot, .. } => is_known(slot),
            Self::Computed { slot, sum, .. } => is_known(slot) && sum.value(facts).is_some(),
            Self::Slots { slot, other, .. } => is_known(slot) && is_known(other),
            // What is not so now may become so.
            Self::Known(_) | Self::Visited(_) => self.holds(facts),
        };
        is_settled.then(|| self.holds(facts))
    }

    /// The condition in the words that authors write it in.
    pub(crate) fn show(&self, base: &Base) -> String {
        let inner = |part: &Self| match part {
            Self::All(_) | Self::Any(_) => format!("({})", part.show(base)),
            Self::Not(_)
            | Self::Slot { .. }
            | Self::Computed { .. }
            | Self::Slots { .. }
            | Self::Known(_)
            | Self::Visited(_) => part.show(base),
        };
        let joined = |parts: &[Self], word: &str| -> String {
            let parts: Vec<String> = parts.iter().map(inner).collect();
            parts.join(word)
        };
        let slot = |number: &u16| {
            let slot = base.slots.get(usize::from(*number));
            slot.map_or("?", |slot| slot.name.as_str())
        };
        match self {
            Self::All(parts) => joined(parts, " and "),
            Self::Any(parts) => joined(parts, " or "),
            Self::Not(part) => format!("not {}", inner(part)),
            Self::Slot {
                slot: number,
                compare,
                value,
            } => format!("{} {} {value}", slot(number), compare.as_str()),
            Self::Computed {
                slot: number,
                compare,
                sum,
            } => format!("{} {} {}", slot(number), compare.as_str(), sum.show(base)),
            Self::Slots {
                slot: number,
                compare,
                other,
            } => format!("{} {} {}", slot(number), compare.as_str(), slot(other)),
            Self::Known(number) => format!("known({})", slot(number)),
            Self::Visited(node) => format!("visited({})", base.id_of(*node)),
        }
    }

    /// Every part that compares or asks.
    pub(crate) fn leaves<'a>(&'a self, into: &mut Vec<&'a Self>) {
        match self {
            Self::All(parts) | Self::Any(parts) => {
                for part in parts {
                    part.leaves(into);
                }
            }
            Self::Not(part) => part.leaves(into),
            Self::Slot { .. }
            | Self::Computed { .. }
            | Self::Slots { .. }
            | Self::Known(_)
            | Self::Visited(_) => into.push(self),
        }
    }
}

/// What names mean while compiling.
pub(super) struct Names<'a> {
    pub(super) slots: &'a [Slot],
    pub(super) node: &'a dyn Fn(&str) -> Option<NodeId>,
}

/// Compiles a condition; the error says what is wrong with it.
pub(super) fn compile(text: &str, names: &Names<'_>) -> Result<Condition, String> {
    let tokens = tokens(text)?;
    let mut parser = Parser {
        tokens: &tokens,
        at: 0,
        depth: 0,
        names,
    };
    let condition = parser.any()?;
    match parser.peek() {
        None => Ok(condition),
        Some(token) => Err(format!("`{token}` is not expected here")),
    }
}

const MAX_DEPTH: usize = 32;
/// What a sum of answers ends before.
const ENDS: [&str; 5] = ["and", "or", "&&", "||", ")"];

fn tokens(text: &str) -> Result<Vec<String>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if first == '\'' || first == '"' {
            let close = rest[1..].find(first).ok_or("a quote is not closed")?;
            close + 2
        } else if let Some(operator) = OPERATORS.iter().find(|op| rest.starts_with(**op)) {
            operator.len()
        } else {
            let ends = |c: char| c.is_whitespace() || "()[],<>=!&|'\"".contains(c);
            let length = rest.find(ends).unwrap_or(rest.len());
            if length == 0 {
                return Err(format!("`{first}` means nothing here"));
            }
            length
        };
        tokens.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

const OPERATORS: [&str; 15] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "=", "!", "(", ")", "[", "]", ",",
];

struct Parser<'a> {
    tokens: &'a [String],
    at: usize,
    depth: usize,
    names: &'a Names<'a>,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.tokens.get(self.at).map(String::as_str)
    }

    fn take(&mut self, words: &[&str]) -> bool {
        let found = self.peek().is_some_and(|token| words.contains(&token));
        self.at += usize::from(found);
        found
    }

    fn next(&mut self, what: &str) -> Result<&'a str, String> {
        let token = self.peek().ok_or_else(|| format!("{what} is missing"))?;
        self.at += 1;
        Ok(token)
    }

    fn any(&mut self) -> Result<Condition, String> {
        let mut parts = vec![self.all()?];
        while self.take(&["or", "||"]) {
            parts.push(self.all()?);
        }
        Ok(one_or(parts, Condition::Any))
    }

    fn all(&mut self) -> Result<Condition, String> {
        let mut parts = vec![self.one()?];
        while self.take(&["and", "&&"]) {
            parts.push(self.one()?);
        }
        Ok(one_or(parts, Condition::All))
    }

    fn one(&mut self) -> Result<Condition, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("the condition is nested too deeply".to_owned());
        }
        let condition = if self.take(&["not", "!"]) {
            Condition::Not(Box::new(self.one()?))
        } else if self.take(&["("]) {
            let inner = self.any()?;
            if !self.take(&[")"]) {
                return Err("a `)` is missing".to_owned());
            }
            inner
        } else {
            self.term()?
        };
        self.depth -= 1;
        Ok(condition)
    }

    fn term(&mut self) -> Result<Condition, String> {
        let name = self.next("a slot")?;
        if self.take(&["("]) {
            let argument = self.next("a name")?;
            let argument = unquoted(argument);
            if !self.take(&[")"]) {
                return Err("a `)` is missing".to_owned());
            }
            return match name {
                "known" => Ok(Condition::Known(self.slot(argument)?)),
                "visited" => match (self.names.node)(argument) {
                    Some(node) => Ok(Condition::Visited(node)),
                    None => Err(format!("there is no node `{argument}`")),
                },
                other => Err(format!(
                    "`{other}(…)` is not known; there are known(slot) and visited(node)"
                )),
            };
        }
        let slot = self.slot(name)?;
        if self.take(&["in"]) {
            return self.one_of(slot);
        }
        let compare = match self.peek() {
            Some("==" | "=") => Compare::Equal,
            Some("!=") => Compare::Differs,
            Some("<") => Compare::Less,
            Some("<=") => Compare::AtMost,
            Some(">") => Compare::More,
            Some(">=") => Compare::AtLeast,
            Some(_) | None => return self.truth(slot),
        };
        self.at += 1;
        let is_ordered = !matches!(compare, Compare::Equal | Compare::Differs);
        let can_order = matches!(
            self.names.slots[usize::from(slot)].kind,
            SlotKind::Number { .. } | SlotKind::Date { .. }
        );
        if is_ordered && !can_order {
            return Err(format!("`{name}` has no order, only == and != make sense"));
        }
        self.compared(slot, compare)
    }

    /// What a slot is compared with: a value, another slot, or a sum of answers.
    fn compared(&mut self, slot: u16, compare: Compare) -> Result<Condition, String> {
        let kind = &self.names.slots[usize::from(slot)].kind;
        if matches!(kind, SlotKind::Number { .. }) {
            let mut text = String::new();
            while let Some(token) = self.peek().filter(|token| !ENDS.contains(token)) {
                text.push_str(token);
                text.push(' ');
                self.at += 1;
            }
            let text = unquoted(text.trim());
            if let Ok(value) = self.names.slots[usize::from(slot)].constant(text) {
                return Ok(Condition::Slot {
                    slot,
                    compare,
                    value,
                });
            }
            let sum = Linear::parse(text, self.names.slots)?;
            return Ok(match sum.constant() {
                Some(number) => Condition::Slot {
                    slot,
                    compare,
                    value: Value::Number(number),
                },
                None => Condition::Computed { slot, compare, sum },
            });
        }
        let word = self.peek().unwrap_or_default();
        let value = self.value(slot);
        let other = self.names.slots.iter().position(|other| other.name == word);
        let other = other.filter(|at| {
            let other = &self.names.slots[*at].kind;
            std::mem::discriminant(kind) == std::mem::discriminant(other)
        });
        match (value, other.and_then(|at| u16::try_from(at).ok())) {
            (Ok(value), _) => Ok(Condition::Slot {
                slot,
                compare,
                value,
            }),
            (Err(_), Some(other)) => Ok(Condition::Slots {
                slot,
                compare,
                other,
            }),
            (Err(error), None) => Err(error),
        }
    }

    fn one_of(&mut self, slot: u16) -> Result<Condition, String> {
        if !self.take(&["["]) {
            return Err("`in` needs a list such as [a, b]".to_owned());
        }
        let mut parts = Vec::new();
        while !self.take(&["]"]) {
            let value = self.value(slot)?;
            parts.push(Condition::Slot {
                slot,
                compare: Compare::Equal,
                value,
            });
            self.take(&[","]);
        }
        Ok(Condition::Any(parts))
    }

    /// A yes/no slot on its own means yes.
    fn truth(&self, slot: u16) -> Result<Condition, String> {
        let found = &self.names.slots[usize::from(slot)];
        match found.kind {
            SlotKind::YesNo { .. } => Ok(Condition::Slot {
                slot,
                compare: Compare::Equal,
                value: Value::Truth(true),
            }),
            SlotKind::Text { .. }
            | SlotKind::Number { .. }
            | SlotKind::Choice(_)
            | SlotKind::Date { .. } => {
                Err(format!("`{}` needs a comparison such as == …", found.name))
            }
        }
    }

    fn slot(&self, name: &str) -> Result<u16, String> {
        let found = self.names.slots.iter().position(|slot| slot.name == name);
        found
            .and_then(|number| u16::try_from(number).ok())
            .ok_or_else(|| {
                let known: Vec<&str> = self.names.slots.iter().map(|s| s.name.as_str()).collect();
                let name = crate::short(name);
                format!("there is no slot `{name}`; there are: {}", known.join(", "))
            })
    }

    fn value(&mut self, slot: u16) -> Result<Value, String> {
        let word = unquoted(self.next("a value")?);
        self.names.slots[usize::from(slot)].constant(word)
    }
}

fn unquoted(word: &str) -> &str {
    word.trim_matches(|c| c == '\'' || c == '"')
}

fn one_or(mut parts: Vec<Condition>, many: fn(Vec<Condition>) -> Condition) -> Condition {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        Some(last) => {
            parts.push(last);
            many(parts)
        }
        None => many(parts),
    }
}
