//! A folder held open: whatever happens to its path, its files are the same.

use std::{
    fs::{File, Metadata},
    io,
    os::{fd::AsFd, unix::fs::MetadataExt},
    path::Path,
};

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, RenameFlags, Uid, fchmod, fchown, openat, renameat, renameat_with,
    statat, unlinkat,
};
use rustix::io::Errno;

use crate::beneath::Resolved;

/// Whose file it is, and who may do what with it.
pub(in super::super) struct Owner {
    user: u32,
    group: u32,
    mode: u32,
}

impl Owner {
    pub(in super::super) fn of(about: &Metadata) -> Self {
        Self {
            user: about.uid(),
            group: about.gid(),
            mode: about.mode() & 0o777,
        }
    }

    /// Makes a file theirs, as far as we may.
    pub(in super::super) fn give(&self, file: &File) -> io::Result<()> {
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (self.user, self.group) {
            let (user, group) = (Uid::from_raw(self.user), Gid::from_raw(self.group));
            match fchown(file, Some(user), Some(group)) {
                Ok(()) | Err(Errno::PERM) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(fchmod(file, Mode::from_raw_mode(self.mode))?)
    }
}

pub(in super::super) struct Folder(File);

impl Folder {
    pub(in super::super) fn open(place: &Resolved) -> io::Result<Self> {
        let folder = place.open()?;
        if folder.metadata()?.is_dir() {
            Ok(Self(folder))
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    /// Opens a file, never a link.
    pub(in super::super) fn open_file(&self, name: &Path) -> io::Result<Option<File>> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        match openat(self.0.as_fd(), name, flags, Mode::empty()) {
            Ok(file) => Ok(Some(File::from(file))),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP) => Err(io::ErrorKind::InvalidInput.into()),
            Err(error) => Err(error.into()),
        }
    }

    pub(in super::super) fn create(&self, name: &Path) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::CREATE | OFlags::EXCL;
        let mode = Mode::from_raw_mode(0o644);
        Ok(File::from(openat(self.0.as_fd(), name, flags, mode)?))
    }

    /// Lets two names change places; says whether that was one step, which some file systems
    /// cannot make.
    pub(in super::super) fn exchange(&self, one: &Path, other: &Path) -> io::Result<bool> {
        let folder = self.0.as_fd();
        match renameat_with(folder, one, folder, other, RenameFlags::EXCHANGE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                self.exchange_by_copy(one, other)?;
                Ok(false)
            }
            exchanged => Ok(exchanged.map(|()| true)?),
        }
    }

    /// Whether some program has a file open for writing, where that can be told.
    pub(in super::super) fn has_writer(&self, name: &Path) -> io::Result<Option<bool>> {
        match self.open_file(name)? {
            Some(file) => tollgate_sandbox::has_writer(&file),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn exchange_by_copy(&self, one: &Path, other: &Path) -> io::Result<()> {
        let folder = self.0.as_fd();
        let mut third = one.as_os_str().to_owned();
        third.push("-old");
        rustix::fs::linkat(folder, other, folder, &third, AtFlags::empty())?;
        renameat(folder, one, folder, other)?;
        Ok(renameat(folder, &third, folder, one)?)
    }

    /// Renames to a name that nobody has.
    pub(in super::super) fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let folder = self.0.as_fd();
        match renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                match statat(folder, to, AtFlags::SYMLINK_NOFOLLOW) {
                    Err(Errno::NOENT) => Ok(renameat(folder, from, folder, to)?),
                    Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
                    Err(error) => Err(error.into()),
                }
            }
            renamed => Ok(renamed?),
        }
    }

    pub(in super::super) fn remove(&self, name: &Path) {
        // It may be gone already.
        let _ = unlinkat(self.0.as_fd(), name, AtFlags::empty());
    }

    pub(in super::super) fn sync(&self) -> io::Result<()> {
        self.0.sync_all()
    }
}
