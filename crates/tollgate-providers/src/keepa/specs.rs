//! What the gate is told about each tool; everything follows from the pack's own tables.

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value, json};
use tollgate_core::{
    Annotations, Caching, Capability, Condensed, Cost, Estimate, ProviderError, Raise, Rehearsal,
    Reuse, Schema, ServiceInfo, Shape, Spelled, Surface, Telling, ToolName, ToolSpec, TrustLevel,
};
use tollgate_keepa::{
    Command, Effect, Params,
    cost::{Consent, estimate, needs_confirmation},
    resolve::MOST_COMPARED,
    resources::condensed,
    service,
    tool::{self, Spelling, Tool},
};

use super::serve::{restated, shown};

const TIMEOUT_MS: u64 = 120_000;
/// The pack's groups that are sets of the gate.
const SETS: [&str; 5] = ["research", "docs", "audit", "reports", "tracking-readonly"];
/// Arguments by which a caller chooses where something is written.
const PATHS: [&str; 4] = ["out", "output", "out_dir", "chunks_dir"];
/// Arguments that name files a caller may change between two equal calls.
const FILES: [&str; 2] = ["input", "selection_file"];
/// Commands about what Keepa knows of the account.
const OF_THE_ACCOUNT: [Command; 6] = [
    Command::TokensStatus,
    Command::TokensPlan,
    Command::TrackingList,
    Command::TrackingListNames,
    Command::TrackingGet,
    Command::TrackingNotifications,
];
/// Commands about what is here, which may change between two equal calls.
const OF_WHAT_IS_HERE: [Command; 3] = [
    Command::DocsRead,
    Command::ResearchContextQuery,
    Command::ContextPolicy,
];
/// Commands about the kept answers of Keepa's.
const KEPT_STATE: [Command; 4] = [
    Command::CacheStats,
    Command::CacheInspect,
    Command::CacheExplain,
    Command::CachePruneExpired,
];
/// Commands that write or remove something here, every time.
const WRITING: [Command; 4] = [
    Command::CassettesSanitize,
    Command::CassettesPromote,
    Command::CassettesPromoteAndVerify,
    Command::CacheClear,
];

/// The tool id of a command.
fn id(command: Command) -> String {
    match command.tool() {
        Some(name) => format!("keepa.{name}"),
        None => format!("keepa.{}", command.name().replace(['.', '-'], "_")),
    }
}

/// The command behind a tool id.
pub(super) fn command(name: &str) -> Option<Command> {
    Command::ALL
        .iter()
        .copied()
        .find(|command| id(*command) == name)
}

pub(super) fn all() -> Result<Vec<ToolSpec>, ProviderError> {
    let agents = tool::TOOLS.iter().map(|tool| tool.command);
    let others = Command::ALL
        .iter()
        .copied()
        .filter(|command| command.tool().is_none());
    agents.chain(others).map(spec).collect()
}

fn spec(command: Command) -> Result<ToolSpec, ProviderError> {
    let tool = Tool::of(command);
    let name = ToolName::new(id(command)).map_err(ProviderError::unavailable)?;
    let (title, description) = match tool {
        Some(tool) => (tool.title.to_owned(), tool.about.to_owned()),
        None => (title(command), tool::about(command).to_owned()),
    };
    let is_write = command.effect() == Effect::Write;
    let writes = is_write || WRITING.contains(&command);
    let toolsets = match tool {
        Some(tool) => {
            let sets = tool.sets().filter(|set| SETS.contains(set));
            sets.chain(["keepa"]).map(str::to_owned).collect()
        }
        None => vec!["keepa-commands".to_owned()],
    };
    let input_schema = Schema::later(move || tool::input(command));
    Ok(ToolSpec {
        name,
        title,
        description,
        telling: telling(command, input_schema.clone()),
        input_schema,
        output_schema: Some(Schema::later(move || tool::output(command))),
        annotations: Annotations {
            read_only: !writes,
            idempotent: !is_write,
            destructive: writes && command != Command::CassettesSanitize,
            open_world: command.effect() != Effect::Local,
            sensitive_sink: false,
        },
        capability: if writes {
            Capability::L1
        } else {
            Capability::L0
        },
        raise: Raise::by(Arc::new(|arguments: &Map<String, Value>| {
            let chooses = PATHS.iter().any(|name| arguments.contains_key(*name));
            if chooses {
                Capability::L1
            } else {
                Capability::L0
            }
        })),
        provider_id: "keepa".to_owned(),
        requires_confirm: false,
        timeout_ms: TIMEOUT_MS,
        toolsets,
        requires_explicit_toolset: false,
        surfaces: match (tool, is_write) {
            (Some(_), _) => Surface::ALL.to_vec(),
            (None, false) => vec![Surface::Cli, Surface::Jsonl],
            (None, true) => vec![Surface::Cli],
        },
        caching: if writes || KEPT_STATE.contains(&command) {
            Caching::Never
        } else {
            Caching::Session
        },
        cost: cost(command),
        trust: TrustLevel::ALL.to_vec(),
        aliases: Vec::new(),
        service_command: Some(command.name().to_owned()),
        shape: Shape::Data,
        upstream: None,
        page: None,
        spelled: Spelled::default(),
        more: tool.map(own_marks).unwrap_or_default(),
        inactive: None,
    })
}

/// What the pack's own document says of each tool in a list, beside whether it can be used.
fn own_marks(tool: &Tool) -> Map<String, Value> {
    let groups: Vec<&str> = tool.sets().collect();
    let mut marks = json!({"service_command": tool.command.name(), "groups": groups});
    if tool.takes_results {
        marks["workflow_runtime"] = Value::Bool(true);
        marks["workflow_runtime_args"] = json!(tool::RUNTIME_ARGUMENTS);
    }
    Map::from_iter([("x-keepa".to_owned(), marks)])
}

/// How the answer to a call may be used again. What Keepa tells of the account is true at that moment only; a sample of it
/// stays what it is.
fn reuse(command: Command, params: &Params) -> Reuse {
    let has = |name: &&str| params.get(&[*name]).is_some();
    if OF_THE_ACCOUNT.contains(&command) && !params.is_free() {
        Reuse::Never
    } else if OF_WHAT_IS_HERE.contains(&command)
        || FILES.iter().any(has)
        || params.is_on("no_cache")
    {
        Reuse::OnRequest
    } else {
        Reuse::Always
    }
}

/// Names may be written with dashes; dry runs show the request and what would come of it; answers that refer to files
/// name their addresses.
fn telling(command: Command, input: Schema) -> Telling {
    let rehearse = move |arguments: &Map<String, Value>| {
        let Some(outcome) = service::rehearse(command, &Params::from(arguments.clone())) else {
            return Ok(None);
        };
        let outcome = outcome.map_err(shown)?;
        Ok(Some(Rehearsal {
            data: outcome.data.as_object().cloned().unwrap_or_default(),
            service: Some(ServiceInfo {
                request: outcome.request,
                token_bucket: outcome.token_bucket,
                cache_key: None,
            }),
        }))
    };
    let spelling = LazyLock::new(move || Spelling::of(&input));
    let condense =
        |data: &Value| condensed(data).map(|(data, resources)| Condensed { data, resources });
    Telling {
        respell: Some(Arc::new(move |name: &str| spelling.own(name))),
        reuse: Some(Arc::new(move |arguments: &Map<String, Value>| {
            reuse(command, &Params::from(arguments.clone()))
        })),
        restate: Some(Arc::new(restated)),
        rehearse: Some(Arc::new(rehearse)),
        condense: Some(Arc::new(condense)),
        ..Telling::default()
    }
}

fn cost(command: Command) -> Cost {
    if command.effect() == Effect::Local {
        return Cost::Free;
    }
    Cost::Estimated(Arc::new(move |arguments: &Map<String, Value>| {
        let params = Params::from(arguments.clone());
        // What cannot be read is refused by the command itself, before anything is asked.
        let budget = estimate(command, &params).unwrap_or_default();
        let (usual, most) = match handed_on(command, &params) {
            Some(products) => products,
            None => (budget.estimated_tokens, budget.worst_case_tokens),
        };
        Estimate {
            estimated: usual,
            worst_case: most,
            confirm: needs_confirmation(command, &budget, &params, Consent::AsSaid),
        }
    }))
}

/// What a comparison costs that gets its products from an earlier result: at least two, and consent has to cover as many
/// as may be filled in when it runs.
fn handed_on(command: Command, params: &Params) -> Option<(u64, u64)> {
    if command != Command::ProductsCompare || params.get(&["asin"]).is_some() {
        return None;
    }
    let of = |products: usize| {
        let mut with = params.canonical().clone();
        let asins: Vec<String> = (0..products).map(|at| at.to_string()).collect();
        with.insert("asin".to_owned(), json!(asins));
        estimate(command, &Params::from(with)).ok()
    };
    let (few, many) = (of(2)?, of(MOST_COMPARED)?);
    Some((few.estimated_tokens, many.worst_case_tokens))
}

fn title(command: Command) -> String {
    let words = command.name().replace(['.', '-', '_'], " ");
    let mut letters = words.chars();
    letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(letters)
        .collect()
}
