//! The folder a conversation keeps between runs, and the only one its programs can write.
//!
//! Programs may leave anything here: links to anywhere, pipes, folders nobody may enter. So
//! the host never follows a path by name: every component is opened below the folder by
//! `openat2`, without links, and only plain files are read.

use std::{
    ffi::{CStr, CString},
    fs::{self, File},
    io::{self, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::{DirBuilderExt, MetadataExt},
    },
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant, SystemTime},
};

use rustix::{
    fs::{
        AtFlags, CWD, Dir, FileType, FlockOperation, Gid, Mode, OFlags, ResolveFlags, Stat,
        Timespec, Timestamps, UTIME_NOW, Uid, chmodat, chownat, fchown, flock, futimens, mkdirat,
        openat, openat2, renameat, statat, unlinkat,
    },
    io::Errno,
};

use super::stop::Stop;
use crate::job::Limit;

/// Whom programs run as when we are the superuser; nobody else uses this number.
pub(crate) const IDENTITY: u32 = 64_230;
/// Folders below folders; deeper counts as too many files.
pub(super) const MAX_DEPTH: usize = 32;
const MAX_PATH: usize = 1024;
const MAX_NAME: usize = 255;

const NOW: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: UTIME_NOW,
};

/// How large a workspace may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Bytes in all files together.
    pub bytes: u64,
    /// Files, folders and links.
    pub files: u64,
}

/// What a new file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To be read.
    Data,
    /// To be run.
    Program,
}

/// Something in a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// From the workspace, with `/`.
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
    /// In bytes.
    pub bytes: u64,
    /// When its content changed.
    pub modified: SystemTime,
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A plain file.
    File,
    /// A folder.
    Folder,
    /// A link; the host never follows it.
    Link,
    /// A pipe, a socket or worse.
    Other,
}

/// Why the host could not use something in a workspace.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The path leads nowhere or out.
    #[error("`{0}` is not a path below the workspace")]
    BadPath(String),
    /// Nothing is there.
    #[error("there is no `{0}` in the workspace")]
    NotFound(String),
    /// It is a link, a folder, a pipe.
    #[error("`{0}` is not a plain file")]
    NotAFile(String),
    /// It would be larger than it may be.
    #[error("the workspace may hold {} bytes in {} files", .0.bytes, .0.files)]
    Full(Quota),
    /// Another call uses it.
    #[error("another call of this conversation is using the workspace")]
    Busy,
    /// The file system failed.
    #[error("the workspace cannot be used: {0}")]
    Io(#[from] io::Error),
}

impl From<Errno> for WorkspaceError {
    fn from(error: Errno) -> Self {
        Self::Io(error.into())
    }
}

/// The folder of one conversation.
#[derive(Debug)]
pub struct Workspace {
    pub(super) path: PathBuf,
    pub(super) folder: OwnedFd,
    owner: Option<u32>,
    lock: File,
}

/// Keeps others out of a workspace until it is dropped.
#[derive(Debug)]
pub struct Held<'a>(&'a File);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Closing the file would do the same.
        let _ = flock(self.0, FlockOperation::Unlock);
    }
}

impl Workspace {
    /// Opens the workspace called `name` below `root`, and makes it if it is not there.
    pub fn open(root: &Path, name: &str) -> Result<Self, WorkspaceError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if name.is_empty() || name.len() > 64 || !name.bytes().all(is_plain) {
            return Err(WorkspaceError::BadPath(name.to_owned()));
        }
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(root)?;
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(root.join(format!("{name}.lock")))?;
        let path = root.join(name);
        let owner = rustix::process::geteuid().is_root().then_some(IDENTITY);
        match mkdirat(CWD, &path, Mode::from_raw_mode(0o700)) {
            Ok(()) => give(CWD, &path, owner)?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(CWD, &path, flags, Mode::empty())?;
        Ok(Self {
            path,
            folder,
            owner,
            lock,
        })
    }

    /// Where it is on the host.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Who its files belong to, if not to us.
    pub(crate) fn owner(&self) -> Option<u32> {
        self.owner
    }

    pub(crate) fn duplicate(&self) -> io::Result<OwnedFd> {
        self.folder.try_clone()
    }

    /// The time as the workspace's file system has it, for [`Self::trim`].
    pub fn now(&self) -> Result<SystemTime, WorkspaceError> {
        self.touch()?;
        Ok(self.lock.metadata()?.modified()?)
    }

    /// Waits until no other call uses it, in this process or another.
    pub fn hold(&self, stop: &Stop, patience: Duration) -> Result<Held<'_>, WorkspaceError> {
        let since = Instant::now();
        loop {
            match flock(&self.lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if stop.is_set() || since.elapsed() >= patience {
                return Err(WorkspaceError::Busy);
            }
            thread::sleep(Duration::from_millis(5));
        }
        // Whoever held it before took it away: this is a workspace of nobody.
        if self.lock.metadata()?.nlink() == 0 {
            return Err(WorkspaceError::Busy);
        }
        self.touch()?;
        Ok(Held(&self.lock))
    }

    /// What was used is not swept.
    fn touch(&self) -> io::Result<()> {
        let now = Timestamps {
            last_access: NOW,
            last_modification: NOW,
        };
        Ok(futimens(&self.lock, &now)?)
    }

    /// Writes a file, and the folders it needs; what stood there before is gone.
    pub fn write(
        &self,
        path: &str,
        bytes: &[u8],
        purpose: Purpose,
        quota: &Quota,
    ) -> Result<(), WorkspaceError> {
        let parts = parts(path)?;
        let (name, folders) = parts
            .split_last()
            .ok_or_else(|| WorkspaceError::BadPath(path.to_owned()))?;
        let used = self.used(quota).map_err(|_| WorkspaceError::Full(*quota))?;
        let grown = used.bytes.saturating_add(bytes.len() as u64);
        let more = used.files.saturating_add(parts.len() as u64);
        if grown > quota.bytes || more > quota.files {
            return Err(WorkspaceError::Full(*quota));
        }
        let mut folder = self.duplicate()?;
        for part in folders {
            match mkdirat(&folder, *part, Mode::from_raw_mode(0o755)) {
                Ok(()) => give(folder.as_fd(), part, self.owner)?,
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            folder = enter(folder.as_fd(), part)
                .map_err(|_| WorkspaceError::BadPath(path.to_owned()))?;
        }
        match unlinkat(&folder, *name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::ISDIR) => return Err(WorkspaceError::NotAFile(path.to_owned())),
            Err(error) => return Err(error.into()),
        }
        let mode = match purpose {
            Purpose::Data => 0o644,
            Purpose::Program => 0o755,
        };
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = openat2(folder, *name, flags, Mode::from_raw_mode(mode), BELOW)?;
        if let Some(owner) = self.owner {
            fchown(
                &file,
                Some(Uid::from_raw(owner)),
                Some(Gid::from_raw(owner)),
            )?;
        }
        File::from(file).write_all(bytes)?;
        Ok(())
    }

    /// Reads a plain file from `offset` on, at most `limit` bytes of it, and says its size.
    pub fn read(
        &self,
        path: &str,
        offset: u64,
        limit: u64,
    ) -> Result<(Vec<u8>, u64), WorkspaceError> {
        use std::io::Seek;
        let joined = parts(path)?.join("/");
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat2(&self.folder, &joined, flags, Mode::empty(), BELOW);
        let mut file = File::from(file.map_err(|error| match error {
            Errno::NOENT | Errno::NOTDIR => WorkspaceError::NotFound(joined.clone()),
            Errno::LOOP | Errno::XDEV | Errno::NXIO => WorkspaceError::NotAFile(joined.clone()),
            other => other.into(),
        })?);
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(WorkspaceError::NotAFile(joined));
        }
        file.seek(io::SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes)?;
        Ok((bytes, about.len()))
    }

    /// Removes a file or a whole folder.
    pub fn remove(&self, path: &str) -> Result<(), WorkspaceError> {
        let parts = parts(path)?;
        let (name, folders) = parts
            .split_last()
            .ok_or_else(|| WorkspaceError::BadPath(path.to_owned()))?;
        let gone = || WorkspaceError::NotFound(path.to_owned());
        let mut folder = self.duplicate()?;
        for part in folders {
            folder = enter(folder.as_fd(), part).map_err(|_| gone())?;
        }
        let about = statat(&folder, *name, AtFlags::SYMLINK_NOFOLLOW).map_err(|_| gone())?;
        if FileType::from_raw_mode(about.st_mode) == FileType::Directory {
            empty(enter(folder.as_fd(), name).map_err(|_| gone())?.as_fd())?;
            unlinkat(&folder, *name, AtFlags::REMOVEDIR)?;
        } else {
            unlinkat(&folder, *name, AtFlags::empty())?;
        }
        Ok(())
    }

    /// Everything in it in the order of paths, at most `limit` entries, and whether that is all.
    pub fn list(&self, limit: usize) -> Result<(Vec<Entry>, bool), WorkspaceError> {
        let mut entries = Vec::new();
        let mut is_all = true;
        let mut see = |path: &str, about: &Stat| {
            if entries.len() >= limit {
                is_all = false;
                return false;
            }
            entries.push(entry(path, about));
            true
        };
        // A folder that is too deep ends the walk as a full list does.
        let is_walked = walk(self.folder.as_fd(), "", 0, &mut see)?;
        entries.sort_by(|one, other| one.path.cmp(&other.path));
        Ok((entries, is_all && is_walked))
    }

    /// How much of its quota is used, or which part of it is exceeded.
    fn used(&self, quota: &Quota) -> Result<Quota, Limit> {
        let mut used = Quota { bytes: 0, files: 0 };
        let mut see = |_: &str, about: &Stat| {
            used.files += 1;
            used.bytes = used.bytes.saturating_add(size(about));
            used.files <= quota.files && used.bytes <= quota.bytes
        };
        match walk(self.folder.as_fd(), "", 0, &mut see) {
            Ok(true) => Ok(used),
            Ok(false) if used.bytes > quota.bytes => Err(Limit::Disk),
            // Too many, too deep, or so made that nobody can look.
            Ok(false) | Err(_) => Err(Limit::Files),
        }
    }

    /// Which part of its quota it exceeds, if any.
    pub(crate) fn exceeds(&self, quota: &Quota) -> Option<Limit> {
        self.used(quota).err()
    }

    /// Removes what was written since, the largest first, until the quota holds again.
    pub fn trim(&self, quota: &Quota, since: SystemTime) -> Result<(), WorkspaceError> {
        let mut fresh = Vec::new();
        let mut left = Quota { bytes: 0, files: 0 };
        let mut see = |path: &str, about: &Stat| {
            left.files += 1;
            left.bytes = left.bytes.saturating_add(size(about));
            // Unlike the time of the content, this one cannot be set by the program.
            let changed = time(about.st_ctime, about.st_ctime_nsec);
            let is_folder = FileType::from_raw_mode(about.st_mode) == FileType::Directory;
            if !is_folder && changed >= since {
                fresh.push((size(about), path.to_owned()));
            }
            true
        };
        walk(self.folder.as_fd(), "", 0, &mut see)?;
        fresh.sort_unstable_by(|one, other| other.cmp(one));
        for (bytes, path) in fresh {
            if left.bytes <= quota.bytes && left.files <= quota.files {
                break;
            }
            match self.remove(&path) {
                Ok(()) | Err(WorkspaceError::NotFound(_) | WorkspaceError::BadPath(_)) => {}
                Err(error) => return Err(error),
            }
            left.bytes = left.bytes.saturating_sub(bytes);
            left.files = left.files.saturating_sub(1);
        }
        // Folders alone can be too many, and too deep.
        if self.used(quota).is_err() {
            empty(self.folder.as_fd())?;
        }
        Ok(())
    }
}

const BELOW: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);

/// The names of a path that stays below; an absolute one may begin with where it is inside.
fn parts(path: &str) -> Result<Vec<&str>, WorkspaceError> {
    let bad = || WorkspaceError::BadPath(path.chars().take(200).collect());
    let below = path.strip_prefix("/workspace/").unwrap_or(path);
    let below = below.strip_prefix("./").unwrap_or(below);
    if below.is_empty() || below.len() > MAX_PATH || below.contains('\0') {
        return Err(bad());
    }
    let parts: Vec<&str> = below.split('/').collect();
    let is_name = |part: &&str| !part.is_empty() && part.len() <= MAX_NAME && *part != "..";
    if parts.len() > MAX_DEPTH || !parts.iter().all(|part| is_name(part) && *part != ".") {
        return Err(bad());
    }
    Ok(parts)
}

/// Opens a folder below a folder, without following anything.
fn enter(folder: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat2(folder, name, flags, Mode::empty(), BELOW)?)
}

/// Opens a folder whatever its owner did to its mode.
pub(super) fn force(folder: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(folder, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            chmodat(folder, name, Mode::RWXU, AtFlags::empty())?;
            Ok(openat(folder, name, flags, Mode::empty())?)
        }
        other => Ok(other?),
    }
}

fn give(folder: impl AsFd, name: impl AsRef<Path>, owner: Option<u32>) -> io::Result<()> {
    if let Some(owner) = owner {
        let (uid, gid) = (Uid::from_raw(owner), Gid::from_raw(owner));
        chownat(
            folder,
            name.as_ref(),
            Some(uid),
            Some(gid),
            AtFlags::SYMLINK_NOFOLLOW,
        )?;
    }
    Ok(())
}

/// Shows every entry to `see` until it has seen enough; whether all were shown.
fn walk(
    folder: BorrowedFd<'_>,
    prefix: &str,
    depth: usize,
    see: &mut dyn FnMut(&str, &Stat) -> bool,
) -> io::Result<bool> {
    if depth >= MAX_DEPTH {
        return Ok(false);
    }
    for item in Dir::read_from(folder)? {
        let item = item?;
        let name = item.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let about = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(about) => about,
            // It went away meanwhile.
            Err(Errno::NOENT) => continue,
            Err(error) => return Err(error.into()),
        };
        let path = format!("{prefix}{}", name.to_string_lossy());
        if !see(&path, &about) {
            return Ok(false);
        }
        if FileType::from_raw_mode(about.st_mode) == FileType::Directory {
            let below = match force(folder, name) {
                Ok(below) => below,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            if !walk(below.as_fd(), &format!("{path}/"), depth + 1, see)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Empties a folder however deep it is: what is below a folder in it is first lifted up.
pub(super) fn empty(top: BorrowedFd<'_>) -> io::Result<()> {
    let mut lifted = 0_u64;
    loop {
        let mut is_empty = true;
        for item in names(top)? {
            is_empty = false;
            if !unlink(top, &item)? {
                let folder = force(top, &item)?;
                for inner in names(folder.as_fd())? {
                    if !unlink(folder.as_fd(), &inner)? {
                        // Moving a folder writes to it.
                        drop(force(folder.as_fd(), &inner)?);
                        chmodat(&folder, &inner, Mode::RWXU, AtFlags::empty())?;
                        renameat(&folder, &inner, top, format!(".lifted-{lifted}"))?;
                        lifted += 1;
                    }
                }
                unlinkat(top, &item, AtFlags::REMOVEDIR)?;
            }
        }
        if is_empty {
            return Ok(());
        }
    }
}

/// Removes what is no folder; whether it did.
fn unlink(folder: BorrowedFd<'_>, name: &CStr) -> io::Result<bool> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::ISDIR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn names(folder: BorrowedFd<'_>) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for item in Dir::read_from(folder)? {
        let name = item?.file_name().to_owned();
        if name.as_c_str() != c"." && name.as_c_str() != c".." {
            names.push(name);
        }
    }
    Ok(names)
}

fn size(about: &Stat) -> u64 {
    let blocks = u64::try_from(about.st_blocks).unwrap_or(0) * 512;
    blocks.max(u64::try_from(about.st_size).unwrap_or(0))
}

fn entry(path: &str, about: &Stat) -> Entry {
    let kind = match FileType::from_raw_mode(about.st_mode) {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Folder,
        FileType::Symlink => EntryKind::Link,
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => EntryKind::Other,
    };
    Entry {
        path: path.to_owned(),
        kind,
        bytes: u64::try_from(about.st_size).unwrap_or(0),
        modified: time(about.st_mtime, about.st_mtime_nsec),
    }
}

fn time(seconds: i64, nanos: u64) -> SystemTime {
    let seconds = u64::try_from(seconds).unwrap_or(0);
    let nanos = u32::try_from(nanos).unwrap_or(0);
    SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos)
}
