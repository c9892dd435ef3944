//! JSON-RPC as a client of other servers sees it, read without losing how it was spelled.
//!
//! Invariant: whatever is passed on stays the text it came as; nothing is printed from a
//! parsed tree.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tollgate_core::Payload;

/// The most messages in one list.
const BATCH: usize = 1_000;

/// One message of a server.
#[derive(Debug)]
pub(super) enum Heard {
    /// It answers the request of this number.
    Answered(u64, Result<Payload, RpcError>),
    /// It says something.
    Told(String, Payload),
    /// It asks something; the id goes back as it came.
    Asked(Box<RawValue>, String, Payload),
}

impl Heard {
    /// How long it is.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Answered(_, Ok(result)) => result.raw().len(),
            Self::Answered(_, Err(error)) => error.message.len(),
            Self::Told(method, params) => method.len() + params.raw().len(),
            Self::Asked(id, method, params) => id.get().len() + method.len() + params.raw().len(),
        }
    }
}

/// A failure as a server tells it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct RpcError {
    pub(super) code: i64,
    #[serde(default)]
    pub(super) message: String,
    #[serde(default)]
    pub(super) data: Option<Value>,
}

impl RpcError {
    /// The error of a server that takes a message for no request.
    pub(super) const INVALID_REQUEST: i64 = -32600;
    /// The error of a server that never heard of a method.
    pub(super) const METHOD_NOT_FOUND: i64 = -32601;
    /// The error of a server that cannot use the parameters.
    pub(super) const INVALID_PARAMS: i64 = -32602;
    /// The error of a server that wants to ask what a client cannot be asked.
    pub(super) const MISSING_CAPABILITY: i64 = -32021;
    /// The error of an older server that wants a human to go to pages before it is asked again.
    pub(super) const PAGES_FIRST: i64 = -32042;
    /// The error of a server that speaks other versions.
    pub(super) const UNSUPPORTED_VERSION: i64 = -32022;
}

#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(default)]
    id: Option<Box<RawValue>>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(default)]
    params: Option<Payload>,
    #[serde(default)]
    result: Option<Payload>,
    #[serde(default)]
    error: Option<RpcError>,
}

/// The messages in a text: one, or several in a list as 2025-03-26 has it. A list that is
/// empty or too long is one thing that is no message.
pub(super) fn messages(text: &[u8]) -> Vec<&[u8]> {
    if !is_list(text) {
        return vec![text];
    }
    let all: Vec<&RawValue> = serde_json::from_slice(text).unwrap_or_default();
    if all.is_empty() || all.len() > BATCH {
        return vec![text];
    }
    all.into_iter().map(|one| one.get().as_bytes()).collect()
}

/// Whether a text can hold several messages.
pub(super) fn is_list(text: &[u8]) -> bool {
    text.trim_ascii_start().first() == Some(&b'[')
}

/// Reads one message; `None` if it is none.
pub(super) fn read(text: &[u8]) -> Option<Heard> {
    let raw: Raw<'_> = serde_json::from_slice(text).ok()?;
    let params = raw.params.unwrap_or_else(Payload::empty_object);
    match (raw.method, raw.id, raw.result, raw.error) {
        (Some(method), Some(id), _, _) => Some(Heard::Asked(id, method.into_owned(), params)),
        (Some(method), None, _, _) => Some(Heard::Told(method.into_owned(), params)),
        (None, Some(id), _, Some(error)) => Some(Heard::Answered(number(&id)?, Err(error))),
        (None, Some(id), Some(result), None) => Some(Heard::Answered(number(&id)?, Ok(result))),
        (None, Some(_) | None, _, _) => None,
    }
}

fn number(id: &RawValue) -> Option<u64> {
    id.get().trim_matches('"').parse().ok()
}

/// The id of an answer of which only the beginning is known. Lines of a log have ids as well, and
/// so have parts of what a server says of its own accord.
pub(super) fn early_id(beginning: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(&beginning[..beginning.len().min(256)]).into_owned();
    let mut rest = text.trim_start().strip_prefix('{')?;
    let (mut is_rpc, mut id) = (false, None);
    // What stands before the first value that is long, name by name.
    loop {
        let field = rest.trim_start().strip_prefix('"')?;
        let (name, after) = field.split_once('"')?;
        let value = after.trim_start().strip_prefix(':')?.trim_start();
        let end = value.find([',', '}']).unwrap_or(value.len());
        match name {
            "jsonrpc" => is_rpc = true,
            "id" => id = value[..end].trim().trim_matches('"').parse().ok(),
            "result" | "error" => break,
            "method" | "params" => return None,
            _ if value.starts_with(['{', '[', '"']) => return None,
            _ => {}
        }
        rest = value[end..].strip_prefix(',')?;
    }
    id.filter(|_| is_rpc)
}

/// Prints a request; `params` is an object already.
pub(super) fn request(id: u64, method: &str, params: &str) -> String {
    let id = id.to_string();
    let (open, named, with) = (
        r#"{"jsonrpc":"2.0","id":"#,
        r#","method":""#,
        r#"","params":"#,
    );
    [open, &id, named, method, with, params, "}"].concat()
}

/// Whether a request that [`request`] printed is a call of a tool.
pub(super) fn is_call(printed: &[u8]) -> bool {
    const CALL: &[u8] = br#","method":"tools/call","#;
    let begins = printed.get(..64).unwrap_or(printed);
    begins.windows(CALL.len()).any(|part| part == CALL)
}

/// Prints a notification; `params` is an object already.
pub(super) fn notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

/// Prints our answer to a server's question.
pub(super) fn answer(id: &RawValue, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// Prints our refusal of a server's question.
pub(super) fn refusal(id: &RawValue, code: i64, message: &str) -> String {
    let message = quoted(message);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#)
}

/// A text as JSON.
pub(super) fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart_and_keep_their_spelling() {
        let Some(Heard::Answered(7, Ok(result))) =
            read(br#"{"jsonrpc":"2.0","id":7,"result":{"n":1.50,"big":12345678901234567890123}}"#)
        else {
            panic!("an answer");
        };
        assert_eq!(result.raw(), r#"{"n":1.50,"big":12345678901234567890123}"#);
        let Some(Heard::Answered(8, Err(error))) =
            read(br#"{"jsonrpc":"2.0","id":8,"error":{"code":-1,"message":"no"}}"#)
        else {
            panic!("a failure");
        };
        assert_eq!((error.code, error.message.as_str()), (-1, "no"));
        assert!(matches!(read(br#"{"method":"m"}"#), Some(Heard::Told(..))));
        assert!(matches!(
            read(br#"{"method":"m","id":"x"}"#),
            Some(Heard::Asked(..))
        ));
        for odd in [&b"hello"[..], b"[]", b"{}", b"{\"id\":1}", b"\xff"] {
            assert!(read(odd).is_none());
        }
    }

    #[test]
    fn a_list_holds_messages_each_as_it_is_spelled() {
        let texts = |text: &str| -> Vec<String> {
            let all = messages(text.as_bytes()).into_iter();
            all.map(|one| String::from_utf8(one.to_vec()).unwrap())
                .collect()
        };
        assert_eq!(
            texts(r#" [{"id":1.50}, {"b":[]},[]] "#),
            [r#"{"id":1.50}"#, r#"{"b":[]}"#, "[]"]
        );
        let long = format!("[{}1]", "1,".repeat(BATCH));
        for one in [r#"{"a":[1]}"#, "[]", "[1,", "", "\"[1]\"", &long] {
            assert_eq!(texts(one), [one]);
        }
    }

    #[test]
    fn a_beginning_is_enough_to_know_whose_answer_it_is() {
        assert_eq!(
            early_id(br#"{"jsonrpc":"2.0", "id" : 42,"result":"#),
            Some(42)
        );
        assert_eq!(
            early_id(br#"{"id":"42","jsonrpc":"2.0","error":{"#),
            Some(42)
        );
        assert_eq!(early_id(br#"{"jsonrpc":"2.0","result":{"#), None);
        for other in [
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"id":42,"#,
            r#"{"jsonrpc":"2.0","params":{"id":42},"#,
            r#"{"id":42,"method":"sampling/createMessage","jsonrpc":"2.0","#,
            r#"{"jsonrpc":"2.0","id":4"#,
        ] {
            assert_eq!(early_id(other.as_bytes()), None, "{other}");
        }
        assert_eq!(early_id(br#"{"level":30,"id":42,"msg":"started"}"#), None);
    }
}
