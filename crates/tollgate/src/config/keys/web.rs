//! The keys of what may be read of the web, and by which search engines.
//!
//! Where connections may lead is the user's alone; an untrusted project may only make limits smaller.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::SecretRef;

/// Searching and reading the web.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawWeb {
    /// Whether there are tools for the web.
    pub enabled: bool,
    /// Hosts that may be reached although their address is not public, as `host` (every port) or `host:port`.
    pub allow_hosts: Vec<String>,
    /// The ports that may be used at public addresses.
    pub ports: Vec<u16>,
    /// A PEM file of authorities that vouch for encrypted servers of yours, beside those the system knows.
    #[schemars(extend("format" = "path"))]
    pub ca_file: Option<PathBuf>,
    /// Whether `robots.txt` is obeyed.
    pub robots: bool,
    /// How much of a page is read, in bytes, unpacked.
    #[schemars(range(min = 1024, max = 67_108_864), extend("x-untrusted" = "lower"))]
    pub page_bytes: u64,
    /// How long a fetch or a search may take, in seconds.
    #[schemars(range(min = 1, max = 300), extend("x-untrusted" = "lower"))]
    pub timeout_seconds: u64,
    /// How many requests to one host run at the same time.
    #[schemars(range(min = 1, max = 64), extend("x-untrusted" = "lower"))]
    pub host_requests: u64,
    /// The pause between two requests to one host, in milliseconds.
    #[schemars(range(max = 60_000))]
    pub host_pause_ms: u64,
    /// How much is kept in memory of what was read, in bytes; 0 is nothing.
    #[schemars(range(max = 1_073_741_824), extend("x-untrusted" = "lower"))]
    pub cache_bytes: u64,
    /// Search engines in the order they are asked: `stub` (made up, offline), `searxng`, `ddg_html`, `brave`, `serper`.
    /// The variable `WEB_SEARCH_BACKEND` goes before it.
    pub search: Vec<String>,
    /// Where your SearXNG answers; its settings must list `json` under `search.formats`.
    #[schemars(extend("format" = "http-address"))]
    pub searxng_url: Option<String>,
    /// The least time between two questions to your SearXNG, in milliseconds, if not 200.
    #[schemars(range(max = 60_000))]
    pub searxng_pause_ms: Option<u64>,
    /// Where DuckDuckGo's page without scripts is, if not at its usual place.
    #[schemars(extend("format" = "http-address"))]
    pub ddg_url: Option<String>,
    /// The least time between two questions to DuckDuckGo, in milliseconds, if not 1100.
    #[schemars(range(max = 60_000))]
    pub ddg_pause_ms: Option<u64>,
    /// Where Brave answers, if not at its usual place.
    #[schemars(extend("format" = "http-address"))]
    pub brave_url: Option<String>,
    /// Where the key of Brave is to be found, `env:NAME` or `file:PATH`.
    pub brave_key: Option<SecretRef>,
    /// The least time between two questions to Brave, in milliseconds, if not 1100.
    #[schemars(range(max = 60_000))]
    pub brave_pause_ms: Option<u64>,
    /// Where Serper answers, if not at its usual place.
    #[schemars(extend("format" = "http-address"))]
    pub serper_url: Option<String>,
    /// Where the key of Serper is to be found, `env:NAME` or `file:PATH`.
    pub serper_key: Option<SecretRef>,
    /// The least time between two questions to Serper, in milliseconds, if not 200.
    #[schemars(range(max = 60_000))]
    pub serper_pause_ms: Option<u64>,
}
