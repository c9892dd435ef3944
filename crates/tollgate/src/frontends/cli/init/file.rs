//! Reads a client's file and replaces it whole.
//!
//! Invariant: at every moment the file is the old one or the new one, and the old one lies
//! beside it before the new one takes its place.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Enough for settings; whatever is larger is something else.
const MAX_BYTES: u64 = 64 << 20;

/// Links that are followed before it must be a circle.
const MAX_LINKS: usize = 16;

/// Backups that are looked past before somebody should tidy up.
const MAX_BACKUPS: usize = 10_000;

/// A file as it was found.
#[derive(Debug)]
pub(in super::super) struct Found {
    /// The file itself, behind all links.
    pub(in super::super) path: PathBuf,
    pub(in super::super) text: String,
    /// What may be done with it; a fresh file has none yet.
    permissions: Option<Permissions>,
}

impl Found {
    /// Reads the file a path leads to; none is an empty one.
    pub(in super::super) fn read(path: &Path) -> io::Result<Self> {
        let path = behind_links(path)?;
        let about = match fs::metadata(&path) {
            Ok(about) => about,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self {
                    path,
                    text: String::new(),
                    permissions: None,
                });
            }
            Err(error) => return Err(error),
        };
        if !about.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        if about.len() > MAX_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(Self {
            text: fs::read_to_string(&path)?,
            path,
            permissions: Some(about.permissions()),
        })
    }

    pub(super) fn is_new(&self) -> bool {
        self.permissions.is_none()
    }

    /// Puts the old text aside, if there is one, and the new text in its place.
    pub(in super::super) fn replace(&self, text: &str) -> io::Result<Option<PathBuf>> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let fresh = self.beside(&format!(".tollgate-new-{}", std::process::id()));
        let written = self.write(&fresh, text).and_then(|()| {
            // Some clients write their file all the time; nothing of theirs is undone.
            if Self::read(&self.path)?.text != self.text {
                return Err(io::Error::other(
                    "it changed while it was edited; run this again",
                ));
            }
            let backup = self.back_up()?;
            fs::rename(&fresh, &self.path)?;
            Ok(backup)
        });
        if written.is_err() {
            drop(fs::remove_file(&fresh));
        }
        written
    }

    fn back_up(&self) -> io::Result<Option<PathBuf>> {
        if self.is_new() {
            return Ok(None);
        }
        for number in 1..=MAX_BACKUPS {
            let path = self.beside(&format!(".tollgate-backup-{number}"));
            match self.write(&path, &self.text) {
                Ok(()) => return Ok(Some(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("there are too many backups beside it"))
    }

    /// Writes a file that did not exist, as open to others as the old one and never more.
    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if !self.is_new() {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        let mut file: File = options.open(path)?;
        file.write_all(text.as_bytes())?;
        if let Some(permissions) = &self.permissions {
            file.set_permissions(permissions.clone())?;
        }
        file.sync_all()
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = OsString::from(self.path.file_name().unwrap_or_default());
        name.push(ending);
        self.path.with_file_name(name)
    }
}

/// Where a path leads, also if nothing is there yet.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("it is a link to itself"))
}
