//! Login state that outlives the process: named profiles, and the pages of sessions that do.
//!
//! Invariant: what sites know a visitor by is on disk only sealed, bound to its owner and its
//! name. It is never part of an answer.

mod keeper;
mod names;
mod portable;

use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use tollgate_browser::Kept;
use tollgate_core::{SealError, Sealer, canonical::hex_digest};

pub(super) use keeper::Shelf;
pub use names::ProfileName;
pub use portable::StorageState;

/// How many profiles one owner may have.
const MOST: usize = 50;
const NAMED: &str = "profiles";
const PAGES: &str = "pages";
const ENDING: &str = "sealed";

/// Who seals; without one nothing is kept.
#[derive(Clone, Default)]
pub struct Vault(pub Option<Arc<dyn Sealer>>);

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "Vault(***)"
        } else {
            "Vault"
        })
    }
}

/// Why a profile cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// There is none of that name.
    #[error("there is no profile `{0}`")]
    Unknown(String),
    /// There are too many.
    #[error("there are {MOST} profiles already; delete one first")]
    TooMany,
    /// It cannot be sealed or opened.
    #[error("the profile cannot be opened: {0}")]
    Sealed(#[from] SealError),
    /// What was opened makes no sense.
    #[error("what was kept cannot be read")]
    Unreadable(#[from] serde_json::Error),
    /// The folder cannot be used.
    #[error("the folder of the profiles cannot be used: {0}")]
    Folder(#[from] io::Error),
}

/// What is kept in one file.
#[derive(Serialize, Deserialize)]
struct Document {
    version: u32,
    owner: String,
    name: String,
    state: Kept,
}

/// A profile, without anything that a site knows somebody by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProfileInfo {
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub owner: String,
    /// The sites it has something for.
    pub sites: Vec<String>,
    /// How many cookies it has.
    pub cookies: usize,
    /// When it was last changed, in seconds since 1970.
    pub saved: u64,
    /// Why it cannot be opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// All that is kept.
#[derive(Debug, Clone)]
pub struct Profiles {
    root: PathBuf,
    vault: Vault,
}

impl Profiles {
    /// What is kept below a folder.
    pub fn new(root: &Path, vault: Vault) -> Self {
        let root = root.to_owned();
        Self { root, vault }
    }

    /// Whether anything can be kept at all.
    pub(super) fn can_keep(&self) -> bool {
        self.vault.0.is_some()
    }

    /// Says at once why nothing could be sealed, before anybody relies on it.
    pub(super) fn check(&self) -> Result<(), SealError> {
        self.sealer()?.seal("", b"").map(drop)
    }

    fn sealer(&self) -> Result<&dyn Sealer, SealError> {
        let none = || SealError::NoKey("none is configured".to_owned());
        self.vault.0.as_deref().ok_or_else(none)
    }

    /// Where something is, below the root; what is sealed there opens only there.
    fn place(owner: &str, name: &ProfileName) -> String {
        format!("{NAMED}/{}/{name}.{ENDING}", digest(owner))
    }

    fn open(&self, place: &str) -> Result<Option<Document>, ProfileError> {
        let sealed = match fs::read(self.root.join(place)) {
            Ok(sealed) => sealed,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let plain = self.sealer()?.open(place, &sealed)?;
        Ok(Some(serde_json::from_slice(&plain)?))
    }

    /// Reads, changes and replaces a file under a lock; several processes lose nothing.
    fn change(
        &self,
        place: &str,
        owner: &str,
        name: &str,
        change: impl FnOnce(Kept) -> Kept,
    ) -> Result<(), ProfileError> {
        let path = self.root.join(place);
        let folder = path.parent().unwrap_or(&self.root);
        private_folder(folder)?;
        let guard = private_file(&self.root.join("guard"))?;
        guard.lock()?;
        let there = self.open(place)?;
        if there.is_none() && place.starts_with(NAMED) && sealed_in(folder).count() >= MOST {
            return Err(ProfileError::TooMany);
        }
        let state = change(there.map(|it| it.state).unwrap_or_default());
        let document = Document {
            version: 1,
            owner: owner.to_owned(),
            name: name.to_owned(),
            state,
        };
        let sealed = self
            .sealer()?
            .seal(place, &serde_json::to_vec(&document)?)?;
        // The lock is held, so nobody else writes this name.
        let fresh = path.with_extension("new");
        let mut file = private_file(&fresh)?;
        file.set_len(0)?;
        file.write_all(&sealed)?;
        file.sync_all()?;
        Ok(fs::rename(&fresh, &path)?)
    }

    /// Every profile there is, of every owner.
    pub fn list(&self) -> Result<Vec<ProfileInfo>, ProfileError> {
        let mut found = Vec::new();
        let owners = match fs::read_dir(self.root.join(NAMED)) {
            Ok(owners) => owners,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
            Err(error) => return Err(error.into()),
        };
        for owner in owners {
            let owner = owner?;
            for path in sealed_in(&owner.path()) {
                let name = path.file_stem().unwrap_or_default().to_string_lossy();
                let folder = owner.file_name();
                let place = format!("{NAMED}/{}/{name}.{ENDING}", folder.to_string_lossy());
                let saved = fs::metadata(&path).and_then(|it| it.modified());
                let saved = saved.unwrap_or(SystemTime::UNIX_EPOCH);
                let saved = saved.duration_since(SystemTime::UNIX_EPOCH);
                found.push(self.info(&place, &name, saved.unwrap_or_default()));
            }
        }
        found.sort_by(|a, b| (&a.owner, &a.name).cmp(&(&b.owner, &b.name)));
        Ok(found)
    }

    fn info(&self, place: &str, name: &str, saved: Duration) -> ProfileInfo {
        let (document, problem) = match self.open(place) {
            Ok(document) => (document, None),
            Err(error) => (None, Some(error.to_string())),
        };
        let (owner, state) = document.map(|it| (it.owner, it.state)).unwrap_or_default();
        ProfileInfo {
            name: name.to_owned(),
            owner,
            sites: state.sites().into_iter().collect(),
            cookies: state.cookies.len(),
            saved: saved.as_secs(),
            problem,
        }
    }

    /// A profile as other programs read it. It is what sites know the owner by.
    pub fn export(&self, owner: &str, name: &ProfileName) -> Result<StorageState, ProfileError> {
        let document = self.open(&Self::place(owner, name))?;
        let document = document.ok_or_else(|| ProfileError::Unknown(name.to_string()))?;
        Ok(document.state.into())
    }

    /// Makes a profile of what another program kept; one of that name is replaced.
    pub fn import(
        &self,
        owner: &str,
        name: &ProfileName,
        state: StorageState,
    ) -> Result<(), ProfileError> {
        let place = Self::place(owner, name);
        self.change(&place, owner, name.as_str(), |_| state.into())
    }

    /// Deletes a profile.
    pub fn delete(&self, owner: &str, name: &ProfileName) -> Result<(), ProfileError> {
        match fs::remove_file(self.root.join(Self::place(owner, name))) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(ProfileError::Unknown(name.to_string()))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Files that hold something sealed.
fn sealed_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|it| it == ENDING))
}

fn digest(text: &str) -> String {
    let mut digest = hex_digest(text.as_bytes());
    digest.truncate(32);
    digest
}

fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests;
