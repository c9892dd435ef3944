//! Long lists by the page.
//!
//! A cursor names the list it belongs to and the last entry that was sent. A list that changed
//! since goes on behind that entry; where the entry is gone, or the cursor is altered or of
//! another list, it is refused instead of quietly skipping entries.

use std::ops::Range;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::rpc::RpcError;

/// Entries of one page.
const PAGE: usize = 100;

/// Some entries, each with what goes with it, and the cursor to the next.
type Page<S> = (Vec<(S, Value)>, Option<String>);

/// The entries of a list by name, in order.
pub(super) struct Names {
    names: Vec<String>,
    /// What tells one state of a list from another, where it is longer than a page.
    id: String,
}

impl Names {
    pub(super) fn of(names: impl Iterator<Item = String>) -> Self {
        let names: Vec<String> = names.collect();
        let id = match names.len() > PAGE {
            true => digest(names.iter().map(String::as_bytes)),
            false => String::new(),
        };
        Self { names, id }
    }
}

/// One page of a list, whatever goes with its entries, and the cursor to the next.
pub(super) fn page<S>(
    params: &Value,
    kind: &str,
    mut entries: Vec<(S, Value)>,
) -> Result<Page<S>, RpcError> {
    let name = |(_, entry): &'_ (S, Value)| {
        let names = ["name", "uri", "uriTemplate"];
        let name = names.iter().find_map(|key| entry.get(*key));
        name.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let names = Names::of(entries.iter().map(name));
    let (range, cursor) = cut(params, kind, &names)?;
    Ok((entries.drain(range).collect(), cursor))
}

/// Which entries of a list of this kind belong on a page, and the cursor to the next.
pub(super) fn cut(
    params: &Value,
    kind: &str,
    list: &Names,
) -> Result<(Range<usize>, Option<String>), RpcError> {
    let from = match params.get("cursor") {
        None | Some(Value::Null) => 0,
        Some(Value::String(cursor)) => resume(cursor, &selection(params, kind), list)
            .ok_or_else(|| RpcError::invalid_params("this cursor belongs to no current list"))?,
        Some(_) => return Err(RpcError::invalid_params("`cursor` is a text")),
    };
    let total = list.names.len();
    let next = total.min(from + PAGE);
    let last = list.names.get(next.saturating_sub(1));
    let cursor = last.filter(|_| next < total).map(|last| {
        let text = format!("{next}:{}:{}:{last}", list.id, selection(params, kind));
        URL_SAFE_NO_PAD.encode(text)
    });
    Ok((from..next, cursor))
}

/// Where a list goes on.
fn resume(cursor: &str, selection: &str, list: &Names) -> Option<usize> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let mut parts = text.splitn(4, ':');
    let next: usize = parts.next()?.parse().ok()?;
    let (id, of, last) = (parts.next()?, parts.next()?, parts.next()?);
    if of != selection || next == 0 {
        return None;
    }
    if id == list.id {
        let is_sent = list.names.get(next - 1).is_some_and(|name| name == last);
        return (is_sent && next < list.names.len()).then_some(next);
    }
    let last = list.names.iter().position(|name| name == last)?;
    Some(last + 1)
}

/// What tells one question for a list from another: its kind, and everything asked but the place.
fn selection(params: &Value, kind: &str) -> String {
    let fields = params.as_object().into_iter().flatten();
    let asked = fields.filter(|(name, _)| !["cursor", "_meta"].contains(&name.as_str()));
    let mut asked: Vec<String> = asked
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    asked.sort_unstable();
    asked.push(kind.to_owned());
    digest(asked.iter().map(String::as_bytes))
}

fn digest<'p>(parts: impl Iterator<Item = &'p [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
        hash.update([0]);
    }
    let digest: [u8; 32] = hash.finalize().into();
    URL_SAFE_NO_PAD.encode(&digest[..9])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entries(count: usize) -> Vec<((), Value)> {
        (0..count)
            .map(|number| ((), json!({"name": format!("t{number}")})))
            .collect()
    }

    /// The cursor behind the first page of so many entries.
    fn first(count: usize) -> Value {
        let (_, next) = page(&json!({}), "tools", entries(count)).unwrap();
        Value::String(next.unwrap())
    }

    #[test]
    fn pages_add_up_and_foreign_cursors_are_refused() {
        let mut cursor = Value::Null;
        let mut seen = Vec::new();
        loop {
            let (page, next) = page(&json!({"cursor": cursor}), "tools", entries(250)).unwrap();
            seen.extend(page);
            let Some(next) = next else { break };
            cursor = Value::String(next);
        }
        assert_eq!(seen, entries(250));
        for bad in [json!("x"), json!(""), json!(5), json!("MTAwOg")] {
            let params = json!({"cursor": bad});
            assert!(page(&params, "tools", entries(250)).is_err(), "{bad}");
        }
        let cursor = first(250);
        let params = json!({"cursor": cursor});
        assert!(page(&params, "prompts", entries(250)).is_err());
        let params = json!({"cursor": cursor, "toolset": "other"});
        assert!(page(&params, "tools", entries(250)).is_err());
    }

    #[test]
    fn a_list_that_changed_goes_on_behind_the_last_entry_that_was_sent() {
        let params = json!({"cursor": first(250)});
        let mut longer = entries(250);
        longer.insert(50, ((), json!({"name": "between"})));
        let (shown, _) = page(&params, "tools", longer).unwrap();
        assert_eq!(shown.first(), entries(250).get(100));
        let (shown, next) = page(&params, "tools", entries(100)).unwrap();
        assert!(shown.is_empty() && next.is_none());
        let mut without = entries(250);
        without.remove(99);
        assert!(page(&params, "tools", without).is_err());
    }
}
