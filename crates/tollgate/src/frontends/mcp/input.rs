//! Questions of a tool to the client: as part of an answer, or asked while a call is open.
//!
//! What travels through the client is sealed by the engine; here it is only carried.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tollgate_core::{InputAsk, InputRequest, InputResponses, Payload};
use tollgate_engine::{Disposition, Outcome, Request};

use super::{
    Exchange, Server,
    outlet::AskFailed,
    params::{self, Member, Params},
    reply,
    rpc::{RpcError, code},
};

/// Marks the state of a question about consent.
const CONSENT: &str = "c.";
/// Marks the state of a tool's question.
const TOOL: &str = "t.";

/// What a state belongs to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum State {
    None,
    Consent(String),
    Tool(Vec<u8>),
}

impl State {
    pub(super) fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// What a repeated request brings along.
pub(super) struct Given {
    pub(super) answers: BTreeMap<String, Payload>,
    pub(super) state: State,
}

impl Given {
    pub(super) fn into_responses(self) -> InputResponses {
        InputResponses {
            answers: self.answers,
            state: match self.state {
                State::Tool(state) => state,
                State::None | State::Consent(_) => Vec::new(),
            },
            given_up: false,
        }
    }
}

/// Reads the answers and the state that a request brings along; most bring nothing.
pub(super) fn given(params: &Params) -> Result<Given, RpcError> {
    let (answers, state) = (params.get(Member::Answers)?, params.get(Member::State)?);
    let answers: BTreeMap<String, Payload> = match answers {
        None => BTreeMap::new(),
        Some(raw) => Some(raw)
            .filter(|raw| raw.starts_with('{'))
            .and_then(|raw| serde_json::from_str(raw).ok())
            .ok_or_else(|| RpcError::invalid_params("`inputResponses` must be an object"))?,
    };
    if let Some((id, _)) = answers.iter().find(|(_, it)| !it.raw().starts_with('{')) {
        let message = format!("`inputResponses` must hold an object for `{id}`");
        return Err(RpcError::invalid_params(message));
    }
    let foreign = || RpcError::invalid_params("`requestState` is not one of ours");
    let state = match state.map(params::text) {
        None => State::None,
        Some(Some(text)) => match (text.strip_prefix(CONSENT), text.strip_prefix(TOOL)) {
            (Some(sealed), _) => State::Consent(sealed.to_owned()),
            (None, Some(state)) => {
                State::Tool(URL_SAFE_NO_PAD.decode(state).map_err(|_| foreign())?)
            }
            (None, None) => return Err(foreign()),
        },
        Some(None) => return Err(foreign()),
    };
    Ok(Given { answers, state })
}

/// The state of a question about consent, as it travels.
pub(super) fn consent_state(sealed: &str) -> String {
    format!("{CONSENT}{sealed}")
}

/// The method that asks for something, and what the client must offer for it.
fn method(ask: &InputAsk) -> (&'static str, &'static str, &Payload) {
    match ask {
        InputAsk::Elicitation(params) => ("elicitation/create", "elicitation", params),
        InputAsk::Sampling(params) => ("sampling/createMessage", "sampling", params),
        InputAsk::Roots(params) => ("roots/list", "roots", params),
    }
}

/// A question as the protocol spells it: the method, and what is asked.
pub(super) fn spelled(ask: &InputAsk) -> (&'static str, &Payload) {
    let (method, _, params) = method(ask);
    (method, params)
}

/// Refuses questions that this client cannot be asked.
fn check(exchange: &Exchange, request: &InputRequest) -> Result<(), RpcError> {
    let lacking: Map<String, Value> = request
        .asks
        .values()
        .filter(|ask| !exchange.client.asks.can(ask))
        .map(|ask| {
            let how = if ask.is_page() {
                json!({"url": {}})
            } else {
                json!({})
            };
            (method(ask).1.to_owned(), how)
        })
        .collect();
    if lacking.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = lacking.keys().map(String::as_str).collect();
    let message = format!("the tool needs a client that offers {}", names.join(", "));
    Err(RpcError::new(code::MISSING_CAPABILITY, message)
        .with(json!({"requiredCapabilities": lacking})))
}

/// The answer that asks for more.
pub(super) fn required(exchange: &Exchange, request: &InputRequest) -> Result<String, RpcError> {
    check(exchange, request)?;
    #[derive(Serialize)]
    struct Question<'a> {
        method: &'static str,
        params: &'a Payload,
    }
    let asks: BTreeMap<&String, Question<'_>> = request
        .asks
        .iter()
        .map(|(id, ask)| {
            let (method, params) = spelled(ask);
            (id, Question { method, params })
        })
        .collect();
    let state = format!("{TOOL}{}", URL_SAFE_NO_PAD.encode(&request.state));
    Ok(asking(exchange, &asks, state))
}

/// An answer that asks for more, with the state to bring back.
pub(super) fn asking(exchange: &Exchange, asks: &impl Serialize, state: String) -> String {
    let mut result = Map::new();
    result.insert("resultType".to_owned(), json!("input_required"));
    result.insert("requestState".to_owned(), Value::String(state));
    let result = reply::dressed(exchange, result);
    let asks = serde_json::to_string(asks).unwrap_or_else(|_| "{}".to_owned());
    reply::with(result, "inputRequests", &asks)
}

/// A question that was put to the client and not answered.
pub(super) struct Unanswered {
    error: RpcError,
    /// What is kept open for the answer, if the client was asked at all.
    state: Option<Vec<u8>>,
}

/// Lets a tool know that nobody answers, so that nothing stays open for it. How it ends then is
/// how the call ends, unless it asks again.
pub(super) async fn let_go(
    server: &Server,
    exchange: &Exchange,
    request: &Request,
    unanswered: Unanswered,
) -> Result<Outcome, RpcError> {
    let Some(state) = unanswered.state else {
        return Err(unanswered.error);
    };
    let mut request = request.clone();
    request.responses = Some(InputResponses {
        answers: BTreeMap::new(),
        state,
        given_up: true,
    });
    let outcome = server.gateway.call(&exchange.caller, request).await;
    match outcome.disposition {
        Disposition::NeedsInput(_) | Disposition::NeedsConsent => Err(unanswered.error),
        Disposition::Done | Disposition::Failed(_) | Disposition::Denied => Ok(outcome),
    }
}

/// Asks the client while its request is open.
pub(super) async fn asked(
    exchange: &Exchange,
    request: &InputRequest,
) -> Result<InputResponses, Unanswered> {
    check(exchange, request).map_err(|error| Unanswered { error, state: None })?;
    let mut answers = BTreeMap::new();
    for (id, ask) in &request.asks {
        let (method, params) = spelled(ask);
        let answer = exchange.ask(method, params).await;
        let answer = answer.map_err(|failed| Unanswered {
            error: unanswered(method, &failed),
            state: Some(request.state.clone()),
        })?;
        answers.insert(id.clone(), answer);
    }
    Ok(InputResponses {
        answers,
        state: request.state.clone(),
        given_up: false,
    })
}

fn unanswered(method: &str, failed: &AskFailed) -> RpcError {
    let why = match failed {
        AskFailed::Impossible => "this connection cannot carry it",
        AskFailed::Silent => "nobody answered",
        AskFailed::Refused(why) => why,
    };
    RpcError::new(
        code::INTERNAL,
        format!("`{method}` was not answered: {why}"),
    )
}

/// An elicitation's answer.
#[derive(Deserialize)]
pub(super) struct Elicited {
    pub(super) action: String,
    #[serde(default)]
    pub(super) content: Value,
}
