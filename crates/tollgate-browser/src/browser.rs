//! Browsers and the sessions in them: started when needed, ended when not, started again after
//! they died.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::OsString,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::time::{Instant, sleep};

use crate::{
    error::Error,
    hub::Hub,
    process::{
        find::Whereabouts,
        launch::{Launch, Process},
        memory,
    },
    session::{Options, Session},
    tab::Times,
};

/// How much there may be of everything.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Tabs of one session.
    pub tabs_per_session: usize,
    /// Tabs of all sessions.
    pub tabs: usize,
    /// Sessions of all callers.
    pub sessions: usize,
    /// How long a session lives that nobody sees.
    pub headless_ttl: Duration,
    /// How long one lives that somebody can see.
    pub headful_ttl: Duration,
    /// How long a browser stays without sessions.
    pub idle: Duration,
    /// Until a page is there.
    pub navigation: Duration,
    /// Until its requests have calmed down, after that.
    pub calm: Duration,
    /// Until a dialog that nobody answers is dismissed.
    pub dialog: Duration,
    /// The largest download, in bytes.
    pub download_bytes: u64,
    /// How much memory the scripts of one page may use, in megabytes.
    pub script_megabytes: u64,
    /// The most memory that a process of pages may hold in all.
    pub page_megabytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            tabs_per_session: 20,
            tabs: 50,
            sessions: 50,
            headless_ttl: Duration::from_secs(60 * 60),
            headful_ttl: Duration::from_secs(24 * 60 * 60),
            idle: Duration::from_secs(120),
            navigation: Duration::from_secs(30),
            calm: Duration::from_secs(3),
            dialog: Duration::from_secs(30),
            download_bytes: 100 << 20,
            script_megabytes: 1024,
            page_megabytes: 2048,
        }
    }
}

/// What a browser is started with.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Where Chromium is.
    pub whereabouts: Whereabouts,
    /// The folder that browsers write into while they run.
    pub root: PathBuf,
    /// The folder for downloads.
    pub downloads: PathBuf,
    /// The environment of the browser.
    pub env: BTreeMap<OsString, OsString>,
    /// How much there may be of everything.
    pub limits: Limits,
}

/// Whose session it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner {
    /// Who calls. Sessions of others do not exist for them.
    pub principal: String,
    /// The conversation, for the session that nobody names.
    pub conversation: String,
}

/// All browsers of this process: at most one that nobody sees, and one that somebody does.
pub struct Browser {
    pub(crate) settings: Settings,
    running: [tokio::sync::Mutex<Slot>; 2],
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    defaults: tokio::sync::Mutex<HashMap<Owner, String>>,
    pub(crate) tabs: Arc<AtomicUsize>,
    is_swept: AtomicBool,
    is_closed: AtomicBool,
}

#[derive(Default)]
struct Slot {
    running: Option<Arc<Running>>,
    unused_since: Option<Instant>,
}

/// A browser that runs.
pub(crate) struct Running {
    pub(crate) process: Process,
    pub(crate) hub: Arc<Hub>,
}

impl Browser {
    /// Starts nothing yet.
    pub fn new(settings: Settings) -> Arc<Self> {
        Arc::new(Self {
            settings,
            running: Default::default(),
            sessions: Mutex::default(),
            defaults: tokio::sync::Mutex::default(),
            tabs: Arc::default(),
            is_swept: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
        })
    }

    pub(crate) fn times(&self) -> Times {
        Times {
            navigation: self.settings.limits.navigation,
            idle: self.settings.limits.calm,
            dialog: self.settings.limits.dialog,
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A browser that runs; starts one if none does.
    pub(crate) async fn running(&self, is_headless: bool) -> Result<Arc<Running>, Error> {
        let mut slot = self.running[usize::from(!is_headless)].lock().await;
        if self.is_closed.load(Ordering::Acquire) {
            return Err(Error::NotStarted("it was closed".to_owned()));
        }
        slot.unused_since = None;
        if let Some(running) = slot.running.as_ref().filter(|it| it.process.is_alive()) {
            return Ok(Arc::clone(running));
        }
        slot.running = None;
        let program = self.settings.whereabouts.find()?;
        let hub = Arc::new(Hub::default());
        let told = Arc::clone(&hub);
        let launch = Launch {
            program: &program,
            root: &self.settings.root,
            env: &self.settings.env,
            is_headless,
            script_megabytes: self.settings.limits.script_megabytes,
        };
        let process = Process::start(launch, Box::new(move |event| told.take(event))).await?;
        hub.connect(&process.connection);
        let most = self.settings.limits.page_megabytes << 20;
        tokio::spawn(memory::watch(process.connection.clone(), most));
        let (ended, over) = (process.connection.closed().clone(), Arc::clone(&hub));
        let running = Arc::new(Running { process, hub });
        let left = Arc::downgrade(&running);
        tokio::spawn(async move {
            ended.cancelled().await;
            over.end();
            // One that nobody speaks to any more may still run, or stand still.
            if let Some(running) = left.upgrade() {
                running.process.kill().await;
            }
        });
        slot.running = Some(Arc::clone(&running));
        Ok(running)
    }

    /// Makes a session.
    pub fn create(
        self: &Arc<Self>,
        owner: &Owner,
        options: Options,
    ) -> Result<Arc<Session>, Error> {
        self.sweep_always();
        let session = Session::new(self, owner, options)?;
        let limits = &self.settings.limits;
        let mut all = self.all();
        let full = |most: usize| {
            Error::Limit(format!(
                "there are {most} browser sessions already; close one first"
            ))
        };
        if all.len() >= limits.sessions {
            return Err(full(limits.sessions));
        }
        // One caller does not take the room of all.
        let own = all.values().filter(|it| it.principal() == owner.principal);
        let most = limits.sessions.div_ceil(2);
        if own.count() >= most {
            return Err(full(most));
        }
        all.insert(session.id().to_owned(), Arc::clone(&session));
        Ok(session)
    }

    /// A session by its id.
    pub fn session(&self, owner: &Owner, id: &str) -> Result<Arc<Session>, Error> {
        let found = self.all().get(id).cloned();
        let found = found.filter(|it| it.principal() == owner.principal && !it.has_expired());
        let session = found.ok_or_else(|| Error::SessionNotFound(id.to_owned()))?;
        session.touch();
        Ok(session)
    }

    /// The session of a conversation that names none; made if there is none.
    pub async fn default_session(
        self: &Arc<Self>,
        owner: &Owner,
        options: impl FnOnce() -> Options,
    ) -> Result<Arc<Session>, Error> {
        let mut defaults = self.defaults.lock().await;
        if let Some(id) = defaults.get(owner)
            && let Ok(session) = self.session(owner, id)
        {
            return Ok(session);
        }
        let session = self.create(owner, options())?;
        defaults.insert(owner.clone(), session.id().to_owned());
        Ok(session)
    }

    /// The session of a conversation that names none, if there is one.
    pub async fn known_default(&self, owner: &Owner) -> Option<Arc<Session>> {
        let id = self.defaults.lock().await.get(owner).cloned();
        self.session(owner, &id?).ok()
    }

    /// Ends the session of a conversation that names none, if there is one.
    pub async fn close_default(&self, owner: &Owner) {
        let id = self.defaults.lock().await.remove(owner);
        if let Some(id) = id {
            self.close_session(&id).await;
        }
    }

    /// Ends a session.
    pub async fn close_session(&self, id: &str) {
        let session = self.all().remove(id);
        if let Some(session) = session {
            session.end(true).await;
        }
    }

    /// Ends everything. Closing twice is closing once.
    pub async fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        let sessions: Vec<_> = self.all().drain().map(|(_, session)| session).collect();
        for session in sessions {
            session.end(false).await;
        }
        for slot in &self.running {
            let running = slot.lock().await.running.take();
            if let Some(running) = running {
                running.process.close().await;
                running.hub.end();
            }
        }
    }

    /// The process ids of the browsers that run.
    pub async fn processes(&self) -> Vec<u32> {
        let mut found = Vec::new();
        for slot in &self.running {
            let slot = slot.lock().await;
            found.extend(slot.running.iter().map(|running| running.process.pid()));
        }
        found
    }

    /// What the browser calls itself; starts it if it does not run.
    pub async fn product(&self) -> Result<String, Error> {
        Ok(self.running(true).await?.process.product.clone())
    }

    /// Looks after sessions that ended and browsers that nobody needs, from now on.
    fn sweep_always(self: &Arc<Self>) {
        if self.is_swept.swap(true, Ordering::AcqRel) {
            return;
        }
        let browser: Weak<Self> = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                sleep(Duration::from_secs(30)).await;
                match browser.upgrade() {
                    Some(browser) => browser.sweep().await,
                    None => return,
                }
            }
        });
    }

    async fn sweep(&self) {
        let expired: Vec<String> = {
            let all = self.all();
            let expired = all.values().filter(|session| session.has_expired());
            expired.map(|session| session.id().to_owned()).collect()
        };
        for id in expired {
            self.close_session(&id).await;
        }
        let mut defaults = self.defaults.lock().await;
        defaults.retain(|_, id| self.all().contains_key(id));
        drop(defaults);
        let is_used = |is_headless: bool| {
            self.all()
                .values()
                .any(|session| session.is_headless() == is_headless)
        };
        for (index, slot) in self.running.iter().enumerate() {
            let mut slot = slot.lock().await;
            if slot.running.is_none() || is_used(index == 0) {
                slot.unused_since = None;
                continue;
            }
            let since = *slot.unused_since.get_or_insert_with(Instant::now);
            if since.elapsed() >= self.settings.limits.idle
                && let Some(running) = slot.running.take()
            {
                running.process.close().await;
                running.hub.end();
            }
        }
    }
}
