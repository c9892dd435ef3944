//! Runs one tool: results of earlier steps put in, profile checked, command run, answer remembered.

use serde_json::{Map, Value, json};
use tollgate_core::{
    Answer, CallContext, ErrorCode, Payload, ProviderError, ServiceInfo, ToolCall, ToolResult,
    Transport, Usage, Warning,
};
use tollgate_keepa::{
    Command, Error, Kind, Params,
    cost::Consent,
    key::cache_key,
    resolve::resolve,
    service::{self, Failure, Outcome},
    tool::{Leave, Profile, Tool},
};

use super::{Shared, kept, specs, world::CallWorld};

pub(super) async fn run(
    shared: &Shared,
    call: &ToolCall,
    cx: CallContext,
) -> Result<Answer, ProviderError> {
    let Some(command) = specs::command(call.tool.as_str()) else {
        let message = format!("there is no tool `{}` here", call.tool);
        return Err(ProviderError::not_found(message));
    };
    let given = call
        .arguments
        .value()
        .as_object()
        .cloned()
        .unwrap_or_default();
    let mut world = CallWorld::new(shared, &cx);
    // Whatever names were used, from here on there is one for each.
    let named = Params::from(given.clone()).canonical().clone();
    let said = named.get("profile").and_then(Value::as_str);
    world.said_profile = said.and_then(Profile::named);
    let prepared = prepare(&world, command, named).map_err(|error| shown(error.into()))?;
    let params = Params::from(prepared.arguments.clone());
    let about = kept::about(command, &params, &cx, &shared.settings).await;
    let outcome = match about {
        Some(told) => told.map(local).map_err(Failure::from),
        None => {
            let mut params = prepared.arguments.clone();
            add_folders(shared, command, &mut params);
            if command == Command::ProductsGet && !params.contains_key("view") {
                params.insert("view".to_owned(), Value::from("summary"));
            }
            let params = Params::from(params);
            // Nobody gets here but through the gate, which has asked whoever has to agree.
            service::run(&world, command.name(), &params, Consent::Given).await
        }
    };
    let outcome = outcome.map_err(shown)?;
    let mut result = finished(shared, &cx, command, &given, prepared, outcome);
    result.holds_until = world.holds_until();
    Ok(Answer::Done(result))
}

/// Refuses a selection with fields that do not exist, before anyone is asked to pay for it.
pub(super) fn check_selection(call: &ToolCall) -> Result<(), ProviderError> {
    let Some((command, params)) = selecting(call, "selection") else {
        return Ok(());
    };
    tollgate_keepa::request::check_selection(command, &params).map_err(|error| shown(error.into()))
}

/// The same for one that is still in a file, once it is known who asks and may read that file.
pub(super) fn check_selection_file(
    shared: &Shared,
    call: &ToolCall,
    cx: &CallContext,
) -> Result<(), ProviderError> {
    let Some((command, params)) = selecting(call, "selection_file") else {
        return Ok(());
    };
    let world = CallWorld::new(shared, cx);
    service::check_selection(&world, command, &params).map_err(|error| shown(error.into()))
}

/// The command of a call that has this argument, and all of them.
fn selecting(call: &ToolCall, name: &str) -> Option<(Command, Params)> {
    let given = call.arguments.value().as_object();
    let given = given.filter(|given| given.contains_key(name))?;
    let command = specs::command(call.tool.as_str())?;
    Some((command, Params::from(given.clone())))
}

/// The folders that the operator named for samples, where the caller names none.
fn add_folders(shared: &Shared, command: Command, params: &mut Map<String, Value>) {
    let promotes = [
        Command::CassettesPromote,
        Command::CassettesPromoteAndVerify,
    ];
    if !promotes.contains(&command) {
        return;
    }
    let settings = &shared.settings;
    let list = settings
        .evidence_dir
        .as_ref()
        .map(|folder| folder.join("manifest.csv"));
    let named = settings.promote_dirs.iter().take(2).cloned();
    let named = ["tests_dir", "package_dir"].into_iter().zip(named);
    for (name, path) in named.chain(list.map(|list| ("manifest", list))) {
        let path = Value::from(path.display().to_string());
        params.entry(name).or_insert(path);
    }
}

fn local(data: Value) -> Outcome {
    Outcome {
        request: json!({"transport": "service"}),
        token_bucket: json!({}),
        data,
        ..Outcome::default()
    }
}

struct Prepared {
    arguments: Map<String, Value>,
    account: Option<Value>,
}

/// Checks the profile and puts results of earlier steps in.
fn prepare(
    world: &CallWorld<'_>,
    command: Command,
    mut given: Map<String, Value>,
) -> Result<Prepared, Error> {
    let Some(tool) = Tool::of(command) else {
        return Ok(Prepared {
            arguments: given,
            account: None,
        });
    };
    let said = given.shift_remove("profile");
    let resolved = if tool.takes_results {
        resolve(world, tool, given)?
    } else {
        tollgate_keepa::resolve::Resolved {
            arguments: given,
            account: None,
        }
    };
    let said = said.as_ref().and_then(Value::as_str);
    if let Some(name) = said.filter(|name| Profile::named(name).is_none()) {
        return Err(Error::argument(format!("there is no profile {name:?}")));
    }
    // An argument narrows what the session's own profile allows; it never widens it. Profiles of an operator's making
    // are the gate's business.
    let in_force = world.cx.profile.as_deref();
    for profile in [said, in_force]
        .into_iter()
        .flatten()
        .filter_map(Profile::named)
    {
        check(tool, profile, &Params::from(resolved.arguments.clone()))?;
    }
    if command == Command::ProductsCompare {
        let params = Params::from(resolved.arguments.clone());
        if params.asins().len() < 2 {
            return Err(Error::argument("a comparison needs at least two products"));
        }
    }
    Ok(Prepared {
        arguments: resolved.arguments,
        account: resolved.account,
    })
}

fn check(tool: &Tool, profile: Profile, params: &Params) -> Result<(), Error> {
    let name = profile.name();
    match tool.leave(profile) {
        Leave::Runs => Ok(()),
        Leave::OnSamples if params.is_free() => Ok(()),
        Leave::OnSamples => {
            let message = format!("in {name}, {} needs a fixture or a dry run", tool.name());
            let error = Error::new(Kind::ProfileRequiresFixtureOrDryRun, message);
            Err(error.with("profile", name))
        }
        Leave::Off => {
            let message = format!("{} is off in {name}", tool.name());
            let error = Error::new(Kind::InactiveTool, message).with("profile", name);
            Err(error.with("inactive_reason", profile.about()))
        }
    }
}

fn finished(
    shared: &Shared,
    cx: &CallContext,
    command: Command,
    given: &Map<String, Value>,
    prepared: Prepared,
    outcome: Outcome,
) -> ToolResult {
    let mut data = outcome.data;
    let as_sent = cache_key(command.name(), given);
    // What results came to is what the call was about; the profile is not.
    let is_sent = prepared.account.is_none() && !given.contains_key("profile");
    let resolved = cache_key(command.name(), &prepared.arguments);
    let key = if is_sent { &as_sent } else { &resolved };
    if let Some(map) = data.as_object_mut() {
        if let Some(account) = prepared.account {
            map.insert("workflow_resolution".to_owned(), account);
        }
        let provenance = map.entry("provenance").or_insert_with(|| json!({}));
        provenance["mcp"] = json!({
            "server": "keepa",
            "tool": Tool::of(command).map(Tool::name),
            "transport": cx.transport.as_str(),
            "session_cache_key": key.as_str(),
            "cache_hit": false,
        });
    }
    // The gate knows the call by what was sent, later steps by what it came to.
    let mut keys = vec![as_sent.clone(), resolved.clone()];
    keys.dedup();
    let payload = Payload::from(data.clone());
    let kept = json!({
        "command": command.name(),
        "request": outcome.request,
        "token_bucket": outcome.token_bucket,
        "data": data,
    });
    shared
        .memory
        .keep(&cx.session, &keys, kept, payload.raw().len());
    let mut result = ToolResult::ok(payload);
    result.usage = Usage {
        consumed: outcome.consumed,
    };
    if outcome.is_fixture {
        result.warnings.push(Warning::Fixture);
    }
    result.service = Some(Box::new(ServiceInfo {
        request: outcome.request,
        token_bucket: outcome.token_bucket,
        cache_key: (!is_sent).then_some(resolved),
    }));
    result
}

/// A cached answer as it is given to another call: it was a hit, and came this way.
pub(super) fn restated(data: &Value, transport: Transport) -> Option<Value> {
    data.pointer("/provenance/mcp")?.as_object()?;
    let mut restated = data.clone();
    let mcp = &mut restated["provenance"]["mcp"];
    mcp["cache_hit"] = Value::Bool(true);
    mcp["transport"] = Value::from(transport.as_str());
    Some(restated)
}

/// A failure as the gate tells it.
pub(super) fn shown(failure: Failure) -> ProviderError {
    let error = failure.error;
    let (code, suggestion) = advice(error.kind);
    let wait = error
        .details
        .get("retry_after_seconds")
        .and_then(Value::as_u64);
    let mut details = error.details;
    details.insert("kind".to_owned(), Value::from(error.kind.name()));
    if let Some(status) = error.status {
        details.insert("status_code".to_owned(), Value::from(status));
    }
    if failure
        .token_bucket
        .as_object()
        .is_some_and(|map| !map.is_empty())
    {
        details.insert("token_bucket".to_owned(), failure.token_bucket);
    }
    let unasked = (!error.kind.is_after_asking()).then_some(0);
    ProviderError {
        consumed: failure.consumed.or(unasked),
        suggestion: suggestion.map(str::to_owned),
        retry_after: wait.map(std::time::Duration::from_secs),
        details,
        document_code: Some(error.kind.name().to_owned()),
        ..ProviderError::new(code, error.message)
    }
}

/// The gate's code for a kind, and what to do.
fn advice(kind: Kind) -> (ErrorCode, Option<&'static str>) {
    match kind {
        Kind::InvalidArgument | Kind::FileRefused => (ErrorCode::InputRejected, None),
        Kind::MissingInputs => (ErrorCode::MissingInputs, None),
        Kind::UnsupportedCommand => (ErrorCode::Unsupported, None),
        Kind::AuthMissing => (
            ErrorCode::Unauthorized,
            Some("Use a fixture or a dry run, or have the operator set `keepa.key`."),
        ),
        Kind::PaymentRequired => (ErrorCode::Unauthorized, None),
        Kind::ConfirmationRequired => (
            ErrorCode::ConfirmationRequired,
            Some("Repeat the call with `yes: true` to accept the cost."),
        ),
        Kind::FixtureUnavailable
        | Kind::FixtureNotFound
        | Kind::ProductNotFound
        | Kind::HistoryUnavailable
        | Kind::HistoryEmpty
        | Kind::ResourceNotFound => (ErrorCode::NotFound, None),
        Kind::NetworkOrParseError | Kind::ServerError => (ErrorCode::Unavailable, None),
        Kind::NotEnoughToken => (
            ErrorCode::RateLimited,
            Some("Wait `retry_after_seconds`; `keepa.audit_cost` says what a call costs."),
        ),
        Kind::BadRequest | Kind::InvalidParameter | Kind::ApiError | Kind::FixtureSyncFailed => {
            (ErrorCode::ToolFailed, None)
        }
        Kind::InactiveTool | Kind::ProfileRequiresFixtureOrDryRun => {
            (ErrorCode::InactiveTool, None)
        }
        Kind::CacheMiss => (ErrorCode::CacheMiss, None),
    }
}
