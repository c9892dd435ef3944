//! A session: a context of its own in a browser, with its tabs, its way out and its downloads.
//!
//! Nothing of it is shared with another session: not cookies, not storage, not the proxy. If
//! the browser dies, the session stays and gets a new context when it is used again.

mod downloads;
mod kept;
pub(crate) mod memory;
mod opening;
mod recall;
mod stage;
mod tabs;

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    boundary::Boundary,
    browser::{Browser, Owner, Running},
    error::Error,
    process::folder::private,
    protocol::commands::{CreateContext, DisposeContext, SetDownloads},
    proxy::Proxy,
};
pub use downloads::Download;
pub use kept::{Cookie, Keeper, Kept, KeptTab};
use memory::Memory;
use tabs::Tabs;

/// How long the browser may take for things of its own.
const PATIENCE: Duration = Duration::from_secs(15);

/// How a session is made.
pub struct Options {
    /// Whether nobody sees it.
    pub is_headless: bool,
    /// How long it lives; the usual time if nothing is said.
    pub ttl: Option<Duration>,
    /// Where its pages may lead.
    pub boundary: Arc<dyn Boundary>,
    /// Folders whose files may be shown.
    pub roots: Vec<PathBuf>,
    /// Who keeps its state when the process ends.
    pub keeper: Option<Arc<dyn Keeper>>,
}

/// A session.
pub struct Session {
    id: String,
    owner: Owner,
    options: Options,
    roots: Arc<[PathBuf]>,
    browser: Weak<Browser>,
    /// Held while tabs are made, so that they are made one by one.
    place: tokio::sync::Mutex<Option<Place>>,
    tabs: Mutex<Tabs>,
    downloads: Mutex<Vec<Download>>,
    folder: PathBuf,
    expires: Mutex<Instant>,
    memory: Arc<Memory>,
    /// Held while its state is written down.
    saving: tokio::sync::Mutex<()>,
    /// What was typed into its pages that nobody is to see.
    secrets: Mutex<Vec<String>>,
    /// Whether a page was loaded anew that nobody has been told of.
    reopened: AtomicBool,
    /// Whether it was ended. Whoever still holds it brings nothing of it back.
    is_over: AtomicBool,
    /// Ends what goes on beside it.
    _over: DropGuard,
}

/// How many secrets a session remembers.
const MOST_SECRETS: usize = 100;

/// Where a session lives.
struct Place {
    running: Arc<Running>,
    context: String,
    proxy: Proxy,
}

impl Session {
    pub(crate) fn new(
        browser: &Arc<Browser>,
        owner: &Owner,
        options: Options,
    ) -> Result<Arc<Self>, Error> {
        let id = crate::random_hex(16).map_err(Error::io("make an id"))?;
        let id = format!("sess_{id}");
        let ttl = Self::ttl(browser, &options);
        let memory = Arc::new(Memory::new(options.keeper.is_some()));
        let over = CancellationToken::new();
        let session = Arc::new(Self {
            folder: browser.settings.downloads.join(&id),
            id,
            owner: owner.clone(),
            roots: options.roots.clone().into(),
            options,
            browser: Arc::downgrade(browser),
            place: tokio::sync::Mutex::new(None),
            tabs: Mutex::default(),
            downloads: Mutex::default(),
            expires: Mutex::new(Instant::now() + ttl),
            memory: Arc::clone(&memory),
            saving: tokio::sync::Mutex::default(),
            secrets: Mutex::default(),
            reopened: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            _over: over.clone().drop_guard(),
        });
        recall::follow(&session, memory, over);
        Ok(session)
    }

    fn ttl(browser: &Browser, options: &Options) -> Duration {
        let limits = &browser.settings.limits;
        let usual = if options.is_headless {
            limits.headless_ttl
        } else {
            limits.headful_ttl
        };
        options.ttl.unwrap_or(usual)
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn principal(&self) -> &str {
        &self.owner.principal
    }

    /// Whether nobody sees it.
    pub fn is_headless(&self) -> bool {
        self.options.is_headless
    }

    /// Its decision about where pages may lead.
    pub fn boundary(&self) -> &Arc<dyn Boundary> {
        &self.options.boundary
    }

    /// Takes what was typed into its pages that nobody is to see, and says all of that. What was
    /// typed long ago makes room.
    pub fn secrets(&self, more: Vec<String>) -> Vec<String> {
        let mut known = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        for secret in more {
            if !known.contains(&secret) {
                known.push(secret);
            }
        }
        let spare = known.len().saturating_sub(MOST_SECRETS);
        known.drain(..spare);
        known.clone()
    }

    /// The folders whose files it may show.
    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    pub(crate) fn has_expired(&self) -> bool {
        *self.expires.lock().unwrap_or_else(PoisonError::into_inner) <= Instant::now()
    }

    /// Being used keeps it alive.
    pub(crate) fn touch(&self) {
        let Some(browser) = self.browser.upgrade() else {
            return;
        };
        let until = Instant::now() + Self::ttl(&browser, &self.options);
        *self.expires.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    fn tabs(&self) -> MutexGuard<'_, Tabs> {
        self.tabs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn downloaded(&self) -> MutexGuard<'_, Vec<Download>> {
        self.downloads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn browser(&self) -> Result<Arc<Browser>, Error> {
        let lost = || Error::SessionNotFound(self.id.clone());
        self.browser.upgrade().ok_or_else(lost)
    }

    /// Sees to it that the session lives in a browser that runs.
    async fn settled<'p>(
        self: &Arc<Self>,
        place: &'p mut Option<Place>,
    ) -> Result<&'p Place, Error> {
        if self.is_over.load(Ordering::Acquire) {
            return Err(Error::SessionNotFound(self.id.clone()));
        }
        let is_alive = place
            .as_ref()
            .is_some_and(|it| it.running.process.is_alive());
        if !is_alive {
            *place = None;
            for entry in &self.tabs().all {
                entry.tab.end();
            }
            let settled = self.settle().await?;
            if let Err(error) = self.bring_back(&settled).await {
                self.leave(settled).await;
                return Err(error);
            }
            *place = Some(settled);
        }
        place.as_ref().ok_or(Error::Crashed)
    }

    async fn settle(self: &Arc<Self>) -> Result<Place, Error> {
        let browser = self.browser()?;
        let running = browser.running(self.options.is_headless).await?;
        let proxy = Proxy::start(Arc::clone(&self.options.boundary))
            .await
            .map_err(Error::io("listen for the browser"))?;
        self.tabs().refusals = Arc::clone(proxy.refusals());
        let connection = &running.process.connection;
        let create = CreateContext {
            dispose_on_detach: true,
            proxy_server: proxy.server(),
            proxy_bypass_list: "<-loopback>".to_owned(),
        };
        let context = connection
            .ask(None, &create, PATIENCE)
            .await?
            .browser_context_id;
        running.hub.join(&context, self);
        private(&self.folder).map_err(Error::io("make a folder for downloads"))?;
        let downloads = SetDownloads {
            behavior: "allowAndName",
            browser_context_id: context.clone(),
            events_enabled: true,
            download_path: Some(self.folder.display().to_string()),
        };
        connection.ask(None, &downloads, PATIENCE).await?;
        Ok(Place {
            running,
            context,
            proxy,
        })
    }
    /// Ends it and everything in it; its downloads go too. `for_good` says that it was closed
    /// itself, and not the whole program.
    pub(crate) async fn end(&self, for_good: bool) {
        self.save_at_last().await;
        if let Some(keeper) = self.options.keeper.clone().filter(|_| for_good) {
            let _ = tokio::task::spawn_blocking(move || keeper.ended()).await;
        }
        self.is_over.store(true, Ordering::Release);
        let place = self.place.lock().await.take();
        let entries = std::mem::take(&mut self.tabs().all);
        for entry in &entries {
            entry.tab.end();
        }
        if let Some(place) = place {
            self.leave(place).await;
        }
        // What cannot be removed holds no more than what was downloaded.
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// Lets go of a context.
    async fn leave(&self, place: Place) {
        place.running.hub.leave(&place.context);
        let browser_context_id = place.context;
        let dispose = DisposeContext { browser_context_id };
        // A browser that is gone has disposed of it.
        let connection = &place.running.process.connection;
        let _ = connection.ask(None, &dispose, PATIENCE).await;
        drop(place.proxy);
    }
}
