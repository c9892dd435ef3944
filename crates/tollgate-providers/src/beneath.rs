//! Opening what stands below a folder that an operator named, and nowhere else.
//!
//! Invariant: nothing outside the folder is ever opened, whatever links, escapes or races
//! say. A path is resolved first and then opened link-free below the folder itself.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

/// A path that only leads down; what is odd is refused.
pub(crate) fn relative(text: &str) -> Option<PathBuf> {
    if text.contains(['\0', '\\']) || text.starts_with('/') {
        return None;
    }
    let mut below = PathBuf::new();
    for part in text.split('/') {
        match part {
            "" => {}
            "." | ".." => return None,
            name => below.push(name),
        }
    }
    Some(below)
}

/// A place below a folder, after every link has been followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolved {
    root: PathBuf,
    rest: PathBuf,
}

/// Follows the links of a path that must exist; one that leads out is refused.
pub(crate) fn resolve(root: &Path, path: &Path) -> io::Result<Resolved> {
    let root = root.canonicalize()?;
    let target = root.join(path).canonicalize()?;
    let rest = target
        .strip_prefix(&root)
        .map_err(|_| io::Error::from(io::ErrorKind::PermissionDenied))?
        .to_owned();
    Ok(Resolved { root, rest })
}

impl Resolved {
    /// Where it is.
    pub(crate) fn path(&self) -> PathBuf {
        self.root.join(&self.rest)
    }

    /// Where it is, seen from the folder.
    pub(crate) fn below(&self) -> &Path {
        &self.rest
    }

    /// Opens it for reading; a link that appeared since is not followed.
    #[cfg(target_os = "linux")]
    pub(crate) fn open(&self) -> io::Result<File> {
        use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let folder = openat(CWD, &self.root, flags | OFlags::DIRECTORY, Mode::empty())?;
        let rest = if self.rest.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &self.rest
        };
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let opened = openat2(folder, rest, flags, Mode::empty(), resolve)?;
        Ok(File::from(opened))
    }

    /// Opens it for reading.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn open(&self) -> io::Result<File> {
        File::open(self.path())
    }
}
