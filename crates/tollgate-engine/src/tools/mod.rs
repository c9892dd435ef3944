//! Tools that need the engine itself, as an ordinary provider.
//!
//! They see what their caller may see and nothing else: their own principal's
//! calls, sessions and review items, and tools that exist on their surface.

mod audit;
mod discovery;
mod prompts;
mod provider;
mod read;
pub(crate) mod result;
mod review;
mod session;
mod skills;

use std::sync::{Arc, OnceLock, Weak};

use tollgate_core::{Provider, ProviderError, StoreError, ToolSet};

use crate::call::{Gateway, Inner};

pub use provider::Page;

/// The provider of the engine's own tools, before and after there is an engine.
#[derive(Clone, Default)]
pub struct GateTools {
    handle: Handle,
    pages: Vec<Page>,
}

pub(crate) type Handle = Arc<OnceLock<Weak<Inner>>>;

impl GateTools {
    /// Tools that can also show these pages.
    pub fn with_pages(pages: Vec<Page>) -> Self {
        Self {
            handle: Handle::default(),
            pages,
        }
    }

    /// The provider, to be put into the catalogue.
    pub fn provider(&self) -> Arc<dyn Provider> {
        let tools = ToolSet::new("builtin", Arc::clone(&self.handle));
        let tools = discovery::add(tools);
        let tools = audit::add(tools);
        let tools = review::add(tools);
        let tools = result::add(tools);
        let tools = session::add(tools);
        Arc::new(provider::GateProvider::new(
            tools,
            Arc::clone(&self.handle),
            self.pages.clone(),
        ))
    }

    /// Tells the tools which engine they belong to.
    pub fn attach(&self, gateway: &Gateway) {
        self.handle.get_or_init(|| Arc::downgrade(&gateway.0));
    }
}

/// The engine, while it lives.
fn engine(handle: &Handle) -> Result<Arc<Inner>, ProviderError> {
    handle.get().and_then(Weak::upgrade).ok_or_else(|| {
        ProviderError::new(
            tollgate_core::ErrorCode::ProviderClosed,
            "the gate is closed",
        )
    })
}

fn from_store(error: StoreError) -> ProviderError {
    ProviderError {
        source: Some(error.to_string().into()),
        ..ProviderError::new(error.code(), error.to_string())
    }
}
