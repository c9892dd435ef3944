//! Tools that need the engine itself, as an ordinary provider.
//!
//! They see what their caller may see and nothing else: their own principal's
//! calls, sessions and review items, and tools that exist on their surface.

mod audit;
mod discovery;
mod review;
mod session;

use std::sync::{Arc, OnceLock, Weak};

use tollgate_core::{Provider, ProviderError, StoreError, ToolSet};

use crate::call::{Gateway, Inner};

/// The provider of the engine's own tools, before and after there is an engine.
#[derive(Clone, Default)]
pub struct GateTools(Handle);

pub(crate) type Handle = Arc<OnceLock<Weak<Inner>>>;

impl GateTools {
    /// The provider, to be put into the catalogue.
    pub fn provider(&self) -> Arc<dyn Provider> {
        let tools = ToolSet::new("builtin", Arc::clone(&self.0));
        let tools = discovery::add(tools);
        let tools = audit::add(tools);
        let tools = review::add(tools);
        Arc::new(session::add(tools))
    }

    /// Tells the tools which engine they belong to.
    pub fn attach(&self, gateway: &Gateway) {
        self.0.get_or_init(|| Arc::downgrade(&gateway.0));
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
