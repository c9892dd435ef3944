//! Sessions, tabs and what they downloaded.

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tollgate_browser::{Download, Error, Keeper as _, Kept, Session};
use tollgate_core::{CallContext, ErrorCode, NewContent, ProviderError, TrustLevel};

use super::{
    act::invalid,
    desk::{Desk, Hand, Page, Place},
    faults::told,
    read::{Done, PlaceArgs},
};

/// How many sites of a profile are named.
const SITES: usize = 20;

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
    /// A name under which logins are kept for the next session that has it.
    #[serde(default)]
    #[schemars(length(min = 1, max = 64))]
    profile: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Created {
    #[schemars(extend("x-identifier" = true, "x-volatile" = true))]
    session_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<Profile>,
}

/// What a profile has, without anything that a site knows somebody by.
#[derive(Serialize, JsonSchema)]
pub(super) struct Profile {
    name: String,
    cookies: usize,
    sites: Vec<String>,
}

impl Profile {
    fn new(name: String, kept: &Kept) -> Self {
        Self {
            name,
            cookies: kept.cookies.len(),
            sites: kept.sites().into_iter().take(SITES).collect(),
        }
    }
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
    if !options.is_headless && !desk.settings.has_screen() {
        let why =
            "there is no screen to show a window on: neither DISPLAY nor WAYLAND_DISPLAY is set";
        return Err(invalid(why.to_owned()));
    }
    options.ttl = args.timeout.map(Duration::from_secs);
    if let Some(name) = &args.profile {
        options.keeper = Some(desk.profile(&cx, name)?);
    }
    let session = desk.create(&cx, options)?;
    if let Err(error) = session.awake().await {
        desk.browser.close_session(session.id()).await;
        return Err(told(error));
    }
    let profile = match args.profile {
        Some(name) => {
            let kept = session.kept().await.map_err(told)?;
            Some(Profile::new(name, &kept))
        }
        None => None,
    };
    Ok(Created {
        session_id: session.id().to_owned(),
        profile,
    })
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct SaveArgs {
    #[schemars(length(min = 1, max = 64))]
    profile: String,
    #[serde(flatten)]
    place: SessionPlace,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Saved {
    success: bool,
    profile: Profile,
}

pub(super) async fn save_profile(
    desk: Arc<Desk>,
    args: SaveArgs,
    cx: CallContext,
) -> Result<Saved, ProviderError> {
    let shelf = desk.profile(&cx, &args.profile)?;
    let session = desk.session(&cx, args.place.session_id.as_deref()).await?;
    let kept = session.kept().await.map_err(told)?;
    let profile = Profile::new(args.profile, &kept);
    let saved = tokio::task::spawn_blocking(move || shelf.save(&Kept::default(), &kept)).await;
    let saved = saved.unwrap_or_else(|_| Err("it was broken off".to_owned()));
    saved.map_err(|why| told(Error::NotKept(why)))?;
    Ok(Saved {
        success: true,
        profile,
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
    save(&session).await?;
    desk.browser.close_session(session.id()).await;
    Ok(Closed {
        success: true,
        kept: false,
        reason: None,
    })
}

/// Whoever closes a session is told if what it keeps is not kept. A browser that does not answer
/// keeps nobody from closing it.
async fn save(session: &Session) -> Result<(), ProviderError> {
    match session.save().await {
        Err(error @ Error::NotKept(_)) => Err(told(error)),
        Ok(()) | Err(_) => Ok(()),
    }
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
        url: tab.shown_url(),
        partial,
    })
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Listed {
    active_tab_id: Option<String>,
    tabs: Vec<Listing>,
    // Seldom there, so not worth its words on every list.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    dropped_tabs: Option<u64>,
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
            url: tab.shown_url(),
            // A page that is gone or held has no title now.
            title: tab.title().await.unwrap_or_default(),
        });
    }
    let dropped = session.dropped_tabs();
    Ok(Listed {
        active_tab_id,
        tabs,
        dropped_tabs: (dropped > 0).then_some(dropped),
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
    let hand = Hand::new(session, tab);
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
        save(&session).await?;
        desk.browser.close_session(session.id()).await;
    }
    Ok(Done { success: true })
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Downloads {
    #[schemars(with = "Vec<Value>")]
    downloads: Vec<Listable>,
}

/// A download, and where it is for those who are at this machine.
#[derive(Serialize)]
struct Listable {
    #[serde(flatten)]
    download: Download,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

pub(super) async fn get_downloads(
    desk: Arc<Desk>,
    args: PlaceArgs,
    cx: CallContext,
) -> Result<Downloads, ProviderError> {
    let Place { session_id, .. } = args.place;
    let session = desk.session(&cx, session_id.as_deref()).await?;
    let mut downloads = Vec::new();
    for mut download in session.downloads() {
        if download.completed && download.artifact.is_none() {
            download.artifact = hand_over(&desk, &cx, &download).await?;
            if let Some(artifact) = &download.artifact {
                session.handed_over(&download.id, artifact);
            }
        }
        let is_local = cx.trust == TrustLevel::Local;
        let path = is_local.then(|| download.path.display().to_string());
        downloads.push(Listable { download, path });
    }
    Ok(Downloads { downloads })
}

/// Makes an artifact of a download; without anybody to take it there is none.
async fn hand_over(
    desk: &Desk,
    cx: &CallContext,
    download: &Download,
) -> Result<Option<String>, ProviderError> {
    let Some(artifacts) = &desk.settings.artifacts.0 else {
        return Ok(None);
    };
    let path = download.path.clone();
    let read = tokio::task::spawn_blocking(move || std::fs::read(path)).await;
    // Its folder may have been emptied meanwhile.
    let Ok(Ok(bytes)) = read else {
        return Ok(None);
    };
    let content = NewContent {
        origin: format!("download {}", download.id),
        principal: cx.principal.clone(),
        name: download.filename.clone(),
        kind: "download".to_owned(),
        mime_type: "application/octet-stream".to_owned(),
        bytes,
    };
    artifacts.keep(content).await.map(Some)
}
