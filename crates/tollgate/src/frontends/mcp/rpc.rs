//! JSON-RPC as MCP uses it: one message at a time, read without losing how it was spelled.
//!
//! Invariant: an id goes back exactly as it came, and nothing here knows what a method means.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, value::RawValue};
use tollgate_core::{Payload, depth::within_depth};

use super::params::Params;

/// The longest id that is answered.
const MAX_ID: usize = 256;

/// The codes of the protocol, and ours beyond its range.
pub(super) mod code {
    pub(in super::super) const PARSE: i64 = -32700;
    pub(in super::super) const INVALID_REQUEST: i64 = -32600;
    pub(in super::super) const METHOD_NOT_FOUND: i64 = -32601;
    pub(in super::super) const INVALID_PARAMS: i64 = -32602;
    pub(in super::super) const INTERNAL: i64 = -32603;
    /// Older eras only; newer ones say invalid parameters.
    pub(in super::super) const RESOURCE_NOT_FOUND: i64 = -32002;
    pub(in super::super) const HEADER_MISMATCH: i64 = -32020;
    pub(in super::super) const MISSING_CAPABILITY: i64 = -32021;
    pub(in super::super) const UNSUPPORTED_VERSION: i64 = -32022;
    pub(in super::super) const DENIED: i64 = 4030;
    pub(in super::super) const OVERLOADED: i64 = 4290;
}

/// A request's id, as it was spelled.
#[derive(Debug, Clone)]
pub(super) struct Id(Box<RawValue>);

impl Id {
    pub(super) fn raw(&self) -> &RawValue {
        &self.0
    }

    /// The same for every spelling of the same id.
    pub(super) fn key(&self) -> String {
        serde_json::from_str::<Value>(self.0.get())
            .map_or_else(|_| self.0.get().to_owned(), |id| id.to_string())
    }

    /// Takes an id that a parameter names.
    pub(super) fn of(value: &Value) -> Option<Self> {
        RawValue::from_string(value.to_string()).ok().map(Self)
    }
}

/// A request.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) id: Id,
    pub(super) method: String,
    pub(super) params: Params,
}

/// A notification.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) method: String,
    pub(super) params: Payload,
}

impl Told {
    /// The key of the request that this calls off.
    pub(super) fn cancelled(&self) -> Option<String> {
        if self.method != "notifications/cancelled" {
            return None;
        }
        Some(Id::of(self.params.value().get("requestId")?)?.key())
    }
}

/// The other side's answer to something we asked.
#[derive(Debug, Clone)]
pub(super) struct Answered {
    pub(super) id: Id,
    pub(super) result: Result<Payload, Payload>,
}

/// One message.
#[derive(Debug, Clone)]
pub(super) enum Incoming {
    Asked(Asked),
    Told(Told),
    Answered(Answered),
}

/// A failure as JSON-RPC tells it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct RpcError {
    pub(super) code: i64,
    pub(super) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) data: Option<Value>,
}

impl RpcError {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    pub(super) fn unknown_method(method: &str) -> Self {
        let shown: String = method.chars().take(128).collect();
        Self::new(
            code::METHOD_NOT_FOUND,
            format!("there is no method `{shown}`"),
        )
    }

    pub(super) fn with(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}

/// A message that cannot be taken, with its id where one could be read.
#[derive(Debug)]
pub(super) struct Unreadable {
    pub(super) id: Option<Id>,
    pub(super) error: RpcError,
}

#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Tells `null` from absent.
pub(super) fn present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads one message.
pub(super) fn read(text: &str) -> Result<Incoming, Unreadable> {
    let refuse = |id, code, message: String| Unreadable {
        id,
        error: RpcError::new(code, message),
    };
    if text.trim_start().starts_with('[') {
        let message = "batches are not part of this protocol: send one message at a time";
        return Err(refuse(None, code::INVALID_REQUEST, message.to_owned()));
    }
    let first = text.trim_start().chars().next();
    if first.is_some_and(|first| matches!(first, '"' | 'n' | 't' | 'f' | '-' | '0'..='9'))
        && serde_json::from_str::<Value>(text).is_ok()
    {
        let message = "a message is a JSON object";
        return Err(refuse(None, code::INVALID_REQUEST, message.to_owned()));
    }
    if !within_depth(text.as_bytes()) {
        return Err(refuse(
            None,
            code::PARSE,
            "the message nests too deeply".to_owned(),
        ));
    }
    let raw: Raw<'_> = serde_json::from_str(text).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => refuse(
            None,
            code::INVALID_REQUEST,
            format!("this is not a JSON-RPC message: {error}"),
        ),
        serde_json::error::Category::Io
        | serde_json::error::Category::Syntax
        | serde_json::error::Category::Eof => {
            refuse(None, code::PARSE, format!("this is not JSON: {error}"))
        }
    })?;
    let id = raw.id.map(id).transpose()?;
    let invalid = |message: &str| refuse(id.clone(), code::INVALID_REQUEST, message.to_owned());
    if raw.jsonrpc.as_deref() != Some("2.0") {
        return Err(invalid("`jsonrpc` must be \"2.0\""));
    }
    let params = match raw.params {
        None => Payload::empty_object(),
        Some(params) if params.get().starts_with('{') => Payload::within_shallow(params),
        Some(_) => return Err(invalid("`params` must be an object")),
    };
    match (raw.method, id.clone(), raw.result, raw.error) {
        (Some(method), Some(id), None, None) => Ok(Incoming::Asked(Asked {
            id,
            method: method.into_owned(),
            params: params.into(),
        })),
        (Some(method), None, None, None) => Ok(Incoming::Told(Told {
            method: method.into_owned(),
            params,
        })),
        (None, Some(id), Some(result), None) => Ok(Incoming::Answered(Answered {
            id,
            result: Ok(Payload::within_shallow(result)),
        })),
        (None, Some(id), None, Some(error)) => Ok(Incoming::Answered(Answered {
            id,
            result: Err(Payload::within_shallow(error)),
        })),
        _ => Err(invalid(
            "a message is a request, a notification or an answer",
        )),
    }
}

fn id(raw: &RawValue) -> Result<Id, Unreadable> {
    let text = raw.get();
    let number = text.strip_prefix('-').unwrap_or(text);
    let integer = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if (text.starts_with('"') || integer) && text.len() <= MAX_ID {
        return Ok(Id(raw.to_owned()));
    }
    let message = format!("an id is a string or an integer of at most {MAX_ID} bytes");
    Err(Unreadable {
        id: None,
        error: RpcError::new(code::INVALID_REQUEST, message),
    })
}

/// Prints how a request ended.
pub(super) fn printed(id: &Id, result: &Result<String, RpcError>) -> String {
    match result {
        Ok(result) => answer(id, result),
        Err(error) => failure(Some(id), error),
    }
}

/// Prints an answer; the result is JSON already.
fn answer(id: &Id, result: &str) -> String {
    let id = id.0.get();
    let mut text = String::with_capacity(result.len() + id.len() + 40);
    text.push_str(r#"{"jsonrpc":"2.0","id":"#);
    text.push_str(id);
    text.push_str(r#","result":"#);
    text.push_str(result);
    text.push('}');
    text
}

/// Prints a failure.
pub(super) fn failure(id: Option<&Id>, error: &RpcError) -> String {
    #[derive(Serialize)]
    struct Failed<'a> {
        jsonrpc: &'static str,
        id: Option<&'a RawValue>,
        error: &'a RpcError,
    }
    let failed = Failed {
        jsonrpc: "2.0",
        id: id.map(Id::raw),
        error,
    };
    serde_json::to_string(&failed).unwrap_or_default()
}

/// Prints a notification.
pub(super) fn notification(method: &str, params: &Value) -> String {
    serde_json::json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

/// Prints a request of ours.
pub(super) fn request(id: &str, method: &str, params: &Payload) -> String {
    #[derive(Serialize)]
    struct Request<'a> {
        jsonrpc: &'static str,
        id: &'a str,
        method: &'a str,
        params: &'a Payload,
    }
    let request = Request {
        jsonrpc: "2.0",
        id,
        method,
        params,
    };
    serde_json::to_string(&request).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_back_as_they_were_spelled() {
        for id in ["1", "-7", "\"x\"", "\"\\u0061\"", "12345678901234567890"] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
            let Ok(Incoming::Asked(asked)) = read(&text) else {
                panic!("{id}");
            };
            let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
            assert_eq!(answer(&asked.id, "{}"), expected);
        }
    }

    #[test]
    fn what_is_no_message_is_refused_with_the_right_code() {
        let huge = format!(
            r#"{{"jsonrpc":"2.0","id":"{}","method":"m"}}"#,
            "x".repeat(300)
        );
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{}}}"#,
            "[".repeat(9000)
        );
        for (text, expected) in [
            ("", code::PARSE),
            ("{", code::PARSE),
            ("nonsense", code::PARSE),
            (deep.as_str(), code::PARSE),
            ("[]", code::INVALID_REQUEST),
            (
                r#"[{"jsonrpc":"2.0","id":1,"method":"m"}]"#,
                code::INVALID_REQUEST,
            ),
            ("1", code::INVALID_REQUEST),
            ("{}", code::INVALID_REQUEST),
            (
                r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#,
                code::INVALID_REQUEST,
            ),
            (
                r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#,
                code::INVALID_REQUEST,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#,
                code::INVALID_REQUEST,
            ),
            (
                r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#,
                code::INVALID_REQUEST,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}"#,
                code::INVALID_REQUEST,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
                code::INVALID_REQUEST,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#,
                code::INVALID_REQUEST,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
                code::INVALID_REQUEST,
            ),
            (huge.as_str(), code::INVALID_REQUEST),
        ] {
            match read(text) {
                Err(refused) => assert_eq!(refused.error.code, expected, "{text}"),
                Ok(message) => panic!("{text}: {message:?}"),
            }
        }
    }

    #[test]
    fn requests_notifications_and_answers_are_told_apart() {
        let read = |text: &str| read(text).unwrap();
        assert!(matches!(
            read(r#"{"jsonrpc":"2.0","method":"n"}"#),
            Incoming::Told(_)
        ));
        assert!(matches!(
            read(r#"{"jsonrpc":"2.0","id":"a","result":{"x":1.50}}"#),
            Incoming::Answered(Answered { result: Ok(payload), .. }) if payload.raw() == r#"{"x":1.50}"#
        ));
        assert!(matches!(
            read(r#"{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"m"}}"#),
            Incoming::Answered(Answered { result: Err(_), .. })
        ));
    }
}
