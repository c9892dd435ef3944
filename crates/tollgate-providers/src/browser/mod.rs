//! A browser: the tools around `tollgate-browser`.
//!
//! The crate drives Chromium; this folder gives each caller sessions of their own, shapes pages
//! into views that fit a context, and translates. What a page says was written by strangers, so
//! every tool reaches the open world.
//!
//! Invariant: reading changes nothing that a site could notice beyond a visit; whatever clicks,
//! types or answers is a write, and whatever runs scripts or hands over files is more.

mod act;
mod asked;
mod boundary;
mod compare;
mod desk;
mod extract;
mod faults;
mod fit;
mod following;
mod forms;
mod hidden;
mod login;
mod logs;
mod paint;
pub mod profiles;
mod read;
mod settings;
mod table;
mod tabs;
mod views;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tollgate_browser::Browser;
use tollgate_core::{
    Answer, CallContext, ErrorCodes, Health, Notice, NoticeSink, Provider, ProviderError,
    SessionKey, ToolCall, ToolName, ToolSet, ToolSpec, TrustLevel, Warning,
};

use asked::Question;
pub use desk::profile_owner;
use desk::{Desk, Place};
pub use paint::paint;
pub use settings::{Handover, Names, Settings};
pub use tollgate_browser::{INSTALL, Limits, Whereabouts};

/// How long a browser that is missing is not looked for.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Tools that only a local caller may use.
const LOCAL: &[&str] = &[
    "browser.execute_javascript",
    "browser.log_in",
    "browser.upload_file",
];

/// Tools that document 004 knows, by the names it gives them.
const OF_THE_DOCUMENT: [&str; 28] = [
    "create_session",
    "close_session",
    "navigate",
    "get_page_info",
    "get_page_content",
    "click",
    "type_text",
    "scroll",
    "press_key",
    "go_back",
    "find_element",
    "wait",
    "execute_javascript",
    "select_option",
    "hover",
    "create_tab",
    "list_tabs",
    "switch_tab",
    "close_tab",
    "screenshot",
    "set_value",
    "handle_dialog",
    "get_dialog_info",
    "wait_for_stable",
    "get_network_logs",
    "get_console_logs",
    "upload_file",
    "get_downloads",
];

/// Offers `browser.*`.
pub fn provider(settings: Settings) -> impl Provider {
    let browser = Browser::new(settings.browser());
    let desk = Arc::new(Desk::new(settings, browser));
    Tools {
        tools: table::all(Arc::clone(&desk)),
        desk,
    }
}

struct Tools {
    desk: Arc<Desk>,
    tools: ToolSet<Desk>,
}

#[async_trait]
impl Provider for Tools {
    fn id(&self) -> &str {
        "browser"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError> {
        if !self.desk.settings.is_enabled {
            return Ok(Vec::new());
        }
        let missing = self.desk.settings.whereabouts.find().err();
        let inactive = missing.map(|missing| missing.to_string());
        let mut specs = self.tools.tools().await?;
        for spec in &mut specs {
            let bare = spec.name.as_str().trim_start_matches("browser.");
            spec.aliases = ToolName::new(bare).into_iter().collect();
            if self.desk.settings.names == Names::Document && OF_THE_DOCUMENT.contains(&bare) {
                spec.telling.listed_as = spec.aliases.first().cloned();
            }
            spec.inactive.clone_from(&inactive);
            spec.telling.error_codes = ErrorCodes::Document004;
            if LOCAL.contains(&spec.name.as_str()) {
                spec.trust = vec![TrustLevel::Local];
            }
        }
        Ok(specs)
    }

    /// A browser that is not there may be installed while we run.
    fn watch(&self, notices: Arc<dyn NoticeSink>) {
        let desk = Arc::downgrade(&self.desk);
        let is_missing = |desk: &Desk| desk.settings.whereabouts.find().is_err();
        if !self.desk.settings.is_enabled || !is_missing(&self.desk) {
            return;
        }
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(LOOK_AGAIN).await;
                match desk.upgrade() {
                    Some(desk) if is_missing(&desk) => {}
                    Some(_) => return notices.notice(Notice::ListsChanged),
                    None => return,
                }
            }
        });
    }

    async fn call(&self, call: ToolCall, cx: CallContext) -> Result<Answer, ProviderError> {
        let place: Place = serde_json::from_str(call.arguments.raw()).unwrap_or_default();
        let call = match Question::about(&call, &cx)? {
            Some(question) => question.answered(call, &cx).await?,
            None => call,
        };
        let secrets = hidden::typed(&call);
        let mut answer = self.tools.serve(call, cx.clone()).await;
        let Some(session) = self.desk.served(&cx, &place).await else {
            return answer;
        };
        session.touched();
        if session.was_reopened()
            && let Ok(Answer::Done(result)) = &mut answer
        {
            result.warnings.push(Warning::PageReopened);
        }
        hidden::hide(&mut answer, &session.secrets(secrets));
        answer
    }

    /// Whoever is asked to agree sees the page and the element, not only an id.
    async fn preview(
        &self,
        call: &ToolCall,
        cx: &CallContext,
    ) -> Result<Option<String>, ProviderError> {
        let Some(mut shown) = self.desk.preview(call, cx).await else {
            return Ok(None);
        };
        let place: Place = serde_json::from_str(call.arguments.raw()).unwrap_or_default();
        if let Some(session) = self.desk.served(cx, &place).await
            && let Some(text) = hidden::hidden(&shown.text, &session.secrets(Vec::new()))
        {
            shown.text = text;
        }
        if let Some(question) = Question::about(call, cx)? {
            question.shown(cx, &shown.site).await?;
        }
        Ok(Some(shown.text))
    }

    async fn health(&self) -> Health {
        if !self.desk.settings.is_enabled {
            return Health::Ready;
        }
        match self.desk.settings.whereabouts.find() {
            Ok(_) => Health::Ready,
            Err(missing) => Health::Degraded(missing.to_string()),
        }
    }

    async fn leave(&self, conversation: &SessionKey) {
        self.desk.leave(conversation).await;
    }

    async fn close(&self) {
        self.desk.browser.close().await;
    }
}
