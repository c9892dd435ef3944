//! The bases in memory, read when they are first needed and again when a file changes.
//!
//! Invariant: a change that cannot be read never replaces what could be, and a session is
//! only ever answered from the version it began with.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::Mutex;
use tollgate_core::{CallContext, ErrorCode, Event, LogLevel, Notice, NoticeSink, ProviderError};
use tollgate_knowledge::{Base, Library, Limits, Session, Stamp, load};

use super::versions::{Content, SMALL, Trouble, Versions};

/// Up to so many bytes are read at start-up, to list what is in them; more is read beside.
const AT_ONCE: u64 = 1 << 20;

/// Everything that was read.
pub(super) struct Shelf {
    state: Arc<Mutex<State>>,
    notices: Arc<Notices>,
    versions: Versions,
    /// Held while a version is read back, so that it is read once.
    restoring: Mutex<()>,
}

struct State {
    books: Vec<Book>,
    library: Arc<Library>,
    /// Whether small bases are packed when they are read.
    packs: bool,
}

/// One base on disk.
struct Book {
    path: PathBuf,
    stamp: Option<Stamp>,
    id: Option<String>,
    complaint: Option<String>,
    /// Whether somebody who calls has heard the complaint.
    is_told: bool,
    /// The version that new sessions begin with, if it is small.
    packed: Option<Arc<[u8]>>,
}

impl Shelf {
    pub(super) fn new(paths: Vec<PathBuf>, versions: Versions) -> Self {
        let book = |path| Book {
            path,
            stamp: None,
            id: None,
            complaint: None,
            is_told: false,
            packed: None,
        };
        let state = State {
            books: paths.into_iter().map(book).collect(),
            library: Arc::default(),
            packs: versions.are_kept(),
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            notices: Arc::default(),
            versions,
            restoring: Mutex::default(),
        }
    }

    /// Takes the place for notices.
    pub(super) fn watch(&self, notices: Arc<dyn NoticeSink>) {
        // There is one gate, and it says so once.
        let _ = self.notices.sink.set(notices);
        self.notices.catch_up();
    }

    /// What can be listed at once; large bases are read beside, and the list changes then.
    pub(super) async fn listed(&self) -> Arc<Library> {
        let state = self.state.lock().await;
        if state.books.iter().all(|book| book.stamp.is_some()) {
            return Arc::clone(&state.library);
        }
        let size: u64 = state.books.iter().map(|book| size(&book.path)).sum();
        drop(state);
        let read = refreshed(Arc::clone(&self.state));
        if size <= AT_ONCE {
            // A base that cannot be read is a complaint of its own, and no reason to list nothing.
            return read.await.map(|(_, library)| library).unwrap_or_default();
        }
        let notices = Arc::clone(&self.notices);
        drop(tokio::spawn(async move {
            if let Ok((true, _)) = read.await {
                notices.tell();
            }
        }));
        Arc::default()
    }

    /// The bases as the files are now, for a caller, who hears what was refused.
    pub(super) async fn current(&self, cx: &CallContext) -> Result<Arc<Library>, ProviderError> {
        let found = self.found().await;
        self.tell(cx).await;
        found
    }

    /// The bases as the files are now.
    pub(super) async fn found(&self) -> Result<Arc<Library>, ProviderError> {
        let library = self.read().await?;
        if library.bases().is_empty() {
            return Err(ProviderError {
                suggestion: Some(
                    "Tell the operator: `tollgate knowledge lint` says why.".to_owned(),
                ),
                source: self.complaint().await.map(Into::into),
                ..ProviderError::new(ErrorCode::Unavailable, "no knowledge base could be read")
            });
        }
        Ok(library)
    }

    /// Warns of every change that was refused, once.
    async fn tell(&self, cx: &CallContext) {
        let mut state = self.state.lock().await;
        for book in state.books.iter_mut().filter(|book| !book.is_told) {
            book.is_told = true;
            if let Some(complaint) = &book.complaint {
                cx.events.emit(Event::Log {
                    level: LogLevel::Warning,
                    logger: Some("knowledge".to_owned()),
                    data: complaint.clone().into(),
                });
            }
        }
    }

    /// The bases as the files are now, with the versions that a session walks in, also
    /// if the files have changed since or can no longer be read.
    ///
    /// What could not be read back is told beside it; the step itself knows whether it needs
    /// that.
    pub(super) async fn for_session(
        &self,
        session: &Session,
        cx: &CallContext,
    ) -> Result<(Arc<Library>, Option<Trouble>), ProviderError> {
        let mut library = self.read().await?;
        self.tell(cx).await;
        let is_here = |library: &Library| {
            session
                .versions()
                .all(|(id, version)| library.has(id, version))
        };
        if is_here(&library) {
            return Ok((library, None));
        }
        let _turn = self.restoring.lock().await;
        let mut trouble = None;
        for (id, version) in session.versions() {
            library = Arc::clone(&self.state.lock().await.library);
            if library.has(id, version) {
                continue;
            }
            match self.versions.restored(id, version).await {
                Ok(None) => {}
                Err(error) => trouble = Some(error),
                Ok(Some(unpacked)) => {
                    let current = library.base(id).cloned();
                    let mut state = self.state.lock().await;
                    // A base that the operator has taken away stays away.
                    let is_named = state.books.iter().any(|book| book.path == unpacked.path);
                    if current.is_none() && !is_named {
                        continue;
                    }
                    drop(state);
                    let base = unpacked.base;
                    let prepared = tokio::task::spawn_blocking(move || {
                        base.prepare(current.as_deref());
                        base
                    });
                    let base: Base = prepared.await.map_err(ProviderError::unavailable)?;
                    state = self.state.lock().await;
                    let mut more = Library::clone(&state.library);
                    more.restore(Arc::new(base));
                    state.library = Arc::new(more);
                    library = Arc::clone(&state.library);
                }
            }
        }
        Ok((library, trouble))
    }

    /// Sees to it that the versions a session walks in outlive this process; says why if
    /// they do not.
    pub(super) async fn hold(&self, session: &Session) -> Result<Option<String>, ProviderError> {
        for name in self.versions.due(session) {
            let content = self.state.lock().await.content(&name.0, &name.1);
            self.versions.hold(name, content).await?;
        }
        Ok(self.versions.complaint_of(session))
    }

    /// Waits for what is still being written.
    pub(super) async fn close(&self) {
        self.versions.close().await;
    }

    async fn read(&self) -> Result<Arc<Library>, ProviderError> {
        let (has_changed, library) = refreshed(Arc::clone(&self.state)).await?;
        if has_changed {
            self.notices.tell();
        }
        Ok(library)
    }

    /// What is wrong with a base, if anything is.
    pub(super) async fn complaint(&self) -> Option<String> {
        let state = self.state.lock().await;
        let of_file = state.books.iter().find_map(|book| book.complaint.clone());
        drop(state);
        match of_file {
            Some(complaint) => Some(complaint),
            None => self.versions.complaint().await,
        }
    }
}

/// Reads again what has changed, and says whether anything has.
async fn refreshed(state: Arc<Mutex<State>>) -> Result<(bool, Arc<Library>), ProviderError> {
    let mut state = state.lock_owned().await;
    let read = tokio::task::spawn_blocking(move || {
        let has_changed = state.refresh();
        (has_changed, Arc::clone(&state.library))
    });
    read.await.map_err(ProviderError::unavailable)
}

/// A small base as it was just read, so that it can be kept whatever becomes of its files.
fn packed(stamp: &Stamp, version: &str) -> Option<Arc<[u8]>> {
    if stamp.bytes() > SMALL {
        return None;
    }
    let mut packed = Vec::new();
    // A file that changes right now is read again by the next call.
    stamp.pack(version, &mut packed).ok()?;
    Some(packed.into())
}

/// Where changes are told; what changes before anybody listens is told when somebody does.
#[derive(Default)]
struct Notices {
    sink: OnceLock<Arc<dyn NoticeSink>>,
    is_untold: AtomicBool,
}

impl Notices {
    fn tell(&self) {
        self.is_untold.store(true, Ordering::SeqCst);
        self.catch_up();
    }

    fn catch_up(&self) {
        if let Some(sink) = self.sink.get()
            && self.is_untold.swap(false, Ordering::SeqCst)
        {
            sink.notice(Notice::ListsChanged);
        }
    }
}

/// The bytes of a file, or of the files right in a folder.
fn size(path: &Path) -> u64 {
    let length = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| length(&entry.path())).sum(),
        Err(_) => length(path),
    }
}

impl State {
    /// What a version can be written from.
    fn content(&self, id: &str, version: &str) -> Content {
        let is_current = self
            .library
            .base(id)
            .is_some_and(|base| base.version() == version);
        let book = self
            .books
            .iter()
            .find(|book| book.id.as_deref() == Some(id));
        match book {
            Some(book) if is_current => match (&book.packed, &book.stamp) {
                (Some(packed), _) => Content::Packed(Arc::clone(packed)),
                (None, Some(stamp)) => Content::Files(stamp.clone()),
                (None, None) => Content::Lost,
            },
            Some(_) | None => Content::Lost,
        }
    }

    /// Reads again what has changed; true if anything is different now.
    fn refresh(&mut self) -> bool {
        let is_stale = |book: &Book| !book.stamp.as_ref().is_some_and(Stamp::is_current);
        if !self.books.iter().any(is_stale) {
            return false;
        }
        let versions = |library: &Library| -> Vec<String> {
            let bases = library.bases().iter();
            bases.map(|base| base.version().to_owned()).collect()
        };
        let before = versions(&self.library);
        let mut library = Library::clone(&self.library);
        for at in 0..self.books.len() {
            if !is_stale(&self.books[at]) {
                continue;
            }
            let (base, stamp) = load(&self.books[at].path, Limits::default());
            let taken = |id: &str| {
                let others = self.books.iter().enumerate();
                let mut others = others.filter(|(other, _)| *other != at);
                others.any(|(_, book)| book.id.as_deref() == Some(id))
            };
            let (id, complaint) = match base {
                Err(problems) => (None, problems.first().map(ToString::to_string)),
                Ok(base) if taken(base.id()) => {
                    let complaint = format!("two knowledge bases are called `{}`", base.id());
                    (None, Some(complaint))
                }
                Ok(base) => {
                    base.prepare(library.base(base.id()).map(AsRef::as_ref));
                    let id = base.id().to_owned();
                    // A base that is called otherwise now is not there twice.
                    if let Some(old) = self.books[at].id.as_ref().filter(|old| **old != id) {
                        library.retire(old);
                    }
                    self.books[at].packed =
                        self.packs.then(|| packed(&stamp, base.version())).flatten();
                    library.replace(Arc::new(base));
                    (Some(id), None)
                }
            };
            let book = &mut self.books[at];
            book.stamp = Some(stamp);
            book.complaint = complaint;
            book.is_told = false;
            book.id = id.or_else(|| book.id.take());
        }
        let ids = self.books.iter().filter_map(|book| book.id.as_deref());
        library.arrange(&ids.collect::<Vec<_>>());
        self.library = Arc::new(library);
        versions(&self.library) != before
    }
}
