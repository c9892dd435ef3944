//! Conditions such as `speed < 50 and kind == fiber`, compiled when a base is loaded.
//!
//! They compare what was answered with what the author wrote and nothing else. A
//! comparison with something not yet answered does not hold.

use super::{NodeId, Slot, SlotKind, Value};

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
            Self::Known(slot) => facts.slot(*slot).is_some(),
            Self::Visited(node) => facts.was_at(*node),
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
            Self::Slot { .. } | Self::Known(_) | Self::Visited(_) => into.push(self),
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

const OPERATORS: [&str; 14] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "=", "!", "(", ")", "[", "]",
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
        let value = self.value(slot)?;
        let is_ordered = !matches!(compare, Compare::Equal | Compare::Differs);
        let can_order = matches!(
            self.names.slots[usize::from(slot)].kind,
            SlotKind::Number { .. } | SlotKind::Date { .. }
        );
        if is_ordered && !can_order {
            return Err(format!("`{name}` has no order, only == and != make sense"));
        }
        Ok(Condition::Slot {
            slot,
            compare,
            value,
        })
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
