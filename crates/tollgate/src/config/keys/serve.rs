//! The keys of what is offered over HTTP: the listener, who may speak to it, and how large
//! answers and local files travel.
//!
//! An untrusted project may make limits smaller here and nothing else: where to listen, whom
//! to believe and which folders to show are the user's alone.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::values;

/// Where and for whom HTTP is served.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawServe {
    /// The address to listen on. Anything but loopback needs tokens or OAuth.
    #[schemars(length(min = 1, max = 255))]
    pub host: String,
    /// The port to listen on; 0 takes any free one.
    #[schemars(range(min = 0, max = 65_535))]
    pub port: u16,
    /// Whether a caller on this machine needs no token. Without it: as long as there is neither
    /// OAuth nor an allowed host nor a live token that may call.
    pub anonymous: Option<bool>,
    /// Values of `Host` that are answered beside those of this machine, such as
    /// `gate.example:7420`.
    pub allowed_hosts: Vec<String>,
    /// Values of `Origin` that are answered beside those of this machine, such as
    /// `https://app.example`.
    pub allowed_origins: Vec<String>,
    /// How many requests one principal may make each second in the long run.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-untrusted" = "lower"))]
    pub requests_per_second: u32,
    /// How many requests one principal may make at once after a pause.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-untrusted" = "lower"))]
    pub burst: u32,
    /// How many requests of one principal are answered at the same time.
    #[schemars(range(min = 1, max = 65_536), extend("x-untrusted" = "lower"))]
    pub concurrent_calls: u64,
    /// How many connections are open at the same time, at most as many as the limit of open files
    /// leaves room for; for one more, the one that was idle for longest is closed.
    #[schemars(range(min = 1, max = 1_048_576), extend("x-untrusted" = "lower"))]
    pub connections: u64,
    /// How many connections one address may have whose callers are not known by a token; for one
    /// more, the one of them that was idle for longest is closed.
    #[schemars(range(min = 1, max = 1_048_576), extend("x-untrusted" = "lower"))]
    pub connections_per_peer: u64,
    /// Addresses of proxies, whose connections are not counted by address, such as `192.0.2.1`.
    pub trusted_proxies: Vec<std::net::IpAddr>,
    /// How long a client may take to send the head of a request, in seconds.
    #[schemars(range(min = 1, max = 600), extend("x-untrusted" = "lower"))]
    pub header_timeout_seconds: u64,
    /// How long a client may take to send the body of a request, or take nothing of an answer, in seconds.
    #[schemars(range(min = 1, max = 3600), extend("x-untrusted" = "lower"))]
    pub body_timeout_seconds: u64,
    /// How long a connection without a request is kept, in seconds.
    #[schemars(range(min = 1, max = 86_400), extend("x-untrusted" = "lower"))]
    pub idle_timeout_seconds: u64,
    /// How long calls may finish after the server was told to stop, in seconds.
    #[schemars(range(min = 0, max = 3600))]
    pub drain_seconds: u64,
    /// How many sessions of older MCP clients are kept; when there are too many, the longest
    /// unused goes of whoever has the most.
    #[schemars(range(min = 1, max = 1_048_576), extend("x-untrusted" = "lower"))]
    pub sessions: u64,
    /// How long an unused session of an older MCP client is kept, in seconds.
    #[schemars(range(min = 1, max = 604_800), extend("x-untrusted" = "lower"))]
    pub session_ttl_seconds: u64,
    /// Whose access tokens are accepted beside those of `tollgate token create`.
    pub oauth: RawOauth,
}

/// Whose access tokens are accepted beside those of `tollgate token create`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawOauth {
    /// The authorization server, exactly as its tokens name it in `iss`. Without it no
    /// access tokens are accepted.
    #[schemars(extend("format" = "safe-address"))]
    pub issuer: Option<String>,
    /// What a token must name in `aud`: the identifier of this server.
    #[schemars(length(min = 1, max = 1024))]
    pub audience: Option<String>,
    /// A file with the issuer's keys (JWKS), read again when it changes.
    #[schemars(extend("format" = "path"))]
    pub jwks_file: Option<PathBuf>,
    /// The address of the issuer's keys (JWKS), instead of a file.
    #[schemars(extend("format" = "safe-address"))]
    pub jwks_url: Option<String>,
    /// The signatures that are accepted.
    pub algorithms: Vec<values::Algorithm>,
    /// Scopes every token must have.
    pub scopes: Vec<String>,
    /// How far the issuer's clock may be off, in seconds.
    #[schemars(range(min = 0, max = 600))]
    pub leeway_seconds: u64,
    /// How far bearers of access tokens are trusted.
    pub trust: values::Trust,
    /// If set, a token may use only the toolsets its scopes name after this prefix; with
    /// `toolset:`, the scope `toolset:research` allows `research`.
    #[schemars(length(min = 1, max = 255))]
    pub toolset_prefix: Option<String>,
}

/// How large an answer may be before the rest of it becomes a resource.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawResults {
    /// What MCP clients are given as a result: the tool's own object (`native`) or the envelope
    /// around it.
    pub form: values::McpResults,
    /// Which parts of a result a client is sent, by the name it gives itself; a star at the end
    /// of a name means any ending. It comes before what is known of clients already.
    pub clients: BTreeMap<String, values::ResultParts>,
    /// The longest text of an answer, in bytes; the whole is then readable as a resource.
    #[schemars(range(min = 256, max = 16_777_216), extend("x-untrusted" = "lower"))]
    pub text_bytes: u64,
    /// The largest structured content of an answer, in bytes.
    #[schemars(range(min = 1024, max = 268_435_456), extend("x-untrusted" = "lower"))]
    pub structured_bytes: u64,
    /// The size of the pieces in which such a resource is read, in bytes.
    #[schemars(range(min = 1024, max = 4_194_304), extend("x-untrusted" = "lower"))]
    pub chunk_bytes: u64,
    /// How long such a resource is kept, in seconds.
    #[schemars(range(min = 60, max = 31_536_000))]
    pub keep_seconds: u64,
    /// The longest text of another MCP server's answer, all its blocks together, in bytes; a call
    /// that says `full_text` gets all of it.
    #[schemars(range(min = 1024, max = 1_073_741_824), extend("x-untrusted" = "lower"))]
    pub native_text_bytes: u64,
}

/// What else can be read as a resource.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawResources {
    /// Folders whose files can be read, each under a name.
    #[schemars(extend("additionalProperties" = folder()))]
    pub roots: BTreeMap<String, PathBuf>,
}

/// Guided sessions over knowledge files.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawKnowledge {
    /// A file (JSON, YAML or XML) or a folder of them for each knowledge base.
    #[schemars(extend("items" = base()))]
    pub paths: Vec<PathBuf>,
    /// How long a session lives that nobody touches, in seconds.
    #[schemars(range(min = 60, max = 31_536_000), extend("x-untrusted" = "lower"))]
    pub session_ttl_seconds: u64,
}

fn base() -> Value {
    json!({"type": "string", "format": "path"})
}

fn folder() -> Value {
    json!({
        "type": "string",
        "format": "path",
        "description": "A folder whose files can be read as resources under this name.",
    })
}
