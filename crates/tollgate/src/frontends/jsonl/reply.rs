//! Endings as events: one line each.

use serde::Serialize;
use serde_json::value::RawValue;
use tollgate_core::{Envelope, Payload};
use tollgate_engine::{Gateway, Outcome};

#[derive(Serialize)]
struct Event<'a, T: Serialize> {
    id: Option<&'a RawValue>,
    event: &'static str,
    #[serde(flatten)]
    rest: T,
}

#[derive(Serialize)]
struct Started<'a> {
    method: &'a str,
}

#[derive(Serialize)]
struct Estimated {
    estimated_tokens: u64,
    worst_case_tokens: u64,
    requires_confirmation: bool,
}

#[derive(Serialize)]
struct Nothing {}

fn line<T: Serialize>(id: Option<&RawValue>, event: &'static str, rest: T) -> String {
    let mut text = serde_json::to_string(&Event { id, event, rest }).unwrap_or_default();
    text.push('\n');
    text
}

pub(super) fn started(id: Option<&RawValue>, method: &str) -> String {
    line(id, "started", Started { method })
}

pub(super) fn estimated(
    id: Option<&RawValue>,
    gateway: &Gateway,
    method: &str,
    arguments: &Payload,
) -> String {
    let estimate = gateway.estimate(method, arguments);
    line(
        id,
        "budget_estimated",
        Estimated {
            estimated_tokens: estimate.estimated,
            worst_case_tokens: estimate.worst_case,
            requires_confirmation: estimate.confirm,
        },
    )
}

/// The envelope is printed apart: flattening would lose its raw numbers.
pub(super) fn response(id: Option<&RawValue>, outcome: &Outcome) -> String {
    #[derive(Serialize)]
    struct Response<'a> {
        id: Option<&'a RawValue>,
        event: &'static str,
        payload: &'a Envelope,
    }
    let response = Response {
        id,
        event: "response",
        payload: outcome.envelope.get(),
    };
    let mut text = serde_json::to_string(&response).unwrap_or_default();
    text.push('\n');
    text
}

pub(super) fn done(id: Option<&RawValue>) -> String {
    line(id, "done", Nothing {})
}
