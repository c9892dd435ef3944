//! Going somewhere and looking at what is there.

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tollgate_browser::{Candidate, Dialog, Direction, Format, Turn, WaitFor, find_elements};
use tollgate_core::{
    Block, CallContext, Payload, ProviderError, Status, ToolResult, Warning,
    toolset::{Output, bounds},
};

use super::{
    desk::{Desk, Hand, Page, Place},
    faults::told,
    views::{self, PageContent, PageInfo, Steady, Wanted},
};

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct NavigateArgs {
    #[schemars(length(min = 1, max = 8192))]
    pub(super) url: String,
    #[serde(flatten)]
    pub(super) place: Place,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Navigated {
    pub(super) success: bool,
    /// Whether the page is not all there.
    pub(super) partial: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status_code: Option<u32>,
    pub(super) page: Page,
    /// Whether it was a file; see browser.get_downloads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) download: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub(super) dialog: Option<Dialog>,
}

pub(super) async fn navigate(
    desk: Arc<Desk>,
    args: NavigateArgs,
    cx: CallContext,
) -> Result<Navigated, ProviderError> {
    let hand = desk.reach(&cx, &args.place, false).await?;
    let turn = hand.tab.turn().await.map_err(told)?;
    arrived(&hand, &turn, &args.url).await
}

/// Goes to an address and says what came, before anybody else goes elsewhere.
pub(super) async fn arrived(
    hand: &Hand,
    turn: &Turn<'_>,
    url: &str,
) -> Result<Navigated, ProviderError> {
    let loaded = turn.navigate(url).await.map_err(told)?;
    Ok(Navigated {
        success: true,
        partial: loaded.partial,
        status_code: loaded.status,
        page: hand.page().await?,
        download: loaded.is_download,
        dialog: hand.tab.pending_dialog(),
    })
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct PlaceArgs {
    #[serde(flatten)]
    pub(super) place: Place,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Moved {
    success: bool,
    page: Page,
}

pub(super) async fn go_back(
    desk: Arc<Desk>,
    args: PlaceArgs,
    cx: CallContext,
) -> Result<Moved, ProviderError> {
    let hand = desk.hand(&cx, &args.place).await?;
    let turn = hand.tab.turn().await.map_err(told)?;
    let success = turn.go_back().await.map_err(told)?;
    Ok(Moved {
        success,
        page: hand.page().await?,
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct InfoArgs {
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    max_elements: Option<usize>,
    #[serde(default)]
    visible_only: Option<bool>,
    /// `nextCursor` of an earlier answer.
    #[serde(default)]
    #[schemars(length(max = bounds::ID))]
    cursor: Option<String>,
    /// `view` of an earlier answer: only what changed since.
    #[serde(default)]
    #[schemars(length(max = bounds::ID))]
    since: Option<String>,
    #[serde(flatten)]
    place: Place,
}

pub(super) async fn get_page_info(
    desk: Arc<Desk>,
    args: InfoArgs,
    cx: CallContext,
) -> Result<Output<PageInfo>, ProviderError> {
    let hand = desk.hand(&cx, &args.place).await?;
    let wanted = Wanted {
        most: args.max_elements,
        visible_only: args.visible_only.unwrap_or(true),
        cursor: args.cursor,
        since: args.since,
        ..Wanted::default()
    };
    views::info(&hand.tab, &wanted).await?.answer()
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct ContentArgs {
    /// Characters of text in all.
    #[serde(default)]
    #[schemars(range(min = 1, max = 50_000))]
    max_length: Option<usize>,
    #[serde(default)]
    #[schemars(length(max = bounds::ID))]
    cursor: Option<String>,
    #[serde(default)]
    #[schemars(length(max = bounds::ID))]
    since: Option<String>,
    #[serde(flatten)]
    place: Place,
}

pub(super) async fn get_page_content(
    desk: Arc<Desk>,
    args: ContentArgs,
    cx: CallContext,
) -> Result<Output<PageContent>, ProviderError> {
    let hand = desk.hand(&cx, &args.place).await?;
    let wanted = Wanted {
        most: args.max_length,
        visible_only: true,
        cursor: args.cursor,
        since: args.since,
        ..Wanted::default()
    };
    views::content(&hand.tab, &wanted).await?.answer()
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct FindArgs {
    /// Words for it, or an id.
    #[schemars(length(min = 1, max = 200))]
    query: String,
    #[serde(flatten)]
    place: Place,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Found {
    query: String,
    #[schemars(with = "Vec<Value>")]
    candidates: Vec<Candidate>,
}

pub(super) async fn find_element(
    desk: Arc<Desk>,
    args: FindArgs,
    cx: CallContext,
) -> Result<Output<Found>, ProviderError> {
    let hand = desk.hand(&cx, &args.place).await?;
    let all = hand.tab.elements().await.map_err(told)?;
    let found = Found {
        candidates: find_elements(&all, &args.query),
        query: args.query,
    };
    let is_empty = found.candidates.is_empty();
    let payload = Payload::from_serialize(&found).map_err(ProviderError::unavailable)?;
    let mut result = ToolResult::ok(payload);
    if is_empty {
        result.status = Status::Empty;
    }
    Ok(Output::Result(Box::new(result)))
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Condition {
    Time,
    Selector,
    Networkidle,
    ElementHidden,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct WaitArgs {
    condition: Condition,
    /// How long; for `time` 1000 if unset, else 10000.
    #[serde(default)]
    #[schemars(range(min = 0, max = 30_000))]
    milliseconds: Option<u64>,
    /// CSS selector.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    selector: Option<String>,
    #[serde(flatten)]
    place: Place,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Done {
    pub(super) success: bool,
}

pub(super) async fn wait(
    desk: Arc<Desk>,
    args: WaitArgs,
    cx: CallContext,
) -> Result<Done, ProviderError> {
    let hand = desk.hand(&cx, &args.place).await?;
    let time = |usual: u64| Duration::from_millis(args.milliseconds.unwrap_or(usual));
    let selector = || {
        args.selector.clone().ok_or_else(|| {
            let mut error = ProviderError::rejected("this condition needs `selector`");
            error.document_code = Some("INVALID_PARAMETER".to_owned());
            error
        })
    };
    let (what, patience) = match args.condition {
        Condition::Time => (WaitFor::Time(time(1000)), Duration::ZERO),
        Condition::Selector => (WaitFor::Selector(selector()?), time(10_000)),
        Condition::ElementHidden => (WaitFor::Hidden(selector()?), time(10_000)),
        Condition::Networkidle => (WaitFor::NetworkIdle, time(10_000)),
    };
    hand.tab.wait_for(&what, patience).await.map_err(told)?;
    Ok(Done { success: true })
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct StableArgs {
    /// Milliseconds, 5000 if unset.
    #[serde(default)]
    #[schemars(range(min = 0, max = 30_000))]
    timeout: Option<u64>,
    /// How long nothing must change, 500 if unset.
    #[serde(default)]
    #[schemars(range(min = 0, max = 10_000))]
    quiet_ms: Option<u64>,
    #[serde(flatten)]
    place: Place,
}

pub(super) async fn wait_for_stable(
    desk: Arc<Desk>,
    args: StableArgs,
    cx: CallContext,
) -> Result<Steady, ProviderError> {
    let hand = desk.hand(&cx, &args.place).await?;
    let patience = Duration::from_millis(args.timeout.unwrap_or(5000));
    let quiet = Duration::from_millis(args.quiet_ms.unwrap_or(500));
    let stable = hand
        .tab
        .wait_for_stable(patience, quiet)
        .await
        .map_err(told)?;
    Ok(stable.into())
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Way {
    Down,
    Up,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct ScrollArgs {
    direction: Way,
    #[serde(flatten)]
    place: Place,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct ScrollDone {
    success: bool,
    y: f64,
    /// Whether there is no more in this direction.
    end: bool,
}

pub(super) async fn scroll(
    desk: Arc<Desk>,
    args: ScrollArgs,
    cx: CallContext,
) -> Result<ScrollDone, ProviderError> {
    let hand = desk.hand(&cx, &args.place).await?;
    let direction = match args.direction {
        Way::Down => Direction::Down,
        Way::Up => Direction::Up,
    };
    let scrolled = hand.tab.scroll(direction).await.map_err(told)?;
    Ok(ScrollDone {
        success: true,
        y: scrolled.y,
        end: scrolled.end,
    })
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    #[default]
    Png,
    Jpeg,
    Webp,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct ShotArgs {
    #[serde(default, rename = "fullPage")]
    full_page: bool,
    #[serde(default)]
    #[schemars(length(max = bounds::ID))]
    element_id: Option<String>,
    #[serde(default)]
    format: Kind,
    #[serde(default)]
    #[schemars(range(min = 0, max = 100))]
    quality: Option<u32>,
    #[serde(flatten)]
    place: Place,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shot {
    success: bool,
    page: Page,
    mime_type: String,
    width: f64,
    height: f64,
    /// Whether the page goes on where the picture ends.
    truncated: bool,
}

pub(super) async fn screenshot(
    desk: Arc<Desk>,
    args: ShotArgs,
    cx: CallContext,
) -> Result<Output<Shot>, ProviderError> {
    let hand = desk.hand(&cx, &args.place).await?;
    let format = match args.format {
        Kind::Png => Format::Png,
        Kind::Jpeg => Format::Jpeg,
        Kind::Webp => Format::Webp,
    };
    let quality = args.quality.unwrap_or(80);
    let id = args.element_id.as_deref();
    let picture = hand
        .tab
        .picture(format, quality, args.full_page, id)
        .await
        .map_err(told)?;
    let shot = Shot {
        success: true,
        page: hand.page().await?,
        mime_type: format!("image/{}", format.as_str()),
        width: picture.width,
        height: picture.height,
        truncated: picture.cut,
    };
    let image = json!({"type": "image", "data": picture.base64, "mimeType": shot.mime_type});
    let payload = Payload::from_serialize(&shot).map_err(ProviderError::unavailable)?;
    let mut result = ToolResult::ok(payload);
    result.blocks.push(Block(Payload::from(image)));
    if picture.cut {
        result.status = Status::Degraded;
        result.warnings.push(Warning::TruncatedOutput);
    }
    Ok(Output::Result(Box::new(result)))
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct HoverArgs {
    #[schemars(length(max = bounds::ID))]
    element_id: String,
    #[serde(flatten)]
    place: Place,
}

pub(super) async fn hover(
    desk: Arc<Desk>,
    args: HoverArgs,
    cx: CallContext,
) -> Result<Done, ProviderError> {
    let hand = desk.hand(&cx, &args.place).await?;
    hand.tab.hover(&args.element_id).await.map_err(told)?;
    Ok(Done { success: true })
}
