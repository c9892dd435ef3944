//! Which projects' files the user trusts, pinned by digest.
//!
//! A pin covers `tollgate.toml` and every file it names; when any of them changes, the
//! project is untrusted again.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    env::Environment,
    error::ConfigError,
    files::{self, FILE_NAME},
    layer::{KeyPath, Layer, Setting, dotted},
};

/// The longest file a trusted project may name.
const MAX_NAMED_BYTES: u64 = 16 * 1024 * 1024;

/// The user's pins, in one file of the data folder.
#[derive(Debug, Clone)]
pub struct TrustStore {
    file: PathBuf,
}

/// How a project stands with the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Its files are those the user pinned.
    Trusted,
    /// It was pinned, but a file has changed since.
    Changed,
    /// It was never pinned.
    Unknown,
}

/// Why a project could not be trusted or untrusted.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// There is nothing to trust.
    #[error("{0} holds no tollgate.toml")]
    NoFile(PathBuf),
    /// A file with mistakes is not worth trusting.
    #[error("the project's configuration has {} problems", .0.len())]
    Invalid(Vec<ConfigError>),
    /// Neither home nor `XDG_DATA_HOME` says where pins are kept.
    #[error("there is no data folder to keep the pin in: set HOME or XDG_DATA_HOME")]
    NoDataDir,
    /// Pins are kept as text.
    #[error("{} is not UTF-8", .0.display())]
    NotText(PathBuf),
    /// The pins themselves are damaged.
    #[error("{} is damaged: remove it and trust your projects again", .file.display())]
    Damaged {
        /// The file of pins.
        file: PathBuf,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// The disk refused.
    #[error("{} cannot be read or written: {source}", .file.display())]
    Disk {
        /// Which file.
        file: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// A project as it would be pinned.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// Its real folder.
    pub dir: String,
    /// The digest of its files.
    pub digest: String,
    /// Every key that its file sets, with the value.
    pub settings: Vec<(String, String)>,
}

impl Proposal {
    /// Reads a project's files once.
    pub fn read(dir: &Path, environment: &Environment) -> Result<Self, TrustError> {
        let project = Project::read(dir, environment)?;
        let said =
            |(path, setting): (&KeyPath, &Setting)| (dotted(path), setting.value.to_string());
        Ok(Self {
            dir: key(dir)?,
            digest: project.digest()?,
            settings: project.layer.settings.iter().map(said).collect(),
        })
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Pins {
    /// From a project's real folder to the digest of its files.
    projects: BTreeMap<String, String>,
}

impl TrustStore {
    /// The pins of the user this process runs for.
    pub fn of_user(environment: &Environment) -> Result<Self, TrustError> {
        let folder = environment.data_dir().ok_or(TrustError::NoDataDir)?;
        Ok(Self::in_folder(&folder))
    }

    /// The pins kept in a folder.
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            file: folder.join("trusted.json"),
        }
    }

    /// Pins a project as it was read: what changed meanwhile is not trusted.
    pub fn trust(&self, proposal: &Proposal) -> Result<(), TrustError> {
        self.change(|pins| {
            let (key, digest) = (proposal.dir.clone(), proposal.digest.clone());
            pins.projects.insert(key, digest);
        })
    }

    /// Removes a pin; says whether there was one.
    pub fn untrust(&self, dir: &Path) -> Result<bool, TrustError> {
        let key = key(dir)?;
        let mut had = false;
        self.change(|pins| had = pins.projects.remove(&key).is_some())?;
        Ok(had)
    }

    /// Whether a project's files are those the user pinned.
    pub fn is_trusted(&self, dir: &Path, environment: &Environment) -> Result<bool, TrustError> {
        let project = Project::read(dir, environment)?;
        Ok(self.standing(&project)? == Standing::Trusted)
    }

    /// Every pin: the project's folder and the digest of its files.
    pub fn pins(&self) -> Result<BTreeMap<String, String>, TrustError> {
        Ok(self.load()?.projects)
    }

    /// How the files of a project, as they were read, stand.
    pub(super) fn standing(&self, project: &Project<'_>) -> Result<Standing, TrustError> {
        let pins = self.load()?;
        let Some(pinned) = pins.projects.get(&key(project.dir)?) else {
            return Ok(Standing::Unknown);
        };
        // A file that is named but cannot be read is not the one that was pinned.
        match project.digest() {
            Ok(digest) if digest == *pinned => Ok(Standing::Trusted),
            Ok(_) | Err(_) => Ok(Standing::Changed),
        }
    }

    fn load(&self) -> Result<Pins, TrustError> {
        match std::fs::read(&self.file) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|source| TrustError::Damaged {
                file: self.file.clone(),
                source,
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Pins::default()),
            Err(error) => Err(disk(&self.file, error)),
        }
    }

    /// Reads, changes and replaces the pins under a lock, so that two commands at the same
    /// time lose nothing and a reader never sees half a file.
    fn change(&self, change: impl FnOnce(&mut Pins)) -> Result<(), TrustError> {
        let failed = |error| disk(&self.file, error);
        if let Some(folder) = self.file.parent() {
            private_folder(folder).map_err(failed)?;
        }
        let lock = private(&self.file.with_extension("lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut pins = self.load()?;
        change(&mut pins);
        let text = serde_json::to_vec_pretty(&pins).map_err(|error| failed(error.into()))?;
        let fresh = self.file.with_extension("new");
        let written = private(&fresh).and_then(|mut file| {
            file.set_len(0)?;
            file.write_all(&text)?;
            file.sync_all()
        });
        written.map_err(failed)?;
        std::fs::rename(&fresh, &self.file).map_err(failed)
    }
}

/// A project's configuration as it was read, once, so that what is judged is what is used.
pub(super) struct Project<'a> {
    pub dir: &'a Path,
    pub text: String,
    pub layer: Layer,
}

impl<'a> Project<'a> {
    fn read(dir: &'a Path, environment: &Environment) -> Result<Self, TrustError> {
        let dir_real = dir.canonicalize().map_err(|error| disk(dir, error))?;
        let file = dir_real.join(FILE_NAME);
        if !file.is_file() {
            return Err(TrustError::NoFile(dir.to_owned()));
        }
        let text = files::read(&file).map_err(|error| TrustError::Invalid(vec![error]))?;
        let mut errors = Vec::new();
        let layer = Layer::parse(&text, &file, environment, &mut errors);
        if !errors.is_empty() {
            return Err(TrustError::Invalid(errors));
        }
        Ok(Self { dir, text, layer })
    }

    /// The digest of the file and of every file it names, each with its length before it.
    /// The names themselves, and their order, are part of the file's text.
    fn digest(&self) -> Result<String, TrustError> {
        let mut hash = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        };
        add(self.text.as_bytes());
        for file in self.layer.referenced() {
            add(&read_named(&file).map_err(|error| disk(&file, error))?);
        }
        let digest = hash.finalize();
        Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Reads a file that a project names: it may name a device, or a file without end.
fn read_named(file: &Path) -> io::Result<Vec<u8>> {
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    let mut bounded = File::open(file)?.take(MAX_NAMED_BYTES + 1);
    bounded.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_NAMED_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

fn key(dir: &Path) -> Result<String, TrustError> {
    let real = dir.canonicalize().map_err(|error| disk(dir, error))?;
    let text = real.into_os_string().into_string();
    text.map_err(|_| TrustError::NotText(dir.to_owned()))
}

fn disk(file: &Path, source: io::Error) -> TrustError {
    TrustError::Disk {
        file: file.to_owned(),
        source,
    }
}

/// Opens a file for writing that only its owner may read.
fn private(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)
}

/// Makes a folder that only its owner may enter, if it is missing.
fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
