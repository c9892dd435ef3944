//! Edits of text files in two phases: a change is proposed and shown, and made only after a
//! human has agreed to exactly that change.
//!
//! Invariants: proposing writes no file; applying writes the version that was shown and
//! nothing else, in place of the version it was made for and no other; only files below the
//! operator's folders are touched; the version before is kept first.

mod diff;
mod edit;
mod folder;
mod kept;
mod place;
mod tools;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use tollgate_core::{
    Answer, CallContext, Clock, Health, Provider, ProviderError, SystemClock, ToolCall, ToolSet,
    ToolSpec,
};

use tools::Desk;

/// What an operator decides.
#[derive(Clone)]
pub struct Settings {
    /// Folders by name; without any there are no tools.
    pub roots: BTreeMap<String, PathBuf>,
    /// The largest file.
    pub file_bytes: usize,
    /// How long a proposal waits to be applied.
    pub proposal_ttl: Duration,
    /// How long the version before an edit is kept.
    pub keep: Duration,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("roots", &self.roots)
            .finish_non_exhaustive()
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            roots: BTreeMap::new(),
            file_bytes: 1 << 20,
            proposal_ttl: Duration::from_secs(24 * 60 * 60),
            keep: Duration::from_secs(30 * 24 * 60 * 60),
            clock: Arc::new(SystemClock),
        }
    }
}

/// Offers `docs.*`.
pub fn provider(settings: Settings) -> impl Provider {
    let roots = settings.roots.clone();
    let desk = Arc::new(Desk::new(settings));
    Docs {
        roots,
        tools: tools::all(Arc::clone(&desk)),
        desk,
    }
}

struct Docs {
    roots: BTreeMap<String, PathBuf>,
    desk: Arc<Desk>,
    tools: ToolSet<Desk>,
}

#[async_trait]
impl Provider for Docs {
    fn id(&self) -> &str {
        "docs"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError> {
        if self.roots.is_empty() {
            return Ok(Vec::new());
        }
        self.tools.tools().await
    }

    async fn call(&self, call: ToolCall, cx: CallContext) -> Result<Answer, ProviderError> {
        self.tools.serve(call, cx).await
    }

    async fn preview(
        &self,
        call: &ToolCall,
        cx: &CallContext,
    ) -> Result<Option<String>, ProviderError> {
        tools::preview(&self.desk, call, cx).await
    }

    async fn health(&self) -> Health {
        let missing = |(name, folder): (&String, &PathBuf)| {
            (!folder.is_dir()).then(|| format!("the folder `{name}` is not there"))
        };
        match self.roots.iter().find_map(missing) {
            Some(missing) => Health::Degraded(missing),
            None => Health::Ready,
        }
    }
}
