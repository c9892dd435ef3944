//! The keys of the browser: where it is, where its pages may lead, and how much there may be.
//!
//! Where pages may lead and which files they may show is the user's alone; an untrusted project
//! may forbid more hosts and make limits smaller.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::config::SecretRef;

/// Pages in a real browser.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawBrowser {
    /// Whether there are tools for a browser.
    pub enabled: bool,
    /// How clients are listed the 28 tools that the design document names: `canonical` (`browser.navigate`) or `document`
    /// (`navigate`). Calls accept both, always.
    pub names: RawNames,
    /// Where Chromium is. Without it: the variable `CHROME_PATH`, then `PATH`, then the usual places.
    #[schemars(extend("format" = "path"))]
    pub chromium: Option<PathBuf>,
    /// Hosts that local callers may reach although their address is not public, as `host` (every
    /// port) or `host:port`; `localhost:3000` for a server you are developing.
    pub allow_hosts: Vec<String>,
    /// If not empty, the only hosts that pages may reach; `*.example.com` is every host below it.
    pub only_hosts: Vec<String>,
    /// Hosts that pages may not reach; `*.example.com` is every host below it.
    #[schemars(extend("x-untrusted" = "add"))]
    pub deny_hosts: Vec<String>,
    /// Folders whose files local callers may show as `file:` pages and upload.
    #[schemars(extend("items" = folder()))]
    pub roots: Vec<PathBuf>,
    /// How many tabs one session may have.
    #[schemars(range(min = 1, max = 20), extend("x-untrusted" = "lower"))]
    pub session_tabs: u64,
    /// How many tabs all sessions may have together.
    #[schemars(range(min = 1, max = 50), extend("x-untrusted" = "lower"))]
    pub tabs: u64,
    /// How long a session lives that nobody uses, in seconds.
    #[schemars(range(min = 10, max = 86_400), extend("x-untrusted" = "lower"))]
    pub session_seconds: u64,
    /// How long a page may take to come, in seconds; then the call answers `NAVIGATION_TIMEOUT`.
    #[schemars(range(min = 1, max = 45), extend("x-untrusted" = "lower"))]
    pub navigation_seconds: u64,
    /// How large a download may be, in bytes.
    #[schemars(range(min = 0, max = 10_737_418_240_u64), extend("x-untrusted" = "lower"))]
    pub download_bytes: u64,
    /// Where the key is to be found that seals kept logins, `env:NAME` or `file:PATH`: a text of at
    /// least 32 characters. Without it one is made of the key that lies beside the state.
    pub profile_key: Option<SecretRef>,
}

/// How the tools of the browser are called where they are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawNames {
    /// By their canonical ids.
    Canonical,
    /// As the design document calls them.
    Document,
}

fn folder() -> Value {
    json!({"type": "string", "format": "path"})
}
