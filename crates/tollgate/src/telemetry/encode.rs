//! Spans in the JSON encoding of OTLP, which every collector takes beside protobuf.
//!
//! In that encoding ids are hex, enums are numbers and 64-bit integers are strings.

use std::process;

use serde::{Serialize, Serializer, ser::SerializeSeq};
use serde_json::{Map, Value, json};
use tollgate_engine::{random_hex, record::Span};

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// `SPAN_KIND_INTERNAL`, as the GenAI conventions say for `execute_tool`.
const INTERNAL: u8 = 1;
/// The span is sampled.
const SAMPLED: u32 = 0x001;
/// The parent is known to be in another process.
const REMOTE_PARENT: u32 = 0x300;

/// Who sends the spans.
pub(super) struct Resource(Vec<KeyValue>);

impl Resource {
    pub(super) fn of(service: &str) -> Self {
        // It tells processes apart, and is no secret.
        let instance = random_hex(16).unwrap_or_else(|_| process::id().to_string());
        let attributes = [
            ("service.name", json!(service)),
            ("service.version", json!(VERSION)),
            ("service.instance.id", json!(instance)),
            ("process.pid", json!(process::id())),
            ("telemetry.sdk.name", json!("tollgate")),
            ("telemetry.sdk.language", json!("rust")),
            ("telemetry.sdk.version", json!(VERSION)),
        ];
        Self(
            attributes
                .iter()
                .map(|(key, value)| KeyValue::new(key, value))
                .collect(),
        )
    }
}

/// One request's body. Spans lost so far are told to the collector with the scope.
pub(super) fn request(resource: &Resource, spans: &[Span], dropped: u64) -> Vec<u8> {
    let lost = (dropped > 0).then(|| KeyValue::new("tollgate.spans.dropped", &json!(dropped)));
    let request = Request {
        resource_spans: [ResourceSpans {
            resource: Attributes {
                attributes: &resource.0,
            },
            scope_spans: [ScopeSpans {
                scope: Scope {
                    name: "tollgate",
                    version: VERSION,
                    attributes: lost.into_iter().collect(),
                },
                spans,
            }],
        }],
    };
    serde_json::to_vec(&request).unwrap_or_default()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    resource_spans: [ResourceSpans<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'a> {
    resource: Attributes<'a>,
    scope_spans: [ScopeSpans<'a>; 1],
}

#[derive(Serialize)]
struct Attributes<'a> {
    attributes: &'a [KeyValue],
}

#[derive(Serialize)]
struct ScopeSpans<'a> {
    scope: Scope,
    #[serde(serialize_with = "wire_spans")]
    spans: &'a [Span],
}

#[derive(Serialize)]
struct Scope {
    name: &'static str,
    version: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attributes: Vec<KeyValue>,
}

fn wire_spans<S: Serializer>(spans: &[Span], serializer: S) -> Result<S::Ok, S::Error> {
    let mut sequence = serializer.serialize_seq(Some(spans.len()))?;
    for span in spans {
        sequence.serialize_element(&WireSpan::of(span))?;
    }
    sequence.end()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireSpan<'a> {
    trace_id: &'a str,
    span_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<&'a str>,
    flags: u32,
    name: &'a str,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<KeyValue>,
    status: Status,
}

impl<'a> WireSpan<'a> {
    fn of(span: &'a Span) -> Self {
        let start = u128::try_from(span.start.0).unwrap_or(0) * 1_000_000;
        let attributes = span.attributes.iter();
        Self {
            trace_id: &span.trace_id,
            span_id: &span.span_id,
            parent_span_id: span.parent_span_id.as_deref(),
            flags: match span.parent_span_id {
                Some(_) => SAMPLED | REMOTE_PARENT,
                None => SAMPLED,
            },
            name: &span.name,
            kind: INTERNAL,
            start_time_unix_nano: start.to_string(),
            end_time_unix_nano: (start + span.duration.as_nanos()).to_string(),
            attributes: attributes
                .map(|(key, value)| KeyValue::new(key, value))
                .collect(),
            status: match span.error {
                None => Status::Unset {},
                Some(code) => Status::Error {
                    code: 2,
                    message: code.as_str(),
                },
            },
        }
    }
}

/// A call that ended well leaves its status unset, as instrumentation should.
#[derive(Serialize)]
#[serde(untagged)]
enum Status {
    Unset {},
    Error { code: u8, message: &'static str },
}

#[derive(Debug, Clone, Serialize)]
struct KeyValue {
    key: String,
    value: Value,
}

impl KeyValue {
    fn new(key: &str, value: &Value) -> Self {
        Self {
            key: key.to_owned(),
            value: any_value(value),
        }
    }
}

fn any_value(value: &Value) -> Value {
    match value {
        Value::Null => Value::Object(Map::new()),
        Value::Bool(it) => json!({ "boolValue": it }),
        Value::String(it) => json!({ "stringValue": it }),
        Value::Number(it) => match it.as_i64() {
            Some(whole) => json!({ "intValue": whole.to_string() }),
            None => json!({ "doubleValue": it }),
        },
        Value::Array(items) => {
            let values: Vec<Value> = items.iter().map(any_value).collect();
            json!({ "arrayValue": { "values": values } })
        }
        Value::Object(members) => {
            let values: Vec<KeyValue> = members
                .iter()
                .map(|(key, value)| KeyValue::new(key, value))
                .collect();
            json!({ "kvlistValue": { "values": values } })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tollgate_core::{ErrorCode, Timestamp};

    use super::*;

    fn span(parent: Option<&str>, error: Option<ErrorCode>) -> Span {
        Span {
            trace_id: "0af7651916cd43dd8448eb211c80319c".to_owned(),
            span_id: "b7ad6b7169203331".to_owned(),
            parent_span_id: parent.map(str::to_owned),
            name: "execute_tool text.stats".to_owned(),
            start: Timestamp(1_795_000_000_123),
            duration: Duration::from_nanos(41_500),
            attributes: vec![("gen_ai.tool.name", json!("text.stats"))],
            error,
        }
    }

    fn body(spans: &[Span], dropped: u64) -> Value {
        let resource = Resource(vec![KeyValue::new("service.name", &json!("tollgate"))]);
        serde_json::from_slice(&request(&resource, spans, dropped)).unwrap()
    }

    #[test]
    fn a_request_reads_as_the_encoding_says() {
        let spans = [span(Some("00f067aa0ba902b7"), Some(ErrorCode::TimedOut))];
        let expected = json!({"resourceSpans": [{
            "resource": {"attributes": [
                {"key": "service.name", "value": {"stringValue": "tollgate"}}
            ]},
            "scopeSpans": [{
                "scope": {"name": "tollgate", "version": VERSION, "attributes": [
                    {"key": "tollgate.spans.dropped", "value": {"intValue": "3"}}
                ]},
                "spans": [{
                    "traceId": "0af7651916cd43dd8448eb211c80319c",
                    "spanId": "b7ad6b7169203331",
                    "parentSpanId": "00f067aa0ba902b7",
                    "flags": 0x301,
                    "name": "execute_tool text.stats",
                    "kind": 1,
                    "startTimeUnixNano": "1795000000123000000",
                    "endTimeUnixNano": "1795000000123041500",
                    "attributes": [
                        {"key": "gen_ai.tool.name", "value": {"stringValue": "text.stats"}}
                    ],
                    "status": {"code": 2, "message": ErrorCode::TimedOut.as_str()},
                }],
            }],
        }]});
        assert_eq!(body(&spans, 3), expected);
    }

    #[test]
    fn a_root_that_ended_well_has_no_parent_and_no_status() {
        let body = body(&[span(None, None)], 0);
        let scope = &body["resourceSpans"][0]["scopeSpans"][0];
        let span = &scope["spans"][0];
        assert_eq!(scope["scope"].get("attributes"), None);
        assert_eq!(span.get("parentSpanId"), None);
        assert_eq!(span["flags"], 1);
        assert_eq!(span["status"], json!({}));
    }

    #[test]
    fn every_kind_of_value_has_its_form() {
        let value = json!([null, true, 7, -1, 1.5, "a", {"k": [1]}]);
        let expected = json!({"arrayValue": {"values": [
            {},
            {"boolValue": true},
            {"intValue": "7"},
            {"intValue": "-1"},
            {"doubleValue": 1.5},
            {"stringValue": "a"},
            {"kvlistValue": {"values": [
                {"key": "k", "value": {"arrayValue": {"values": [{"intValue": "1"}]}}}
            ]}},
        ]}});
        assert_eq!(any_value(&value), expected);
    }
}
