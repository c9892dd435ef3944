//! The issuer's keys in a file: read again when it changes. What cannot be read vouches for
//! nobody, so removing the file ends every access token.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use super::keys::{KeySet, LARGEST};

pub(super) struct KeyFile {
    path: PathBuf,
    read: Mutex<Option<(Stamp, Arc<KeySet>)>>,
}

/// What changes when a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    inode: u64,
}

impl Stamp {
    fn of(metadata: &fs::Metadata) -> Self {
        Self {
            modified: metadata.modified().ok(),
            length: metadata.len(),
            #[cfg(unix)]
            inode: std::os::unix::fs::MetadataExt::ino(metadata),
            #[cfg(not(unix))]
            inode: 0,
        }
    }
}

impl KeyFile {
    pub(super) fn new(path: &Path) -> Result<Self, String> {
        let file = Self {
            path: path.to_owned(),
            read: Mutex::new(None),
        };
        match file.keys() {
            Ok(_) => Ok(file),
            Err(why) => Err(format!("the issuer's keys in {}: {why}", path.display())),
        }
    }

    /// Callers see the reason, so it does not say where the file is.
    pub(super) fn keys(&self) -> Result<Arc<KeySet>, &'static str> {
        let metadata = fs::metadata(&self.path).map_err(|_| "there is no such file")?;
        let stamp = Stamp::of(&metadata);
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, keys)) = &*read
            && *known == stamp
        {
            return Ok(Arc::clone(keys));
        }
        *read = None;
        let keys = Arc::new(load(&self.path)?);
        *read = Some((stamp, Arc::clone(&keys)));
        Ok(keys)
    }
}

fn load(path: &Path) -> Result<KeySet, &'static str> {
    let mut text = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LARGEST as u64 + 1).read_to_end(&mut text))
        .map_err(|_| "it cannot be read")?;
    if text.len() > LARGEST {
        return Err("it is too large");
    }
    KeySet::read(&text)
}
