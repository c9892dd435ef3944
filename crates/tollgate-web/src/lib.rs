//! The web as a source of text: searching it, fetching from it, and taking the main text out of a page.
//!
//! It knows nothing of tools or calls. What must hold, whatever a server sends or a caller asks for: no connection is made to
//! an address that was not checked, nothing grows beyond the limits, and every failure has a kind.

#![forbid(unsafe_code)]

mod address;
mod body;
mod cache;
mod charset;
mod content;
mod error;
mod extract;
mod fetch;
mod guard;
mod hosts;
mod offline;
mod polite;
mod relevance;
mod report;
mod robots;
mod search;
mod wire;
mod words;

pub use cache::{Cache, Kept, MemoryCache};
pub use content::Content;
pub use error::{Kind, WebError};
pub use extract::{Extracted, Image, Link, Method, Section, extract};
pub use fetch::{CacheUse, Fetcher, Page, Settings};
pub use guard::{Guard, Lookup, Resolver, SystemResolver};
pub use hosts::Spelling;
pub use offline::OFFLINE_HOST;
pub use polite::Politeness;
pub use report::{
    Difference, Evidence, Gap, MAX_EVIDENCE, Report, Request, Source, SourceNote, report,
};
pub use search::{Attempt, Backend, BackendKind, Found, Item, KeySource, MAX_RESULTS, Search};
pub use wire::{Limits, USER_AGENT};

/// Tells the time.
pub type Now = std::sync::Arc<dyn Fn() -> std::time::SystemTime + Send + Sync>;
