//! Structured content that is too large: a part of it that is still what its tool promises.

use std::iter;

use serde_json::{Value, json};
use tollgate_core::{Envelope, ErrorCode, Failure, Status};

use super::{super::Server, manifest::Whole};

/// A text stays as long as so many items of a list.
const TEXT: usize = 8;

/// The largest part of a value that is small enough and fits, found by halving how many items of
/// a list and how many bytes of a text stay.
pub(super) fn of(value: &Value, limit: usize, fits: impl Fn(&Value) -> bool) -> Option<Value> {
    let halves = iter::successors(Some(limit), |items| (*items > 0).then_some(items / 2));
    let parts = halves.map(|items| thinned(value, items, items.saturating_mul(TEXT)));
    let mut parts = parts.filter(|part| part.to_string().len() <= limit);
    parts.find(|part| fits(part))
}

fn thinned(value: &Value, items: usize, text: usize) -> Value {
    match value {
        Value::String(long) if long.len() > text => {
            Value::String(long[..long.floor_char_boundary(text)].to_owned())
        }
        Value::Array(all) => all
            .iter()
            .take(items)
            .map(|item| thinned(item, items, text))
            .collect(),
        Value::Object(fields) => {
            let thin = fields
                .iter()
                .map(|(name, value)| (name.clone(), thinned(value, items, text)));
            Value::Object(thin.collect())
        }
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => value.clone(),
    }
}

/// Makes the answer of a call that cannot be sent, because no part of it fits, an error that
/// says where it is read. What failed before stays the error that it was.
pub(super) fn refuse(server: &Server, envelope: &mut Envelope, whole: &Whole<'_>, is_kept: bool) {
    envelope.data = None;
    envelope.ok = false;
    envelope.status = Status::Error;
    if envelope.error.is_some() {
        return;
    }
    let code = ErrorCode::ResultTooLarge;
    let message = format!(
        "the call was made, but its answer of {} bytes is too large to be sent at once, and no part of it fits its schema",
        whole.bytes
    );
    let mut failure = Failure::new(code, message).with("total_bytes", json!(whole.bytes));
    if is_kept {
        failure = failure
            .suggest(code.advice())
            .with("result_id", whole.id)
            .with("uri", whole.uri());
        let catalog = server.gateway.catalog();
        let readers = ["result.slice", "result.search"];
        let readers = readers
            .into_iter()
            .filter(|name| catalog.find(name).is_some());
        failure.next_steps = readers.map(str::to_owned).collect();
    } else {
        failure = failure.suggest("Ask for less; the answer could not be kept.");
    }
    envelope.error = Some(failure);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_the_largest_part_that_fits() {
        let value = json!({"n": 3, "rows": vec!["a long row of a table"; 1000]});
        let any = of(&value, 16_000, |_| true).unwrap();
        assert_eq!(any["n"], 3);
        assert_eq!(any["rows"].as_array().unwrap().len(), 500);
        let few = of(&value, 1000, |_| true).unwrap();
        assert_eq!(few["rows"].as_array().unwrap().len(), 31);
        let short = of(&value, 10_000, |part| part["rows"][1].is_null()).unwrap();
        assert_eq!(short["rows"].as_array().unwrap().len(), 1);
        assert_eq!(of(&value, 10_000, |_| false), None);
    }

    #[test]
    fn a_digest_uses_at_least_a_quarter_of_its_limit() {
        let limit = 256 << 10;
        let numbers: Vec<u32> = (0..45_000).collect();
        for value in [json!(numbers), json!({"text": "a".repeat(400_000)})] {
            let part = of(&value, limit, |_| true).unwrap().to_string().len();
            assert!(part <= limit && part >= limit / 4, "{part}");
        }
    }
}
