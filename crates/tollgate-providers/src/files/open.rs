//! Reading a file or a folder below a folder.

use std::{
    fs,
    io::{self, Read},
    path::Path,
};

use super::MAX_ENTRIES;
use crate::beneath;

/// What stands at a path.
pub(super) enum Found {
    /// The names of a folder's entries; those of folders end in `/`.
    Folder(Vec<String>),
    /// The beginning of a file, and the size of all of it.
    File { bytes: Vec<u8>, total: u64 },
}

/// Opens what stands at `path` below `root`, after links are resolved.
pub(super) fn open(root: &Path, path: &Path, limit: usize) -> io::Result<Found> {
    let place = beneath::resolve(root, path)?;
    let mut file = place.open()?;
    let about = file.metadata()?;
    if about.is_dir() {
        return names(&place.path()).map(Found::Folder);
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
