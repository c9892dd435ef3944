//! The keys of other people's MCP servers.
//!
//! A server's entry starts a program or reaches an address, so an untrusted project can set
//! none of it.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    super::secret::{EnvValue, SecretRef},
    values,
};

/// Other people's MCP servers.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawMcp {
    /// The servers, each a section `[[mcp.servers]]`; a bad one is left out with a warning.
    #[schemars(extend("x-skips-bad-entries" = true))]
    pub servers: Vec<RawServer>,
}

/// One server: a program that is started (`command`) or an address (`url`).
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RawServer {
    /// Its name here, lower-case letters, digits and `_`; its tools are `mcp.<name>.<tool>`.
    pub name: String,
    /// The program to start, without its arguments.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// The folder it starts in. Without it: the current one.
    #[schemars(extend("format" = "path"))]
    pub cwd: Option<PathBuf>,
    /// Its environment; what is no secret as it is, a secret by reference: `env:NAME` or `file:PATH`.
    pub env: BTreeMap<String, EnvValue>,
    /// Variables of its environment as they are, also those that look like secrets and are none.
    pub plain_env: BTreeMap<String, String>,
    /// The address of a server that runs already; secrets go into `headers`.
    #[schemars(extend("format" = "server-address"))]
    pub url: Option<String>,
    /// Headers for it; each value is a secret's reference, `env:NAME` or `file:PATH`.
    pub headers: BTreeMap<String, SecretRef>,
    /// How tokens for it are got: OAuth client credentials.
    pub oauth: Option<RawServerOauth>,
    /// Whether it is left out.
    pub disabled: bool,
    /// Which versions of the protocol are tried; without it both.
    pub era: Option<values::McpEra>,
    /// How long it may take until it can be called, in milliseconds; without it 60000.
    #[schemars(range(min = 100, max = 600_000))]
    pub start_timeout_ms: Option<u64>,
    /// How long it is asked in the modern way before the older one is tried too, in
    /// milliseconds; without it 10000.
    #[schemars(range(min = 10, max = 600_000))]
    pub probe_timeout_ms: Option<u64>,
    /// How long a call may be silent, in milliseconds; progress begins the wait anew. Without
    /// it 60000.
    #[schemars(range(min = 10, max = 86_400_000))]
    pub timeout_ms: Option<u64>,
    /// How long a call may take whatever progress it makes, in milliseconds; without it 600000,
    /// and never more than `limits.call_timeout_ms`.
    #[schemars(range(min = 10, max = 86_400_000))]
    pub max_timeout_ms: Option<u64>,
    /// How many calls it gets at the same time; without it 16.
    #[schemars(range(min = 1, max = 4096))]
    pub concurrent_calls: Option<u64>,
    /// How many more calls wait; without it 64.
    #[schemars(range(min = 0, max = 65_536))]
    pub queued_calls: Option<u64>,
    /// The largest message it may send, in bytes; without it 16 MiB.
    #[schemars(range(min = 1024, max = 1_073_741_824))]
    pub message_bytes: Option<u64>,
    /// How often it is looked at, in milliseconds; without it 15000.
    #[schemars(range(min = 20, max = 3_600_000))]
    pub health_interval_ms: Option<u64>,
    /// Whether its tools keep their own names, without `mcp.<name>.` before them; one server's may.
    pub unprefixed: bool,
    /// Whether what its tools say about themselves may lower their risk.
    pub trust_annotations: bool,
    /// Keys of a caller's `_meta` that it is forwarded; nothing else of `_meta` reaches it.
    pub forward_meta: Vec<String>,
    /// What its tools can do unless they say something worse. Without it: anything.
    pub default_capability: Option<values::Grade>,
    /// What happens to a tool that was never seen; without it `on_sight`.
    pub pin: Option<values::McpPin>,
    /// How its results are shown to MCP clients; without it `native`.
    pub results: Option<values::McpResults>,
    /// How its results tell of success and failure; without it `auto`.
    pub result_format: Option<values::McpResultFormat>,
    /// What is said about single tools, by the server's own names.
    pub tools: BTreeMap<String, RawServerTool>,
}

/// What is said about one tool of a server.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RawServerTool {
    /// What it can do, whatever it says about itself.
    pub capability: Option<values::Grade>,
    /// `human`: somebody must agree to each call, whatever else holds.
    pub consent: Option<values::McpConsent>,
    /// How long a call of it may be silent, in milliseconds.
    #[schemars(range(min = 10, max = 86_400_000))]
    pub timeout_ms: Option<u64>,
    /// Whether it does not exist here.
    pub hidden: bool,
    /// Another name it answers to.
    pub alias: Option<String>,
    /// The argument that names what it reads or writes, such as `path`: a value that was taken
    /// out of what was read goes back into the same object without a question. `*` is everything
    /// the server keeps, as one object.
    #[schemars(length(min = 1, max = 128))]
    pub object: Option<String>,
}

/// How tokens for a server are got.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawServerOauth {
    /// Who you are to whoever gives tokens.
    pub client_id: String,
    /// The secret that proves it, by reference: `env:NAME` or `file:PATH`.
    pub client_secret: SecretRef,
    /// Where tokens are given.
    #[schemars(extend("format" = "http-address"))]
    #[serde(default)]
    pub token_url: Option<String>,
    /// Who gives tokens; where, is then found out.
    #[schemars(extend("format" = "http-address"))]
    #[serde(default)]
    pub issuer: Option<String>,
    /// What the tokens are for; without it, what the server asks for.
    #[serde(default)]
    pub scopes: Vec<String>,
}
