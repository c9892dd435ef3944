//! Reading whole pages in one call, in a tab of the call's own if that is wanted.
//!
//! Invariant: a tab that a call opened for itself is closed when the call ends, however it ends.

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep};
use tollgate_browser::{Error, Session, Stability, Tab};
use tollgate_core::{CallContext, ErrorCode, ProviderError, toolset::Output};

use super::{
    act::invalid,
    desk::{Desk, Hand, Place},
    faults::told,
    fit::{BUDGET, View},
    read::{NavigateArgs, Navigated, arrived},
    views::{self, PageContent, PageInfo, Steady, Wanted},
};

/// How long a page may take to come to rest, and how long it must rest then.
const REST: Duration = Duration::from_secs(10);
const QUIET: Duration = Duration::from_millis(300);
/// How many elements are shown beside the text if nobody says how many, and what of one view
/// both may cost.
const BESIDE: usize = 20;
const ELEMENTS_BESIDE: usize = BUDGET * 2 / 5;
/// How often a call that waits for a tab looks for one, and what it keeps of its time to say that
/// there was none.
const LOOK: Duration = Duration::from_millis(50);
const RESERVE: Duration = Duration::from_secs(1);
/// How many dialogs of a page that nobody sees are dismissed.
const DIALOGS: usize = 20;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct ExtractArgs {
    /// Whether elements are wanted too.
    #[serde(default)]
    page_info: bool,
    /// Whether the text is wanted; true if unset.
    #[serde(default)]
    content: Option<bool>,
    /// More than fit a view, hidden ones too.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    max_elements: Option<usize>,
    #[serde(default)]
    #[schemars(range(min = 1, max = 50_000))]
    max_length: Option<usize>,
    /// Reads it in a tab of its own that is closed then.
    #[serde(default)]
    new_tab: bool,
    #[serde(flatten)]
    navigate: NavigateArgs,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Extracted {
    /// How it was read: always `browser`.
    engine: &'static str,
    #[serde(flatten)]
    navigated: Navigated,
    stability: Steady,
    /// As browser.get_page_content gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    content: Option<PageContent>,
    /// As browser.get_page_info gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    page_info: Option<PageInfo>,
}

pub(super) async fn navigate_and_extract(
    desk: Arc<Desk>,
    mut args: ExtractArgs,
    cx: CallContext,
) -> Result<Output<Extracted>, ProviderError> {
    if !args.new_tab {
        return extract(&desk, args, &cx).await;
    }
    let place = &mut args.navigate.place;
    if place.tab_id.is_some() {
        return Err(invalid(
            "`newTab` and `tabId` exclude each other".to_owned(),
        ));
    }
    let session = desk.session(&cx, place.session_id.as_deref()).await?;
    let own = OwnTab::open(&session, &cx).await?;
    place.session_id = Some(session.id().to_owned());
    place.tab_id = Some(own.id.clone());
    let extracted = extract(&desk, args, &cx).await;
    own.close().await;
    extracted
}

async fn extract(
    desk: &Arc<Desk>,
    args: ExtractArgs,
    cx: &CallContext,
) -> Result<Output<Extracted>, ProviderError> {
    let place = args.navigate.place.clone();
    let gone = desk.reach(cx, &place, false).await?;
    // Nobody leads the tab elsewhere until its page has been read.
    let turn = gone.tab.turn().await.map_err(told)?;
    let mut navigated = arrived(&gone, &turn, &args.navigate.url).await?;
    if args.new_tab && navigated.download {
        return Err(told(Error::Load("it is a file, not a page".to_owned())));
    }
    let hand = desk.hand(cx, &place).await?;
    let most = if args.new_tab { DIALOGS } else { 0 };
    let stability = hushed(&hand.tab, most).await.map_err(told)?;
    // Scripts name a page and lead on until it rests.
    navigated.page = hand.page().await?;
    if args.new_tab && navigated.dialog.take().is_some() {
        navigated.partial = stability.load_state != "complete";
    }
    let with_elements = args.page_info && args.max_elements.is_none();
    let budget = BUDGET - if with_elements { ELEMENTS_BESIDE } else { 0 };
    let (mut content, mut whole) = (None, Map::new());
    if args.content.unwrap_or(true) {
        let view = text(&hand, args.max_length, budget).await?;
        whole.extend(view.whole.map(|all| ("content".to_owned(), all)));
        content = Some(view.shown);
    }
    let mut page_info = None;
    if args.page_info {
        let is_beside = content.is_some() && args.max_elements.is_none();
        let wanted = Wanted {
            most: args.max_elements.or(is_beside.then_some(BESIDE)),
            budget: if is_beside { ELEMENTS_BESIDE } else { BUDGET },
            is_whole: args.max_elements.is_some(),
            visible_only: args.max_elements.is_none(),
            ..Wanted::default()
        };
        let view = views::info(&hand.tab, &wanted).await?;
        whole.extend(view.whole.map(|all| ("pageInfo".to_owned(), all)));
        page_info = Some(view.shown);
    }
    if args.new_tab {
        content.iter_mut().for_each(PageContent::of_closed_tab);
        page_info.iter_mut().for_each(PageInfo::of_closed_tab);
    }
    let shown = Extracted {
        engine: "browser",
        navigated,
        stability: stability.into(),
        content,
        page_info,
    };
    let whole = (!whole.is_empty()).then_some(Value::Object(whole));
    View { shown, whole }.answer()
}

/// Waits until a page rests. Nobody answers the dialogs of a tab that lives as long as a call, so
/// so many of them are dismissed at once.
async fn hushed(tab: &Tab, most: usize) -> Result<Stability, Error> {
    let mut dismissed = 0;
    loop {
        if tab.pending_dialog().is_none() {
            match tab.wait_for_stable(REST, QUIET).await {
                Err(Error::Dialog(_)) if dismissed < most => {}
                other => return other,
            }
        }
        if dismissed >= most {
            return tab.wait_for_stable(REST, QUIET).await;
        }
        dismissed += 1;
        tab.handle_dialog(false, None).await?;
    }
}

/// The page's text; as long as was asked for, or as long as a view may be.
pub(super) async fn text(
    hand: &Hand,
    most: Option<usize>,
    budget: usize,
) -> Result<View<PageContent>, ProviderError> {
    let wanted = Wanted {
        most,
        budget,
        is_whole: most.is_some(),
        ..Wanted::default()
    };
    views::content(&hand.tab, &wanted).await
}

/// Goes to a page and waits until it rests.
pub(super) async fn rested(
    desk: &Desk,
    cx: &CallContext,
    place: &Place,
    url: &str,
) -> Result<Hand, ProviderError> {
    let hand = desk.reach(cx, place, false).await?;
    hand.tab.navigate(url).await.map_err(told)?;
    hand.tab.wait_for_stable(REST, QUIET).await.map_err(told)?;
    Ok(hand)
}

/// Opens something of which there may be too many, as soon as there is room for it while the call
/// has time. What is being opened is never broken off: nobody would close it.
async fn seat<T, F>(cx: &CallContext, open: impl Fn() -> F) -> Result<T, ProviderError>
where
    F: Future<Output = Result<T, Error>>,
{
    let deadline = Instant::now() + cx.time_left.saturating_sub(RESERVE);
    loop {
        let full = match open().await {
            Err(full @ Error::Limit(_)) => full,
            other => return other.map_err(told),
        };
        if Instant::now() >= deadline {
            let why = format!("no tab became free in time: {full}");
            let mut late = told(Error::Timeout(why));
            late.suggestion = told(full).suggestion;
            return Err(late);
        }
        tokio::select! {
            () = sleep(LOOK) => {}
            () = cx.cancel.cancelled() => {
                let why = "the call was cancelled before a tab became free";
                return Err(ProviderError::new(ErrorCode::Cancelled, why));
            }
        }
    }
}

/// A tab that lives as long as one call.
pub(super) struct OwnTab {
    session: Arc<Session>,
    pub(super) id: String,
    is_closed: bool,
}

impl OwnTab {
    /// Opens one; where there are too many, waits until another is closed.
    pub(super) async fn open(
        session: &Arc<Session>,
        cx: &CallContext,
    ) -> Result<Self, ProviderError> {
        let (id, _) = seat(cx, || session.open_aside()).await?;
        Ok(Self {
            session: Arc::clone(session),
            id,
            is_closed: false,
        })
    }

    pub(super) async fn close(mut self) {
        self.is_closed = true;
        // A tab that is gone is closed.
        let _ = self.session.close_tab(&self.id).await;
    }
}

impl Drop for OwnTab {
    fn drop(&mut self) {
        if self.is_closed {
            return;
        }
        let (session, id) = (Arc::clone(&self.session), self.id.clone());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { session.close_tab(&id).await });
        }
    }
}

#[cfg(test)]
mod tests {
    use tollgate_testkit::fakes::context;

    use super::*;

    const CALL: Duration = Duration::from_secs(90);

    /// Waits for a seat that becomes free at a time, if ever.
    async fn waited(cx: &CallContext, free: Option<Duration>) -> Result<(), ProviderError> {
        let began = Instant::now();
        let open = async || match free {
            Some(free) if began.elapsed() >= free => Ok(()),
            _ => Err(Error::Limit("a session has at most 20 tabs".to_owned())),
        };
        seat(cx, open).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_waits_for_a_tab_as_long_as_its_call_has_time() {
        let mut cx = context();
        cx.time_left = CALL;
        for free in [0, 19, 60, 88] {
            let free = Some(Duration::from_secs(free));
            assert!(waited(&cx, free).await.is_ok(), "{free:?}");
        }
        let late = waited(&cx, None).await.unwrap_err();
        assert_eq!(late.document_code.as_deref(), Some("NAVIGATION_TIMEOUT"));
        assert!(late.message.contains("at most 20 tabs"), "{late:?}");
        assert!(late.suggestion.unwrap().contains("browser.close_tab"));
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_a_tab_can_be_called_off() {
        let mut cx = context();
        cx.time_left = CALL;
        cx.cancel.cancel();
        let off = waited(&cx, None).await.unwrap_err();
        assert_eq!(off.code, ErrorCode::Cancelled);
    }
}
