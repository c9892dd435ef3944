//! Notices a state that is not the one that was acknowledged.
//!
//! The chain is compared with its anchor and the keys are looked at when the state is opened and
//! now and then afterwards; that the open files are still the ones of the state, after every
//! commit and before anybody hears of it. Invariants: while a problem stands no effect is
//! announced; one that is mended, or accepted by an operator, stands no longer.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
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

/// What stands between a commit and its acknowledgement.
pub(crate) struct Guard {
    state_dir: PathBuf,
    anchor: Anchor,
    chain: String,
    /// The files that are open.
    files: Option<[Identity; 2]>,
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
struct Identity {
    device: u64,
    inode: u64,
}

impl Guard {
    /// Looks at a state that `connection` has open.
    pub(crate) fn new(
        state_dir: &Path,
        anchor: Anchor,
        chain: &str,
        connection: &Connection,
    ) -> Result<Self, StoreError> {
        let identify = |name| identity(&state_dir.join(name));
        let files = match (identify(open::DATABASE), identify(open::LOG)) {
            (Some(database), Some(log)) => Some([database, log]),
            _ => None,
        };
        let guard = Self {
            state_dir: state_dir.to_owned(),
            anchor,
            chain: chain.to_owned(),
            files,
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
        let problem = match identity(&self.state_dir.join(open::DATABASE)) {
            None => StateProblem::Deleted,
            Some(found) if found != database => StateProblem::Replaced,
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
#[cfg(unix)]
fn exposed_keys(state_dir: &Path) -> Vec<StateProblem> {
    use std::os::unix::fs::PermissionsExt as _;
    let is_exposed = |file: &&&'static str| {
        let found = fs::metadata(state_dir.join(file));
        found.is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
    };
    let exposed = KEY_FILES.iter().filter(is_exposed);
    exposed
        .map(|file| StateProblem::KeyExposed { file })
        .collect()
}

#[cfg(not(unix))]
fn exposed_keys(_: &Path) -> Vec<StateProblem> {
    Vec::new()
}

/// Takes the keys away from everybody but their owner.
pub(crate) fn protect_keys(state_dir: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    for file in KEY_FILES {
        use std::os::unix::fs::PermissionsExt as _;
        let path = state_dir.join(file);
        if path.exists() {
            fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        }
    }
    #[cfg(not(unix))]
    let _ = state_dir;
    Ok(())
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    let found = fs::metadata(path).ok()?;
    Some(Identity {
        device: found.dev(),
        inode: found.ino(),
    })
}

/// Elsewhere an open file cannot be replaced.
#[cfg(not(unix))]
fn identity(_: &Path) -> Option<Identity> {
    None
}
