//! Checks of arguments as Cedar sees them, on arbitrary bytes.
//!
//! Invariant: a function returns for every input; it panics only where a property does not hold.

#![expect(
    clippy::expect_used,
    reason = "a property that does not hold is a crash, which a fuzzer reports"
)]

use cedar_policy::{Context, EvalResult};
use tollgate_core::{Payload, canonical::Node};

use super::{arguments::convert, mention::Arguments, number::Number};

/// Arguments become plain values of the same shape: never an entity, and a decimal only for a number.
pub fn cedar_context(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(payload) = Payload::parse(text.to_owned()) else {
        return;
    };
    let Ok(record) = convert(&payload, &Arguments::All) else {
        return;
    };
    let node = Node::of(&payload).expect("converted arguments can be read");
    let context = Context::from_pairs([("arguments".to_owned(), record)]);
    let context = context.expect("converted arguments are a context");
    let given = context.get("arguments").expect("the arguments are there");
    assert!(mirrors(&node, &given), "{given:?} is not {node:?}");
}

/// Whether Cedar holds exactly what was sent.
fn mirrors(node: &Node<'_>, given: &EvalResult) -> bool {
    match (node, given) {
        (Node::Bool(sent), EvalResult::Bool(given)) => sent == given,
        (Node::String(sent), EvalResult::String(given)) => sent == given,
        (Node::Number(spelling), given) => is_number(spelling, given),
        (Node::Array(sent), EvalResult::Set(given)) => {
            let sent: Vec<_> = sent.iter().filter(|it| **it != Node::Null).collect();
            sent.iter()
                .all(|sent| given.iter().any(|given| mirrors(sent, given)))
                && given
                    .iter()
                    .all(|given| sent.iter().any(|sent| mirrors(sent, given)))
        }
        (Node::Object(sent), EvalResult::Record(given)) => {
            let sent: Vec<_> = sent.iter().filter(|(_, it)| *it != Node::Null).collect();
            let is_there = |name: &str, sent| given.get(name).is_some_and(|it| mirrors(sent, it));
            sent.len() == given.len() && sent.iter().all(|(name, node)| is_there(name, node))
        }
        _ => false,
    }
}

fn is_number(spelling: &str, given: &EvalResult) -> bool {
    let number = Number::of(spelling);
    if !spelling.contains(['e', 'E']) {
        let longer = if spelling.contains('.') { "0" } else { ".0" };
        let same = Number::of(&format!("{spelling}{longer}"));
        assert_eq!(number, same, "{spelling} with another zero");
    }
    match (number, given) {
        (Number::Long(number), EvalResult::Long(given)) => number == *given,
        (Number::Decimal(_), EvalResult::ExtensionValue(_)) => true,
        (Number::Text(number), EvalResult::String(given)) => number == *given,
        _ => false,
    }
}
