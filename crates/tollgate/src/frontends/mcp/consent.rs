//! Consent through the client's own dialog, where the operator trusts it.
//!
//! Invariant: only a decision in answer to a question of ours, sealed and single use, counts,
//! and only if the operator trusts this client's dialog. Clients accept or dismiss dialogs that
//! no human saw, so an answer without a decision is neither a consent nor a refusal: the call
//! ends as `confirmation_required`, and the approval stays open for whoever decides elsewhere.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Map, Value, json};
use tollgate_core::{ErrorCode, Payload};
use tollgate_engine::{Decided, DialogError, Outcome, Request, SESSION_GRANT};

use super::{
    Exchange, Reply, Server, call,
    input::{self, Elicited},
    rpc::{RpcError, code},
};
use crate::frontends::consent_text;

/// Characters of a question; what needs more is decided at a terminal.
const LONGEST: usize = 20_000;
/// The name of our question among others.
const QUESTION: &str = "tollgate_consent";

/// An open question about a call.
pub(super) struct Question {
    pub(super) sealed: String,
    pub(super) approval: String,
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
    if !exchange.client.asks.elicitation || !server.trusts_dialogs().await {
        return None;
    }
    let details = &outcome.envelope.get().error.as_ref()?.details;
    if details.get("consent")?.as_str()? != "human" {
        return None;
    }
    let id = details.get("approval_id")?.as_str()?;
    let sealed = server.gateway.seal_question(&exchange.caller, id).await;
    // What a human is shown is kept with the question; the caller's copy of it is shorter.
    let asked = server.gateway.store().approval(id).await.ok()??;
    Some(Question {
        sealed: sealed.ok()??,
        approval: id.to_owned(),
        open: server.gateway.settings().approval_ttl,
        params: form(&asked.preview)?,
    })
}

/// What a human can choose.
const CHOICES: [(&str, &str, Decided); 3] = [
    ("once", "Allow this call, once", Decided::Once),
    (
        SESSION,
        "Allow every call of this tool in this session",
        Decided::ToolForSession,
    ),
    ("no", "Do not allow it", Decided::Denied),
];
const SESSION: &str = "session";

/// The choices about one call.
fn choices(session: bool) -> impl Iterator<Item = (&'static str, &'static str, Decided)> {
    let offered = move |choice: &(&str, &str, Decided)| session || choice.0 != SESSION;
    CHOICES.into_iter().filter(offered)
}

fn offers_session(preview: &Value) -> bool {
    preview[SESSION_GRANT] == true
}

/// What the human is shown; nothing if it is more than a dialog can hold, as clients cut it.
pub(super) fn form(preview: &Value) -> Option<Value> {
    let mut message = asked(preview);
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
    let (values, titles): (Vec<_>, Vec<_>) = choices(offers_session(preview))
        .map(|(value, title, _)| (value, title))
        .unzip();
    if message.chars().count() > LONGEST {
        return None;
    }
    Some(json!({
        "mode": "form",
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {
                "decision": {
                    "type": "string",
                    "title": "Decision",
                    "description": "Without a decision the call waits until somebody decides elsewhere.",
                    "enum": values,
                    "enumNames": titles,
                },
            },
            "required": ["decision"],
        },
    }))
}

/// The call, and what it would do.
fn asked(preview: &Value) -> String {
    let text = |key: &str| preview[key].as_str().unwrap_or_default();
    let mut message = format!(
        "Allow `{}` ({})?\n\nArguments: {}",
        text("tool"),
        text("title"),
        text("arguments")
    );
    add(&mut message, consent_text::plan(preview));
    if let Some(effect) = preview["effect"].as_str() {
        message.push_str("\n\nWhat it would do:\n");
        message.push_str(&consent_text::marked(effect));
        add(&mut message, consent_text::effect_changes(preview));
    }
    for (head, lines) in consent_text::code(preview) {
        message.push_str(&format!("\n\n{head}:\n{lines}"));
    }
    add(&mut message, consent_text::changes(preview));
    message
}

fn add(message: &mut String, lines: Vec<(&'static str, String)>) {
    for (name, text) in lines {
        message.push_str(&format!("\n{name}: {text}"));
    }
}

/// The answer that asks for consent.
pub(super) fn required(exchange: &Exchange, question: &Question) -> Result<String, RpcError> {
    let mut asks = Map::new();
    let ask = json!({"method": "elicitation/create", "params": question.params});
    asks.insert(QUESTION.to_owned(), ask);
    let state = input::consent_state(&question.sealed);
    Ok(input::asking(exchange, &asks, state))
}

/// What a client sends back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reaction {
    Decided(Decided),
    /// The dialog was accepted, declined or left without a decision, perhaps by no human.
    Dismissed,
}

/// What the answers say to our question; `None` if they do not answer it.
pub(super) fn reaction(answers: &BTreeMap<String, Payload>) -> Option<Reaction> {
    reaction_of(answers.get(QUESTION)?)
}

/// What one answer says; `None` if it is none.
pub(super) fn reaction_of(answer: &Payload) -> Option<Reaction> {
    let elicited: Elicited = serde_json::from_str(answer.raw()).ok()?;
    let decided = match elicited.action.as_str() {
        "accept" => decision(&elicited.content),
        "decline" | "cancel" => None,
        _ => return None,
    };
    Some(decided.map_or(Reaction::Dismissed, Reaction::Decided))
}

fn decision(content: &Value) -> Option<Decided> {
    let named = content["decision"].as_str()?;
    let chosen = CHOICES.into_iter().find(|(value, ..)| *value == named);
    chosen.map(|(.., decided)| decided)
}

/// Asks in the client's dialog while the call is open.
pub(super) async fn dialog(exchange: &Exchange, question: &Question) -> Reaction {
    let params = Payload::from(question.params.clone());
    let asked = exchange.ask("elicitation/create", &params);
    match tokio::time::timeout(question.open, asked).await {
        Ok(Ok(answer)) => reaction_of(&answer).unwrap_or(Reaction::Dismissed),
        Ok(Err(_)) | Err(_) => Reaction::Dismissed,
    }
}

/// Whose dialog it was, for the record.
pub(super) fn by(server: &Server, exchange: &Exchange) -> String {
    let client = exchange.client.name.as_deref().unwrap_or("a client");
    format!("dialog:{}", server.gateway.cleaner().line(client))
}

/// What became of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// The call may go on.
    Allowed,
    /// It was no choice of this question, so nothing is decided.
    Nothing,
}

/// Takes a decision; the reply is what remains to be said if the call cannot go on.
pub(super) async fn take(
    server: &Server,
    exchange: &Exchange,
    request: &Request,
    sealed: &str,
    decided: &Decided,
) -> Result<Taken, Reply> {
    let gateway = &server.gateway;
    let by = by(server, exchange);
    let caller = &exchange.caller;
    if !server.trusts_dialogs().await {
        return Err(rejected(server, exchange).await);
    }
    let taken = gateway
        .answer_question(caller, request, sealed, decided, &by)
        .await;
    let (code, message) = match taken {
        Ok(()) if *decided == Decided::Denied => {
            let message = "the human did not allow this call".to_owned();
            (ErrorCode::PolicyDenied, message)
        }
        Ok(()) => return Ok(Taken::Allowed),
        Err(DialogError::NotOffered) => return Ok(Taken::Nothing),
        Err(DialogError::NoQuestion) => return Err(rejected(server, exchange).await),
        Err(DialogError::Store(error)) => (error.code(), error.to_string()),
    };
    let outcome = gateway.refuse_call(caller, request, code, &message).await;
    Err(call::finished(server, exchange, &request.tool, outcome).await)
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
