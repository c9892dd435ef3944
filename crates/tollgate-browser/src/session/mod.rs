//! A session: a context of its own in a browser, with its tabs, its way out and its downloads.
//!
//! Nothing of it is shared with another session: not cookies, not storage, not the proxy. If
//! the browser dies, the session stays and gets a new context when it is used again.

mod downloads;
mod kept;
pub(crate) mod memory;
mod recall;

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    boundary::{Boundary, Refusals},
    browser::{Browser, Owner, Running},
    error::Error,
    process::folder::private,
    protocol::{
        WireError,
        commands::{
            ActivateTarget, CloseTarget, CreateContext, CreateTarget, DisposeContext, SetDownloads,
        },
        events::Attached,
        pipe::Connection,
    },
    proxy::Proxy,
    tab::{Fresh, Tab},
};
pub use downloads::Download;
pub use kept::{Cookie, Keeper, Kept, KeptTab};
use memory::Memory;

/// How long the browser may take for things of its own.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often a tab is made before that is given up.
const TRIES: u32 = 4;

static NEXT_TAB: AtomicU64 = AtomicU64::new(1);

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
    /// Whether a page was loaded anew that nobody has been told of.
    reopened: AtomicBool,
    /// Ends what goes on beside it.
    _over: DropGuard,
}

/// Where a session lives.
struct Place {
    running: Arc<Running>,
    context: String,
    proxy: Proxy,
}

#[derive(Default)]
struct Tabs {
    all: Vec<Entry>,
    active: Option<String>,
    /// The proxy's refusals, for tabs that open by themselves.
    refusals: Arc<Refusals>,
    /// Tabs that opened by themselves and were closed because there were too many.
    dropped: u64,
}

struct Entry {
    id: String,
    tab: Arc<Tab>,
    opener: Option<String>,
    /// Whether only those get it who name it.
    is_aside: bool,
    _slot: Slot,
}

/// One of the tabs that all sessions share.
struct Slot(Arc<AtomicUsize>);

impl Slot {
    fn take(count: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        let taken = count.fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| {
            (count < most).then_some(count + 1)
        });
        taken.is_ok().then(|| Self(Arc::clone(count)))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
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
        let (memory, over) = (Arc::<Memory>::default(), CancellationToken::new());
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
            reopened: AtomicBool::new(false),
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

    /// Takes a page that the browser opened; nothing if there are too many.
    pub(crate) fn adopt(&self, connection: &Connection, attached: &Attached) -> Option<Arc<Tab>> {
        let browser = self.browser.upgrade()?;
        let limits = &browser.settings.limits;
        let mut tabs = self.tabs();
        if tabs.all.len() >= limits.tabs_per_session {
            tabs.dropped += 1;
            return None;
        }
        let Some(slot) = Slot::take(&browser.tabs, limits.tabs) else {
            tabs.dropped += 1;
            return None;
        };
        let tab = Tab::new(Fresh {
            target: attached.target_info.target_id.clone(),
            session: attached.session_id.clone(),
            connection: connection.clone(),
            refusals: Arc::clone(&tabs.refusals),
            times: browser.times(),
            roots: Arc::clone(&self.roots),
            memory: Arc::clone(&self.memory),
        });
        tabs.all.push(Entry {
            id: format!("tab_{}", NEXT_TAB.fetch_add(1, Ordering::Relaxed)),
            tab: Arc::clone(&tab),
            opener: attached.target_info.opener_id.clone(),
            is_aside: false,
            _slot: slot,
        });
        Some(tab)
    }

    /// A page closed itself.
    pub(crate) fn forget(&self, target: &str) {
        let mut tabs = self.tabs();
        tabs.all.retain(|entry| entry.tab.target != target);
        tabs.mend();
    }

    pub(crate) fn has_frame(&self, frame: &str) -> bool {
        let tabs = self.tabs();
        tabs.all
            .iter()
            .any(|entry| entry.tab.lock().frames.contains_key(frame))
    }

    /// Opens a tab and makes it the active one.
    pub async fn open(self: &Arc<Self>) -> Result<(String, Arc<Tab>), Error> {
        let (id, tab) = self.open_aside().await?;
        let mut tabs = self.tabs();
        if let Some(entry) = tabs.all.iter_mut().find(|it| it.id == id) {
            entry.is_aside = false;
        }
        tabs.active = Some(id.clone());
        Ok((id, tab))
    }

    /// Opens a tab that nobody gets who does not name it.
    pub async fn open_aside(self: &Arc<Self>) -> Result<(String, Arc<Tab>), Error> {
        let mut place = self.place.lock().await;
        let place = self.settled(&mut place).await?;
        self.check_room()?;
        let tab = self.make(place).await?;
        let mut tabs = self.tabs();
        let entry = tabs.all.iter_mut().find(|it| Arc::ptr_eq(&it.tab, &tab));
        let entry = entry.ok_or(Error::Crashed)?;
        entry.is_aside = true;
        Ok((entry.id.clone(), Arc::clone(&tab)))
    }

    fn check_room(&self) -> Result<(), Error> {
        let browser = self.browser()?;
        let limits = &browser.settings.limits;
        if self.tabs().all.len() >= limits.tabs_per_session {
            let most = limits.tabs_per_session;
            return Err(Error::Limit(format!(
                "a session has at most {most} tabs; close one first"
            )));
        }
        if browser.tabs.load(Ordering::Acquire) >= limits.tabs {
            let most = limits.tabs;
            return Err(Error::Limit(format!(
                "all sessions together have at most {most} tabs"
            )));
        }
        Ok(())
    }

    /// Makes a tab; one that dies before it has begun (its process was dying) is made again.
    async fn make(&self, place: &Place) -> Result<Arc<Tab>, Error> {
        let mut tries = 0;
        loop {
            let tab = self.make_once(place).await?;
            tries += 1;
            match tab.begun().await {
                Ok(()) => return Ok(tab),
                Err(Error::Crashed) if tries < TRIES && place.running.process.is_alive() => {
                    self.forget(&tab.target);
                    let target_id = tab.target.clone();
                    let close = CloseTarget { target_id };
                    place.running.process.connection.tell(None, &close);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Tabs of a session lie in one window, of which Chromium draws only the one in front:
    /// drawing all of them costs as much again as loading their pages.
    async fn make_once(&self, place: &Place) -> Result<Arc<Tab>, Error> {
        let has_window = self.tabs().all.iter().any(|it| !it.tab.has_ended());
        let mut create = CreateTarget {
            url: "about:blank".to_owned(),
            browser_context_id: place.context.clone(),
            new_window: Some(!has_window),
            background: None,
        };
        let connection = &place.running.process.connection;
        let mut made = connection.ask(None, &create, PATIENCE).await;
        // All there was may have closed itself a moment ago, and its window with it.
        if has_window && matches!(made, Err(WireError::Refused(_))) {
            create.new_window = Some(true);
            made = connection.ask(None, &create, PATIENCE).await;
        }
        let target = made?.target_id;
        // It was attached before it was answered.
        let tabs = self.tabs();
        let found = tabs.all.iter().find(|entry| entry.tab.target == target);
        let found = found.map(|entry| Arc::clone(&entry.tab));
        found.ok_or_else(|| Error::Limit("there are too many tabs".to_owned()))
    }

    /// A tab by its id, or the active one; opened if there is none, and made anew if its page
    /// died. `again` says whether such a page is loaded again.
    pub async fn tab(
        self: &Arc<Self>,
        id: Option<&str>,
        again: bool,
    ) -> Result<(String, Arc<Tab>), Error> {
        let mut held = self.place.lock().await;
        let place = self.settled(&mut held).await?;
        let found = {
            let tabs = self.tabs();
            let wanted = id.or(tabs.active.as_deref());
            let entry = match wanted {
                Some(wanted) => tabs.all.iter().find(|entry| entry.id == wanted),
                None => tabs.all.iter().find(|entry| !entry.is_aside),
            };
            entry.map(|entry| (entry.id.clone(), Arc::clone(&entry.tab)))
        };
        let (id, tab) = match (found, id) {
            (Some(found), _) => found,
            (None, Some(id)) => return Err(Error::TabNotFound(id.to_owned())),
            (None, None) => {
                let tab = self.make(place).await?;
                let mut tabs = self.tabs();
                let id = tabs.id_of(&tab).ok_or(Error::Crashed)?;
                tabs.active = Some(id.clone());
                return Ok((id, tab));
            }
        };
        if !tab.has_ended() {
            tab.begun().await?;
            return Ok((id, tab));
        }
        let fresh = self.renew(place, &id, &tab).await?;
        drop(held);
        let url = tab.url();
        if again && !url.starts_with("about:") {
            self.reopened.store(true, Ordering::Release);
            // If it does not come, whoever asked sees the page that came instead.
            let _ = fresh.navigate(&url).await;
        }
        Ok((id, fresh))
    }

    /// Replaces a page that died.
    async fn renew(&self, place: &Place, id: &str, dead: &Tab) -> Result<Arc<Tab>, Error> {
        let target_id = dead.target.clone();
        place
            .running
            .process
            .connection
            .tell(None, &CloseTarget { target_id });
        // Its place in the list is kept; its seat is not, or there might be none for the next.
        let position = {
            let mut tabs = self.tabs();
            let position = tabs.all.iter().position(|entry| entry.id == id);
            if let Some(position) = position {
                tabs.all.remove(position);
            }
            position
        };
        let fresh = self.make(place).await?;
        let mut tabs = self.tabs();
        if let Some(at) = tabs
            .all
            .iter()
            .position(|entry| Arc::ptr_eq(&entry.tab, &fresh))
        {
            let mut entry = tabs.all.remove(at);
            entry.id = id.to_owned();
            let position = position.unwrap_or(tabs.all.len()).min(tabs.all.len());
            tabs.all.insert(position, entry);
        }
        tabs.mend();
        Ok(fresh)
    }

    /// Its tabs, and the active one.
    pub fn list(&self) -> (Option<String>, Vec<(String, Arc<Tab>)>) {
        let tabs = self.tabs();
        let all = tabs
            .all
            .iter()
            .map(|entry| (entry.id.clone(), Arc::clone(&entry.tab)));
        (tabs.active.clone(), all.collect())
    }

    /// Tabs that a tab opened, by their ids.
    pub fn opened_by(&self, tab: &Tab) -> Vec<String> {
        let tabs = self.tabs();
        let opened = tabs
            .all
            .iter()
            .filter(|entry| entry.opener.as_ref() == Some(&tab.target));
        opened.map(|entry| entry.id.clone()).collect()
    }

    /// Tabs that opened by themselves and were closed because there were too many.
    pub fn dropped_tabs(&self) -> u64 {
        self.tabs().dropped
    }

    /// Makes a tab the active one.
    pub async fn switch(self: &Arc<Self>, id: &str) -> Result<Arc<Tab>, Error> {
        let (id, tab) = self.tab(Some(id), true).await?;
        self.tabs().active = Some(id);
        let target_id = tab.target.clone();
        tab.connection.tell(None, &ActivateTarget { target_id });
        Ok(tab)
    }

    /// Closes a tab; says whether any is left.
    pub async fn close_tab(&self, id: &str) -> Result<bool, Error> {
        let open = self.list().1.into_iter().find(|(it, _)| it == id);
        if let Some((_, tab)) = open {
            tab.remember().await;
        }
        let (tab, is_last) = {
            let mut tabs = self.tabs();
            let at = tabs.all.iter().position(|entry| entry.id == id);
            let at = at.ok_or_else(|| Error::TabNotFound(id.to_owned()))?;
            let tab = tabs.all.remove(at).tab;
            tabs.mend();
            (tab, tabs.all.is_empty())
        };
        tab.end();
        let target_id = tab.target.clone();
        match tab
            .connection
            .ask(None, &CloseTarget { target_id }, PATIENCE)
            .await
        {
            Ok(_) | Err(WireError::Refused(_) | WireError::Gone) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(!is_last)
    }

    /// Ends it and everything in it; its downloads go too. `for_good` says that it was closed
    /// itself, and not the whole program.
    pub(crate) async fn end(&self, for_good: bool) {
        // What cannot be kept now was kept a moment ago.
        let _ = self.save().await;
        if let Some(keeper) = self.options.keeper.clone().filter(|_| for_good) {
            let _ = tokio::task::spawn_blocking(move || keeper.ended()).await;
        }
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

impl Tabs {
    fn id_of(&self, tab: &Arc<Tab>) -> Option<String> {
        let found = self.all.iter().find(|entry| Arc::ptr_eq(&entry.tab, tab));
        found.map(|entry| entry.id.clone())
    }

    /// The active tab is one that is there.
    fn mend(&mut self) {
        let is_there = self
            .active
            .as_ref()
            .is_some_and(|id| self.all.iter().any(|it| it.id == *id));
        if !is_there {
            let next = self.all.iter().find(|entry| !entry.is_aside);
            self.active = next.map(|entry| entry.id.clone());
        }
    }
}
