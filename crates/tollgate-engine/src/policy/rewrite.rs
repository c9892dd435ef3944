//! Rules without the parts that cannot be known yet.
//!
//! Two readers need that: the validator, because no schema can list every tool's
//! arguments, and a listing, because there is no call yet. Conditions are cut at
//! their boolean joints; a part that looks at something hidden is replaced as a
//! whole. Invariant: a guess made for a listing errs on the side of listing.

use std::sync::Arc;

use cedar_policy::{
    Policy,
    pst::{
        self, BinaryOp, Clause, Effect, Expr, Literal, PrincipalConstraint, PstConstructionError,
        Template, UnaryOp, Var,
    },
};

use super::mention::{Mentions, children};

/// What takes the place of a hidden part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Guess {
    /// A constant.
    Is(bool),
    /// Some boolean nobody knows, beside every visible part of what it replaces.
    Unknown,
}

impl Guess {
    fn negated(self) -> Self {
        match self {
            Self::Is(value) => Self::Is(!value),
            Self::Unknown => Self::Unknown,
        }
    }
}

/// The rule as a listing may ask it: a `permit` holds if it could hold, a
/// `forbid` only if it must.
pub(super) fn for_listing(rule: &pst::Policy) -> Result<Policy, PstConstructionError> {
    let guess = Guess::Is(rule.body().effect == Effect::Permit);
    replace(rule, guess, Mentions::is_of_one_call)
}

/// The rule as if it could hold for some caller and some call: only what the tool is and who
/// agreed is asked.
pub(super) fn for_any_call(rule: &pst::Policy) -> Result<Policy, PstConstructionError> {
    let hidden =
        |mentions: &Mentions| mentions.is_of_one_call() || mentions.session || mentions.caller;
    let mut body = replaced(rule, Guess::Is(true), hidden)?;
    body.principal = PrincipalConstraint::Any;
    finished(body)
}

/// The rule as the validator may see it.
pub(super) fn for_validation(rule: &pst::Policy) -> Result<Policy, PstConstructionError> {
    replace(rule, Guess::Unknown, |mentions| {
        !mentions.arguments.is_none()
    })
}

fn replace(
    rule: &pst::Policy,
    guess: Guess,
    hidden: fn(&Mentions) -> bool,
) -> Result<Policy, PstConstructionError> {
    finished(replaced(rule, guess, hidden)?)
}

fn finished(body: Template) -> Result<Policy, PstConstructionError> {
    let body = pst::StaticPolicy::try_from(body)?;
    Policy::from_pst(pst::Policy::Static(body))
}

fn replaced(
    rule: &pst::Policy,
    guess: Guess,
    hidden: fn(&Mentions) -> bool,
) -> Result<Template, PstConstructionError> {
    let body = rule.body().clone();
    let clauses: Vec<Clause> = body
        .clauses()
        .iter()
        .map(|clause| match clause {
            Clause::When(expr) => Clause::When(condition(expr, guess, hidden)),
            Clause::Unless(expr) => Clause::Unless(condition(expr, guess.negated(), hidden)),
        })
        .collect();
    body.try_with_clauses(clauses)
}

fn condition(expr: &Arc<Expr>, guess: Guess, hidden: fn(&Mentions) -> bool) -> Arc<Expr> {
    if !hidden(&Mentions::of(expr)) {
        return Arc::clone(expr);
    }
    if let Expr::BinaryOp { op, left, right } = expr.as_ref()
        && matches!(op, BinaryOp::And | BinaryOp::Or)
    {
        let left = condition(left, guess, hidden);
        return binary(*op, left, condition(right, guess, hidden));
    }
    if let Expr::UnaryOp { op, expr } = expr.as_ref()
        && *op == UnaryOp::Not
    {
        let expr = condition(expr, guess.negated(), hidden);
        return Arc::new(Expr::UnaryOp { op: *op, expr });
    }
    if let Expr::IfThenElse {
        cond,
        then_expr,
        else_expr,
    } = expr.as_ref()
    {
        let then_expr = condition(then_expr, guess, hidden);
        let else_expr = condition(else_expr, guess, hidden);
        return match guess {
            Guess::Is(likely) if hidden(&Mentions::of(cond)) => {
                let op = if likely { BinaryOp::Or } else { BinaryOp::And };
                binary(op, then_expr, else_expr)
            }
            Guess::Is(_) | Guess::Unknown => Arc::new(Expr::IfThenElse {
                cond: condition(cond, guess, hidden),
                then_expr,
                else_expr,
            }),
        };
    }
    match guess {
        Guess::Is(value) => Arc::new(Expr::Literal(Literal::Bool(value))),
        Guess::Unknown => stand_in(expr, hidden),
    }
}

/// A boolean the validator knows nothing about, joined with a harmless use of
/// every visible part, so that a misspelt attribute beside an argument is found.
fn stand_in(whole: &Expr, hidden: fn(&Mentions) -> bool) -> Arc<Expr> {
    let unknown = Arc::new(Expr::GetAttr {
        expr: Arc::new(Expr::Var(Var::Context)),
        attr: "tainted".into(),
    });
    let mut parts = Vec::new();
    visible_parts(whole, hidden, &mut parts);
    parts.into_iter().fold(unknown, |joined, part| {
        let part = Arc::new(part.clone());
        let used = binary(BinaryOp::Eq, Arc::clone(&part), part);
        binary(BinaryOp::And, joined, used)
    })
}

fn visible_parts<'a>(expr: &'a Expr, hidden: fn(&Mentions) -> bool, parts: &mut Vec<&'a Expr>) {
    for part in children(expr) {
        if hidden(&Mentions::of(part)) {
            visible_parts(part, hidden, parts);
        } else if looks_at_something(part) {
            parts.push(part);
        }
    }
}

fn looks_at_something(expr: &Expr) -> bool {
    matches!(expr, Expr::Var(_)) || children(expr).into_iter().any(looks_at_something)
}

fn binary(op: BinaryOp, left: Arc<Expr>, right: Arc<Expr>) -> Arc<Expr> {
    Arc::new(Expr::BinaryOp { op, left, right })
}
