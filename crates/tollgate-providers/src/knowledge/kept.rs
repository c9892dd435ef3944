//! A folder of packed versions, each with the time until which a session may need it.
//!
//! Invariant: under one name there is a whole version or nothing, and what is swept is
//! past its time. Processes that share the folder take turns by a lock; what takes long is
//! written beside and only moved into its place under the lock.

use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io::{self, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write},
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use sha2::{Digest as _, Sha256};
use tollgate_core::Timestamp;
use tollgate_knowledge::{Limits, PackError, Unpacked, unpack};

/// How the name of a kept version ends, and of one that is being written.
const KEPT: &str = "kept";
const NEW: &str = "new";
/// What is still being written after this time was left behind by a crash.
const LEFT_BEHIND: Duration = Duration::from_secs(3600);
/// Twenty digits and the end of the line: the milliseconds of its end.
const HEAD: usize = 21;

/// Why a version is not kept.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeepError {
    /// There is no room for it.
    #[error(
        "the {limit} bytes for versions in {folder} are used up; they become free as sessions end (`knowledge.session_ttl_seconds`), or when files there are removed"
    )]
    Full { limit: u64, folder: String },
    /// Its files were changed before it was written.
    #[error("its files were changed before it could be written")]
    Changed,
    /// It could not be written or read.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// The folder could not be used.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl KeepError {
    /// Whether another attempt can do better: what is there was not even looked at.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Io(_) => true,
            Self::Pack(PackError::Io(error)) => !matches!(
                error.kind(),
                io::ErrorKind::InvalidData
                    | io::ErrorKind::InvalidInput
                    | io::ErrorKind::UnexpectedEof
            ),
            Self::Pack(PackError::Changed | PackError::Damaged(_))
            | Self::Full { .. }
            | Self::Changed => false,
        }
    }
}

/// The folder.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    folder: PathBuf,
    limit: u64,
}

impl Kept {
    pub(super) fn new(folder: PathBuf, limit: u64) -> Self {
        Self { folder, limit }
    }

    fn path(&self, id: &str, version: &str) -> PathBuf {
        // Two bases can be the same, word for word, under two names.
        let digest = Sha256::digest(id.as_bytes());
        let digest: String = digest[..6]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let known = |c: char| c.is_ascii_alphanumeric();
        let version: String = version.chars().filter(|c| known(*c)).take(64).collect();
        self.folder.join(format!("{version}-{digest}.{KEPT}"))
    }

    /// Waits for the turn of this process.
    fn turn(&self) -> io::Result<File> {
        fs::create_dir_all(&self.folder)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.folder.join("lock"))?;
        lock.lock()?;
        Ok(lock)
    }

    /// Notes until when a version is needed; false if it is not here.
    pub(super) fn note(&self, id: &str, version: &str, until: Timestamp) -> io::Result<bool> {
        let _turn = self.turn()?;
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .open(self.path(id, version));
        let mut file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        put_off(&mut file, until)?;
        Ok(true)
    }

    /// Whether what is here under this name is not what was packed.
    pub(super) fn is_damaged(&self, id: &str, version: &str, packed: &[u8]) -> io::Result<bool> {
        match fs::read(self.path(id, version)) {
            Ok(bytes) => Ok(bytes.get(HEAD..) != Some(packed)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes a version; it is on disk when this returns.
    pub(super) fn put(
        &self,
        id: &str,
        version: &str,
        until: Timestamp,
        now: Timestamp,
        write: impl FnOnce(&mut dyn Write) -> Result<(), PackError>,
    ) -> Result<(), KeepError> {
        fs::create_dir_all(&self.folder)?;
        let path = self.path(id, version);
        let beside = path.with_extension(format!("{:x}.{NEW}", unique()?));
        let written = self.write(&beside, until, write);
        let placed = written.and_then(|length| self.place(&beside, &path, length, now));
        if placed.is_err() {
            // What went wrong is told already; what is left is swept later.
            let _ = fs::remove_file(&beside);
        }
        placed
    }

    fn write(
        &self,
        path: &Path,
        until: Timestamp,
        write: impl FnOnce(&mut dyn Write) -> Result<(), PackError>,
    ) -> Result<u64, KeepError> {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        let mut out = Bounded {
            out: BufWriter::new(file),
            rest: self.limit,
            is_full: false,
        };
        let mut done = out.write_all(&head(until)).map_err(PackError::from);
        if done.is_ok() {
            done = write(&mut out);
        }
        match done {
            Err(_) if out.is_full => return Err(self.full()),
            Err(PackError::Changed) => return Err(KeepError::Changed),
            Err(error) => return Err(error.into()),
            Ok(()) => {}
        }
        let file = out
            .out
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        Ok(self.limit - out.rest)
    }

    fn place(
        &self,
        beside: &Path,
        path: &Path,
        length: u64,
        now: Timestamp,
    ) -> Result<(), KeepError> {
        let _turn = self.turn()?;
        let used = self.swept(now, path)?;
        if used + length > self.limit {
            return Err(self.full());
        }
        // Another process may have been quicker, and need it for longer.
        let mut file = OpenOptions::new().read(true).write(true).open(beside)?;
        let known = File::open(path)
            .ok()
            .and_then(|mut known| end_of(&mut known));
        if let Some(known) = known {
            put_off(&mut file, known)?;
        }
        drop(file);
        fs::rename(beside, path)?;
        #[cfg(unix)]
        File::open(&self.folder)?.sync_all()?;
        Ok(())
    }

    fn full(&self) -> KeepError {
        KeepError::Full {
            limit: self.limit,
            folder: self.folder.display().to_string(),
        }
    }

    /// Says that there is hardly any room left, if that is so.
    pub(super) fn complaint(&self) -> Option<String> {
        let entries = fs::read_dir(&self.folder).ok()?;
        let lengths = entries.flatten().filter_map(|entry| {
            let is_kept = entry.path().extension() == Some(OsStr::new(KEPT));
            let metadata = entry.metadata().ok().filter(|_| is_kept)?;
            Some(metadata.len())
        });
        let used: u64 = lengths.sum();
        (used > self.limit / 20 * 19).then(|| self.full().to_string())
    }

    /// Removes what is past its time.
    pub(super) fn sweep(&self, now: Timestamp) -> io::Result<()> {
        let _turn = self.turn()?;
        self.swept(now, Path::new("")).map(drop)
    }

    /// Removes what is past its time; gives how many bytes the others have, but for one.
    fn swept(&self, now: Timestamp, but: &Path) -> io::Result<u64> {
        let mut used = 0;
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_file);
            let Some(metadata) = metadata else {
                continue;
            };
            let ending = path.extension().and_then(OsStr::to_str);
            let is_past = match ending {
                // One that cannot be opened right now may be needed later.
                Some(KEPT) => File::open(&path).is_ok_and(|mut file| {
                    let end = end_of(&mut file);
                    end.is_none_or(|end| end < now)
                }),
                Some(NEW) => changed(&metadata).plus(LEFT_BEHIND) < now,
                Some(_) | None => continue,
            };
            if is_past {
                fs::remove_file(&path)?;
            } else if path != but && ending == Some(KEPT) {
                used += metadata.len();
            }
        }
        Ok(used)
    }

    /// Reads a version back, if it is here.
    pub(super) fn get(&self, id: &str, version: &str) -> Result<Option<Unpacked>, KeepError> {
        let mut file = match File::open(self.path(id, version)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        file.seek(SeekFrom::Start(HEAD as u64))?;
        let unpacked = unpack(BufReader::new(file), Limits::default())?;
        let base = &unpacked.base;
        if (base.id(), base.version()) != (id, version) {
            let other = format!("it is `{}`, version {}", base.id(), base.version());
            return Err(PackError::Damaged(other).into());
        }
        Ok(Some(unpacked))
    }
}

fn head(until: Timestamp) -> Vec<u8> {
    format!("{:020}\n", until.0.max(0)).into_bytes()
}

fn end_of(file: &mut File) -> Option<Timestamp> {
    let mut head = [0; HEAD];
    file.read_exact(&mut head).ok()?;
    let text = std::str::from_utf8(&head).ok()?;
    text.trim_end().parse().ok().map(Timestamp)
}

/// Sees to it that a version is not swept before this time.
fn put_off(file: &mut File, until: Timestamp) -> io::Result<()> {
    if end_of(file).is_none_or(|known| known < until) {
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&head(until))?;
        file.sync_all()?;
    }
    Ok(())
}

fn changed(metadata: &fs::Metadata) -> Timestamp {
    let changed = metadata.modified().ok();
    let since = changed.and_then(|changed| changed.duration_since(UNIX_EPOCH).ok());
    let millis = since.unwrap_or_default().as_millis();
    Timestamp(i64::try_from(millis).unwrap_or(i64::MAX))
}

fn unique() -> io::Result<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Takes no more than there is room for.
struct Bounded {
    out: BufWriter<File>,
    rest: u64,
    is_full: bool,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.rest {
            self.is_full = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let written = self.out.write(bytes)?;
        self.rest -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests;
