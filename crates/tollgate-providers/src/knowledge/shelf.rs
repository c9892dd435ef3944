//! The bases in memory, read when they are first needed and again when a file changes.
//!
//! Invariant: a change that cannot be read never replaces what could be.

use std::{path::PathBuf, sync::Arc};

use tokio::sync::Mutex;
use tollgate_core::{ErrorCode, ProviderError};
use tollgate_knowledge::{Library, Limits, Stamp, load};

/// Everything that was read.
pub(super) struct Shelf {
    state: Arc<Mutex<State>>,
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
        }
    }

    /// The bases as the files are now.
    pub(super) async fn current(&self) -> Result<Arc<Library>, ProviderError> {
        let mut state = Arc::clone(&self.state).lock_owned().await;
        let read = tokio::task::spawn_blocking(move || {
            state.refresh();
            Arc::clone(&state.library)
        });
        let library = read.await.map_err(ProviderError::unavailable)?;
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

impl State {
    fn refresh(&mut self) {
        let is_stale = |book: &Book| !book.stamp.as_ref().is_some_and(Stamp::is_current);
        if !self.books.iter().any(is_stale) {
            return;
        }
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
                    base.index();
                    let id = base.id().to_owned();
                    library.replace(Arc::new(base));
                    (Some(id), None)
                }
            };
            let book = &mut self.books[at];
            book.stamp = Some(stamp);
            book.complaint = complaint;
            book.id = id.or_else(|| book.id.take());
        }
        self.library = Arc::new(library);
    }
}
