//! Sees to it that a session goes on with the version it began with, whatever happens to
//! the files and to this process.
//!
//! A version is written once, when its first session begins: before that session's answer
//! if it is small, beside it if it is large. From time to time its end is put off while
//! sessions use it, so nobody has to count them.

use std::{
    collections::HashMap,
    io::Write,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::task::JoinHandle;
use tollgate_core::{Clock, ProviderError, Timestamp};
use tollgate_knowledge::{Session, Stamp, Unpacked};

use super::kept::{KeepError, Kept};

/// Up to so many bytes, a version is packed when it is read and on disk before an answer.
pub(super) const SMALL: u64 = 1 << 20;
/// How often in the life of a session the end of its version is put off.
const NOTES: u32 = 8;

/// How long nobody tries again to write what could not be written.
const PAUSE: Duration = Duration::from_secs(60);

/// A base by its id, and its version.
type Name = (String, String);

/// What there is to write a version from.
pub(super) enum Content {
    /// It is packed.
    Packed(Arc<[u8]>),
    /// Its files, if they are still the same.
    Files(Stamp),
    /// Nothing any more.
    Lost,
}

/// Why a version that is kept could not be read back.
pub(super) enum Trouble {
    /// For now; another attempt may do better.
    Passing(ProviderError),
    /// For good.
    Damaged(ProviderError),
}

/// The versions that sessions use.
pub(super) struct Versions {
    kept: Option<Kept>,
    session_ttl: Duration,
    clock: Arc<dyn Clock>,
    /// When each one has to be noted again.
    noted: Arc<Mutex<HashMap<Name, Timestamp>>>,
    /// Which ones are not kept, and why.
    complaints: Arc<Mutex<HashMap<Name, String>>>,
    writing: Mutex<Vec<JoinHandle<()>>>,
    turn: tokio::sync::Mutex<()>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Versions {
    pub(super) fn new(kept: Option<Kept>, session_ttl: Duration, clock: Arc<dyn Clock>) -> Self {
        Self {
            kept,
            session_ttl,
            clock,
            noted: Arc::default(),
            complaints: Arc::default(),
            writing: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        }
    }

    /// Whether anything is kept at all.
    pub(super) fn are_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// The versions of a session that have to be noted now; mostly none.
    pub(super) fn due(&self, session: &Session) -> Vec<Name> {
        if self.kept.is_none() {
            return Vec::new();
        }
        let now = self.clock.now();
        let noted = locked(&self.noted);
        let is_due = |name: &Name| noted.get(name).is_none_or(|next| *next <= now);
        let names = session.versions();
        let names = names.map(|(id, version)| (id.to_owned(), version.to_owned()));
        names.filter(is_due).collect()
    }

    /// Notes that a version is used, and writes it if it is not there yet.
    pub(super) async fn hold(&self, name: Name, content: Content) -> Result<(), ProviderError> {
        let Some(kept) = self.kept.clone() else {
            return Ok(());
        };
        let _turn = self.turn.lock().await;
        let now = self.clock.now();
        if locked(&self.noted)
            .get(&name)
            .is_some_and(|next| *next > now)
        {
            return Ok(());
        }
        let between = self.session_ttl / NOTES;
        let writing = Writing {
            kept,
            now,
            // The last note may be that old when the last session takes its last step.
            until: now.plus(self.session_ttl).plus(between),
            name: name.clone(),
            noted: Arc::clone(&self.noted),
            complaints: Arc::clone(&self.complaints),
        };
        let is_large = matches!(content, Content::Files(_));
        locked(&self.noted).insert(name, now.plus(between));
        let written = tokio::task::spawn_blocking(move || writing.run(content));
        if is_large {
            let mut all = locked(&self.writing);
            all.retain(|one| !one.is_finished());
            all.push(written);
            return Ok(());
        }
        written.await.map_err(ProviderError::unavailable)
    }

    /// Why a version of this session is not kept, if one is not.
    pub(super) fn complaint_of(&self, session: &Session) -> Option<String> {
        let complaints = locked(&self.complaints);
        if complaints.is_empty() {
            return None;
        }
        let mut names = session.versions();
        names.find_map(|(id, version)| {
            let name = (id.to_owned(), version.to_owned());
            complaints.get(&name).cloned()
        })
    }

    /// Why a version is not kept, if any is not, or soon cannot be.
    pub(super) async fn complaint(&self) -> Option<String> {
        let known = locked(&self.complaints).values().min().cloned();
        if known.is_some() {
            return known;
        }
        let kept = self.kept.clone()?;
        let looked = tokio::task::spawn_blocking(move || kept.complaint());
        looked.await.ok().flatten()
    }

    /// Reads a version back.
    pub(super) async fn restored(
        &self,
        id: &str,
        version: &str,
    ) -> Result<Option<Unpacked>, Trouble> {
        let Some(kept) = self.kept.clone() else {
            return Ok(None);
        };
        let (id, version) = (id.to_owned(), version.to_owned());
        let read = tokio::task::spawn_blocking(move || kept.get(&id, &version));
        let read = read.await.map_err(ProviderError::unavailable);
        read.map_err(Trouble::Passing)?.map_err(|error| {
            let kind = match error.is_passing() {
                true => Trouble::Passing,
                false => Trouble::Damaged,
            };
            kind(ProviderError::unavailable(error))
        })
    }

    /// Waits for what is still being written.
    pub(super) async fn close(&self) {
        let writing = std::mem::take(&mut *locked(&self.writing));
        for one in writing {
            // A panic there costs that version, which then says it is not kept.
            let _ = one.await;
        }
    }
}

/// One version on its way to disk.
struct Writing {
    kept: Kept,
    name: Name,
    now: Timestamp,
    until: Timestamp,
    noted: Arc<Mutex<HashMap<Name, Timestamp>>>,
    complaints: Arc<Mutex<HashMap<Name, String>>>,
}

impl Writing {
    fn run(self, content: Content) {
        let done = self.write(content);
        let (id, version) = &self.name;
        let mut complaints = locked(&self.complaints);
        let mut noted = locked(&self.noted);
        match done {
            Ok(()) => drop(complaints.remove(&self.name)),
            Err(error) => {
                let next = noted.get(&self.name).copied().unwrap_or(self.now);
                noted.insert(self.name.clone(), next.min(self.now.plus(PAUSE)));
                let told = format!(
                    "version {version} of `{id}` is not kept, so its sessions end when the file changes and the server restarts: {error}"
                );
                complaints.insert(self.name.clone(), told);
            }
        }
        // What nobody has used for longer than a session lives is nobody's concern.
        let long_ago = Timestamp(2 * self.now.0 - self.until.0);
        noted.retain(|_, next| *next > long_ago);
        complaints.retain(|name, _| noted.contains_key(name));
    }

    fn write(&self, content: Content) -> Result<(), KeepError> {
        let (id, version) = &self.name;
        let is_damaged = match &content {
            Content::Packed(bytes) => self.kept.is_damaged(id, version, bytes)?,
            Content::Files(_) | Content::Lost => false,
        };
        if !is_damaged && self.kept.note(id, version, self.until)? {
            return Ok(self.kept.sweep(self.now)?);
        }
        let put = |write: &dyn Fn(&mut dyn Write) -> Result<(), tollgate_knowledge::PackError>| {
            self.kept.put(id, version, self.until, self.now, write)
        };
        match content {
            Content::Packed(bytes) => put(&|out| Ok(out.write_all(&bytes)?)),
            Content::Files(stamp) => put(&|out| stamp.pack(version, out)),
            Content::Lost => Err(KeepError::Changed),
        }
    }
}
