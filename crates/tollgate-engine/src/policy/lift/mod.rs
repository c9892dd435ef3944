//! Which permits lift the human for tools that may destroy something or carry data out.
//!
//! Invariant: below a human's consent such a tool is judged without the permits that neither
//! name it or its server nor are marked `@lifts("human")`. Whoever wrote a blanket permit did
//! not have each tool in mind that it covers, least of all the ones that come later.

mod insufficient;

use cedar_policy::pst::{
    BinaryOp, Clause, EntityOrSlot, EntityUID, Expr, Literal, ResourceConstraint, Var,
};
use tollgate_core::Annotations;

pub use insufficient::InsufficientPermit;

/// The annotation of a permit that lifts a consent.
pub(in crate::policy) const LIFTS: &str = "lifts";
/// The only consent that can be lifted.
pub(in crate::policy) const HUMAN: &str = "human";
/// How the providers that are other servers begin; the rest is the server's own toolset.
const SERVER: &str = "mcp_";

/// Whether a tool is one that a human agrees to unless a rule lifts that by name.
pub(in crate::policy) const fn is_delicate(annotations: Annotations) -> bool {
    annotations.destructive || annotations.sensitive_sink
}

/// The tools that a rule is about by name, as far as its text alone tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::policy) enum Names {
    /// None: it is about tools by what they are.
    Nothing,
    /// Wherever it applies, a tool or provider is named.
    Tool,
    /// Those of this set.
    Toolset(String),
    /// Those that any of these names.
    Any(Vec<Names>),
    /// Those that each of these names.
    All(Vec<Names>),
}

impl Names {
    /// What the scope and the conditions of a rule name.
    pub(in crate::policy) fn of(scope: &ResourceConstraint, clauses: &[Clause]) -> Self {
        let conditions = clauses.iter().map(|clause| match clause {
            Clause::When(expr) => of_condition(expr),
            Clause::Unless(_) => Self::Nothing,
        });
        Self::Any(std::iter::once(of_scope(scope)).chain(conditions).collect())
    }

    /// Whether this tool or its server is named, given that the rule applies to it.
    pub(in crate::policy) fn include(&self, provider: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Tool => true,
            Self::Toolset(set) => provider.strip_prefix(SERVER).unwrap_or(provider) == set,
            Self::Any(names) => names.iter().any(|names| names.include(provider)),
            Self::All(names) => names.iter().all(|names| names.include(provider)),
        }
    }
}

fn of_scope(scope: &ResourceConstraint) -> Names {
    match scope {
        ResourceConstraint::Eq(EntityOrSlot::Entity(uid))
        | ResourceConstraint::In(EntityOrSlot::Entity(uid))
        | ResourceConstraint::IsIn(_, EntityOrSlot::Entity(uid)) => of_entity(uid),
        ResourceConstraint::Any
        | ResourceConstraint::Is(_)
        | ResourceConstraint::Eq(EntityOrSlot::Slot(_))
        | ResourceConstraint::In(EntityOrSlot::Slot(_))
        | ResourceConstraint::IsIn(_, EntityOrSlot::Slot(_)) => Names::Nothing,
    }
}

fn of_entity(uid: &EntityUID) -> Names {
    match uid.ty.to_string().as_str() {
        "Tool" => Names::Tool,
        "Toolset" => Names::Toolset(uid.eid.to_string()),
        _ => Names::Nothing,
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other expression names nothing, also one that the language gains"
)]
fn of_condition(expr: &Expr) -> Names {
    match expr {
        Expr::BinaryOp { op, left, right } => match op {
            BinaryOp::And => Names::Any(vec![of_condition(left), of_condition(right)]),
            BinaryOp::Or => Names::All(vec![of_condition(left), of_condition(right)]),
            BinaryOp::Eq => of_equality(left, right),
            BinaryOp::In if is_resource(left) => of_group(right),
            _ => Names::Nothing,
        },
        Expr::Is {
            expr,
            in_expr: Some(group),
            ..
        } if is_resource(expr) => of_group(group),
        _ => Names::Nothing,
    }
}

/// `resource == Tool::"…"`, `resource.name == "…"` or `resource.provider == "…"`, either way round.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other expression names nothing, also one that the language gains"
)]
fn of_equality(left: &Expr, right: &Expr) -> Names {
    let named = |subject: &Expr, value: &Expr| match value {
        Expr::Literal(Literal::EntityUID(uid)) if is_resource(subject) => of_entity(uid),
        Expr::Literal(Literal::String(_)) if is_own_name(subject) => Names::Tool,
        _ => Names::Nothing,
    };
    Names::Any(vec![named(left, right), named(right, left)])
}

/// `resource in X` and `resource in [X, Y]`.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other expression names nothing, also one that the language gains"
)]
fn of_group(group: &Expr) -> Names {
    match group {
        Expr::Literal(Literal::EntityUID(uid)) => of_entity(uid),
        Expr::Set(items) => Names::All(items.iter().map(|item| of_group(item)).collect()),
        _ => Names::Nothing,
    }
}

fn is_resource(expr: &Expr) -> bool {
    matches!(expr, Expr::Var(Var::Resource))
}

fn is_own_name(expr: &Expr) -> bool {
    let Expr::GetAttr { expr, attr } = expr else {
        return false;
    };
    is_resource(expr) && matches!(attr.as_str(), "name" | "provider")
}
