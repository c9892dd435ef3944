//! Runs a command: the one place behind every entry.
//!
//! Invariants: the price is known and agreed to before anything else happens; a dry run and a fixture send nothing; what
//! a command answers never holds the key.

mod agent;
mod cassettes;
mod categories;
mod context;
mod drawable;
mod fetch;
mod history;
mod local;
mod metered;
mod pictures;
mod products;
mod rankings;
mod rehearse;
mod reports;
mod research;
mod selections;
mod target;
mod tokens;
mod world;

use serde_json::{Value, json};

pub(crate) use context::manifest;
pub use context::policy;
pub(crate) use drawable::has_histories;
pub use fetch::check_selection;
pub use rehearse::rehearse;
pub use target::is_asin;
pub(crate) use target::{CATEGORY_DIGITS, is_number};
pub use world::{Place, Reuse, Roots, Samples, Saved, Shelf, Target, Told, World, no_browser};

use metered::Metered;

use crate::{
    Command, Error, Kind, Params,
    client::Bucket,
    cost::{Budget, Consent, estimate, needs_confirmation},
};

/// What a command answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What was asked, without secrets.
    pub request: Value,
    /// What was estimated and what was used.
    pub token_bucket: Value,
    /// The answer.
    pub data: Value,
    /// Tokens used by Keepa's own account.
    pub consumed: Option<u64>,
    /// Whether a prepared answer was used.
    pub is_fixture: bool,
}

impl Outcome {
    /// The answer of a command that sends nothing.
    fn local(data: Value) -> Self {
        Self {
            request: json!({"transport": "service"}),
            token_bucket: json!({}),
            data,
            ..Self::default()
        }
    }
}

/// Why a command failed, and what is known of the tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// What went wrong.
    pub error: Error,
    /// What was estimated, and what the answer told.
    pub token_bucket: Value,
    /// Tokens used although it failed.
    pub consumed: Option<u64>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            error,
            token_bucket: json!({}),
            consumed: None,
        }
    }
}

/// Runs a command by name.
pub async fn run<W: World>(
    world: &W,
    name: &str,
    params: &Params,
    consent: Consent,
) -> Result<Outcome, Failure> {
    let Some(command) = Command::named(name) else {
        let message = format!("there is no command {name:?}");
        return Err(Error::new(Kind::UnsupportedCommand, message).into());
    };
    let budget = estimate(command, params)?;
    if needs_confirmation(command, &budget, params, consent) {
        return Err(unconfirmed(command, &budget, params));
    }
    let metered = Metered::new(world);
    let ended = dispatch(&metered, command, params).await;
    metered.settled(&budget, ended)
}

async fn dispatch<W: World>(
    world: &W,
    command: Command,
    params: &Params,
) -> Result<Outcome, Failure> {
    match command {
        Command::ProductsGet => products::get(world, params).await,
        Command::ProductsCompare => products::compare(world, params).await,
        Command::CategoriesSearch => categories::search(world, params).await,
        Command::CategoriesProducts => categories::products(world, params).await,
        Command::CategoriesFinderSelection => categories::finder_selection(world, params),
        Command::FinderQuery | Command::DealsQuery => {
            selections::query(world, command, params).await
        }
        Command::SellersGet => rankings::sellers(world, params).await,
        Command::BestsellersGet => rankings::bestsellers(world, params).await,
        Command::TopsellersList => rankings::topsellers(world, params).await,
        Command::HistoryExport => history::export(world, params).await,
        Command::HistoryTrend => history::trend(world, params).await,
        Command::ChartsRender => pictures::charts(world, params).await,
        Command::GraphsImage => pictures::image(world, params).await,
        Command::ProductsSearch
        | Command::CategoriesGet
        | Command::LightningdealsList
        | Command::TokensStatus
        | Command::TrackingList
        | Command::TrackingListNames
        | Command::TrackingGet
        | Command::TrackingNotifications
        | Command::TrackingAdd
        | Command::TrackingRemove
        | Command::TrackingRemoveAll
        | Command::TrackingWebhook
        | Command::RequestGet => fetch::plain(world, command, params).await,
        Command::WorkflowPlan => {
            let data = crate::plan::plan(params)?;
            Ok(Outcome::local(data))
        }
        Command::ResearchGraphMerge => Ok(Outcome::local(research::merge(world, params)?)),
        Command::ResearchBriefExport => Ok(Outcome::local(research::brief(world, params)?)),
        Command::ReportsBuild => Ok(Outcome::local(reports::build(world, params)?)),
        Command::BrowseSnapshot => Ok(Outcome::local(reports::snapshot(world, params)?)),
        Command::DocsIndex => Ok(Outcome::local(context::index(world))),
        Command::DocsRead => Ok(Outcome::local(context::read(world, params)?)),
        Command::ContextPolicy => Ok(Outcome::local(policy(world))),
        Command::ResearchTargetResolve => Ok(Outcome::local(target::resolve(world, params)?)),
        Command::ResearchContextQuery => Ok(Outcome::local(context::query(world, params)?)),
        Command::CassettesSanitize => Ok(Outcome::local(cassettes::sanitize(world, params)?)),
        Command::CassettesPromote => Ok(Outcome::local(cassettes::promote(world, params)?)),
        Command::CassettesPromoteAndVerify => {
            let verified = cassettes::promote_and_verify(world, params).await?;
            Ok(Outcome::local(verified))
        }
        Command::AuditCost => Ok(Outcome::local(local::audit_cost(params)?)),
        Command::TokensPlan => tokens::plan(world, params).await,
        Command::BatchAsins => Ok(Outcome::local(local::batch(world, params)?)),
        Command::TemplatesList => Ok(Outcome::local(local::templates())),
        Command::TemplatesShow => Ok(Outcome::local(local::template(params)?)),
        Command::SchemaGenerate => Ok(Outcome::local(local::schemas(params)?)),
        Command::Capabilities => Ok(Outcome::local(local::capabilities())),
        Command::DomainsList => Ok(Outcome::local(local::domains())),
        Command::CacheExplainKey => Ok(Outcome::local(local::explain_key(params)?)),
        Command::CacheStats
        | Command::CacheClear
        | Command::CacheExplain
        | Command::CacheInspect
        | Command::CachePruneExpired => {
            let message = "the cache of answers belongs to whoever runs the commands";
            Err(Error::new(Kind::UnsupportedCommand, message).into())
        }
    }
}

fn unconfirmed(command: Command, budget: &Budget, params: &Params) -> Failure {
    let message = format!("{} asks for consent to its cost first", command.name());
    let mut again = params.canonical().clone();
    again.insert("yes".to_owned(), Value::Bool(true));
    let tool = command.tool().map(|name| format!("keepa.{name}"));
    let error = Error::new(Kind::ConfirmationRequired, message)
        .with(
            "resume_with",
            json!({"tool": tool.as_deref().unwrap_or(command.name()), "params": again}),
        )
        .with("estimated_tokens", budget.estimated_tokens)
        .with("worst_case_tokens", budget.worst_case_tokens);
    Failure {
        error,
        token_bucket: bucket_json(budget, None),
        consumed: None,
    }
}

/// The estimate, and what the answer told beside it.
fn bucket_json(budget: &Budget, bucket: Option<&Bucket>) -> Value {
    let mut shown = bucket.map_or_else(|| json!({}), |bucket| json!(bucket));
    shown["estimated"] = json!(budget);
    shown
}

/// Writes where the caller wants it, or among the session's own files.
fn save<W: World>(world: &W, out: Option<&str>, own: &str, bytes: &[u8]) -> Result<Value, Error> {
    let target = match out {
        Some(path) => Target::Path(path),
        None => Target::Own(own),
    };
    let saved = world.save(target, bytes)?;
    Ok(json!({"path": saved.path, "bytes_written": saved.bytes, "size_bytes": saved.bytes}))
}

/// Where an answer made here comes from.
fn made_here(command: Command, params: &Params) -> Value {
    json!({
        "source": "local",
        "endpoint": format!("local://{}", command.name()),
        "params_hash": crate::request::digest(&Value::Object(params.canonical().clone())),
        "cache_hit": false,
    })
}
