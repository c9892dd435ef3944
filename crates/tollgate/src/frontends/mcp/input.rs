//! Questions of a tool to the client: as part of an answer, or asked while a call is open.
//!
//! What travels through the client is sealed by the engine; here it is only carried.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tollgate_core::{AskKinds, InputAsk, InputRequest, InputResponses, Payload};

use super::{
    Exchange,
    outlet::AskFailed,
    params::{Member, Params},
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
        }
    }
}

/// Reads the answers and the state that a request brings along; most bring nothing.
pub(super) fn given(params: &Params) -> Result<Given, RpcError> {
    if params.get(Member::Answers)?.is_none() && params.get(Member::State)?.is_none() {
        return Ok(Given {
            answers: BTreeMap::new(),
            state: State::None,
        });
    }
    let params = params.value();
    let answers = match params.get("inputResponses") {
        None => BTreeMap::new(),
        Some(Value::Object(answers)) => answers
            .iter()
            .map(|(id, answer)| (id.clone(), Payload::from(answer.clone())))
            .collect(),
        Some(_) => {
            return Err(RpcError::invalid_params(
                "`inputResponses` must be an object",
            ));
        }
    };
    let foreign = || RpcError::invalid_params("`requestState` is not one of ours");
    let state = match params.get("requestState") {
        None => State::None,
        Some(Value::String(text)) => match (text.strip_prefix(CONSENT), text.strip_prefix(TOOL)) {
            (Some(sealed), _) => State::Consent(sealed.to_owned()),
            (None, Some(state)) => {
                State::Tool(URL_SAFE_NO_PAD.decode(state).map_err(|_| foreign())?)
            }
            (None, None) => return Err(foreign()),
        },
        Some(_) => return Err(foreign()),
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

/// A question as the protocol spells it.
pub(super) fn spelled(ask: &InputAsk) -> Value {
    let (method, _, params) = method(ask);
    json!({"method": method, "params": params.value()})
}

pub(super) fn offers(asks: AskKinds, ask: &InputAsk) -> bool {
    match ask {
        InputAsk::Elicitation(_) => asks.elicitation,
        InputAsk::Sampling(_) => asks.sampling,
        InputAsk::Roots(_) => asks.roots,
    }
}

/// Refuses questions that this client cannot be asked.
fn check(exchange: &Exchange, request: &InputRequest) -> Result<(), RpcError> {
    let lacking: Map<String, Value> = request
        .asks
        .values()
        .filter(|ask| !offers(exchange.client.asks, ask))
        .map(|ask| (method(ask).1.to_owned(), json!({})))
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
    let asks: Map<String, Value> = request
        .asks
        .iter()
        .map(|(id, ask)| (id.clone(), spelled(ask)))
        .collect();
    let state = format!("{TOOL}{}", URL_SAFE_NO_PAD.encode(&request.state));
    Ok(asking(exchange, asks, state))
}

/// An answer that asks for more, with the state to bring back.
pub(super) fn asking(exchange: &Exchange, asks: Map<String, Value>, state: String) -> String {
    let mut result = Map::new();
    result.insert("resultType".to_owned(), json!("input_required"));
    result.insert("inputRequests".to_owned(), Value::Object(asks));
    result.insert("requestState".to_owned(), Value::String(state));
    reply::dressed(exchange, result)
}

/// Asks the client while its request is open.
pub(super) async fn asked(
    exchange: &Exchange,
    request: &InputRequest,
) -> Result<InputResponses, RpcError> {
    check(exchange, request)?;
    let mut answers = BTreeMap::new();
    for (id, ask) in &request.asks {
        let (method, _, params) = method(ask);
        let answer = exchange
            .ask(method, params)
            .await
            .map_err(|failed| unanswered(method, &failed))?;
        answers.insert(id.clone(), answer);
    }
    Ok(InputResponses {
        answers,
        state: request.state.clone(),
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
