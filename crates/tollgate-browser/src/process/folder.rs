//! The folder a browser writes into while it runs.
//!
//! Each belongs to one process and holds a lock while that lives, so that what a killed
//! process left behind is found and removed by the next one.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    thread::sleep,
    time::Duration,
};

use rustix::fs::{FlockOperation, flock};

const PREFIX: &str = "running-";
const LOCK: &str = "in-use";
/// How often it is tried to remove one, and what lies between two times.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(20);

/// A folder that goes away with its owner.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Makes one below `root`.
    pub(crate) fn new(root: &Path) -> io::Result<Self> {
        private(root)?;
        sweep(root);
        let path = root.join(format!("{PREFIX}{}", crate::random_hex(8)?));
        private(&path)?;
        let lock = File::create(path.join(LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { path, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Whoever was killed may still be about to write; what cannot be removed now is swept
        // another day.
        for _ in 0..TRIES {
            match fs::remove_dir_all(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => sleep(PAUSE),
                Ok(()) | Err(_) => return,
            }
        }
    }
}

/// Makes a folder that only its user can read.
pub(crate) fn private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}

/// Removes what dead processes left.
fn sweep(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else {
        return;
    };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        // A folder without a lock is being made this moment.
        let Ok(lock) = File::open(entry.path().join(LOCK)) else {
            continue;
        };
        if is_ours && flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_dead_process_left_is_removed_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let dead = root.path().join("running-dead");
        fs::create_dir(&dead).unwrap();
        fs::write(dead.join(LOCK), "").unwrap();
        let other = root.path().join("other");
        fs::create_dir(&other).unwrap();
        fs::write(other.join(LOCK), "").unwrap();
        let first = Folder::new(root.path()).unwrap();
        assert!(!dead.exists() && other.exists());
        let second = Folder::new(root.path()).unwrap();
        assert!(first.path().exists() && second.path().exists());
        let gone = first.path().to_owned();
        drop(first);
        assert!(!gone.exists() && second.path().exists());
    }
}
