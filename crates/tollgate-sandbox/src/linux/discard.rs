//! Taking workspaces away: one whose conversation is over, and those that nobody uses.
//!
//! Invariants: a workspace is taken away only while it is held; its lock goes last, so that
//! what is left of one is found by the next sweep.

use std::{
    fs::{self, File},
    io,
    os::{fd::AsFd, unix::fs::MetadataExt},
    path::Path,
    time::Duration,
};

use rustix::{
    fs::{CWD, FlockOperation, Mode, OFlags, flock, openat},
    io::Errno,
};

use super::workspace::{Held, Workspace, empty};

impl Workspace {
    /// Removes it and all that is in it; what cannot be removed is swept another time.
    pub fn discard(&self, held: Held<'_>) -> io::Result<()> {
        empty(self.folder.as_fd())?;
        fs::remove_dir(&self.path)?;
        fs::remove_file(self.path.with_extension("lock"))?;
        drop(held);
        Ok(())
    }
}

/// Removes workspaces below `root` that nobody has used for so long. One that cannot be
/// removed keeps no other; the first of them is told if none could.
pub fn sweep(root: &Path, unused: Duration) -> io::Result<usize> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let mut removed = 0;
    let mut failed = None;
    for entry in entries.flatten() {
        let lock = entry.path();
        let is_old = entry.metadata().is_ok_and(|about| {
            let age = about.modified().ok().and_then(|then| then.elapsed().ok());
            about.is_file() && about.nlink() == 1 && age.is_some_and(|age| age >= unused)
        });
        if !is_old || lock.extension().is_none_or(|kind| kind != "lock") {
            continue;
        }
        match remove(&lock) {
            Ok(is_gone) => removed += usize::from(is_gone),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    match failed {
        Some(error) if removed == 0 => Err(error),
        Some(_) | None => Ok(removed),
    }
}

/// Removes the workspace of a lock, whether its folder is still there or not; `false` if
/// somebody holds it.
fn remove(lock: &Path) -> io::Result<bool> {
    let file = File::options().write(true).open(lock)?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(false);
    }
    let folder = lock.with_extension("");
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(CWD, &folder, flags, Mode::empty()) {
        Ok(opened) => {
            empty(opened.as_fd())?;
            fs::remove_dir(&folder)?;
        }
        Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    fs::remove_file(lock)?;
    Ok(true)
}
