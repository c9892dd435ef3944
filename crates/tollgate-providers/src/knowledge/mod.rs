//! Guided sessions over knowledge files: two tools around `tollgate-knowledge`.
//!
//! The crate walks; this folder keeps. A session lives in the provider's state, so it is
//! bound to its principal, ends by itself and survives a restart, and the version of the
//! base it walks in with it; of two steps at once the first to be written wins and the
//! other is told.

mod kept;
mod offers;
mod shelf;
mod tools;
mod versions;

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use tollgate_core::{
    Answer, CallContext, Clock, Health, NoticeSink, Offers, Payload, Provider, ProviderError,
    SystemClock, ToolCall, ToolResult, ToolSet, ToolSpec, offer,
};

use kept::Kept;
use shelf::Shelf;
use versions::Versions;

/// How long a session lives that nobody touches, unless the operator says otherwise.
const SESSION_TTL: Duration = Duration::from_secs(24 * 60 * 60);
/// How many bytes the versions have that are kept for running sessions, at most.
const VERSIONS_LIMIT: u64 = 1 << 30;

/// Which bases there are.
#[derive(Clone)]
pub struct Settings {
    /// A file or a folder for each base; without any there are no tools.
    pub paths: Vec<PathBuf>,
    /// How long a session lives that nobody touches.
    pub session_ttl: Duration,
    /// The folder for the versions that running sessions walk in; without one, a version
    /// ends with the process.
    pub versions: Option<PathBuf>,
    /// How many bytes these versions have at most.
    pub versions_limit: u64,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("paths", &self.paths)
            .field("session_ttl", &self.session_ttl)
            .field("versions", &self.versions)
            .finish_non_exhaustive()
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            session_ttl: SESSION_TTL,
            versions: None,
            versions_limit: VERSIONS_LIMIT,
            clock: Arc::new(SystemClock),
        }
    }
}

/// Offers `initiate_session` and `navigate_session`.
pub fn provider(settings: Settings) -> impl Provider {
    let limit = settings.versions_limit;
    let kept = settings.versions.map(|folder| Kept::new(folder, limit));
    let versions = Versions::new(kept, settings.session_ttl, Arc::clone(&settings.clock));
    let shelf = Arc::new(Shelf::new(settings.paths.clone(), versions));
    let shared = tools::Shared {
        shelf: Arc::clone(&shelf),
        session_ttl: settings.session_ttl,
        clock: settings.clock,
    };
    Knowledge {
        is_empty: settings.paths.is_empty(),
        shelf,
        tools: tools::add(ToolSet::new("knowledge", shared)),
    }
}

struct Knowledge {
    is_empty: bool,
    shelf: Arc<Shelf>,
    tools: ToolSet<tools::Shared>,
}

#[async_trait]
impl Provider for Knowledge {
    fn id(&self) -> &str {
        "knowledge"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError> {
        if self.is_empty {
            return Ok(Vec::new());
        }
        self.tools.tools().await
    }

    async fn offers(&self) -> Result<Offers, ProviderError> {
        if self.is_empty {
            return Ok(Offers::default());
        }
        Ok(offers::all(&*self.shelf.listed().await))
    }

    async fn call(&self, call: ToolCall, cx: CallContext) -> Result<Answer, ProviderError> {
        let arguments = call.arguments.value();
        let value = match call.tool.as_str() {
            offer::READ => {
                let uri = arguments["uri"].as_str().unwrap_or_default().to_owned();
                if offers::is_page(&uri) {
                    offers::read_page()
                } else {
                    // A large base takes a while to draw.
                    let library = self.shelf.current(&cx).await?;
                    let read = tokio::task::spawn_blocking(move || offers::read(&library, &uri));
                    read.await.map_err(ProviderError::unavailable)??
                }
            }
            offer::GET_PROMPT => offers::prompt(arguments, cx.spelling)?,
            offer::COMPLETE => offers::complete(&*self.shelf.current(&cx).await?, arguments),
            _ => return self.tools.serve(call, cx).await,
        };
        Ok(Answer::Done(ToolResult::ok(Payload::from(value))))
    }

    fn watch(&self, notices: Arc<dyn NoticeSink>) {
        self.shelf.watch(notices);
    }

    async fn close(&self) {
        self.shelf.close().await;
    }

    async fn health(&self) -> Health {
        if self.is_empty {
            return Health::Ready;
        }
        match self.shelf.found().await {
            Err(error) => Health::Down(match &error.source {
                Some(cause) => format!("{error}: {cause}"),
                None => error.to_string(),
            }),
            Ok(_) => match self.shelf.complaint().await {
                Some(complaint) => Health::Degraded(complaint),
                None => Health::Ready,
            },
        }
    }
}
