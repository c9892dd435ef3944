//! Amazon product research: the tools around `tollgate-keepa`.
//!
//! The crate knows what commands mean; this folder lends them a connection, files and a memory, and translates. It never
//! decides who may call what: prices go into the specs, and the gate asks.

mod files;
mod kept;
mod memory;
mod offers;
mod serve;
mod specs;
mod wire;
mod world;

use std::{fmt, future::Future, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde_json::Value;
use tollgate_core::{
    Answer, CallContext, Clock, Health, Offers, Plan, Provider, ProviderError, Secret, SystemClock,
    ToolCall, ToolSpec, TrustLevel, offer,
};
use tollgate_keepa::{chart::Chart, client::BASE_URL};

use files::Files;
use memory::Memory;
use wire::Http;

/// Reads the key when it is needed.
pub type KeySource = Arc<dyn Fn() -> Option<Secret<String>> + Send + Sync>;

/// Runs the specs of a folder on the samples of another: whether they hold, how many, which do not.
pub type Evaluator = Arc<
    dyn Fn(PathBuf, PathBuf) -> Pin<Box<dyn Future<Output = Result<Value, String>> + Send>>
        + Send
        + Sync,
>;

/// Draws a chart as PNG, or says why it cannot.
pub type Painter = Arc<
    dyn Fn(Chart) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, String>> + Send>> + Send + Sync,
>;

/// What an operator can set.
#[derive(Clone)]
pub struct Settings {
    /// Where the key comes from; without it only samples and dry runs work.
    pub key: Option<KeySource>,
    /// Where Keepa answers.
    pub base_url: String,
    /// Folders with samples, searched before those that come along.
    pub fixture_dirs: Vec<PathBuf>,
    /// The folder of evidence, with its list.
    pub evidence_dir: Option<PathBuf>,
    /// The folder of the handbook; without it the pages that come along are used.
    pub wiki_dir: Option<PathBuf>,
    /// The pages that come along.
    pub pages: Vec<(String, &'static str)>,
    /// The two folders that promoting a recording writes to.
    pub promote_dirs: Vec<PathBuf>,
    /// The folder for what sessions write of their own accord.
    pub output_dir: PathBuf,
    /// Where whoever started the gate works.
    pub working_dir: Option<PathBuf>,
    /// Whether callers on this machine may read what lies below the folder that is worked in.
    pub reads_working_dir: bool,
    /// For how long an answer of Keepa's is used again.
    pub cache_ttl: Duration,
    /// Runs specs, where somebody can.
    pub evaluator: Option<Evaluator>,
    /// Draws charts, where there is a browser.
    pub painter: Option<Painter>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            key: None,
            base_url: BASE_URL.to_owned(),
            fixture_dirs: Vec::new(),
            evidence_dir: None,
            wiki_dir: None,
            pages: Vec::new(),
            promote_dirs: Vec::new(),
            output_dir: std::env::temp_dir().join("tollgate-keepa"),
            working_dir: None,
            reads_working_dir: false,
            cache_ttl: Duration::from_secs(3600),
            evaluator: None,
            painter: None,
            clock: Arc::new(SystemClock),
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("base_url", &self.base_url)
            .field("fixture_dirs", &self.fixture_dirs)
            .field("output_dir", &self.output_dir)
            .finish_non_exhaustive()
    }
}

/// The pack's profiles: name, tools that are off in it, and why.
pub fn profiles() -> Vec<(String, Vec<String>, String)> {
    use tollgate_keepa::tool::{Profile, TOOLS, Tool};
    let off = |profile: Profile| {
        let tools = TOOLS.iter().filter(move |tool| !tool.is_active(profile));
        tools.map(Tool::name).collect()
    };
    Profile::ALL
        .into_iter()
        .map(|one| {
            (
                one.name().to_owned(),
                off(one),
                format!("{}: {}", one.name(), one.about()),
            )
        })
        .collect()
}

/// Offers `keepa.*`.
pub fn provider(settings: Settings) -> impl Provider {
    Keepa(Arc::new(Shared {
        files: Files::new(&settings),
        memory: Memory::default(),
        http: Http::default(),
        settings,
    }))
}

/// What all calls share.
struct Shared {
    settings: Settings,
    files: Files,
    memory: Memory,
    http: Http,
}

struct Keepa(Arc<Shared>);

#[async_trait]
impl Provider for Keepa {
    fn id(&self) -> &str {
        "keepa"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError> {
        specs::all()
    }

    fn plan(&self, call: &ToolCall, _trust: TrustLevel) -> Result<Option<Plan>, ProviderError> {
        serve::check_selection(call).map(|()| None)
    }

    async fn preview(
        &self,
        call: &ToolCall,
        cx: &CallContext,
    ) -> Result<Option<String>, ProviderError> {
        serve::check_selection_file(&self.0, call, cx).map(|()| None)
    }

    async fn offers(&self) -> Result<Offers, ProviderError> {
        Ok(offers::all())
    }

    async fn call(&self, call: ToolCall, cx: CallContext) -> Result<Answer, ProviderError> {
        let arguments = call.arguments.value();
        match call.tool.as_str() {
            offer::READ => offers::read(&self.0, arguments, &cx),
            offer::GET_PROMPT => offers::prompt(arguments, &cx),
            offer::COMPLETE => Ok(offers::complete(&self.0, arguments)),
            _ => serve::run(&self.0, &call, cx).await,
        }
    }

    async fn health(&self) -> Health {
        match self.0.files.complaint() {
            Some(complaint) => Health::Degraded(complaint),
            None => Health::Ready,
        }
    }
}
