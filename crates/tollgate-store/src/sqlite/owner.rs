//! Which processes are alive: a locked file each, never a clock.
//!
//! The file is locked before it gets its name, so nobody can ever find a living
//! process's file unlocked.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

use tollgate_core::canonical::hex;

/// This process's name among those that share the state.
#[derive(Debug)]
pub(crate) struct Owner {
    name: String,
    path: PathBuf,
    /// Locked for as long as it is open.
    _file: File,
}

impl Owner {
    /// Takes a name nobody has.
    pub(crate) fn take(state_dir: &Path) -> io::Result<Self> {
        let directory = directory(state_dir);
        fs::create_dir_all(&directory)?;
        let mut random = [0_u8; 8];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let name = format!("{}-{}", std::process::id(), hex(&random));
        let unnamed = directory.join(format!("{name}.tmp"));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&unnamed)?;
        file.lock()?;
        let path = directory.join(format!("{name}.lock"));
        fs::rename(&unnamed, &path)?;
        Ok(Self {
            name,
            path,
            _file: file,
        })
    }

    /// The name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // A file that stays behind is free, and the next `sweep` takes it away.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether the process with this name is gone.
pub(crate) fn is_dead(state_dir: &Path, name: &str) -> bool {
    let path = directory(state_dir).join(format!("{name}.lock"));
    match OpenOptions::new().read(true).open(path) {
        Ok(file) => is_free(&file),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Takes away the files of dead processes.
pub(crate) fn sweep(state_dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory(state_dir))? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "lock") {
            continue;
        }
        let Ok(file) = OpenOptions::new().read(true).open(&path) else {
            continue;
        };
        if is_free(&file) {
            let _ = fs::remove_file(&path);
        }
    }
    Ok(())
}

/// Shared, so that two who look at once do not take each other for the owner.
fn is_free(file: &File) -> bool {
    match file.try_lock_shared() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
    }
}

fn directory(state_dir: &Path) -> PathBuf {
    state_dir.join("owners")
}
