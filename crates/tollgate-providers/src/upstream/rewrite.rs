//! Addresses in results, spelled as they can be read here.
//!
//! Everything else stays the text it was.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tollgate_core::{Fields, Payload};

use super::{names::Names, rpc};

/// Rewrites the addresses of links and contents in a result; most have none.
pub(super) fn links(names: &Names, payload: Payload) -> Payload {
    let raw = payload.raw();
    if !names.rewrites() || memchr::memmem::find(raw.as_bytes(), b"\"uri\"").is_none() {
        return payload;
    }
    rewritten(names, raw).unwrap_or(payload)
}

fn rewritten(names: &Names, raw: &str) -> Option<Payload> {
    let mut result: Fields<'_> = serde_json::from_str(raw).ok()?;
    for list in ["content", "contents"] {
        if let Some(changed) = result
            .get(list)
            .and_then(|list| each(list, &|one| block(names, one)))
        {
            result.replace(list, changed);
        }
    }
    let messages = result.get("messages");
    let message = |one: &RawValue| {
        let mut message: Fields<'_> = serde_json::from_str(one.get()).ok()?;
        let content = block(names, message.get("content")?)?;
        message.replace("content", content);
        message.raw()
    };
    if let Some(changed) = messages.and_then(|list| each(list, &message)) {
        result.replace("messages", changed);
    }
    Payload::from_serialize(&result).ok()
}

/// Changes the entries of a list that have something to change.
fn each(
    list: &RawValue,
    change: &dyn Fn(&RawValue) -> Option<Box<RawValue>>,
) -> Option<Box<RawValue>> {
    #[derive(Serialize, Deserialize)]
    struct Entries(Vec<Box<RawValue>>);
    let mut entries: Entries = serde_json::from_str(list.get()).ok()?;
    for entry in &mut entries.0 {
        if let Some(changed) = change(entry) {
            *entry = changed;
        }
    }
    RawValue::from_string(serde_json::to_string(&entries).ok()?).ok()
}

/// A content block, or a content, with its address spelled as here.
fn block(names: &Names, raw: &RawValue) -> Option<Box<RawValue>> {
    let mut block: Fields<'_> = serde_json::from_str(raw.get()).ok()?;
    if let Some(embedded) = block
        .get("resource")
        .and_then(|inner| addressed(names, inner))
    {
        block.replace("resource", embedded);
        return block.raw();
    }
    addressed(names, raw)
}

fn addressed(names: &Names, raw: &RawValue) -> Option<Box<RawValue>> {
    let mut fields: Fields<'_> = serde_json::from_str(raw.get()).ok()?;
    let uri: String = serde_json::from_str(fields.get("uri")?.get()).ok()?;
    let uri = rpc::quoted(&names.uri(&uri));
    fields.replace("uri", RawValue::from_string(uri).ok()?);
    fields.raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_change() {
        let names = Names::new("s", true);
        let text = r#"{"n":1.50,"content":[{"type":"resource_link","uri":"a://b","x":1e2},{"type":"resource","resource":{"uri":"c://d","text":"t"}},{"type":"odd","big":12345678901234567890123}],"uri":"kept"}"#;
        let expected = r#"{"n":1.50,"content":[{"type":"resource_link","uri":"mcp://s/a://b","x":1e2},{"type":"resource","resource":{"uri":"mcp://s/c://d","text":"t"}},{"type":"odd","big":12345678901234567890123}],"uri":"kept"}"#;
        let payload = Payload::parse(text.to_owned()).unwrap();
        assert_eq!(links(&names, payload.clone()).raw(), expected);
        assert_eq!(links(&Names::new("s", false), payload).raw(), text);
    }
}
