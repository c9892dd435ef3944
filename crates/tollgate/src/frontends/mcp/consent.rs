//! Consent through the client's own dialog, where the operator trusts it.
//!
//! Invariant: only an answer to a question of ours, sealed and single use, counts, and only
//! if the operator says that this client's dialog is a human. Otherwise the call ends as
//! `confirmation_required` and a human approves it elsewhere.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Map, Value, json};
use tollgate_core::{ErrorCode, Payload};
use tollgate_engine::{DialogError, Outcome, Request};

use super::{
    Exchange, Reply, Server, call,
    input::{self, Elicited},
    rpc::{RpcError, code},
};

/// The name of our question among others.
const QUESTION: &str = "tollgate_consent";

/// An open question about a call.
pub(super) struct Question {
    pub(super) sealed: String,
    /// How long an answer still counts.
    open: Duration,
    params: Value,
}

/// The question of a call that needs a human, if this client may be asked.
pub(super) async fn question(
    server: &Server,
    exchange: &Exchange,
    outcome: &Outcome,
) -> Option<Question> {
    if !server.trusts_dialogs() || !exchange.client.asks.elicitation {
        return None;
    }
    let details = &outcome.envelope.get().error.as_ref()?.details;
    if details.get("consent")?.as_str()? != "human" {
        return None;
    }
    let id = details.get("approval_id")?.as_str()?;
    let sealed = server.gateway.seal_question(&exchange.caller, id).await;
    Some(Question {
        sealed: sealed.ok()??,
        open: server.gateway.settings().approval_ttl,
        params: form(details.get("preview")?),
    })
}

/// What the human is shown.
pub(super) fn form(preview: &Value) -> Value {
    let text = |key: &str| preview[key].as_str().unwrap_or_default();
    let mut message = format!(
        "Allow `{}` ({}) once?\n\nArguments: {}",
        text("tool"),
        text("title"),
        text("arguments")
    );
    if let Some(hidden) = preview["hidden_characters"].as_u64().filter(|it| *it > 0) {
        message.push_str(&format!(" … and {hidden} more characters"));
    }
    if let Some(effect) = preview["effect"].as_str() {
        message.push_str("\n\nWhat it would do:\n");
        message.push_str(effect);
        if let Some(hidden) = preview["effect_hidden_characters"]
            .as_u64()
            .filter(|it| *it > 0)
        {
            message.push_str(&format!("… and {hidden} more characters"));
        }
        if preview["effect_cleaned"] == true {
            message.push_str("\nIt holds secrets or invisible characters that are not shown.");
        }
    }
    for (key, warning) in [
        (
            "destructive",
            "It may delete, overwrite or submit something.",
        ),
        ("sensitive_sink", "It may carry data out."),
    ] {
        if preview[key] == true {
            message.push_str("\n\n");
            message.push_str(warning);
        }
    }
    json!({
        "mode": "form",
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {
                "approve": {
                    "type": "boolean",
                    "title": "Allow this call",
                    "description": "Allows exactly this call, once.",
                    "default": false,
                },
            },
            "required": ["approve"],
        },
    })
}

/// The answer that asks for consent.
pub(super) fn required(exchange: &Exchange, question: &Question) -> Result<String, RpcError> {
    let mut asks = Map::new();
    let ask = json!({"method": "elicitation/create", "params": question.params});
    asks.insert(QUESTION.to_owned(), ask);
    let state = input::consent_state(&question.sealed);
    Ok(input::asking(exchange, &asks, state))
}

/// What the answers say to our question; `None` if they do not answer it.
pub(super) fn answer(answers: &BTreeMap<String, Payload>) -> Option<bool> {
    granted(answers.get(QUESTION)?)
}

pub(super) fn granted(answer: &Payload) -> Option<bool> {
    let elicited: Elicited = serde_json::from_str(answer.raw()).ok()?;
    match elicited.action.as_str() {
        "accept" => Some(elicited.content["approve"] == true),
        "decline" | "cancel" => Some(false),
        _ => None,
    }
}

/// Asks in the client's dialog while the call is open; `None` if nobody answered.
pub(super) async fn dialog(exchange: &Exchange, question: &Question) -> Option<bool> {
    let params = Payload::from(question.params.clone());
    let asked = exchange.ask("elicitation/create", &params);
    let answer = tokio::time::timeout(question.open, asked).await;
    granted(&answer.ok()?.ok()?)
}

/// Whose dialog it was, for the record.
pub(super) fn by(server: &Server, exchange: &Exchange) -> String {
    let client = exchange.client.name.as_deref().unwrap_or("a client");
    format!("dialog:{}", server.gateway.cleaner().line(client))
}

/// Takes an answer; what remains to be said if it does not let the call go on.
pub(super) async fn take(
    server: &Server,
    exchange: &Exchange,
    request: &Request,
    sealed: &str,
    granted: bool,
) -> Result<(), Reply> {
    let gateway = &server.gateway;
    let by = by(server, exchange);
    let caller = &exchange.caller;
    if !server.trusts_dialogs() {
        return Err(rejected(server, exchange).await);
    }
    match gateway
        .answer_question(caller, request, sealed, granted, &by)
        .await
    {
        Ok(()) if granted => Ok(()),
        Ok(()) => {
            let message = "the human did not allow this call";
            let outcome = gateway
                .refuse(caller, ErrorCode::PolicyDenied, message)
                .await;
            Err(call::finished(server, exchange, &request.tool, outcome).await)
        }
        Err(DialogError::NoQuestion) => Err(rejected(server, exchange).await),
        Err(DialogError::Store(error)) => {
            let outcome = gateway
                .refuse(caller, error.code(), &error.to_string())
                .await;
            Err(call::finished(server, exchange, &request.tool, outcome).await)
        }
    }
}

/// Refuses a state that is altered, used, ended or another's, and writes it down.
async fn rejected(server: &Server, exchange: &Exchange) -> Reply {
    let message = "this answer belongs to no open question";
    let refused = ErrorCode::StateRejected;
    server
        .gateway
        .refuse(&exchange.caller, refused, message)
        .await;
    RpcError::new(code::INVALID_PARAMS, message).into()
}

/// The answer is missing: the same question once more.
pub(super) async fn ask_again(server: &Server, exchange: &Exchange, request: &Request) -> Reply {
    let outcome = server.gateway.call(&exchange.caller, request.clone()).await;
    match question(server, exchange, &outcome).await {
        Some(question) => required(exchange, &question).into(),
        None => call::finished(server, exchange, &request.tool, outcome).await,
    }
}
