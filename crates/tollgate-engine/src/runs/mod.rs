//! Task runs: the driver that turns templates into calls, and the tools around it.
//!
//! `tollgate-runs` says what comes next; this folder does it. Every step is a call through
//! the door like any other.
//!
//! Invariants: a step runs only under a claim whose fence the store has confirmed; what a
//! step came to is kept before the next one begins; a run that nobody alive drives is
//! taken over or ended by the next process that looks; terminal states are final.

mod again;
mod artifacts;
mod body;
mod drive;
mod errors;
mod keep;
mod log;
mod provider;
mod seal;
mod start;
mod step;
mod task;
mod tools;
mod view;
mod waiting;
mod work;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak, atomic::AtomicBool},
    time::Duration,
};

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tollgate_core::{Artifacts, ErrorCode, Provider, ProviderError, store::Blobs};
use tollgate_runs::{DEFAULT_THRESHOLD, Library, Template};

use crate::{
    call::{Gateway, Inner},
    schema::Checker,
};

pub use start::{check_template, may_be_step};
pub use task::{Task, TaskAsk, TaskState};
pub use tools::LISTED;
pub(crate) use tools::RUN as START;
pub use view::{RunView, StepShown};
pub use waiting::WaitingFor;

/// How many templates are remembered, and how many schemas.
const MOST: usize = 256;

/// What an operator decides about runs.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What the program calls itself.
    pub version: String,
    /// Runs that are driven at once, by all processes of one state together.
    pub concurrent: u32,
    /// Runs that are not over; one more is refused.
    pub queued: u64,
    /// The longest any run may take.
    pub timeout: Duration,
    /// The most of an artifact that one answer gives.
    pub inline_bytes: u64,
    /// How long artifacts are kept once their run is over.
    pub artifact_ttl: Duration,
    /// The share that must succeed if a template does not say.
    pub threshold: f64,
    /// Step results larger than this become artifacts.
    pub spill_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            concurrent: 5,
            queued: 10_000,
            timeout: Duration::from_secs(900),
            inline_bytes: 256 << 10,
            artifact_ttl: Duration::from_secs(24 * 3600),
            threshold: DEFAULT_THRESHOLD,
            spill_bytes: 64 << 10,
        }
    }
}

/// The runs of one state, before and after there is an engine.
#[derive(Clone)]
pub struct Runs(Arc<Shared>);

/// What the tools and the drivers share.
pub(crate) struct Shared {
    engine: OnceLock<Weak<Inner>>,
    library: Library,
    settings: Settings,
    blobs: Arc<dyn Blobs>,
    /// Says that there is something to claim.
    wake: Notify,
    is_working: AtomicBool,
    /// Runs that this process drives.
    driven: Mutex<HashMap<String, Driven>>,
    /// Changes when a run that this process drives ends, rests or goes on.
    moved: watch::Sender<u64>,
    /// Endings of runs that the store would not take yet.
    unkept: Mutex<Vec<keep::Kept>>,
    /// Runs that were started here, and the call that started each.
    started: Mutex<Vec<Started>>,
    validators: Mutex<HashMap<String, Arc<Checker>>>,
    /// Templates that runs follow, by digest, so that none is read for every run.
    templates: Mutex<HashMap<String, Arc<Template>>>,
}

/// A run that was started in this process.
#[derive(Clone)]
struct Started {
    call: String,
    run: String,
}

/// A run that this process drives.
#[derive(Clone)]
struct Driven {
    live: watch::Sender<Live>,
    cancel: CancellationToken,
}

/// How far a run has come, for those who wait for it here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Live {
    done: usize,
    total: usize,
    message: String,
    /// It only waits for somebody's answer.
    is_resting: bool,
    is_over: bool,
}

impl Runs {
    /// Runs of these templates; artifacts are kept in `blobs`.
    pub fn new(library: Library, settings: Settings, blobs: Arc<dyn Blobs>) -> Self {
        Self(Arc::new(Shared {
            engine: OnceLock::new(),
            library: library.checked_by(check_template),
            settings,
            blobs,
            wake: Notify::new(),
            is_working: AtomicBool::new(false),
            driven: Mutex::default(),
            moved: watch::Sender::new(0),
            unkept: Mutex::default(),
            started: Mutex::default(),
            validators: Mutex::default(),
            templates: Mutex::default(),
        }))
    }

    /// The provider of the run tools, to be put into the catalogue.
    pub fn provider(&self) -> Arc<dyn Provider> {
        Arc::new(provider::RunProvider::new(&self.0))
    }

    /// Where providers hand over content that is read like what runs leave behind.
    pub fn artifacts(&self) -> Arc<dyn Artifacts> {
        Arc::<Shared>::clone(&self.0)
    }

    /// Tells the runs which engine they belong to.
    pub fn attach(&self, gateway: &Gateway) {
        self.0.engine.get_or_init(|| Arc::downgrade(&gateway.0));
    }

    /// Where templates come from.
    pub fn library(&self) -> &Library {
        &self.0.library
    }
}

impl Shared {
    /// The engine, while it lives.
    fn engine(&self) -> Result<Arc<Inner>, ProviderError> {
        self.engine
            .get()
            .and_then(Weak::upgrade)
            .ok_or_else(|| ProviderError::new(ErrorCode::ProviderClosed, "the gate is closed"))
    }

    fn driven(&self, run: &str) -> Option<Driven> {
        let driven = self.driven.lock().unwrap_or_else(PoisonError::into_inner);
        driven.get(run).cloned()
    }

    /// Remembers a template for the runs that follow it.
    fn remember(&self, template: &Arc<Template>) {
        let mut known = self
            .templates
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST && !known.contains_key(&template.digest) {
            known.clear();
        }
        known
            .entry(template.digest.clone())
            .or_insert_with(|| Arc::clone(template));
    }

    /// The template of this digest; `source` is read if nobody remembers it.
    fn followed(&self, digest: &str, id: &str, source: &str) -> Option<Arc<Template>> {
        let known = {
            let known = self.templates.lock();
            let known = known.unwrap_or_else(PoisonError::into_inner);
            known.get(digest).cloned()
        };
        known.or_else(|| tollgate_runs::parse(id, source).ok().map(Arc::new))
    }

    /// In what way the result of a run is not what its template promises, if it is not.
    fn misfit(&self, template: &Template, result: &serde_json::Value) -> Option<String> {
        let key = format!("{}/outputs", template.digest);
        let validator = self.validator(&key, &template.outputs_schema).ok()?;
        let problems = validator.at_once(result);
        let first = problems.into_iter().next()?;
        Some(format!("{} {}", first.at, first.message).trim().to_owned())
    }

    /// The validator of a schema, compiled once for each digest.
    fn validator(
        &self,
        digest: &str,
        schema: &serde_json::Value,
    ) -> Result<Arc<Checker>, crate::schema::SchemaError> {
        let mut known = self
            .validators
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(validator) = known.get(digest) {
            return Ok(Arc::clone(validator));
        }
        let made = crate::schema::compile(schema)?;
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(digest.to_owned(), Arc::clone(&made));
        Ok(made)
    }
}
