//! The fields of a map, taken one by one; what is left over is a mistake.

use serde_json::Value;

use crate::{
    expression::{Expression, Shape},
    read::{Fault, Field, Kind, Node, Place},
};

/// Fields that were not taken yet, and what was wrong with those that were.
pub(super) struct Fields<'p> {
    left: Vec<Field>,
    place: Place,
    faults: &'p mut Vec<Fault>,
}

impl<'p> Fields<'p> {
    /// The fields of a map; anything else is a fault and has none.
    pub(super) fn of(node: Node, faults: &'p mut Vec<Fault>) -> Self {
        let place = node.place;
        let word = node.word();
        let left = match node.kind {
            Kind::Map(fields) => fields,
            Kind::Plain(_) | Kind::List(_) => {
                let message = format!("fields are expected here, and this is {word}");
                faults.push(Fault::new(place, message));
                Vec::new()
            }
        };
        Self {
            left,
            place,
            faults,
        }
    }

    pub(super) fn faults(&mut self) -> &mut Vec<Fault> {
        self.faults
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// Where a field that was not taken yet stands; where they all do, if it is not there.
    pub(super) fn place_of(&self, name: &str) -> Place {
        let found = self.left.iter().find(|field| field.name == name);
        found.map_or(self.place, |field| field.place)
    }

    /// Takes a field out.
    pub(super) fn take(&mut self, name: &str) -> Option<Node> {
        let at = self.left.iter().position(|field| field.name == name)?;
        Some(self.left.remove(at).value)
    }

    pub(super) fn needed(&mut self, name: &str) -> Option<Node> {
        let found = self.take(name);
        if found.is_none() {
            let message = format!("`{name}` is missing");
            self.faults.push(Fault::new(self.place, message));
        }
        found
    }

    /// A text, which must be there.
    pub(super) fn needed_text(&mut self, name: &str) -> String {
        let node = self.needed(name);
        node.map(|node| self.as_text(name, &node))
            .unwrap_or_default()
    }

    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        let node = self.take(name)?;
        Some(self.as_text(name, &node))
    }

    fn as_text(&mut self, name: &str, node: &Node) -> String {
        match &node.kind {
            Kind::Plain(Value::String(text)) if !text.trim().is_empty() => text.clone(),
            Kind::Plain(_) | Kind::List(_) | Kind::Map(_) => {
                self.wrong(name, "a text", node);
                String::new()
            }
        }
    }

    pub(super) fn flag(&mut self, name: &str) -> bool {
        let Some(node) = self.take(name) else {
            return false;
        };
        match &node.kind {
            Kind::Plain(Value::Bool(is)) => *is,
            Kind::Plain(_) | Kind::List(_) | Kind::Map(_) => {
                self.wrong(name, "`true` or `false`", &node);
                false
            }
        }
    }

    /// A whole number between two bounds.
    pub(super) fn number(&mut self, name: &str, least: u64, most: u64) -> Option<u64> {
        let node = self.take(name)?;
        let number = match &node.kind {
            Kind::Plain(value) => value.as_u64(),
            Kind::List(_) | Kind::Map(_) => None,
        };
        let number = number.filter(|number| (least..=most).contains(number));
        if number.is_none() {
            self.wrong(
                name,
                &format!("a whole number from {least} to {most}"),
                &node,
            );
        }
        number
    }

    /// A share between 0 and 1.
    pub(super) fn share(&mut self, name: &str) -> Option<f64> {
        let node = self.take(name)?;
        let share = match &node.kind {
            Kind::Plain(value) => value.as_f64(),
            Kind::List(_) | Kind::Map(_) => None,
        };
        let share = share.filter(|share| (0.0..=1.0).contains(share));
        if share.is_none() {
            self.wrong(name, "a number from 0 to 1", &node);
        }
        share
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, name: &str) -> Option<Vec<(String, Place)>> {
        let node = self.take(name)?;
        let Kind::List(items) = &node.kind else {
            self.wrong(name, "a list of texts", &node);
            return None;
        };
        let texts = items
            .iter()
            .map(|item| (self.as_text(name, item), item.place));
        Some(texts.collect())
    }

    pub(super) fn list(&mut self, name: &str) -> Option<Vec<Node>> {
        let node = self.take(name)?;
        match node.kind {
            Kind::List(items) => Some(items),
            Kind::Plain(_) | Kind::Map(_) => {
                self.wrong(name, "a list", &node);
                None
            }
        }
    }

    /// A value that stays as it is, such as a schema.
    pub(super) fn object(&mut self, name: &str) -> Option<Value> {
        let node = self.take(name)?;
        match &node.kind {
            Kind::Map(_) => Some(node.to_value()),
            Kind::Plain(_) | Kind::List(_) => {
                self.wrong(name, "fields", &node);
                None
            }
        }
    }

    pub(super) fn shape(&mut self, name: &str) -> Option<Shape> {
        let node = self.take(name)?;
        match Shape::read(&node) {
            Ok(shape) => Some(shape),
            Err(fault) => {
                self.faults.push(fault);
                None
            }
        }
    }

    /// An expression; `true`, `false` and numbers stand for themselves.
    pub(super) fn expression(&mut self, name: &str) -> Option<Expression> {
        let node = self.take(name)?;
        let parsed = match &node.kind {
            Kind::Plain(Value::String(text)) => Expression::parse(text),
            Kind::Plain(value @ (Value::Bool(_) | Value::Number(_))) => {
                Ok(Expression::Literal(value.clone()))
            }
            Kind::List(_) => Ok(Expression::Literal(node.to_value())),
            Kind::Plain(_) | Kind::Map(_) => Err("an expression is a text".to_owned()),
        };
        match parsed {
            Ok(expression) => Some(expression),
            Err(message) => {
                let message = format!("`{name}`: {message}");
                self.faults.push(Fault::new(node.place, message));
                None
            }
        }
    }

    fn wrong(&mut self, name: &str, wanted: &str, node: &Node) {
        let message = format!("`{name}` is {wanted}, and this is {}", node.word());
        self.faults.push(Fault::new(node.place, message));
    }

    pub(super) fn fault(&mut self, place: Place, message: impl Into<String>) {
        self.faults.push(Fault::new(place, message));
    }

    /// Whatever is left over is nothing we know.
    pub(super) fn end(self, known: &str) {
        for field in self.left {
            let message = format!("`{}` is not known here; there are {known}", field.name);
            self.faults.push(Fault::new(field.place, message));
        }
    }
}
