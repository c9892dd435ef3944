//! What a validation costs once schema and value are known: at least the work of the validator.
//!
//! Counting walks the same way as the validator, but compares nothing and ends at its limit.

use serde_json::Value;

use super::graph::{Graph, Id, Node};

/// A walk is cut off where it has come so deep; it recurses as the validator does.
const MAX_RECURSION: usize = 3000;

struct Count<'a> {
    graph: &'a Graph,
    left: u64,
    recursion: usize,
}

/// The steps of a validation, or `None` if they are more than `limit` or nest too deep.
pub(super) fn steps(graph: &Graph, value: &Value, limit: u64, deep: bool) -> Option<u64> {
    let mut count = Count {
        graph,
        left: limit,
        recursion: if deep {
            MAX_RECURSION
        } else {
            MAX_RECURSION / 8
        },
    };
    count.visit(0, value, 1)?;
    Some(limit - count.left)
}

/// How many values there are in one, long texts counting as several; stops at `limit`.
pub(super) fn values(value: &Value, limit: u64) -> u64 {
    let sum = |mut inner: &mut dyn Iterator<Item = &Value>| {
        let mut sum = 1_u64;
        for value in &mut inner {
            if sum >= limit {
                break;
            }
            sum += values(value, limit - sum);
        }
        sum
    };
    match value {
        Value::Array(items) => sum(&mut items.iter()),
        Value::Object(fields) => sum(&mut fields.values()) + fields.len() as u64,
        Value::String(text) => 1 + text.len() as u64 / 64,
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

/// Reading a text with patterns.
fn reading(text: &str) -> u64 {
    1 + text.len() as u64 / 16
}

impl Count<'_> {
    fn take(&mut self, steps: u64, times: u64) -> Option<()> {
        self.left = self.left.checked_sub(steps.saturating_mul(times))?;
        Some(())
    }

    /// Counts what `id` does with a value, each step `times` times.
    fn visit(&mut self, id: Id, value: &Value, times: u64) -> Option<()> {
        let graph = self.graph;
        let node = &graph.nodes[id];
        self.recursion = self.recursion.checked_sub(1)?;
        self.take(node.weight, times)?;
        let members = match value {
            Value::Object(fields) => fields.len() as u64,
            Value::Array(items) => items.len() as u64,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        };
        let again = if node.unevaluated.is_empty() {
            times
        } else {
            times.saturating_mul(1 + members)
        };
        for next in &node.in_place {
            self.visit(*next, value, again)?;
        }
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    self.member(node, (name, value), times)?;
                }
            }
            Value::Array(items) => self.items(node, items, times)?,
            Value::String(text) if node.reads_text => self.take(reading(text), times)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        self.recursion += 1;
        Some(())
    }

    fn member(&mut self, node: &Node, (name, value): (&str, &Value), times: u64) -> Option<()> {
        self.take(1, times)?;
        match node.named.get(name) {
            Some(next) => self.visit(*next, value, times)?,
            None => self.all(&node.additional, value, times)?,
        }
        if !node.patterns.is_empty() {
            self.take(
                node.patterns.len() as u64,
                times.saturating_mul(reading(name)),
            )?;
            self.all(&node.patterns, value, times)?;
        }
        if !node.names.is_empty() {
            let name = Value::String(name.to_owned());
            self.all(&node.names, &name, times)?;
        }
        self.all(&node.unevaluated, value, times)
    }

    fn items(&mut self, node: &Node, items: &[Value], times: u64) -> Option<()> {
        if node.unique {
            // Few are compared one by one, many are hashed.
            let compared = (items.len() as u64).min(16);
            for item in items {
                let size = values(item, self.left);
                self.take(size.saturating_mul(compared), times)?;
            }
        }
        for (at, item) in items.iter().enumerate() {
            self.take(1, times)?;
            match node.prefix.get(at) {
                Some(next) => self.visit(*next, item, times)?,
                None => self.all(&node.rest, item, times)?,
            }
            self.all(&node.contains, item, times)?;
            self.all(&node.unevaluated, item, times)?;
        }
        Some(())
    }

    fn all(&mut self, ids: &[Id], value: &Value, times: u64) -> Option<()> {
        ids.iter().try_for_each(|id| self.visit(*id, value, times))
    }
}
