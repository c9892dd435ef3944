//! What an operator decides about one server.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc, time::Duration};

use tollgate_core::{Capability, Secret, canonical::hex_digest};

/// Everything about upstream servers.
#[derive(Clone, Default)]
pub struct Settings {
    /// The servers, each a provider of its own.
    pub servers: Vec<Server>,
    /// Where definitions of tools are pinned; without it nothing is.
    pub lock: Option<PathBuf>,
    /// How long a listing waits for a server of which nothing is known yet.
    pub patience: Duration,
    /// Whether a listing waits for servers that are known as well.
    pub afresh: bool,
    /// Where what happens to servers is written down.
    pub journal: Option<Arc<dyn Journal>>,
    /// The folder where other processes of this user can reach this one.
    pub control: Option<PathBuf>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("servers", &self.servers)
            .field("lock", &self.lock)
            .field("patience", &self.patience)
            .field("afresh", &self.afresh)
            .field("control", &self.control)
            .finish_non_exhaustive()
    }
}

/// Takes what happens to servers.
pub trait Journal: Send + Sync {
    /// Takes one event; must not block.
    fn note(&self, event: &'static str, server: &str, message: &str);

    /// Takes why a server could not be reached when somebody waited for it, for processes that
    /// come later; `settings` is a digest of how it is reached.
    fn failed(&self, server: &str, settings: &str, reason: &str);

    /// Takes that a server can be reached.
    fn recovered(&self, server: &str);

    /// Why a server that is reached in this way could not be reached a short while ago, in this
    /// process or another.
    fn last_failure(&self, server: &str, settings: &str) -> Option<String>;

    /// Takes what a process of a server said on standard error, after `missed` bytes that
    /// came too fast to be kept; may wait for a disk.
    fn said(&self, server: &str, process: u32, missed: u64, text: &str);
}

/// One server.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its name here: `[a-z0-9_]+`.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// Which versions of the protocol are tried.
    pub era: Era,
    /// How long it may take until it can be called.
    pub start_timeout: Duration,
    /// How long it is asked in the modern way before the older one is tried as well.
    pub probe_timeout: Duration,
    /// How long a call may be silent; progress begins it anew.
    pub timeout: Duration,
    /// How long a call may take, whatever progress it makes.
    pub max_timeout: Duration,
    /// Calls at the same time.
    pub concurrent: usize,
    /// Calls that wait.
    pub queued: usize,
    /// The largest message it may send, in bytes.
    pub message_bytes: usize,
    /// How often it is looked at.
    pub health_interval: Duration,
    /// Whether its tools carry our prefix.
    pub prefix: bool,
    /// Whether what its tools say about themselves may lower their risk.
    pub trust_annotations: bool,
    /// The keys of a caller's `_meta` that it is forwarded.
    pub forward_meta: Vec<String>,
    /// What its tools can do unless something says otherwise.
    pub default_capability: Option<Capability>,
    /// Whether a tool that was never seen may be called at once.
    pub pin: Pinning,
    /// Whether results are wrapped like those of other tools.
    pub envelope: bool,
    /// How its results tell of success and failure.
    pub result_format: ResultFormat,
    /// What is said about single tools, by the server's own names.
    pub tools: BTreeMap<String, Tool>,
}

/// How a server is reached.
#[derive(Clone)]
pub enum Transport {
    /// A program that is started and spoken to over its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Where it starts.
        cwd: Option<PathBuf>,
        /// Its environment, apart from the secrets.
        env: BTreeMap<String, String>,
        /// Secrets in its environment, read when it starts.
        secrets: Vec<(String, SecretSource)>,
    },
    /// An address.
    Http {
        /// Where messages are posted.
        url: String,
        /// Headers, whose values are read when a connection begins.
        headers: Vec<(String, SecretSource)>,
        /// How tokens for it are got.
        oauth: Option<OAuth>,
    },
}

/// How tokens for a server are got.
#[derive(Clone)]
pub struct OAuth {
    /// Who we are.
    pub client_id: String,
    /// How that is proved.
    pub client_secret: SecretSource,
    /// Where tokens are given.
    pub token_url: Option<String>,
    /// Who gives them, if that is to be found out.
    pub issuer: Option<String>,
    /// What they are for.
    pub scopes: Vec<String>,
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, args, .. } => write!(f, "{command} {}", args.join(" ")),
            Self::Http { url, .. } => f.write_str(url),
        }
    }
}

/// Reads a secret at the last moment, or says why it cannot.
pub type SecretSource = Arc<dyn Fn() -> Result<Secret<String>, String> + Send + Sync>;

/// Which versions of the protocol are tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Era {
    /// The modern one, then the older one.
    #[default]
    Auto,
    /// Only the modern one.
    Modern,
    /// Only the older one, with its handshake.
    Legacy,
}

/// What happens to a tool that was never seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pinning {
    /// It is pinned as it is first seen.
    #[default]
    OnSight,
    /// It waits until a human accepts it.
    Ask,
    /// Nothing is pinned.
    Off,
}

/// How the results of a server tell of success and failure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ResultFormat {
    /// By `isError`, and by the `status` of what has all five fields of a unified result.
    #[default]
    Auto,
    /// By the `status` of a unified result (`status, data, warnings, error, meta`), always.
    ToolResult,
}

/// What an operator says about one tool.
#[derive(Debug, Clone, Default)]
pub struct Tool {
    /// What it can do; this counts whatever the tool says.
    pub capability: Option<Capability>,
    /// Whether a human must agree whatever else holds.
    pub confirm: bool,
    /// How long it may be silent.
    pub timeout: Option<Duration>,
    /// Whether it does not exist here.
    pub hidden: bool,
    /// Another name it answers to.
    pub alias: Option<String>,
    /// The argument that names what it reads or writes; `*` is everything the server keeps.
    pub object: Option<String>,
}

impl Server {
    /// A server with the usual limits.
    pub fn new(name: impl Into<String>, transport: Transport) -> Self {
        Self {
            name: name.into(),
            transport,
            era: Era::Auto,
            start_timeout: Duration::from_secs(60),
            probe_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(60),
            max_timeout: Duration::from_secs(600),
            concurrent: 16,
            queued: 64,
            message_bytes: 16 << 20,
            health_interval: Duration::from_secs(15),
            prefix: true,
            trust_annotations: false,
            forward_meta: Vec::new(),
            default_capability: None,
            pin: Pinning::OnSight,
            envelope: false,
            result_format: ResultFormat::Auto,
            tools: BTreeMap::new(),
        }
    }

    /// For how long any of its tools may be silent.
    pub(super) fn longest_silence(&self) -> Duration {
        let single = self.tools.values().filter_map(|tool| tool.timeout);
        single.fold(self.timeout, Duration::max)
    }

    /// Tells whether it is still reached in the same way.
    pub(super) fn digest(&self) -> String {
        hex_digest(format!("{:?}", self.transport).as_bytes())
    }

    /// The provider's id.
    pub fn id(&self) -> String {
        format!("mcp_{}", self.name)
    }
}
