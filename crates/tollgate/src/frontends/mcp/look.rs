//! Resources, prompts and completions: reads through the same door as calls.

use serde_json::{Map, Value, json};
use tollgate_core::{Fields, Payload, ResourceSpec, Spelled, Warning};
use tollgate_engine::{Disposition, Outcome, Request, policy::Action};

use super::{
    Exchange, Reply, Server, call,
    input::{self, Given},
    outlet::Live,
    pages, reply,
    rpc::RpcError,
};

/// Questions a client is asked within one read before it is given up.
const MAX_ROUNDS: usize = 16;

/// One entry of a list: how its owner spells it, and what it is.
type Entry = (Spelled, Value);

fn listed(exchange: &Exchange, name: &str, entries: Vec<Entry>) -> Result<String, RpcError> {
    let (entries, cursor) = pages::page(exchange.params(), name, entries)?;
    let mut result = Map::new();
    if let Some(cursor) = cursor {
        result.insert("nextCursor".to_owned(), Value::String(cursor));
    }
    reply::reusable(exchange, &mut result);
    let entries = entries.iter().map(|(spelled, entry)| spelled.print(entry));
    let entries = entries.collect::<Vec<_>>().join(",");
    let rest = reply::dressed(exchange, result);
    let comma = if rest == "{}" { "" } else { "," };
    Ok(format!(r#"{{"{name}":[{entries}]{comma}{}"#, &rest[1..]))
}

/// `resources/list`.
pub(super) fn resources(server: &Server, exchange: &Exchange) -> Result<String, RpcError> {
    let offers = server.gateway.offers(&exchange.caller);
    // A page is nothing to read for a client that cannot show it.
    let fits =
        |resource: &&ResourceSpec| exchange.client.pages || !resource.uri.starts_with("ui://");
    let entries = offers.resources.iter().filter(fits);
    let entries = entries.map(|resource| (resource.spelled.clone(), json!(resource)));
    listed(exchange, "resources", entries.collect())
}

/// `resources/templates/list`.
pub(super) fn templates(server: &Server, exchange: &Exchange) -> Result<String, RpcError> {
    let offers = server.gateway.offers(&exchange.caller);
    let entries = offers.templates.iter();
    let entries = entries.map(|template| (template.spelled.clone(), json!(template)));
    listed(exchange, "resourceTemplates", entries.collect())
}

/// `prompts/list`.
pub(super) fn prompts(server: &Server, exchange: &Exchange) -> Result<String, RpcError> {
    let offers = server.gateway.offers(&exchange.caller);
    let entries = offers.prompts.iter();
    let entries = entries.map(|prompt| (prompt.spelled.clone(), json!(prompt)));
    listed(exchange, "prompts", entries.collect())
}

/// `resources/read`.
pub(super) async fn read(server: &Server, exchange: &Exchange) -> Reply {
    let Some(uri) = exchange.params()["uri"].as_str() else {
        let error = RpcError::invalid_params("`uri` must say what to read");
        return call::refused(server, exchange, error).await;
    };
    let arguments = Payload::from(json!({"uri": uri}));
    looked(server, exchange, Action::Read, arguments).await
}

/// `prompts/get`.
pub(super) async fn prompt(server: &Server, exchange: &Exchange) -> Reply {
    let params = exchange.params();
    let Some(name) = params["name"].as_str() else {
        let error = RpcError::invalid_params("`name` must name a prompt");
        return call::refused(server, exchange, error).await;
    };
    let arguments = match params.get("arguments") {
        None | Some(Value::Null) => json!({}),
        Some(Value::Object(arguments)) if arguments.values().all(Value::is_string) => {
            json!(arguments)
        }
        Some(_) => {
            let error = RpcError::invalid_params("`arguments` is an object of texts");
            return call::refused(server, exchange, error).await;
        }
    };
    let arguments = Payload::from(json!({"name": name, "arguments": arguments}));
    looked(server, exchange, Action::GetPrompt, arguments).await
}

/// `completion/complete`.
pub(super) async fn complete(server: &Server, exchange: &Exchange) -> Reply {
    let params = exchange.params();
    let (about, argument) = (&params["ref"], &params["argument"]);
    if !about.is_object() || !argument["name"].is_string() || !argument["value"].is_string() {
        let message = "`ref` says what is completed, `argument` its name and value so far";
        let error = RpcError::invalid_params(message);
        return call::refused(server, exchange, error).await;
    }
    // Only what the protocol names goes on; anything else said there would be seen by nobody.
    let texts = |from: &Value, names: &[&str]| {
        let texts = names.iter().filter_map(|name| {
            let text = from.get(name).filter(|it| it.is_string())?;
            Some(((*name).to_owned(), text.clone()))
        });
        Value::Object(texts.collect())
    };
    let mut arguments = json!({
        "ref": texts(about, &["type", "name", "uri"]),
        "argument": texts(argument, &["name", "value"]),
    });
    if let Some(Value::Object(given)) = params["context"].get("arguments") {
        let mut given = given.clone();
        given.retain(|_, value| value.is_string());
        arguments["context"] = json!({"arguments": given});
    }
    looked(server, exchange, Action::Complete, Payload::from(arguments)).await
}

async fn looked(server: &Server, exchange: &Exchange, action: Action, arguments: Payload) -> Reply {
    let mut request = Request::look(action, arguments);
    request.traceparent.clone_from(&exchange.said.traceparent);
    request.aside.clone_from(&exchange.said.aside);
    request.cancel = exchange.cancel.clone();
    request.events = std::sync::Arc::new(Live {
        outlet: std::sync::Arc::clone(&exchange.outlet),
        token: exchange.said.progress_token.clone(),
        level: exchange.client.log_level,
    });
    if exchange.is_modern() {
        match input::given(&exchange.asked.params) {
            Ok(Given { answers, state }) if answers.is_empty() && state.is_none() => {}
            Ok(given) => request.responses = Some(given.into_responses()),
            Err(error) => return call::refused(server, exchange, error).await,
        }
    }
    for _ in 0..MAX_ROUNDS {
        let outcome = server.gateway.call(&exchange.caller, request.clone()).await;
        match &outcome.disposition {
            Disposition::NeedsInput(asks) if exchange.is_modern() => {
                return input::required(exchange, asks).into();
            }
            Disposition::NeedsInput(asks) => match input::asked(exchange, asks).await {
                Ok(responses) => request.responses = Some(responses),
                Err(unanswered) => {
                    return match input::let_go(server, exchange, &request, unanswered).await {
                        Ok(outcome) => ended(exchange, &outcome),
                        Err(error) => error.into(),
                    };
                }
            },
            Disposition::Done
            | Disposition::Failed(_)
            | Disposition::NeedsConsent
            | Disposition::Denied => return ended(exchange, &outcome),
        }
    }
    RpcError::invalid_params("there are too many questions").into()
}

fn ended(exchange: &Exchange, outcome: &Outcome) -> Reply {
    let failure = outcome.envelope.get().error.as_ref();
    match failure.filter(|_| !matches!(outcome.disposition, Disposition::Done)) {
        Some(failure) => reply::error(exchange, failure).into(),
        None => Ok(shown(exchange, outcome)).into(),
    }
}

/// The provider's own object as it is spelled, with what every result carries.
fn shown(exchange: &Exchange, outcome: &Outcome) -> String {
    let envelope = outcome.envelope.get();
    let data = envelope.data.as_ref().map_or("{}", |data| data.raw());
    let mut result: Fields<'_> = serde_json::from_str(data).unwrap_or_default();
    if exchange.asked.method == "resources/read" {
        reply::read_reusable(exchange, &mut result);
    }
    let is_tainted = envelope.meta.tainted || envelope.warnings.contains(&Warning::TaintedContent);
    let said = [
        ("tollgate/call_id", json!(envelope.meta.call_id)),
        ("traceparent", json!(outcome.traceparent)),
        ("tollgate/tainted", Value::Bool(true)),
    ];
    let said = if is_tainted { &said[..] } else { &said[..2] };
    reply::dressed_as_it_is(exchange, result, said)
}
