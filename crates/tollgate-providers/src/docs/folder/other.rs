//! A folder by its path.

use std::{
    fs::{self, File, Metadata, OpenOptions, Permissions},
    io,
    path::{Path, PathBuf},
};

use crate::beneath::Resolved;

/// Who may do what with a file.
pub(in super::super) struct Owner(Permissions);

impl Owner {
    pub(in super::super) fn of(about: &Metadata) -> Self {
        Self(about.permissions())
    }

    pub(in super::super) fn give(&self, file: &File) -> io::Result<()> {
        file.set_permissions(self.0.clone())
    }
}

pub(in super::super) struct Folder(PathBuf);

impl Folder {
    pub(in super::super) fn open(place: &Resolved) -> io::Result<Self> {
        Ok(Self(place.path()))
    }

    pub(in super::super) fn open_file(&self, name: &Path) -> io::Result<Option<File>> {
        let path = self.0.join(name);
        match path.symlink_metadata() {
            Ok(about) if about.is_symlink() => Err(io::ErrorKind::InvalidInput.into()),
            Ok(_) => File::open(path).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(in super::super) fn create(&self, name: &Path) -> io::Result<File> {
        let path = self.0.join(name);
        OpenOptions::new().write(true).create_new(true).open(path)
    }

    pub(in super::super) fn exchange(&self, one: &Path, other: &Path) -> io::Result<bool> {
        let (one, other) = (self.0.join(one), self.0.join(other));
        let third = one.with_extension("old");
        fs::copy(&other, &third)?;
        fs::rename(&one, &other)?;
        fs::rename(&third, &one)?;
        Ok(false)
    }

    /// Nothing here tells whether some program has a file open for writing.
    pub(in super::super) fn has_writer(&self, _name: &Path) -> io::Result<Option<bool>> {
        Ok(None)
    }

    pub(in super::super) fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let to = self.0.join(to);
        if to.symlink_metadata().is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        fs::rename(self.0.join(from), to)
    }

    pub(in super::super) fn remove(&self, name: &Path) {
        // It may be gone already.
        let _ = fs::remove_file(self.0.join(name));
    }

    pub(in super::super) fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
