//! Puts the parts together: configuration in, one gateway out.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::task::JoinHandle;
use tollgate_core::{
    Artifacts, Capability, Clock, Provider, SystemClock, ToolName, audit::AuditQuery,
    store::AuditLog as _,
};
use tollgate_engine::{
    Catalog, Cleaner, Discovery, GateTools, Gateway, Parts, Profile, ProviderChoice, ReviewRules,
    Selection, Settings, Skill, SkillBoard,
    policy::{InsufficientPermit, Origin, Policies, PolicyError, Source},
    record::{NoLog, NoSpans},
    runs::{Runs, check_template},
};
use tollgate_providers::{stub::StubTool, upstream::Journal};
use tollgate_runs::{BuiltIn, Library};
use tollgate_sanitize::Sanitizer;
use tollgate_store::{FolderBlobs, OpenError, SqliteStore};

use crate::{
    config::{self, Config, Environment, Level, PolicyFile, PolicyScope},
    keepa, keys,
    logfile::LogFile,
    pages::PAGES,
    reload::{PolicyFiles, Reload},
    skills::{self, BaseRules, Book, Loaded},
    telemetry::Exporter,
    templates::BUILT_IN,
    upstream,
};

/// Why the program cannot start.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The state cannot be opened.
    #[error("the state in {} cannot be used: {source}", dir.display())]
    State {
        /// The folder.
        dir: PathBuf,
        /// Why.
        source: OpenError,
    },
    /// A file that the configuration names cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The policies do not compile.
    #[error("the policies have {} problem(s)", .0.len())]
    Policy(Vec<PolicyError>),
    /// The sanitising rules do not compile.
    #[error("the sanitising rules cannot be used: {0}")]
    Rules(tollgate_sanitize::RulesError),
    /// Two of our own tools share a spelling.
    #[error("the tools clash: {0}")]
    Tools(String),
    /// Traces cannot be exported.
    #[error("telemetry cannot start: {0}")]
    Telemetry(String),
}

/// Everything that runs.
pub struct Wired {
    /// The door.
    pub gateway: Gateway,
    /// The runs it drives.
    pub runs: Runs,
    /// The store behind it, to be closed in order.
    pub store: Arc<SqliteStore>,
    exporter: Option<Arc<Exporter>>,
    book: Arc<Book>,
    rules: BaseRules,
    policy_files: PolicyFiles,
    log: Option<Arc<LogFile>>,
    cleaner: Cleaner,
}

impl Wired {
    /// Lets providers and files of skills change what is offered while the program runs.
    pub fn attend(&self) {
        self.gateway.attend();
        self.watch_skills();
        self.note_templates();
    }

    /// Permits that do not suffice where they may be meant to, for the screen where there is no
    /// log that says it.
    pub fn unlogged_permits(&self) -> Vec<InsufficientPermit> {
        match &self.log {
            Some(_) => Vec::new(),
            None => self.gateway.insufficient_permits(),
        }
    }

    /// Writes down which files of templates cannot be used; what they hold is not offered.
    fn note_templates(&self) {
        let Some(log) = self.log.clone() else {
            return;
        };
        let (runs, cleaner) = (self.runs.clone(), self.cleaner.clone());
        tokio::task::spawn_blocking(move || {
            for problem in &runs.library().shelf().problems {
                let message = cleaner.line(&problem.to_string());
                log.note(Level::Warn, "templates.problem", "runs", &message);
            }
        });
    }

    /// Looks after the files of skills.
    pub fn watch_skills(&self) {
        let (log, cleaner) = (self.log.clone(), self.cleaner.clone());
        let told = move |problem: &str| {
            if let Some(log) = &log {
                let message = cleaner.line(problem);
                log.note(Level::Warn, "skills.problem", "skills", &message);
            }
        };
        let rules = Arc::clone(&self.rules);
        skills::watch(&self.gateway, Arc::clone(&self.book), rules, told);
    }

    /// Reads again what can be read again, for whoever hangs up.
    pub(crate) fn reloading(&self) -> Reload {
        Reload {
            gateway: self.gateway.downgrade(),
            book: Arc::clone(&self.book),
            rules: Arc::clone(&self.rules),
            files: self.policy_files.clone(),
            log: self.log.clone(),
            cleaner: self.cleaner.clone(),
        }
    }

    /// Lets go of everything in order: providers, spans, then the state.
    pub async fn close(self) {
        self.gateway.close().await;
        if let Some(log) = self.log.clone() {
            // One that cannot be waited for loses lines, never the end of the process.
            drop(tokio::task::spawn_blocking(move || log.flush()).await);
        }
        if let Some(exporter) = &self.exporter {
            exporter.flush().await;
        }
        // What is in memory is given back while the disk is waited for.
        let store = Arc::clone(&self.store);
        tokio::join!(store.close(), async { drop(self) });
    }
}

/// Builds everything.
pub async fn wire(config: &Config, environment: &Environment) -> Result<Wired, WireError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let gate_tools = GateTools::with_pages(PAGES.to_vec());
    let book = Arc::new(Book::new(config));
    let rules = policy_sources(config)?;
    let loaded = book.load();
    let board = SkillBoard::new(loaded.skills.clone());
    let lookup = Arc::clone(&book);
    board.look_up_disabled_with(Box::new(move || lookup.turned_off()));
    let compiling = compiling(loaded, rules.clone());
    let opening = opening(config, &clock);
    let cleaner = cleaner(config)?;
    let log = LogFile::open(&config.log).map_err(|source| WireError::File {
        path: log_path(config),
        source,
    })?;
    let log = log.map(Arc::new);
    let mut upstream = upstream::settings(config, environment);
    upstream.journal = Some(journal(config, log.clone(), cleaner.clone(), &clock));
    let runs = runs(config);
    let own = [gate_tools.provider(), board.provider(), runs.provider()];
    let settings_of_providers = ProviderSettings {
        upstream,
        cleaner: cleaner.clone(),
        artifacts: Some(runs.artifacts()),
    };
    let catalog = catalog(config, environment, own.into(), settings_of_providers).await?;
    let (skills, policies) = made(compiling).await?;
    board.put(skills);
    let store = made(opening).await;
    let store = Arc::new(store.map_err(|source| WireError::State {
        dir: config.state.dir.clone(),
        source,
    })?);
    let exporter = Exporter::start(&config.telemetry, environment)
        .map_err(WireError::Telemetry)?
        .map(Arc::new);
    let mut parts = Parts::new(store.clone(), catalog, policies, clock);
    parts.skills = board;
    parts.cleaner = cleaner.clone();
    let is_missing = !keys::path(&config.state.dir).exists();
    parts.approval_key =
        keys::approval_key(&config.state.dir).map_err(|source| WireError::File {
            path: keys::path(&config.state.dir),
            source,
        })?;
    if is_missing && let Some(log) = &log {
        note_new_key(&store, log).await;
    }
    parts.settings = settings(config);
    parts.log = match &log {
        Some(log) => log.clone(),
        None => Arc::new(NoLog),
    };
    parts.spans = match &exporter {
        Some(exporter) => exporter.clone(),
        None => Arc::new(NoSpans),
    };
    let gateway = Gateway::new(parts);
    gate_tools.attach(&gateway);
    runs.attach(&gateway);
    Ok(Wired {
        gateway,
        runs,
        store,
        exporter,
        book,
        rules: Arc::new(tokio::sync::Mutex::new(rules)),
        policy_files: PolicyFiles::new(config, environment),
        log,
        cleaner,
    })
}

/// Writes down that the key of approvals was gone from a state that has been used.
async fn note_new_key(store: &SqliteStore, log: &LogFile) {
    let query = AuditQuery {
        limit: 1,
        ..AuditQuery::default()
    };
    let entries = store.records(&query).await;
    if entries.is_ok_and(|entries| !entries.is_empty()) {
        let message = "approval.key was gone and has been made anew: approvals, recorded effects \
                       and redacted values of before no longer belong to any call";
        log.note(Level::Warn, "keys.approval_key_new", "gateway", message);
    }
}

/// Where the store lives, as the configuration says.
pub fn store_settings(config: &Config) -> tollgate_store::Settings {
    tollgate_store::Settings {
        anchor_dir: config.state.anchor_dir.clone(),
        ..tollgate_store::Settings::new(&config.state.dir)
    }
}

/// What a thread beside this one made.
async fn made<T>(making: JoinHandle<T>) -> T {
    match making.await {
        Ok(made) => made,
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

/// Compiles the rules while the state is opened and providers are asked what they offer.
fn compiling(
    loaded: Loaded,
    rules: Vec<Source>,
) -> JoinHandle<Result<(Vec<Skill>, Policies), WireError>> {
    tokio::task::spawn_blocking(move || skills::compiled(loaded, &rules))
}

/// Opens the state while the rules are compiled and providers are asked what they offer.
fn opening(config: &Config, clock: &Arc<dyn Clock>) -> JoinHandle<Result<SqliteStore, OpenError>> {
    let (settings, clock) = (store_settings(config), Arc::clone(clock));
    tokio::task::spawn_blocking(move || SqliteStore::open(settings, clock))
}

fn log_path(config: &Config) -> PathBuf {
    match &config.log.target {
        config::LogTarget::File(path) => path.clone(),
        config::LogTarget::Off | config::LogTarget::Stderr => PathBuf::new(),
    }
}

/// Every provider the configuration does not switch off, asked once.
pub async fn listed(config: &Config, environment: &Environment) -> Result<Catalog, WireError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let mut upstream = upstream::settings(config, environment);
    let cleaner = cleaner(config)?;
    upstream.journal = Some(journal(config, None, cleaner.clone(), &clock));
    let own = [GateTools::default().provider(), runs(config).provider()];
    let settings = ProviderSettings {
        upstream,
        cleaner,
        artifacts: None,
    };
    catalog(config, environment, own.to_vec(), settings).await
}

/// What providers are given that does not follow from the configuration alone.
struct ProviderSettings {
    upstream: tollgate_providers::upstream::Settings,
    cleaner: Cleaner,
    artifacts: Option<Arc<dyn Artifacts>>,
}

/// The templates that can be run, and where their artifacts go.
fn runs(config: &Config) -> Runs {
    let folder = config.runs.artifacts(&config.state.dir);
    let blobs = Arc::new(FolderBlobs::new(folder));
    Runs::new(library(config), config.runs.settings(), blobs)
}

/// The templates of the program and of the folders the configuration names.
pub fn library(config: &Config) -> Library {
    let disabled = &config.providers.disabled;
    let can_run = |it: &&BuiltIn| !disabled.iter().any(|name| name == it.provider);
    let built_in = BUILT_IN.iter().filter(can_run);
    Library::new(built_in, config.runs.templates.clone()).checked_by(check_template)
}

/// Where what happens to MCP servers is written down.
fn journal(
    config: &Config,
    log: Option<Arc<LogFile>>,
    cleaner: Cleaner,
    clock: &Arc<dyn Clock>,
) -> Arc<dyn Journal> {
    Arc::new(upstream::Chronicle {
        log,
        cleaner,
        words: upstream::words::Words::new(upstream::folder(config)),
        failures: upstream::Failures::new(&upstream::folder(config)),
        clock: Arc::clone(clock),
    })
}

async fn catalog(
    config: &Config,
    environment: &Environment,
    mut providers: Vec<Arc<dyn Provider>>,
    given: ProviderSettings,
) -> Result<Catalog, WireError> {
    let cleaner = given.cleaner.clone();
    let settings = provider_settings(config, environment, given);
    let own = tollgate_providers::all(settings, &providers);
    providers.extend(own);
    providers.retain(|provider| {
        let disabled = &config.providers.disabled;
        !disabled.iter().any(|name| name == provider.id())
    });
    let selection = Selection {
        choice: match config.providers.choice {
            config::ProviderChoice::Order => ProviderChoice::Order,
            config::ProviderChoice::Safest => ProviderChoice::Safest,
        },
        preferred_order: config.providers.preferred_order.clone(),
        cleaner,
    };
    Ok(Catalog::collect(providers, &selection).await)
}

fn provider_settings(
    config: &Config,
    environment: &Environment,
    given: ProviderSettings,
) -> tollgate_providers::Settings {
    let stub = &config.providers.stub;
    let stubs = stub.tools.iter().filter_map(|name| {
        let writes = stub.writes.contains(name);
        Some(StubTool {
            capability: if writes {
                Capability::L1
            } else {
                Capability::L0
            },
            units: stub.units,
            delay: stub.delay,
            ..StubTool::new(ToolName::new(name.clone()).ok()?)
        })
    });
    tollgate_providers::Settings {
        stub: tollgate_providers::stub::Settings {
            tools: stubs.collect(),
        },
        files: tollgate_providers::files::Settings {
            roots: readable_roots(config),
        },
        docs: config.docs.settings(),
        knowledge: tollgate_providers::knowledge::Settings {
            paths: config.knowledge.paths.clone(),
            session_ttl: config.knowledge.session_ttl,
            versions: Some(config.state.dir.join("knowledge")),
            ..tollgate_providers::knowledge::Settings::default()
        },
        sandbox: config.sandbox.settings(&config.state.dir),
        keepa: keepa::settings(config, environment),
        web: config.web.settings(&config.browser, environment),
        browser: tollgate_providers::browser::Settings {
            artifacts: tollgate_providers::browser::Handover(given.artifacts),
            ..config.browser.settings(&config.state.dir, environment)
        },
        upstream: given.upstream,
        conformance: config.providers.conformance,
        ..tollgate_providers::Settings::default()
    }
}

/// What can be edited can be read; where two folders share a name, it is what is to be read.
fn readable_roots(config: &Config) -> BTreeMap<String, PathBuf> {
    let mut roots = config.docs.roots.clone();
    roots.extend(config.resources.roots.clone());
    roots
}

/// The policies in force, those of skills included.
pub fn policies(config: &Config) -> Result<Policies, WireError> {
    let rules = policy_sources(config)?;
    skills::compiled(Book::new(config).load(), &rules).map(|(_, policies)| policies)
}

/// The shipped policy, then every file the configuration names.
pub fn policy_sources(config: &Config) -> Result<Vec<Source>, WireError> {
    sources_of(&config.policy)
}

/// The shipped policy, then these files.
pub(crate) fn sources_of(files: &[PolicyFile]) -> Result<Vec<Source>, WireError> {
    let mut sources = vec![Source::shipped()];
    for file in files {
        sources.push(Source {
            name: file.path.display().to_string(),
            text: read(&file.path)?,
            origin: match file.scope {
                PolicyScope::Full => Origin::User,
                PolicyScope::Restricting => Origin::Restricting,
            },
        });
    }
    Ok(sources)
}

/// What cleans everything: the shipped rules, and those the configuration names.
pub(crate) fn cleaner(config: &Config) -> Result<Cleaner, WireError> {
    if config.sanitize.rules.is_empty() {
        return Ok(Cleaner::shipped());
    }
    let texts: Result<Vec<String>, WireError> = config
        .sanitize
        .rules
        .iter()
        .map(|path| read(path))
        .collect();
    let texts = texts?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    Sanitizer::from_rules(&texts)
        .map(Cleaner::with)
        .map_err(WireError::Rules)
}

fn read(path: &Path) -> Result<String, WireError> {
    fs::read_to_string(path).map_err(|source| WireError::File {
        path: path.to_owned(),
        source,
    })
}

fn settings(config: &Config) -> Settings {
    let profiles = config.profiles.iter().map(|(name, profile)| {
        let profile = Profile {
            inactive: profile.inactive.clone(),
            reason: profile
                .reason
                .clone()
                .unwrap_or_else(|| format!("profile `{name}` turns it off")),
        };
        (name.clone(), profile)
    });
    Settings {
        argument_bytes: config.limits.argument_bytes,
        result_bytes: config.limits.result_bytes,
        concurrent_calls: config.limits.concurrent_calls,
        queued_calls: config.limits.queued_calls,
        call_timeout: config.limits.call_timeout,
        session_limit: config.limits.session_tokens,
        budgets: config.limits.budgets,
        approval_ttl: config.consent.approval_ttl,
        reissue_window: config.consent.reissue_window,
        grant_ttl: config.consent.session_grant_ttl,
        result_piece: config.results.chunk_bytes,
        result_keep: config.results.keep,
        max_body: config.record.max_body,
        preview: config.record.preview,
        review: ReviewRules {
            confidence_threshold: config.review.confidence_threshold,
            heavy_redaction: config.review.heavy_redaction,
            disabled: config::ReviewRule::ALL
                .into_iter()
                .filter(|rule| !config.review.enable.contains(rule))
                .map(config::ReviewRule::as_str)
                .collect(),
            ..ReviewRules::default()
        },
        other_runs: config.skills.other_runs == config::OtherRuns::Allow,
        acquaint: config.mcp.acquaint,
        discovery: Discovery {
            allow_tools: config.discovery.allow_tools.clone(),
            exclude_tools: config.discovery.exclude_tools.clone(),
            profile: config.discovery.profile.clone(),
            profiles: profiles.collect(),
        },
    }
}
