//! Doing something on a page. A human agrees first; the gate sees to that.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tollgate_browser::{Clicked, Dialog, Stroke};
use tollgate_core::{
    CallContext, ErrorCode, Payload, ProviderError, Status, ToolResult, Warning,
    toolset::{Output, bounds},
};

use super::{
    desk::{Desk, Hand, Page, Place},
    faults::told,
    read::{Done, PlaceArgs},
};

/// The longest answer of a script, as JSON.
const LONGEST: usize = 4000;
/// How long a script may take.
const SCRIPT: Duration = Duration::from_secs(20);

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct ClickArgs {
    #[schemars(length(max = bounds::ID))]
    pub(super) element_id: String,
    /// The page you mean; elsewhere nothing is done.
    #[serde(default)]
    #[schemars(length(max = bounds::URL))]
    pub(super) url: Option<String>,
    #[serde(flatten)]
    pub(super) place: Place,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Acted {
    pub(super) success: bool,
    pub(super) page: Page,
    /// The tab it opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) new_tab_created: Option<String>,
    /// What the element goes by now, if the page drew it anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) element_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub(super) dialog: Option<Dialog>,
}

/// What an action came to.
pub(super) async fn acted(
    hand: &Hand,
    before: &[String],
    wanted: &str,
    clicked: Clicked,
) -> Result<Acted, ProviderError> {
    let opened = hand.session.opened_by(&hand.tab);
    Ok(Acted {
        success: true,
        page: hand.page().await?,
        new_tab_created: opened.into_iter().find(|id| !before.contains(id)),
        element_id: Some(clicked.id).filter(|id| !id.is_empty() && id != wanted),
        dialog: clicked.dialog,
    })
}

pub(super) async fn click(
    desk: Arc<Desk>,
    args: ClickArgs,
    cx: CallContext,
) -> Result<Acted, ProviderError> {
    let hand = desk.hand(&cx, &args.place).await?.at(args.url.as_deref())?;
    let before = hand.session.opened_by(&hand.tab);
    let clicked = hand
        .tab
        .click(hand.target(&args.element_id))
        .await
        .map_err(told)?;
    acted(&hand, &before, &args.element_id, clicked).await
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct TypeArgs {
    #[schemars(length(max = bounds::ID))]
    element_id: String,
    #[schemars(length(max = 100_000), extend("x-secret-if" = {"element_id": "secret_"}))]
    text: String,
    /// Presses Enter after it.
    #[serde(default)]
    submit: bool,
    #[serde(default)]
    #[schemars(length(max = bounds::URL))]
    url: Option<String>,
    #[serde(flatten)]
    place: Place,
}

pub(super) async fn type_text(
    desk: Arc<Desk>,
    args: TypeArgs,
    cx: CallContext,
) -> Result<Acted, ProviderError> {
    let hand = desk.hand(&cx, &args.place).await?.at(args.url.as_deref())?;
    let before = hand.session.opened_by(&hand.tab);
    let typed = hand
        .tab
        .type_text(hand.target(&args.element_id), &args.text, args.submit)
        .await;
    acted(&hand, &before, &args.element_id, typed.map_err(told)?).await
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct SelectArgs {
    #[schemars(length(max = bounds::ID))]
    element_id: String,
    /// The option's value or name.
    #[schemars(length(max = 1000))]
    value: String,
    #[serde(default)]
    #[schemars(length(max = bounds::URL))]
    url: Option<String>,
    #[serde(flatten)]
    place: Place,
}

pub(super) async fn select_option(
    desk: Arc<Desk>,
    args: SelectArgs,
    cx: CallContext,
) -> Result<Done, ProviderError> {
    let hand = desk.hand(&cx, &args.place).await?.at(args.url.as_deref())?;
    hand.tab
        .select_option(hand.target(&args.element_id), &args.value)
        .await
        .map_err(told)?;
    Ok(Done { success: true })
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct SetArgs {
    #[schemars(length(max = bounds::ID))]
    element_id: String,
    #[schemars(length(max = 100_000), extend("x-secret-if" = {"element_id": "secret_"}))]
    value: String,
    #[serde(default, rename = "isHtml")]
    is_html: bool,
    #[serde(default)]
    #[schemars(length(max = bounds::URL))]
    url: Option<String>,
    #[serde(flatten)]
    place: Place,
}

pub(super) async fn set_value(
    desk: Arc<Desk>,
    args: SetArgs,
    cx: CallContext,
) -> Result<Done, ProviderError> {
    let hand = desk.hand(&cx, &args.place).await?.at(args.url.as_deref())?;
    let set = hand
        .tab
        .set_value(hand.target(&args.element_id), &args.value, args.is_html)
        .await;
    set.map_err(told)?;
    Ok(Done { success: true })
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct KeyArgs {
    /// `Enter`, `Escape`, `Tab`, `ArrowDown`, …; with modifiers also a letter or digit.
    #[schemars(length(min = 1, max = 20))]
    key: String,
    /// `Control`, `Shift`, `Alt`, `Meta`.
    #[serde(default)]
    #[schemars(length(max = 4), inner(length(max = bounds::NAME)))]
    modifiers: Vec<String>,
    #[serde(default)]
    #[schemars(length(max = bounds::URL))]
    url: Option<String>,
    #[serde(flatten)]
    place: Place,
}

pub(super) async fn press_key(
    desk: Arc<Desk>,
    args: KeyArgs,
    cx: CallContext,
) -> Result<Acted, ProviderError> {
    let stroke =
        Stroke::new(&args.key, &args.modifiers).map_err(|error| invalid(error.to_string()))?;
    let hand = desk.hand(&cx, &args.place).await?;
    let hand = hand.focused_at(args.url.as_deref()).await?;
    let before = hand.session.opened_by(&hand.tab);
    let pressed = hand.tab.press(&stroke).await.map_err(told)?;
    acted(&hand, &before, "", pressed).await
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Choice {
    Accept,
    Dismiss,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct DialogArgs {
    action: Choice,
    /// What a prompt is answered with.
    #[serde(default)]
    #[schemars(length(max = 10_000))]
    text: Option<String>,
    #[serde(default)]
    #[schemars(length(max = bounds::URL))]
    url: Option<String>,
    #[serde(flatten)]
    place: Place,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Handled {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    dialog: Option<Dialog>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

pub(super) async fn handle_dialog(
    desk: Arc<Desk>,
    args: DialogArgs,
    cx: CallContext,
) -> Result<Handled, ProviderError> {
    let hand = desk.hand(&cx, &args.place).await?;
    let hand = hand.asked_at(args.url.as_deref())?;
    let accept = args.action == Choice::Accept;
    let dialog = hand
        .tab
        .handle_dialog(accept, args.text)
        .await
        .map_err(told)?;
    Ok(Handled {
        success: dialog.is_some(),
        reason: dialog.is_none().then_some("no dialog is open"),
        dialog,
    })
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Dialogs {
    #[schemars(with = "Option<Value>")]
    pending_dialog: Option<Dialog>,
    #[schemars(with = "Vec<Value>")]
    dialog_history: Vec<Dialog>,
}

pub(super) async fn get_dialog_info(
    desk: Arc<Desk>,
    args: PlaceArgs,
    cx: CallContext,
) -> Result<Dialogs, ProviderError> {
    let hand = desk.hand(&cx, &args.place).await?;
    Ok(Dialogs {
        pending_dialog: hand.tab.pending_dialog(),
        dialog_history: hand.tab.dialogs(),
    })
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct ScriptArgs {
    /// An expression, or statements with `return`.
    #[schemars(length(min = 1, max = 100_000))]
    script: String,
    // The site that was shown to whoever agreed; callers have no use for it.
    #[serde(default)]
    #[schemars(skip)]
    url: Option<String>,
    #[serde(flatten)]
    place: Place,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Came {
    result: Value,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

pub(super) async fn execute_javascript(
    desk: Arc<Desk>,
    args: ScriptArgs,
    cx: CallContext,
) -> Result<Output<Came>, ProviderError> {
    let hand = desk.hand(&cx, &args.place).await?;
    let hand = hand.wholly_at(args.url.as_deref())?;
    hand.keep_secrets().await;
    let result = hand.tab.execute(&args.script, SCRIPT).await;
    hand.keep_secrets().await;
    let result = result.map_err(told)?;
    let text = result.to_string();
    let truncated = text.chars().count() > LONGEST;
    let result = if truncated {
        text.chars().take(LONGEST).collect::<String>().into()
    } else {
        result
    };
    let came = Came { result, truncated };
    let payload = Payload::from_serialize(&came).map_err(ProviderError::unavailable)?;
    let mut answer = ToolResult::ok(payload);
    if truncated {
        answer.status = Status::Degraded;
        answer.warnings.push(Warning::TruncatedOutput);
    }
    Ok(Output::Result(Box::new(answer)))
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct UploadArgs {
    #[schemars(length(max = bounds::ID))]
    element_id: String,
    /// A file below one of the operator's folders.
    #[serde(rename = "filePath")]
    #[schemars(length(min = 1, max = 4096))]
    file_path: String,
    #[serde(default)]
    #[schemars(length(max = bounds::URL))]
    url: Option<String>,
    #[serde(flatten)]
    place: Place,
}

pub(super) async fn upload_file(
    desk: Arc<Desk>,
    args: UploadArgs,
    cx: CallContext,
) -> Result<Done, ProviderError> {
    let hand = desk.hand(&cx, &args.place).await?.at(args.url.as_deref())?;
    let file = uploadable(&args.file_path, hand.session.roots())?;
    let uploaded = hand
        .tab
        .upload(hand.target(&args.element_id), &file.display().to_string())
        .await;
    uploaded.map_err(told)?;
    Ok(Done { success: true })
}

/// A plain file below one of the roots; a link is not followed, whoever made it.
fn uploadable(path: &str, roots: &[PathBuf]) -> Result<PathBuf, ProviderError> {
    let path = Path::new(path);
    let outside = || {
        let mut error = invalid(
            "only plain files below the folders in `browser.roots` are uploaded".to_owned(),
        );
        error.code = ErrorCode::InputRejected;
        error
    };
    let is_plain = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
    let real = path
        .canonicalize()
        .ok()
        .filter(|_| is_plain && path.is_absolute());
    let below = |real: &PathBuf| {
        let mut real_roots = roots.iter().filter_map(|root| root.canonicalize().ok());
        real_roots.any(|root| real.starts_with(root))
    };
    real.filter(below).ok_or_else(outside)
}

pub(super) fn invalid(message: String) -> ProviderError {
    let mut error = ProviderError::rejected(message);
    error.document_code = Some("INVALID_PARAMETER".to_owned());
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_files_below_the_roots_are_uploaded() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join("a.txt"), "a").unwrap();
        std::fs::write(dir.path().join("b.txt"), "b").unwrap();
        std::os::unix::fs::symlink(dir.path().join("b.txt"), root.join("link")).unwrap();
        let roots = [root.clone()];
        let may = |path: &Path| uploadable(&path.display().to_string(), &roots).is_ok();
        assert!(may(&root.join("a.txt")));
        for bad in [
            root.clone(),
            root.join("link"),
            root.join("../b.txt"),
            dir.path().join("b.txt"),
            root.join("none"),
            "a.txt".into(),
        ] {
            assert!(!may(&bad), "{}", bad.display());
        }
        assert!(uploadable(&root.join("a.txt").display().to_string(), &[]).is_err());
    }
}
