//! `web.search`: pages that an engine knows.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_core::{CallContext, ProviderError, Status, Warning, toolset::Output};
use tollgate_web::{BackendKind, MAX_RESULTS};

use super::{
    faults::told,
    tools::{Reader, shaped},
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchArgs {
    /// What to look for.
    #[schemars(length(min = 1, max = 400))]
    query: String,
    /// How many results at most.
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = MAX_RESULTS))]
    max_results: usize,
}

fn five() -> usize {
    5
}

#[derive(Serialize, JsonSchema)]
pub(super) struct SearchAnswer {
    /// The pages, best first.
    items: Vec<SearchItem>,
    /// Engines that were asked before and did not answer.
    failed: Vec<Failed>,
}

#[derive(Serialize, JsonSchema)]
struct SearchItem {
    /// The page's title.
    title: String,
    /// Its address.
    url: String,
    /// A few words of it.
    snippet: String,
    /// The engine that found it.
    provider: String,
    /// Its place, from 1.
    rank: usize,
}

#[derive(Serialize, JsonSchema)]
struct Failed {
    /// The engine.
    provider: String,
    /// The name of the error.
    error: String,
    /// What the name does not say.
    detail_code: Option<String>,
    /// The error in a sentence.
    message: String,
}

pub(super) async fn run(
    reader: Arc<Reader>,
    args: SearchArgs,
    _: CallContext,
) -> Result<Output<SearchAnswer>, ProviderError> {
    let found = reader.search.search(&args.query, args.max_results).await;
    let found = found.map_err(told)?;
    let is_made_up = found
        .items
        .iter()
        .any(|item| item.provider == BackendKind::Stub.name());
    let mut warnings = Vec::new();
    if !found.failed.is_empty() {
        warnings.push(Warning::UsedFallback);
    }
    if is_made_up {
        warnings.push(Warning::Fixture);
    }
    let status = match (found.items.is_empty(), found.failed.is_empty()) {
        (true, _) => Status::Empty,
        (false, false) => Status::Degraded,
        (false, true) => Status::Ok,
    };
    let items = found.items.into_iter().map(|item| SearchItem {
        title: item.title,
        url: item.url,
        snippet: item.snippet,
        provider: item.provider.to_owned(),
        rank: item.rank,
    });
    let failed = found.failed.into_iter().map(|one| Failed {
        provider: one.provider.to_owned(),
        error: one.error.kind.name().to_owned(),
        detail_code: one.error.kind.detail().map(str::to_owned),
        message: one.error.to_string(),
    });
    let answer = SearchAnswer {
        items: items.collect(),
        failed: failed.collect(),
    };
    shaped(&answer, status, warnings)
}
