//! What rules look at, read off their syntax trees.
//!
//! Only arguments that some rule mentions are converted, and a verdict may be
//! remembered only if it cannot depend on what is missing from its key. Invariant:
//! too much may be reported as mentioned, never too little; anything unusual
//! (the context handed around as a whole) counts as everything.

use std::{collections::BTreeSet, sync::Arc};

use cedar_policy::pst::{Expr, Var};

/// The parts of a question that differ from call to call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Mentions {
    /// Which of the call's arguments.
    pub(super) arguments: Arguments,
    /// The budget left or the estimate's figures.
    pub(super) figures: bool,
    /// The session's handle.
    pub(super) session: bool,
    /// Who calls and from where, or the taint of the input.
    pub(super) caller: bool,
}

/// Which arguments rules look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Arguments {
    /// These, by name.
    Named(BTreeSet<String>),
    /// All of them, because a rule takes the record as a whole.
    All,
}

impl Default for Arguments {
    fn default() -> Self {
        Self::Named(BTreeSet::new())
    }
}

impl Arguments {
    /// Whether no rule looks at any.
    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::Named(names) if names.is_empty())
    }

    /// Whether a rule looks at this one.
    pub(super) fn includes(&self, name: &str) -> bool {
        match self {
            Self::Named(names) => names.contains(name),
            Self::All => true,
        }
    }

    fn add(&mut self, name: &str) {
        if let Self::Named(names) = self {
            names.insert(name.to_owned());
        }
    }
}

impl Mentions {
    /// What an expression looks at.
    pub(super) fn of(expr: &Expr) -> Self {
        let mut mentions = Self::default();
        mentions.visit(expr);
        mentions
    }

    /// Whether it depends on what a listing cannot know.
    pub(super) fn is_of_one_call(&self) -> bool {
        self.figures || !self.arguments.is_none()
    }

    /// Adds what another rule looks at.
    pub(super) fn merge(&mut self, other: &Self) {
        self.figures |= other.figures;
        self.session |= other.session;
        self.caller |= other.caller;
        match &other.arguments {
            Arguments::All => self.arguments = Arguments::All,
            Arguments::Named(names) => names.iter().for_each(|name| self.arguments.add(name)),
        }
    }

    fn visit(&mut self, expr: &Expr) {
        match expr {
            Expr::Var(Var::Context) | Expr::Unknown { .. } => self.everything(),
            Expr::Var(Var::Principal) => self.caller = true,
            Expr::GetAttr { expr: of, attr } => self.attribute(of, attr),
            Expr::HasAttr { expr: of, attrs } if is_context(of) && attrs.first() == "arguments" => {
                // The record itself is always there; only its field says something.
                if let Some(name) = attrs.iter().nth(1) {
                    self.arguments.add(name);
                }
            }
            Expr::HasAttr { expr: of, attrs } => self.attribute(of, attrs.first()),
            Expr::Literal(_)
            | Expr::Var(_)
            | Expr::Slot(_)
            | Expr::UnaryOp { .. }
            | Expr::BinaryOp { .. }
            | Expr::Like { .. }
            | Expr::Is { .. }
            | Expr::IfThenElse { .. }
            | Expr::Set(_)
            | Expr::Record(_) => children(expr).into_iter().for_each(|part| self.visit(part)),
            _ => self.everything(),
        }
    }

    fn attribute(&mut self, of: &Expr, name: &str) {
        if is_context(of) {
            self.context_attribute(name);
        } else if is_arguments(of) {
            self.arguments.add(name);
        } else {
            self.visit(of);
        }
    }

    /// `context.arguments` itself is reached only where no field of it follows.
    fn context_attribute(&mut self, name: &str) {
        match name {
            "arguments" => self.arguments = Arguments::All,
            "budget_left" | "estimated" | "worst_case" => self.figures = true,
            "session" => self.session = true,
            "consent" | "capability" => {}
            _ => self.caller = true,
        }
    }

    fn everything(&mut self) {
        *self = Self {
            arguments: Arguments::All,
            figures: true,
            session: true,
            caller: true,
        };
    }
}

fn is_context(expr: &Expr) -> bool {
    matches!(expr, Expr::Var(Var::Context))
}

/// Whether this is exactly `context.arguments`.
fn is_arguments(expr: &Expr) -> bool {
    matches!(expr, Expr::GetAttr { expr, attr } if is_context(expr) && attr == "arguments")
}

/// The parts an expression is made of; a node of an unknown kind has none and is
/// for the caller to think about.
pub(super) fn children(expr: &Expr) -> Vec<&Expr> {
    let parts: Vec<&Arc<Expr>> = match expr {
        Expr::UnaryOp { expr, .. }
        | Expr::GetAttr { expr, .. }
        | Expr::HasAttr { expr, .. }
        | Expr::Like { expr, .. } => vec![expr],
        Expr::BinaryOp { left, right, .. } => vec![left, right],
        Expr::Is { expr, in_expr, .. } => std::iter::once(expr).chain(in_expr).collect(),
        Expr::IfThenElse {
            cond,
            then_expr,
            else_expr,
        } => vec![cond, then_expr, else_expr],
        Expr::Set(items) => items.iter().collect(),
        Expr::Record(fields) => fields.values().collect(),
        Expr::Literal(_) | Expr::Var(_) | Expr::Slot(_) | Expr::Unknown { .. } => Vec::new(),
        _ => Vec::new(),
    };
    parts.into_iter().map(AsRef::as_ref).collect()
}
