//! Long lists by the page.
//!
//! A cursor names the list it belongs to; one that is altered, or of a list that has
//! changed since, is refused instead of quietly skipping entries.

use std::ops::Range;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::rpc::RpcError;

/// Entries of one page.
const PAGE: usize = 100;

/// Some entries, each with what goes with it, and the cursor to the next.
type Page<S> = (Vec<(S, Value)>, Option<String>);

/// One page of a list, whatever goes with its entries, and the cursor to the next.
pub(super) fn page<S>(params: &Value, mut entries: Vec<(S, Value)>) -> Result<Page<S>, RpcError> {
    let name = |(_, entry): &'_ (S, Value)| {
        let names = ["name", "uri", "uriTemplate"];
        let name = names.iter().find_map(|key| entry.get(*key));
        name.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let list = list_id(entries.iter().map(name));
    let (place, cursor) = cut(params, &list, entries.len())?;
    Ok((entries.drain(place).collect(), cursor))
}

/// Which entries of a list belong on a page, and the cursor to the next.
pub(super) fn cut(
    params: &Value,
    list: &str,
    total: usize,
) -> Result<(Range<usize>, Option<String>), RpcError> {
    let from = match params.get("cursor") {
        None | Some(Value::Null) => 0,
        Some(Value::String(cursor)) => place(cursor, list, total)
            .ok_or_else(|| RpcError::invalid_params("this cursor belongs to no current list"))?,
        Some(_) => return Err(RpcError::invalid_params("`cursor` is a text")),
    };
    let next = total.min(from + PAGE);
    let cursor = (next < total).then(|| URL_SAFE_NO_PAD.encode(format!("{next}:{list}")));
    Ok((from..next, cursor))
}

fn place(cursor: &str, list: &str, total: usize) -> Option<usize> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (from, of) = text.split_once(':')?;
    let from = from.parse().ok()?;
    (of == list && from > 0 && from < total).then_some(from)
}

/// What tells one list from another: the names on it, in order.
pub(super) fn list_id(names: impl ExactSizeIterator<Item = String>) -> String {
    if names.len() <= PAGE {
        return String::new();
    }
    let mut hash = Sha256::new();
    for name in names {
        hash.update(name);
        hash.update([0]);
    }
    let digest: [u8; 32] = hash.finalize().into();
    URL_SAFE_NO_PAD.encode(&digest[..9])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pages_add_up_and_foreign_cursors_are_refused() {
        let entries = |count: usize| -> Vec<((), Value)> {
            (0..count)
                .map(|number| ((), json!({"name": format!("t{number}")})))
                .collect()
        };
        let mut cursor = Value::Null;
        let mut seen = Vec::new();
        loop {
            let (page, next) = page(&json!({"cursor": cursor}), entries(250)).unwrap();
            seen.extend(page);
            let Some(next) = next else { break };
            cursor = Value::String(next);
        }
        assert_eq!(seen, entries(250));
        assert!(page(&json!({"cursor": cursor}), entries(251)).is_err());
        for bad in [json!("x"), json!(""), json!(5), json!("MTAwOg")] {
            assert!(
                page(&json!({"cursor": bad}), entries(250)).is_err(),
                "{bad}"
            );
        }
    }
}
