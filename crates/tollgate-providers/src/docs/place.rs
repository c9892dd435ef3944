//! Files below the operator's folders: found, read and replaced.
//!
//! Invariants: nothing outside a folder is opened; a file is replaced whole or not at all,
//! and only if it is still the version that whoever agreed has seen. The new version changes
//! places with the old one in a single step, and the old one is looked at afterwards: an
//! editor that saved in between loses nothing, its version is put back.

use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use tollgate_core::canonical::{hex, hex_digest};

use super::folder::{Folder, Owner};
use crate::beneath;

/// The most bytes of a name.
const MAX_FILE: usize = 1024;

/// Why a file cannot be found, read or replaced.
#[derive(Debug, thiserror::Error)]
pub(super) enum PlaceError {
    /// There is no such folder of the operator's.
    #[error("there is no folder `{0}` whose files can be edited")]
    UnknownRoot(String),
    /// The name leads out, or is no name.
    #[error("`{0}` is not a file below its folder")]
    BadPath(String),
    /// It is not there.
    #[error("there is no file `{0}`")]
    NotFound(String),
    /// It is there already.
    #[error("there is a file `{0}` already")]
    Exists(String),
    /// It is a folder, a device or the like.
    #[error("`{0}` is not a plain file")]
    NotAFile(String),
    /// It is not text.
    #[error("`{0}` is not a text in UTF-8")]
    NotText(String),
    /// It is larger than the operator allows.
    #[error("`{0}` is larger than {1} bytes")]
    TooLarge(String, usize),
    /// It is not the version that was meant.
    #[error("`{0}` has changed since")]
    Changed(String),
    /// Somebody saved it while it was replaced, and that version could not be put back.
    #[error(
        "`{0}` was saved by somebody else meanwhile; that version is kept beside it, in a file whose name begins with `.tollgate-`"
    )]
    Stranded(String, #[source] io::Error),
    /// The disk does not play along.
    #[error("the file cannot be read or written")]
    Io(#[source] io::Error),
}

/// A place for a file, whether there is one or not.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// As callers name it: the folder's name, then the path below it, links followed.
    pub(super) file: String,
    folder: beneath::Resolved,
    name: PathBuf,
}

/// A version of a file.
pub(super) struct Content {
    pub(super) text: String,
    pub(super) digest: String,
    owner: Owner,
}

/// Finds the place that `<folder>/<path>` names. Links that stay below are followed.
pub(super) fn find(roots: &BTreeMap<String, PathBuf>, file: &str) -> Result<Place, PlaceError> {
    let bad = || PlaceError::BadPath(shown(file));
    let (root, path) = file.split_once('/').ok_or_else(bad)?;
    let folder = roots
        .get(root)
        .ok_or_else(|| PlaceError::UnknownRoot(shown(root)))?;
    let path = beneath::relative(path)
        .filter(|path| path.file_name().is_some() && file.len() <= MAX_FILE)
        .ok_or_else(bad)?;
    let missing = |error: io::Error| {
        let kind = error.kind();
        let is_lost = kind == io::ErrorKind::NotFound || kind == io::ErrorKind::NotADirectory;
        if is_lost {
            PlaceError::NotFound(shown(file))
        } else if kind == io::ErrorKind::PermissionDenied {
            PlaceError::BadPath(shown(file))
        } else {
            PlaceError::Io(error)
        }
    };
    let path = match beneath::resolve(folder, &path) {
        Ok(resolved) => resolved.below().to_owned(),
        // A link to nowhere is no place for a fresh file: it could lead anywhere.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let is_link = folder.join(&path).symlink_metadata().is_ok();
            if is_link {
                return Err(bad());
            }
            path
        }
        Err(error) => return Err(missing(error)),
    };
    let name = path.file_name().map(PathBuf::from).ok_or_else(bad)?;
    let parent = path.parent().unwrap_or(Path::new(""));
    let folder = beneath::resolve(folder, parent).map_err(missing)?;
    let below = folder.below().join(&name);
    let below = below.to_str().ok_or_else(bad)?;
    Ok(Place {
        file: format!("{root}/{below}"),
        folder,
        name,
    })
}

/// A name as messages show it.
fn shown(name: &str) -> String {
    name.chars().take(200).collect()
}

impl Place {
    /// The file as it is now; nothing if there is none.
    pub(super) fn read(&self, most: usize) -> Result<Option<Content>, PlaceError> {
        let folder = Folder::open(&self.folder).map_err(PlaceError::Io)?;
        let Some(file) = folder.open_file(&self.name).map_err(|e| self.failed(e))? else {
            return Ok(None);
        };
        let about = file.metadata().map_err(PlaceError::Io)?;
        if !about.is_file() {
            return Err(PlaceError::NotAFile(self.file.clone()));
        }
        let mut bytes = Vec::new();
        let limit = most as u64 + 1;
        let read = file.take(limit).read_to_end(&mut bytes);
        read.map_err(PlaceError::Io)?;
        if bytes.len() > most {
            return Err(PlaceError::TooLarge(self.file.clone(), most));
        }
        let digest = hex_digest(&bytes);
        let text = String::from_utf8(bytes)
            .ok()
            .filter(|text| !text.contains('\0'))
            .ok_or_else(|| PlaceError::NotText(self.file.clone()))?;
        Ok(Some(Content {
            text,
            digest,
            owner: Owner::of(&about),
        }))
    }

    /// Puts `text` in the place of the version `known`, or of no file if it is nothing.
    pub(super) fn put(&self, text: &str, known: Option<&Content>) -> Result<(), PlaceError> {
        let folder = Folder::open(&self.folder).map_err(PlaceError::Io)?;
        let spare = spare_name()?;
        let put = self.put_by(&folder, &spare, text, known);
        if !matches!(put, Err(PlaceError::Stranded(..))) {
            // The spare name holds what nobody needs any more.
            folder.remove(&spare);
        }
        put?;
        folder.sync().map_err(PlaceError::Io)
    }

    fn put_by(
        &self,
        folder: &Folder,
        spare: &Path,
        text: &str,
        known: Option<&Content>,
    ) -> Result<(), PlaceError> {
        let mut file = folder.create(spare).map_err(PlaceError::Io)?;
        file.write_all(text.as_bytes()).map_err(PlaceError::Io)?;
        if let Some(known) = known {
            known.owner.give(&file).map_err(PlaceError::Io)?;
        }
        file.sync_all().map_err(PlaceError::Io)?;
        drop(file);
        let Some(known) = known else {
            return match folder.rename_new(spare, &self.name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    Err(PlaceError::Changed(self.file.clone()))
                }
                renamed => renamed.map_err(PlaceError::Io),
            };
        };
        self.is_still(folder, &self.name, known)?;
        folder
            .exchange(spare, &self.name)
            .map_err(|error| self.failed(error))?;
        self.is_still(folder, spare, known).map_err(|changed| {
            match folder.exchange(spare, &self.name) {
                Ok(()) => changed,
                Err(error) => PlaceError::Stranded(self.file.clone(), error),
            }
        })
    }

    /// Takes the file away if it is still the version `known`.
    pub(super) fn remove(&self, known: &Content) -> Result<(), PlaceError> {
        let folder = Folder::open(&self.folder).map_err(PlaceError::Io)?;
        let spare = spare_name()?;
        self.is_still(&folder, &self.name, known)?;
        folder
            .rename_new(&self.name, &spare)
            .map_err(|error| self.failed(error))?;
        self.is_still(&folder, &spare, known).map_err(|changed| {
            match folder.rename_new(&spare, &self.name) {
                Ok(()) => changed,
                Err(error) => PlaceError::Stranded(self.file.clone(), error),
            }
        })?;
        folder.remove(&spare);
        folder.sync().map_err(PlaceError::Io)
    }

    /// Whether what stands under a name is this version of the file.
    fn is_still(&self, folder: &Folder, name: &Path, known: &Content) -> Result<(), PlaceError> {
        let changed = || PlaceError::Changed(self.file.clone());
        let opened = folder.open_file(name).map_err(|error| self.failed(error))?;
        let file = opened.ok_or_else(changed)?;
        let limit = known.text.len() as u64 + 1;
        let mut bytes = Vec::new();
        file.take(limit)
            .read_to_end(&mut bytes)
            .map_err(PlaceError::Io)?;
        if bytes == known.text.as_bytes() {
            Ok(())
        } else {
            Err(changed())
        }
    }

    fn failed(&self, error: io::Error) -> PlaceError {
        if error.kind() == io::ErrorKind::NotFound {
            PlaceError::Changed(self.file.clone())
        } else if error.kind() == io::ErrorKind::InvalidInput {
            PlaceError::BadPath(self.file.clone())
        } else {
            PlaceError::Io(error)
        }
    }
}

/// A name nobody else uses, hidden from lists.
fn spare_name() -> Result<PathBuf, PlaceError> {
    let mut bytes = [0_u8; 8];
    getrandom::fill(&mut bytes).map_err(|error| PlaceError::Io(io::Error::other(error)))?;
    Ok(PathBuf::from(format!(".tollgate-{}", hex(&bytes))))
}
