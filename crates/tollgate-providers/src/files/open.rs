//! Opening a file below a folder, and nowhere else.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

use super::MAX_ENTRIES;

/// What stands at a path.
pub(super) enum Found {
    /// The names of a folder's entries; those of folders end in `/`.
    Folder(Vec<String>),
    /// The beginning of a file, and the size of all of it.
    File { bytes: Vec<u8>, total: u64 },
}

/// Opens what stands at `path` below `root`, after links are resolved.
pub(super) fn open(root: &Path, path: &Path, limit: usize) -> io::Result<Found> {
    let root = root.canonicalize()?;
    let target = root.join(path).canonicalize()?;
    let rest = target
        .strip_prefix(&root)
        .map_err(|_| io::Error::from(io::ErrorKind::PermissionDenied))?;
    let mut file = link_free(&root, rest)?;
    let about = file.metadata()?;
    if about.is_dir() {
        return names(&target).map(Found::Folder);
    }
    if !about.is_file() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let mut bytes = Vec::new();
    file.by_ref().take(limit as u64).read_to_end(&mut bytes)?;
    Ok(Found::File {
        bytes,
        total: about.len(),
    })
}

/// Opens a resolved path; a link that appeared since is not followed.
#[cfg(target_os = "linux")]
fn link_free(root: &Path, rest: &Path) -> io::Result<File> {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let folder = openat(CWD, root, flags | OFlags::DIRECTORY, Mode::empty())?;
    let rest = if rest.as_os_str().is_empty() {
        Path::new(".")
    } else {
        rest
    };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(File::from(openat2(
        folder,
        rest,
        flags,
        Mode::empty(),
        resolve,
    )?))
}

#[cfg(not(target_os = "linux"))]
fn link_free(root: &Path, rest: &Path) -> io::Result<File> {
    File::open(root.join(rest))
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)?.take(MAX_ENTRIES) {
        let entry = entry?;
        let mut name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            name.push('/');
        }
        names.push(name);
    }
    names.sort();
    Ok(names)
}
