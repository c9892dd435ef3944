//! Where somebody was asked about a call, kept until that call is made.
//!
//! A call that names no `url` says nothing of where it is made, and an approval is bound to what
//! a call says. Invariant: such a call is made at the site that was shown to whoever agreed to
//! it, or not at all, in whichever process.

use std::time::Duration;

use serde_json::Value;
use tollgate_core::{
    CallContext, Clock as _, Payload, ProviderError, StoreError, SystemClock, ToolCall,
    canonical::{Form, Node, hex_digest},
};

use super::act::invalid;

/// Longer than a question is open.
const KEPT: Duration = Duration::from_secs(60 * 60);

/// Tools that do something to the page that is shown.
const ACTING: &[&str] = &[
    "browser.click",
    "browser.click_and_wait",
    "browser.execute_javascript",
    "browser.fill_form",
    "browser.handle_dialog",
    "browser.log_in",
    "browser.press_key",
    "browser.select_option",
    "browser.set_value",
    "browser.type_text",
    "browser.upload_file",
];

/// A call that does not say where it is made.
pub(super) struct Question {
    key: String,
}

impl Question {
    /// The question about a call, if it leaves open where it is made.
    pub(super) fn about(call: &ToolCall, cx: &CallContext) -> Result<Option<Self>, ProviderError> {
        let is_open = matches!(call.arguments.value().get("url"), None | Some(Value::Null));
        if !is_open || !ACTING.contains(&call.tool.as_str()) {
            return Ok(None);
        }
        let arguments = Node::of(&call.arguments).map_err(ProviderError::unavailable)?;
        let arguments = arguments.print(Form::Jcs);
        let (conversation, tool) = (&cx.session.handle, call.tool.as_str());
        let said = format!("{conversation}\n{tool}\n{arguments}");
        let key = format!("asked/{}", hex_digest(said.as_bytes()));
        Ok(Some(Self { key }))
    }

    /// Keeps the site that is shown. Where another one is shown already, nobody is asked: the
    /// answer would be about that one.
    pub(super) async fn shown(&self, cx: &CallContext, site: &str) -> Result<(), ProviderError> {
        let until = SystemClock.now().plus(KEPT);
        let put = cx
            .state
            .compare_and_put(&self.key, None, site.into(), Some(until));
        match put.await {
            Ok(_) => Ok(()),
            Err(StoreError::Conflict) => match self.site(cx).await? {
                Some(before) if before != site => Err(invalid(format!(
                    "this call was asked about at {before}, and the page is at {site} now; say with `url` which is meant"
                ))),
                Some(_) | None => Ok(()),
            },
            Err(error) => Err(ProviderError::unavailable(error)),
        }
    }

    async fn site(&self, cx: &CallContext) -> Result<Option<String>, ProviderError> {
        let kept = cx.state.get(&self.key).await;
        let kept = kept.map_err(ProviderError::unavailable)?;
        Ok(kept.and_then(|kept| String::from_utf8(kept.value).ok()))
    }

    /// The call as it was agreed to: at the site that was shown, if one was.
    pub(super) async fn answered(
        &self,
        call: ToolCall,
        cx: &CallContext,
    ) -> Result<ToolCall, ProviderError> {
        let Some(site) = self.site(cx).await? else {
            return Ok(call);
        };
        let deleted = cx.state.delete(&self.key).await;
        deleted.map_err(ProviderError::unavailable)?;
        let mut arguments = call.arguments.value().clone();
        arguments["url"] = site.into();
        let arguments = Payload::from_serialize(&arguments).map_err(ProviderError::unavailable)?;
        Ok(ToolCall { arguments, ..call })
    }
}
