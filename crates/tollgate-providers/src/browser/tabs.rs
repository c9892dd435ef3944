//! Sessions, tabs and what they downloaded.

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tollgate_browser::Download;
use tollgate_core::{CallContext, ErrorCode, ProviderError, TrustLevel};

use super::{
    desk::{Desk, Hand, Page, Place},
    faults::told,
    read::{Done, PlaceArgs},
};

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct CreateArgs {
    /// False shows a window to the person at this machine.
    #[serde(default)]
    headless: Option<bool>,
    /// Seconds until it ends when nobody uses it.
    #[serde(default)]
    #[schemars(range(min = 10, max = 86_400))]
    timeout: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Created {
    #[schemars(extend("x-identifier" = true))]
    session_id: String,
}

pub(super) async fn create_session(
    desk: Arc<Desk>,
    args: CreateArgs,
    cx: CallContext,
) -> Result<Created, ProviderError> {
    let mut options = desk.options(&cx);
    options.is_headless = args.headless.unwrap_or(true);
    if !options.is_headless && cx.trust != TrustLevel::Local {
        let mut error = ProviderError::new(
            ErrorCode::TrustLevelNotAllowed,
            "only a local caller can open a window",
        );
        error.document_code = Some("TRUST_LEVEL_NOT_ALLOWED".to_owned());
        return Err(error);
    }
    options.ttl = args.timeout.map(Duration::from_secs);
    let session = desk.create(&cx, options)?;
    Ok(Created {
        session_id: session.id().to_owned(),
    })
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct CloseArgs {
    /// Closes a window that somebody looks at, too.
    #[serde(default)]
    force: bool,
    #[serde(flatten)]
    place: SessionPlace,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SessionPlace {
    #[serde(default)]
    #[schemars(length(max = 64))]
    session_id: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Closed {
    success: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    kept: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

pub(super) async fn close_session(
    desk: Arc<Desk>,
    args: CloseArgs,
    cx: CallContext,
) -> Result<Closed, ProviderError> {
    let session = desk.session(&cx, args.place.session_id.as_deref()).await?;
    if !session.is_headless() && !args.force {
        return Ok(Closed {
            success: true,
            kept: true,
            reason: Some("somebody may be looking at it; `force` closes it"),
        });
    }
    desk.browser.close_session(session.id()).await;
    Ok(Closed {
        success: true,
        kept: false,
        reason: None,
    })
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct OpenArgs {
    #[serde(default)]
    #[schemars(length(max = 8192))]
    url: Option<String>,
    #[serde(flatten)]
    place: SessionPlace,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Opened {
    #[schemars(extend("x-identifier" = true))]
    tab_id: String,
    url: String,
    partial: bool,
}

pub(super) async fn create_tab(
    desk: Arc<Desk>,
    args: OpenArgs,
    cx: CallContext,
) -> Result<Opened, ProviderError> {
    let session = desk.session(&cx, args.place.session_id.as_deref()).await?;
    let (tab_id, tab) = session.open().await.map_err(told)?;
    let mut partial = false;
    if let Some(url) = &args.url {
        match tab.navigate(url).await {
            Ok(loaded) => partial = loaded.partial,
            Err(error) => {
                // Nobody is left with a tab that they did not get.
                let _ = session.close_tab(&tab_id).await;
                return Err(told(error));
            }
        }
    }
    Ok(Opened {
        tab_id,
        url: tab.url(),
        partial,
    })
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Listed {
    active_tab_id: Option<String>,
    tabs: Vec<Listing>,
}

#[derive(Serialize, JsonSchema)]
struct Listing {
    #[schemars(extend("x-identifier" = true))]
    id: String,
    url: String,
    title: String,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct SessionArgs {
    #[serde(flatten)]
    place: SessionPlace,
}

pub(super) async fn list_tabs(
    desk: Arc<Desk>,
    args: SessionArgs,
    cx: CallContext,
) -> Result<Listed, ProviderError> {
    let session = desk.session(&cx, args.place.session_id.as_deref()).await?;
    let (active_tab_id, all) = session.list();
    let mut tabs = Vec::new();
    for (id, tab) in all {
        tabs.push(Listing {
            id,
            url: tab.url(),
            // A page that is gone or held has no title now.
            title: tab.title().await.unwrap_or_default(),
        });
    }
    Ok(Listed {
        active_tab_id,
        tabs,
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct TabArgs {
    #[schemars(length(max = 32))]
    tab_id: String,
    #[serde(flatten)]
    place: SessionPlace,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Switched {
    success: bool,
    page: Page,
}

pub(super) async fn switch_tab(
    desk: Arc<Desk>,
    args: TabArgs,
    cx: CallContext,
) -> Result<Switched, ProviderError> {
    let session = desk.session(&cx, args.place.session_id.as_deref()).await?;
    let tab = session.switch(&args.tab_id).await.map_err(told)?;
    let hand = Hand { session, tab };
    Ok(Switched {
        success: true,
        page: hand.page().await?,
    })
}

pub(super) async fn close_tab(
    desk: Arc<Desk>,
    args: TabArgs,
    cx: CallContext,
) -> Result<Done, ProviderError> {
    let session = desk.session(&cx, args.place.session_id.as_deref()).await?;
    let is_left = session.close_tab(&args.tab_id).await.map_err(told)?;
    if !is_left {
        desk.browser.close_session(session.id()).await;
    }
    Ok(Done { success: true })
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Downloads {
    #[schemars(with = "Vec<Value>")]
    downloads: Vec<Download>,
}

pub(super) async fn get_downloads(
    desk: Arc<Desk>,
    args: PlaceArgs,
    cx: CallContext,
) -> Result<Downloads, ProviderError> {
    let Place { session_id, .. } = args.place;
    let session = desk.session(&cx, session_id.as_deref()).await?;
    Ok(Downloads {
        downloads: session.downloads(),
    })
}
