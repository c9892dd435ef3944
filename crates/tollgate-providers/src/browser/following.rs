//! A list over several pages: each page is read, and the link to the next one followed.
//!
//! Links are opened, nothing is clicked, so a site notices no more than a visitor who reads on.

use std::{collections::HashSet, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;
use tollgate_browser::{Entry, Onward};
use tollgate_core::{CallContext, Event, ProviderError};

use super::{
    desk::{Desk, Place},
    extract::{OwnTab, rested, text},
    faults::told,
    fit::BUDGET,
    views::{PageContent, SECTION},
};

/// How many pages are read if nobody says how many.
const PAGES: usize = 10;
/// What is left of a call's time to hand over what there is.
const RESERVE: Duration = Duration::from_secs(5);
/// What one page may take; less time than that is no time for another one.
const ONE: Duration = Duration::from_secs(40);

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct FollowArgs {
    /// The first page.
    #[schemars(length(min = 1, max = 8192))]
    url: String,
    /// CSS selector of the link to the next page; it is looked for if unset.
    #[serde(default)]
    #[schemars(length(min = 1, max = 1000))]
    next_selector: Option<String>,
    /// CSS selector of the list's entries, which are given one by one then.
    #[serde(default)]
    #[schemars(length(min = 1, max = 1000))]
    item_selector: Option<String>,
    /// 10 if unset.
    #[serde(default)]
    #[schemars(range(min = 1, max = 50))]
    max_pages: Option<usize>,
    /// Whether the text is wanted; true if unset.
    #[serde(default)]
    content: Option<bool>,
    /// Characters of text of each page.
    #[serde(default)]
    #[schemars(range(min = 1, max = 50_000))]
    max_length: Option<usize>,
    #[serde(default)]
    #[schemars(length(max = 64))]
    session_id: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Followed {
    pages: Vec<PageRead>,
    stopped: Stopped,
    /// Why a page could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<PageError>,
}

#[derive(Serialize, JsonSchema)]
struct PageRead {
    url: String,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<PageContent>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Value>")]
    items: Vec<Entry>,
}

/// Why no more pages were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Stopped {
    /// No link leads on.
    End,
    /// As many as were asked for.
    MaxPages,
    /// The next page was among those before.
    Circle,
    /// Only a button leads on.
    Button,
    /// No time is left.
    Time,
    /// A page could not be read.
    Failed,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PageError {
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<String>,
    message: String,
}

/// Reads pages until the list ends; the first page has to come, the others are kept as far as
/// they came.
pub(super) async fn extract_pages(
    desk: Arc<Desk>,
    args: FollowArgs,
    cx: CallContext,
) -> Result<Followed, ProviderError> {
    let deadline = Instant::now() + cx.time_left.saturating_sub(RESERVE);
    let most = args.max_pages.unwrap_or(PAGES);
    let session = desk.session(&cx, args.session_id.as_deref()).await?;
    let own = OwnTab::open(&session, &cx).await?;
    let place = Place {
        session_id: Some(session.id().to_owned()),
        tab_id: Some(own.id.clone()),
    };
    let mut seen = HashSet::new();
    let mut followed = Followed {
        pages: Vec::new(),
        stopped: Stopped::End,
        error: None,
    };
    let mut next = args.url.clone();
    let ended = loop {
        seen.insert(next.clone());
        let read = match read(&desk, &cx, &place, &args, &next).await {
            // A page that died or did not come gets a second chance.
            Err(error) if is_passing(&error) => read(&desk, &cx, &place, &args, &next).await,
            other => other,
        };
        let (page, onward) = match read {
            Ok(read) => read,
            Err(error) if followed.pages.is_empty() => break Err(error),
            Err(error) => {
                followed.error = Some(PageError {
                    url: next,
                    error_code: error.document_code.clone(),
                    message: error.message.clone(),
                });
                break Ok(Stopped::Failed);
            }
        };
        seen.insert(page.url.clone());
        followed.pages.push(page);
        cx.events.emit(Event::Progress {
            done: followed.pages.len() as f64,
            total: None,
            message: Some(format!("{} pages", followed.pages.len())),
        });
        next = match onward.url {
            None if onward.is_button => break Ok(Stopped::Button),
            None => break Ok(Stopped::End),
            Some(url) if seen.contains(&url) => break Ok(Stopped::Circle),
            Some(_) if followed.pages.len() >= most => break Ok(Stopped::MaxPages),
            Some(_) if cx.cancel.is_cancelled() || Instant::now() + ONE > deadline => {
                break Ok(Stopped::Time);
            }
            Some(url) => url,
        };
    };
    own.close().await;
    followed.stopped = ended?;
    Ok(followed)
}

async fn read(
    desk: &Desk,
    cx: &CallContext,
    place: &Place,
    args: &FollowArgs,
    url: &str,
) -> Result<(PageRead, Onward), ProviderError> {
    let hand = rested(desk, cx, place, url).await?;
    let (next, items) = (args.next_selector.as_deref(), args.item_selector.as_deref());
    let mut onward = hand.tab.onward(next, items, SECTION).await.map_err(told)?;
    let content = match args.content {
        Some(false) => None,
        Some(true) | None => Some(text(&hand, args.max_length, BUDGET).await?.shown),
    };
    let page = hand.page().await?;
    let read = PageRead {
        url: page.url,
        title: page.title,
        content,
        items: std::mem::take(&mut onward.items),
    };
    Ok((read, onward))
}

fn is_passing(error: &ProviderError) -> bool {
    let code = error.document_code.as_deref();
    matches!(code, Some("PAGE_CRASHED" | "NAVIGATION_TIMEOUT"))
}
