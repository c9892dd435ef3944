//! Files below the operator's folders: found, read and replaced.
//!
//! Invariants: nothing outside a folder is opened; a file is replaced whole or not at all,
//! and only if it is still the version that whoever agreed has seen. The new version changes
//! places with the old one in a single step, and the old one is looked at afterwards, when
//! nobody can open it any more: an editor that saved in between, or has it open for writing,
//! loses nothing, its version is put back. Where a file system cannot tell, the answer says so.

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
    /// Another program has it open for writing.
    #[error("another program has `{0}` open for writing")]
    Busy(String),
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

    /// Puts `text` in the place of the version `known`, or of no file if it is nothing. Says
    /// whether it is certain that nobody else was writing the file.
    pub(super) fn put(&self, text: &str, known: Option<&Content>) -> Result<bool, PlaceError> {
        let folder = Folder::open(&self.folder).map_err(PlaceError::Io)?;
        let spare = spare_name()?;
        let put = self.put_by(&folder, &spare, text, known);
        if !matches!(put, Err(PlaceError::Stranded(..))) {
            // The spare name holds what nobody needs any more.
            folder.remove(&spare);
        }
        let is_certain = put?;
        folder.sync().map_err(PlaceError::Io)?;
        Ok(is_certain)
    }

    fn put_by(
        &self,
        folder: &Folder,
        spare: &Path,
        text: &str,
        known: Option<&Content>,
    ) -> Result<bool, PlaceError> {
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
                renamed => renamed.map(|()| true).map_err(PlaceError::Io),
            };
        };
        self.is_still(folder, &self.name, &known.text)?;
        let is_one_step = folder
            .exchange(spare, &self.name)
            .map_err(|error| self.failed(error))?;
        match self.is_left_alone(folder, spare, &known.text) {
            Ok(is_certain) => Ok(is_certain && is_one_step),
            Err(refused) => Err(self.undo(folder, spare, text, refused)),
        }
    }

    /// Puts the old version back under its name. Whoever wrote into the new one meanwhile loses
    /// nothing either: it stays beside the file then.
    fn undo(&self, folder: &Folder, spare: &Path, text: &str, refused: PlaceError) -> PlaceError {
        let stranded = |error| PlaceError::Stranded(self.file.clone(), error);
        if let Err(error) = folder.exchange(spare, &self.name) {
            return stranded(error);
        }
        match self.is_left_alone(folder, spare, text) {
            Ok(_) => refused,
            Err(error) => stranded(io::Error::other(error)),
        }
    }

    /// Whether nobody has written or is writing a version whose name only we know; false if its
    /// file system cannot tell the latter. Nobody can open it any more, so who does not have it
    /// open now never will, and the text is compared after that.
    fn is_left_alone(&self, folder: &Folder, spare: &Path, text: &str) -> Result<bool, PlaceError> {
        let has_writer = folder.has_writer(spare).map_err(PlaceError::Io)?;
        if has_writer == Some(true) {
            return Err(PlaceError::Busy(self.file.clone()));
        }
        self.is_still(folder, spare, text)?;
        Ok(has_writer == Some(false))
    }

    /// Takes the file away if it is still the version `known`. Says whether it is certain that
    /// nobody else was writing it.
    pub(super) fn remove(&self, known: &Content) -> Result<bool, PlaceError> {
        let folder = Folder::open(&self.folder).map_err(PlaceError::Io)?;
        let spare = spare_name()?;
        self.is_still(&folder, &self.name, &known.text)?;
        folder
            .rename_new(&self.name, &spare)
            .map_err(|error| self.failed(error))?;
        let is_certain = self
            .is_left_alone(&folder, &spare, &known.text)
            .map_err(|refused| match folder.rename_new(&spare, &self.name) {
                Ok(()) => refused,
                Err(error) => PlaceError::Stranded(self.file.clone(), error),
            })?;
        folder.remove(&spare);
        folder.sync().map_err(PlaceError::Io)?;
        Ok(is_certain)
    }

    /// Whether what stands under a name is this version of the file.
    fn is_still(&self, folder: &Folder, name: &Path, text: &str) -> Result<(), PlaceError> {
        let changed = || PlaceError::Changed(self.file.clone());
        let opened = folder.open_file(name).map_err(|error| self.failed(error))?;
        let file = opened.ok_or_else(changed)?;
        let limit = text.len() as u64 + 1;
        let mut bytes = Vec::new();
        file.take(limit)
            .read_to_end(&mut bytes)
            .map_err(PlaceError::Io)?;
        if bytes == text.as_bytes() {
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
