//! What a page asked for and complained about.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tollgate_browser::NetworkEntry;
use tollgate_core::{CallContext, ProviderError};

use super::desk::{Desk, Place};

const USUAL: usize = 50;
/// Longer than this is slow.
const SLOW_MS: u64 = 1000;

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Filter {
    #[default]
    All,
    Xhr,
    Failed,
    Slow,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct NetworkArgs {
    #[serde(default)]
    filter: Filter,
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    max_entries: Option<usize>,
    #[serde(default)]
    include_headers: bool,
    /// A part of the address.
    #[serde(default)]
    #[schemars(length(max = 500))]
    url_pattern: Option<String>,
    #[serde(flatten)]
    place: Place,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Logs {
    logs: Vec<Value>,
    total_count: usize,
    truncated: bool,
}

pub(super) async fn get_network_logs(
    desk: Arc<Desk>,
    args: NetworkArgs,
    cx: CallContext,
) -> Result<Logs, ProviderError> {
    let hand = desk.hand(&cx, &args.place).await?;
    hand.keep_secrets().await;
    let (all, _) = hand.tab.network();
    let is_wanted = |entry: &NetworkEntry| {
        let is_kind = match args.filter {
            Filter::All => true,
            Filter::Xhr => matches!(entry.kind.as_str(), "xhr" | "fetch"),
            Filter::Failed => entry.error.is_some() || entry.status.is_some_and(|it| it >= 400),
            Filter::Slow => entry.duration_ms.is_some_and(|it| it > SLOW_MS),
        };
        let is_there = args
            .url_pattern
            .as_ref()
            .is_none_or(|part| entry.url.contains(part));
        is_kind && is_there
    };
    let wanted: Vec<NetworkEntry> = all.into_iter().filter(is_wanted).collect();
    let logs = wanted.into_iter().map(|entry| {
        let mut shown = json!(entry);
        if args.include_headers {
            let headers = entry.headers.iter();
            shown["headers"] = headers
                .map(|(name, value)| (name.to_owned(), json!(value)))
                .collect();
        }
        shown
    });
    Ok(last(logs.collect(), args.max_entries))
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Level {
    Error,
    Warn,
    Info,
    Log,
    Debug,
    All,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct ConsoleArgs {
    /// Errors and warnings if unset.
    #[serde(default)]
    level: Option<Level>,
    #[serde(default)]
    #[schemars(range(min = 1, max = 100))]
    max_entries: Option<usize>,
    #[serde(flatten)]
    place: Place,
}

pub(super) async fn get_console_logs(
    desk: Arc<Desk>,
    args: ConsoleArgs,
    cx: CallContext,
) -> Result<Logs, ProviderError> {
    let hand = desk.hand(&cx, &args.place).await?;
    hand.keep_secrets().await;
    let (all, _) = hand.tab.console();
    let is_wanted = |level: &str| match args.level {
        None => matches!(level, "error" | "warn"),
        Some(Level::All) => true,
        Some(Level::Error) => level == "error",
        Some(Level::Warn) => level == "warn",
        Some(Level::Info) => level == "info",
        Some(Level::Log) => level == "log",
        Some(Level::Debug) => level == "debug",
    };
    let wanted = all.into_iter().filter(|entry| is_wanted(entry.level));
    Ok(last(
        wanted.map(|entry| json!(entry)).collect(),
        args.max_entries,
    ))
}

/// The last entries, in order.
fn last(mut logs: Vec<Value>, most: Option<usize>) -> Logs {
    let total_count = logs.len();
    let skipped = total_count.saturating_sub(most.unwrap_or(USUAL));
    logs.drain(..skipped);
    Logs {
        logs,
        total_count,
        truncated: skipped > 0,
    }
}
