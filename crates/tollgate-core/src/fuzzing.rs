//! Checks of the JSON forms on arbitrary bytes, for the fuzz targets and the tests that repeat them.
//!
//! Invariant: a function returns for every input; it panics only where a property does not hold.

#![expect(
    clippy::expect_used,
    reason = "a property that does not hold is a crash, which a fuzzer reports"
)]

use crate::{
    Fields, Payload, Spelled,
    canonical::{Form, Node},
};

/// Canonical JSON is a fixed point with the same values; trees and fields keep every spelling.
pub fn canonical(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(payload) = Payload::parse(text.to_owned()) else {
        return;
    };
    let value = payload.value();
    assert!(!value.is_null() || text.trim() == "null", "there is a tree");
    let Ok(node) = Node::of(&payload) else {
        return;
    };
    for form in [Form::Jcs, Form::CacheKey] {
        let once = parsed(&node.print(form));
        let again = Node::of(&once).expect("canonical JSON can be read");
        assert_eq!(again.print(form), once.raw(), "canonical twice");
        assert!(is_same(&node, &again), "{form:?} changes a value");
    }
    if payload.is_exact() {
        let printed = parsed(&Spelled::of(text).print(value));
        assert_eq!(Node::of(&printed).as_ref(), Ok(&node), "a printed tree");
    }
    if let Ok(fields) = serde_json::from_str::<Fields<'_>>(text) {
        let raw = fields.raw().expect("fields are printed");
        assert_eq!(Node::of(&parsed(raw.get())).as_ref(), Ok(&node), "fields");
    }
}

fn parsed(text: &str) -> Payload {
    Payload::parse(text.to_owned()).expect("what is printed is a payload")
}

/// Whether two trees hold the same values, in any order of keys and any spelling of numbers.
fn is_same(one: &Node<'_>, other: &Node<'_>) -> bool {
    match (one, other) {
        (Node::Number(one), Node::Number(other)) => {
            one == other || one.parse::<f64>() == other.parse::<f64>()
        }
        (Node::Array(one), Node::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| is_same(a, b))
        }
        (Node::Object(one), Node::Object(other)) => {
            let value_of = |key: &str| other.iter().find(|(own, _)| own == key);
            one.len() == other.len()
                && one.iter().all(|(key, value)| {
                    value_of(key).is_some_and(|(_, other)| is_same(value, other))
                })
        }
        _ => one == other,
    }
}
