//! The bases in memory, read when they are first needed and again when a file changes.
//!
//! Invariant: a change that cannot be read never replaces what could be.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use tokio::sync::Mutex;
use tollgate_core::{ErrorCode, Notice, NoticeSink, ProviderError};
use tollgate_knowledge::{Library, Limits, Stamp, load};

/// Up to so many bytes are read at start-up, to list what is in them; more is read beside.
const AT_ONCE: u64 = 1 << 20;

/// Everything that was read.
pub(super) struct Shelf {
    state: Arc<Mutex<State>>,
    notices: Arc<OnceLock<Arc<dyn NoticeSink>>>,
}

struct State {
    books: Vec<Book>,
    library: Arc<Library>,
}

/// One base on disk.
struct Book {
    path: PathBuf,
    stamp: Option<Stamp>,
    id: Option<String>,
    complaint: Option<String>,
}

impl Shelf {
    pub(super) fn new(paths: Vec<PathBuf>) -> Self {
        let book = |path| Book {
            path,
            stamp: None,
            id: None,
            complaint: None,
        };
        let state = State {
            books: paths.into_iter().map(book).collect(),
            library: Arc::default(),
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            notices: Arc::default(),
        }
    }

    /// Takes the place for notices.
    pub(super) fn watch(&self, notices: Arc<dyn NoticeSink>) {
        // There is one gate, and it says so once.
        let _ = self.notices.set(notices);
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
                tell(&notices);
            }
        }));
        Arc::default()
    }

    /// The bases as the files are now.
    pub(super) async fn current(&self) -> Result<Arc<Library>, ProviderError> {
        let (has_changed, library) = refreshed(Arc::clone(&self.state)).await?;
        if has_changed {
            tell(&self.notices);
        }
        if library.bases().is_empty() {
            return Err(ProviderError {
                suggestion: Some(
                    "Tell the operator: `tollgate knowledge lint` says why.".to_owned(),
                ),
                ..ProviderError::new(ErrorCode::Unavailable, "no knowledge base could be read")
            });
        }
        Ok(library)
    }

    /// What is wrong with a base, if anything is.
    pub(super) async fn complaint(&self) -> Option<String> {
        let state = self.state.lock().await;
        state.books.iter().find_map(|book| book.complaint.clone())
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

fn tell(notices: &OnceLock<Arc<dyn NoticeSink>>) {
    if let Some(notices) = notices.get() {
        notices.notice(Notice::ListsChanged);
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
                    library.replace(Arc::new(base));
                    (Some(id), None)
                }
            };
            let book = &mut self.books[at];
            book.stamp = Some(stamp);
            book.complaint = complaint;
            book.id = id.or_else(|| book.id.take());
        }
        let ids = self.books.iter().filter_map(|book| book.id.as_deref());
        library.arrange(&ids.collect::<Vec<_>>());
        self.library = Arc::new(library);
        versions(&self.library) != before
    }
}
