//! Content that outlives its call: handed over by a provider, read with `get_artifact`.

use async_trait::async_trait;

use crate::{identity::Principal, provider::ProviderError};

/// Content that is to be kept.
#[derive(Debug, Clone)]
pub struct NewContent {
    /// What makes it this one and no other: the same content twice is kept once.
    pub origin: String,
    /// Whose it is; nobody else can read it.
    pub principal: Principal,
    /// What it is called.
    pub name: String,
    /// What kind of thing it is, such as `download`.
    pub kind: String,
    /// Its type for programs.
    pub mime_type: String,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// Where providers hand content over.
#[async_trait]
pub trait Artifacts: Send + Sync {
    /// Keeps it for as long as artifacts are kept; gives its id.
    async fn keep(&self, content: NewContent) -> Result<String, ProviderError>;
}
