//! The web: the tools around `tollgate-web`.
//!
//! The crate fetches, searches and extracts; this folder gives it the operator's settings and translates. Everything it
//! hands on was written by strangers, so every tool reaches the open world.

mod extract;
mod faults;
mod fetch;
mod pages;
mod places;
mod report;
mod search;
mod tools;
mod view;

use std::{
    fmt,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use async_trait::async_trait;
use tollgate_core::{
    Answer, CallContext, Clock, Offers, Provider, ProviderError, SystemClock, ToolCall, ToolSet,
    ToolSpec, offer,
};
pub use tollgate_web::{Backend, BackendKind, Guard, KeySource, Limits, Politeness, Spelling};
use tollgate_web::{Fetcher, MemoryCache, Search};

/// What an operator can set.
#[derive(Clone)]
pub struct Settings {
    /// Whether there are such tools at all.
    pub is_enabled: bool,
    /// Where connections may lead.
    pub guard: Guard,
    /// The same for pages that are read in the place of a browser, for local callers; remote ones
    /// reach no host that is not public.
    pub browser_guard: Option<Guard>,
    /// How much a fetch may take.
    pub limits: Limits,
    /// How gently hosts are asked.
    pub politeness: Politeness,
    /// Whether `robots.txt` is obeyed.
    pub robots: bool,
    /// How much is kept of what was read.
    pub cache_bytes: usize,
    /// The search engines, in the order they are asked.
    pub backends: Vec<Backend>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            is_enabled: true,
            guard: Guard::default(),
            browser_guard: None,
            limits: Limits::default(),
            politeness: Politeness::default(),
            robots: true,
            cache_bytes: 32 << 20,
            backends: vec![Backend::new(BackendKind::Stub)],
            clock: Arc::new(SystemClock),
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("is_enabled", &self.is_enabled)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Offers `web.*`.
pub fn provider(settings: Settings) -> impl Provider {
    let clock = Arc::clone(&settings.clock);
    let fetcher = |guard: Guard| {
        let clock = Arc::clone(&clock);
        Fetcher::new(tollgate_web::Settings {
            guard,
            limits: settings.limits,
            politeness: settings.politeness,
            robots: settings.robots,
            cache: Arc::new(MemoryCache::new(settings.cache_bytes)),
            now: Arc::new(move || {
                let millis = u64::try_from(clock.now().0).unwrap_or(0);
                UNIX_EPOCH + Duration::from_millis(millis)
            }),
        })
    };
    // What one of them has kept, the others may not be allowed to see.
    let for_browser = settings.browser_guard.clone().map(|guard| tools::ByTrust {
        remote: fetcher(Guard {
            allow_hosts: Vec::new(),
            ..guard.clone()
        }),
        local: fetcher(guard),
    });
    let fetcher = fetcher(settings.guard.clone());
    let search = Search::new(settings.backends, &settings.guard, settings.limits);
    Web {
        is_enabled: settings.is_enabled,
        tools: tools::all(
            tools::Reader::new(fetcher, for_browser, search, settings.clock),
            settings.limits.total,
        ),
    }
}

struct Web {
    is_enabled: bool,
    tools: ToolSet<tools::Reader>,
}

#[async_trait]
impl Provider for Web {
    fn id(&self) -> &str {
        "web"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError> {
        if !self.is_enabled {
            return Ok(Vec::new());
        }
        self.tools.tools().await
    }

    async fn offers(&self) -> Result<Offers, ProviderError> {
        Ok(match self.is_enabled {
            true => pages::offers(),
            false => Offers::default(),
        })
    }

    async fn call(&self, call: ToolCall, cx: CallContext) -> Result<Answer, ProviderError> {
        if call.tool.as_str() == offer::READ {
            return pages::read(call.arguments.value(), &cx).await;
        }
        self.tools.serve(call, cx).await
    }
}
