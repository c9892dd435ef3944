//! The key that binds approvals, shared by all processes of one state folder.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::Path,
};

use tollgate_core::Secret;
use tollgate_engine::random_hex;

const FILE: &str = "approval.key";

/// Where the key is.
pub(crate) fn path(state_dir: &Path) -> std::path::PathBuf {
    state_dir.join(FILE)
}

/// Reads the key, or makes it: written whole under another name, then linked into
/// place, so that two processes that start at once end up with the same one.
pub(crate) fn approval_key(state_dir: &Path) -> io::Result<Secret<[u8; 32]>> {
    fs::create_dir_all(state_dir)?;
    let path = state_dir.join(FILE);
    if let Some(key) = read(&path)? {
        return Ok(key);
    }
    let mut key = [0_u8; 32];
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    // Process ids are not enough: containers that share the folder count their own.
    let draft = state_dir.join(format!("{FILE}.{}", random_hex(8)?));
    write(&draft, &key)?;
    let linked = fs::hard_link(&draft, &path);
    fs::remove_file(&draft)?;
    match linked {
        Ok(()) => Ok(Secret::new(key)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            read(&path)?.ok_or_else(|| io::Error::other("the approval key is gone"))
        }
        Err(error) => Err(error),
    }
}

fn read(path: &Path) -> io::Result<Option<Secret<[u8; 32]>>> {
    let mut key = [0_u8; 32];
    match File::open(path).and_then(|mut file| file.read_exact(&mut key)) {
        Ok(()) => Ok(Some(Secret::new(key))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn write(path: &Path, key: &[u8; 32]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut file = options.open(path)?;
    file.write_all(key)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_gets_the_same_key() {
        let dir = tempfile::tempdir().unwrap();
        let keys: Vec<_> = std::thread::scope(|scope| {
            let starts: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| approval_key(dir.path()).unwrap()))
                .collect();
            starts
                .into_iter()
                .map(|start| start.join().unwrap())
                .collect()
        });
        assert!(keys.windows(2).all(|pair| pair[0] == pair[1]));
    }
}
