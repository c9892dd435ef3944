//! Several steps in one call, for what agents do most.

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tollgate_browser::{Error, WaitFor};
use tollgate_core::{CallContext, ProviderError, toolset::bounds};

use super::{
    act::{Acted, ClickArgs, acted, invalid},
    desk::{Desk, Page, Place},
    faults::{candidates, told},
    views::Steady,
};

#[derive(Deserialize, JsonSchema)]
struct Field {
    #[schemars(length(max = bounds::ID))]
    element_id: String,
    /// A field's text, an option's name, or `true` and `false` for a box to tick.
    #[schemars(length(max = 100_000), extend("x-secret-if" = {"element_id": "secret_"}))]
    value: String,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct FormArgs {
    #[schemars(length(min = 1, max = 50))]
    fields: Vec<Field>,
    /// Clicked when all fields are filled in.
    #[serde(default)]
    #[schemars(length(max = bounds::ID))]
    submit_id: Option<String>,
    #[serde(default)]
    #[schemars(length(max = bounds::URL))]
    url: Option<String>,
    #[serde(flatten)]
    place: Place,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Filled {
    success: bool,
    filled: Vec<String>,
    failed: Vec<NotFilled>,
    submitted: bool,
    page: Page,
}

#[derive(Serialize, JsonSchema)]
struct NotFilled {
    element_id: String,
    error: String,
    #[serde(rename = "errorCode", skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    // Read where something failed, so not worth its words on every list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    candidates: Vec<Value>,
}

/// Fills in every field that can be; submits only if all could be.
pub(super) async fn fill_form(
    desk: Arc<Desk>,
    args: FormArgs,
    cx: CallContext,
) -> Result<Filled, ProviderError> {
    let hand = desk.hand(&cx, &args.place).await?.at(args.url.as_deref())?;
    let tab = &hand.tab;
    let (mut filled, mut failed) = (Vec::new(), Vec::new());
    for field in args.fields {
        let id = field.element_id;
        let done = async {
            let (element, _) = tab.pointed_at(&id).await?;
            let target = hand.target(&id);
            match element.r#type {
                _ if element.actions.contains(&"select") => {
                    tab.select_option(target, &field.value).await
                }
                "checkbox" | "radio" => {
                    let wanted = match field.value.as_str() {
                        "true" => true,
                        "false" => false,
                        other => {
                            return Err(Error::Invalid(format!(
                                "`{other}` is neither true nor false"
                            )));
                        }
                    };
                    if element.state.checked.unwrap_or(false) != wanted {
                        tab.click(target).await?;
                    }
                    Ok(())
                }
                _ => tab.set_value(target, &field.value, false).await,
            }
        };
        match done.await {
            Ok(()) => filled.push(id),
            Err(error @ (Error::Crashed | Error::Dialog(_))) => return Err(told(error)),
            Err(error) => failed.push(NotFilled {
                element_id: id,
                code: error.code(),
                candidates: candidates(&error),
                error: error.to_string(),
            }),
        }
    }
    let mut submitted = false;
    if let Some(id) = args.submit_id.filter(|_| failed.is_empty()) {
        tab.click(hand.target(&id)).await.map_err(told)?;
        submitted = true;
    }
    Ok(Filled {
        success: failed.is_empty(),
        filled,
        failed,
        submitted,
        page: hand.page().await?,
    })
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum After {
    Stable,
    Selector,
    Networkidle,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct ClickWaitArgs {
    /// What to wait for; `stable` if unset.
    #[serde(default, rename = "waitFor")]
    wait_for: Option<After>,
    #[serde(default)]
    #[schemars(length(max = 1000))]
    selector: Option<String>,
    /// Milliseconds, 10000 if unset.
    #[serde(default)]
    #[schemars(range(min = 0, max = 30_000))]
    timeout: Option<u64>,
    #[serde(flatten)]
    click: ClickArgs,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct ClickedAndWaited {
    #[serde(flatten)]
    acted: Acted,
    stability: Option<Steady>,
}

pub(super) async fn click_and_wait(
    desk: Arc<Desk>,
    args: ClickWaitArgs,
    cx: CallContext,
) -> Result<ClickedAndWaited, ProviderError> {
    let patience = Duration::from_millis(args.timeout.unwrap_or(10_000));
    let click = args.click;
    let selector = match (args.wait_for, args.selector) {
        (Some(After::Selector), None) => return Err(invalid("`selector` is missing".to_owned())),
        (_, selector) => selector,
    };
    let hand = desk
        .hand(&cx, &click.place)
        .await?
        .at(click.url.as_deref())?;
    let before = hand.session.opened_by(&hand.tab);
    let clicked = hand
        .tab
        .click(hand.target(&click.element_id))
        .await
        .map_err(told)?;
    let mut stability = None;
    if clicked.dialog.is_none() {
        let quiet = Duration::from_millis(500);
        match (args.wait_for, selector) {
            (Some(After::Networkidle), _) => {
                hand.tab
                    .wait_for(&WaitFor::NetworkIdle, patience)
                    .await
                    .map_err(told)?;
            }
            (Some(After::Selector), Some(selector)) => {
                let wanted = WaitFor::Selector(selector);
                hand.tab.wait_for(&wanted, patience).await.map_err(told)?;
            }
            (None | Some(After::Stable | After::Selector), _) => {
                let stable = hand
                    .tab
                    .wait_for_stable(patience, quiet)
                    .await
                    .map_err(told)?;
                stability = Some(stable.into());
            }
        }
    }
    Ok(ClickedAndWaited {
        acted: acted(&hand, &before, &click.element_id, clicked).await?,
        stability,
    })
}
