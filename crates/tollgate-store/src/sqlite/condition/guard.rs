//! Notices a state that is not the one that was acknowledged.
//!
//! The chain is compared with its anchor and the keys are looked at when the state is opened and
//! now and then afterwards; that the open files are still the ones of the state, after every
//! commit and before anybody hears of it. Invariants: while a problem stands no effect is
//! announced; one that is mended, or accepted by an operator, stands no longer. A database that
//! was truncated stays a problem until it is opened again: a checkpoint restores its length, but
//! not its pages.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use rusqlite::Connection;
use tollgate_core::{
    audit::SignedHead,
    canonical::hex,
    store::{Batch, Change, StateProblem, StoreError},
};

use crate::{
    chain::{Anchor, KEY_FILES, anchored_hash, public_key, vouches},
    error::store_error,
    sqlite::{apply::read_head, open},
};

/// How often the anchor and the keys are looked at again.
const AGAIN: Duration = Duration::from_secs(1);

/// What nobody but the owner may write: the folder, and the files of the database.
const GUARDED: &[&str] = &[".", open::DATABASE, open::LOG, open::INDEX];

/// What stands between a commit and its acknowledgement.
pub(crate) struct Guard {
    state_dir: PathBuf,
    anchor: Anchor,
    chain: String,
    /// The files that are open; nothing where the system does not tell them apart.
    files: Option<[Identity; 2]>,
    /// The largest size that the database has had. It is never vacuumed, so it only grows.
    size: AtomicU64,
    /// The database was smaller than that.
    is_truncated: AtomicBool,
    /// The write-ahead log no longer begins as one.
    is_log_damaged: AtomicBool,
    /// There is a problem that keeps effects from being announced.
    is_closed: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    problems: Vec<StateProblem>,
    looked: Option<Instant>,
}

/// Which file stands behind a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

/// A file as the system describes it.
#[derive(Debug, Clone, Copy)]
struct Found {
    identity: Identity,
    size: u64,
}

impl Guard {
    /// Looks at a state that `connection` has open; `opened` is the database that was found
    /// before it was opened, or while nobody could make another one.
    pub(crate) fn new(
        (state_dir, opened): (&Path, Option<Identity>),
        anchor: Anchor,
        chain: &str,
        connection: &Connection,
    ) -> Result<Self, StoreError> {
        let find = |name| find(&state_dir.join(name));
        let (database, log) = (find(open::DATABASE), find(open::LOG));
        let identity = |found: Option<Found>| found.map(|found| found.identity);
        if opened.is_some() && identity(database) != opened {
            // Whoever took the file there now for the open one would write into nothing.
            return Err(StoreError::NotAcknowledged(StateProblem::Replaced));
        }
        let files = match (identity(database), identity(log)) {
            (Some(database), Some(log)) => Some([database, log]),
            (None, _) if cfg!(unix) => {
                return Err(StoreError::NotAcknowledged(StateProblem::Deleted));
            }
            (_, None) if cfg!(unix) => {
                return Err(StoreError::NotAcknowledged(StateProblem::LogDamaged));
            }
            _ => None,
        };
        let guard = Self {
            state_dir: state_dir.to_owned(),
            anchor,
            chain: chain.to_owned(),
            files,
            size: AtomicU64::new(database.map_or(0, |found| found.size)),
            is_truncated: AtomicBool::new(false),
            is_log_damaged: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            inner: Mutex::default(),
        };
        guard.look(connection)?;
        Ok(guard)
    }

    /// Looks at anchor and keys again, unless that was done just now; gives what is wrong.
    pub(crate) fn look_again(
        &self,
        connection: &Connection,
    ) -> Result<Vec<StateProblem>, StoreError> {
        let looked = self.inner().looked;
        if looked.is_none_or(|at| at.elapsed() >= AGAIN) {
            self.look(connection)?;
        }
        Ok(self.inner().problems.clone())
    }

    /// Looks at anchor and keys now.
    pub(crate) fn look(&self, connection: &Connection) -> Result<(), StoreError> {
        let mut problems =
            against_anchor(connection, (&self.anchor, &self.chain), &self.state_dir)?;
        problems.extend(exposed_keys(&self.state_dir));
        problems.extend(writable_by_others(&self.state_dir));
        let mut inner = self.inner();
        self.is_closed
            .store(!problems.is_empty(), Ordering::Release);
        inner.problems = problems;
        inner.looked = Some(Instant::now());
        Ok(())
    }

    /// The open write-ahead log was emptied or damaged: nothing written to it will be found again.
    pub(crate) fn log_is_damaged(&self) {
        self.is_log_damaged.store(true, Ordering::Release);
    }

    /// Whether something kept effects back when it was last looked at.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Lets a batch pass unless it announces an effect while something is wrong.
    pub(crate) fn admit(&self, batch: &Batch, connection: &Connection) -> Result<(), StoreError> {
        if !self.is_closed() || !announces_effect(batch) {
            return Ok(());
        }
        self.look(connection)?;
        match self.inner().problems.first() {
            Some(problem) => Err(StoreError::NotAcknowledged(problem.clone())),
            None => Ok(()),
        }
    }

    /// Whether the files that are open are still those of the state: what was written to others
    /// is lost, and nobody may be told that it was kept.
    pub(crate) fn check_files(&self) -> Result<(), StoreError> {
        let Some([database, log]) = self.files else {
            return Ok(());
        };
        let found = find(&self.state_dir.join(open::DATABASE));
        let problem = match found {
            None => StateProblem::Deleted,
            Some(found) if found.identity != database => StateProblem::Replaced,
            Some(found) if self.has_shrunk(found.size) => StateProblem::Truncated,
            Some(_)
                if self.is_log_damaged.load(Ordering::Acquire)
                    || identity(&self.state_dir.join(open::LOG)) != Some(log) =>
            {
                StateProblem::LogDamaged
            }
            Some(_) => return Ok(()),
        };
        Err(StoreError::NotAcknowledged(problem))
    }

    /// Whether the database has ever been smaller than before, of which every checkpoint would
    /// remove the trace.
    fn has_shrunk(&self, size: u64) -> bool {
        if size < self.size.fetch_max(size, Ordering::AcqRel) {
            self.is_truncated.store(true, Ordering::Release);
        }
        self.is_truncated.load(Ordering::Acquire)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a batch lets something happen that cannot be taken back.
fn announces_effect(batch: &Batch) -> bool {
    batch.changes.iter().any(|change| {
        matches!(change, Change::OpenIntent(intent) if intent.effect)
            || matches!(change, Change::ConsumeApproval { .. })
    })
}

/// Compares the chain with its anchor.
pub(crate) fn against_anchor(
    connection: &Connection,
    (anchor, chain): (&Anchor, &str),
    state_dir: &Path,
) -> Result<Vec<StateProblem>, StoreError> {
    let noted = match anchor.read() {
        Ok(noted) => noted,
        Err(why) => return Ok(vec![StateProblem::AnchorUnusable { why }]),
    };
    let Some(noted) = noted else {
        let is_lost = must_be_anchored(connection, chain)?;
        return Ok(is_lost
            .then_some(StateProblem::AnchorLost)
            .into_iter()
            .collect());
    };
    let head = read_head(connection, chain).map_err(store_error)?;
    let head = head.map_or(0, |head| head.seq);
    if noted.seq > head {
        return Ok(vec![StateProblem::RolledBack {
            head,
            anchor: noted.seq,
        }]);
    }
    if !is_ours(&noted, chain, state_dir) {
        let why = "it is not signed with the key of this state".to_owned();
        return Ok(vec![StateProblem::AnchorUnusable { why }]);
    }
    let found = anchored_hash(connection, noted.seq).map_err(store_error)?;
    let is_there = found.is_some_and(|hash| hex(&hash) == noted.hash);
    let diverged = StateProblem::Diverged { anchor: noted.seq };
    Ok((!is_there).then_some(diverged).into_iter().collect())
}

fn is_ours(noted: &SignedHead, chain: &str, state_dir: &Path) -> bool {
    let key = public_key(state_dir).ok().flatten();
    noted.chain == chain && key.is_some_and(|key| vouches(&key, noted))
}

/// Whether the state has had an anchor.
pub(crate) fn must_be_anchored(connection: &Connection, chain: &str) -> Result<bool, StoreError> {
    connection
        .prepare_cached("SELECT is_anchored FROM audit_head WHERE chain = ?1")
        .and_then(|mut statement| statement.query_row([chain], |row| row.get(0)))
        .map_err(store_error)
}

/// Keys that others than their owner can read or write.
fn exposed_keys(state_dir: &Path) -> Vec<StateProblem> {
    let exposed = KEY_FILES
        .iter()
        .filter(|file| is_open_to_others(&state_dir.join(file), 0o077));
    exposed
        .map(|file| StateProblem::KeyExposed { file })
        .collect()
}

/// The folder and the files of the database, if others than their owner can write them. Who
/// writes the folder can put other keys and another database in their places.
///
/// That others may list the folder is no problem: its files are for their owner only.
fn writable_by_others(state_dir: &Path) -> Vec<StateProblem> {
    let writable = GUARDED
        .iter()
        .filter(|file| is_open_to_others(&state_dir.join(file), 0o022));
    writable
        .map(|file| StateProblem::Writable { file })
        .collect()
}

#[cfg(unix)]
fn is_open_to_others(path: &Path, bits: u32) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|found| found.permissions().mode() & bits != 0)
}

#[cfg(not(unix))]
fn is_open_to_others(_: &Path, _: u32) -> bool {
    false
}

/// Takes keys and database away from everybody but their owner, and the right to write the
/// folder from others.
pub(crate) fn protect(state_dir: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        for file in KEY_FILES.iter().chain(GUARDED) {
            let path = state_dir.join(file);
            let found = match fs::metadata(&path) {
                Ok(found) => found,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let mode = found.permissions().mode() & 0o7777;
            let private = if found.is_dir() { mode & !0o022 } else { 0o600 };
            if mode != private {
                fs::set_permissions(path, fs::Permissions::from_mode(private))?;
            }
        }
    }
    #[cfg(not(unix))]
    let _ = state_dir;
    Ok(())
}

/// Which file stands behind a path.
pub(crate) fn identity(path: &Path) -> Option<Identity> {
    find(path).map(|found| found.identity)
}

#[cfg(unix)]
fn find(path: &Path) -> Option<Found> {
    use std::os::unix::fs::MetadataExt as _;
    let found = fs::metadata(path).ok()?;
    Some(Found {
        identity: Identity {
            device: found.dev(),
            inode: found.ino(),
        },
        size: found.len(),
    })
}

/// Elsewhere an open file cannot be replaced.
#[cfg(not(unix))]
fn find(_: &Path) -> Option<Found> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::settings::Limits;

    #[test]
    fn a_file_that_took_the_place_of_the_opened_one_is_not_taken_for_it() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path();
        let database = folder.join(open::DATABASE);
        let guard = |opened, connection: &Connection| {
            let anchor = Anchor::new(folder, folder, "main");
            match Guard::new((folder, opened), anchor, "main", connection) {
                Err(StoreError::NotAcknowledged(problem)) => problem.as_str(),
                Err(error) => panic!("{error}"),
                Ok(_) => "ours",
            }
        };
        let connection = open::writer(folder, &Limits::default()).unwrap();
        open::use_log(&connection).unwrap();
        let opened = identity(&database);
        assert!(opened.is_some());
        fs::rename(&database, folder.join("away")).unwrap();
        assert_eq!(guard(opened, &connection), "replaced");
        assert_eq!(guard(None, &connection), "deleted");
        fs::write(&database, "another").unwrap();
        assert_eq!(guard(opened, &connection), "replaced");
    }
}
